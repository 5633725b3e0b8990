"""The browser: what it prints of a page, what it complains of, and the colour of what it shows."""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from pathlib import Path

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
DARK = "--blink-settings=preferredColorScheme=0"


# what the search of MkDocs says while it works
_PROGRESS = ("Loading script: ", "Loaded worker", "All search scripts loaded", "Lunr index built")


def browse(*options: str) -> str:
    """Run the browser without a network and return what it prints; it has nothing to complain of."""
    assert BROWSER is not None
    ended = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND", *options],
        capture_output=True, text=True, timeout=120, check=True)
    complaints = [line for line in ended.stderr.splitlines() if "CONSOLE" in line
                  and not any(f'"{said}' in line for said in _PROGRESS)]
    assert not complaints, complaints
    return ended.stdout


def first_pixel(image: Path) -> tuple[int, int, int]:
    """Return red, green and blue of the upper left pixel: no filter of PNG changes that one."""
    data, at, packed = image.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    red, green, blue = zlib.decompressobj().decompress(packed, 4)[1:4]
    return red, green, blue
