"""Build the stand-alone payload: one file that looks at a machine where gpudoctor is not installed."""

from __future__ import annotations

import io
import zipfile
from importlib.util import find_spec
from pathlib import Path

from gpudoctor.host import Data, Host
from gpudoctor.variables import ENVIRONMENT_VARIABLES as NAMES

PAYLOADS = Path(__file__).resolve().parent / "payloads"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same bytes each time
_MAIN = '''"""The stand-alone payload of gpudoctor: python probe.pyz --help"""

import sys

sys.dont_write_bytecode = True

if __name__ == "__main__":
    if sys.version_info < (3, 6):
        sys.exit("gpudoctor's probe needs Python 3.6 or newer")
    if len(sys.argv) > 2 and sys.argv[1] == "--collect":
        import os

        found = list(sys.path)
        standard = os.path.dirname(os.path.abspath(os.__file__))
        sys.path[1:1] = [standard, os.path.join(standard, "lib-dynload")]  # before a json.py on PYTHONPATH
        import importlib

        from gpudoctor_payloads import answering

        collector = importlib.import_module("gpudoctor_payloads." + sys.argv[2])
        request = answering.limit_alone(sys.argv[4:])
        if request is None:
            import json

            request = json.loads(sys.argv[4])
        sys.path[:] = found
        if hasattr(collector, "journal"):
            collector.journal(request, int(sys.argv[3]))
            sys.exit(0)
        os.write(int(sys.argv[3]), b" ")  # the collector is reached, as payloads/__main__.py says it
        answer = answering.dumps(collector.collect(request)).encode("utf-8", "backslashreplace")
        with os.fdopen(int(sys.argv[3]), "wb", closefd=False) as out:
            out.write(answer)
    else:
        from gpudoctor_payloads import standalone

        sys.exit(standalone.main(sys.argv[1:], sys.argv[0]))
'''


class ZipappError(ValueError):
    """The payload cannot be built; one line says why."""


def build() -> bytes:
    """Return the zipapp: the payload package, the single-file pynvml, and a start."""
    sources = {"__main__.py": _MAIN.encode()}
    for path in sorted(PAYLOADS.glob("*.py")):
        if path.name != "__main__.py":
            sources[f"gpudoctor_payloads/{path.name}"] = _read(path)
    names = f'"""The environment variables that matter."""\n\nNAMES = {NAMES!r}\n'
    sources["gpudoctor_payloads/names.py"] = names.encode()
    spec = find_spec("pynvml")
    if spec is None or spec.origin is None:
        raise ZipappError("nvidia-ml-py is not installed here; reinstall gpudoctor-cli")
    sources["pynvml.py"] = _read(Path(spec.origin))
    buffer = io.BytesIO()
    buffer.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sources.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _read(path: Path) -> bytes:
    answer = Host().read_bytes(str(path), limit_bytes=4 << 20)
    if not isinstance(answer, Data):
        raise ZipappError(f"{path}: cannot be read; reinstall gpudoctor-cli")
    return answer.data
