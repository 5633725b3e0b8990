"""Reading wheels by parts from a small index on this machine, over real HTTP."""

import hashlib
import io
import re
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tools.wheel_index import WheelFile, WheelIndex, dist_info_member, read_text

NAME = "demo-1.0-cp311-cp311-manylinux_2_17_x86_64.whl"
METADATA = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nRequires-Dist: numpy>=1.20\n"


def wheel_bytes() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("demo/filler.bin", bytes(range(256)) * 4000)
        archive.writestr("demo-1.0.dist-info/METADATA", METADATA)
    return content.getvalue()


WHEEL = wheel_bytes()
PAGE = f"""<html><body>
<a href="../../files/{NAME}#sha256={hashlib.sha256(WHEEL).hexdigest()}"
   data-upload-time="2024-05-06T07:08:09Z">{NAME}</a>
<a href="../../files/demo-1.0.tar.gz">demo-1.0.tar.gz</a>
</body></html>"""


class Handler(BaseHTTPRequestHandler):
    """Serve one project page and one wheel, by Range too."""

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        found = {"/simple/demo/": (PAGE.encode(), "text/html"), f"/files/{NAME}": (WHEEL, "application/zip")}
        body, kind = found.get(self.path, (b"", ""))
        status = 200 if kind else 404
        if kind and (wanted := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))):
            body, status = body[int(wanted[1]) : int(wanted[2]) + 1], 206
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[WheelIndex]:
    """Start the index and name it as pip is told of one."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple/")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    opened = WheelIndex()
    yield opened
    opened.session.close()
    server.shutdown()
    server.server_close()


def only_wheel(index: WheelIndex) -> WheelFile:
    (wheel,) = index.wheels("Demo")
    return wheel


def test_wheels_are_listed_with_what_their_names_say(index: WheelIndex) -> None:
    """The source archive is left out; tags, date and hash are those of the page."""
    wheel = only_wheel(index)
    assert (wheel.version, wheel.platform, wheel.pythons) == ("1.0", "linux_x86_64", ("cp311",))
    assert (wheel.uploaded, wheel.sha256) == ("2024-05-06", hashlib.sha256(WHEEL).hexdigest())


def test_unknown_project_has_no_wheels(index: WheelIndex) -> None:
    """Not found is an empty list: some distributions live elsewhere."""
    assert index.wheels("absent") == []


def test_single_member_is_read_by_ranges(index: WheelIndex) -> None:
    """The member arrives whole though the file around it is not fetched."""
    with index.open(only_wheel(index)) as archive:
        assert read_text(archive, dist_info_member(archive, "METADATA")) == METADATA
        assert len(archive.read("demo/filler.bin")) == 1_024_000


def test_metadata_comes_out_of_the_wheel_where_the_index_has_no_copy(index: WheelIndex) -> None:
    """An index that keeps no metadata file beside the wheel answers 404."""
    assert index.metadata_text(only_wheel(index)) == METADATA
