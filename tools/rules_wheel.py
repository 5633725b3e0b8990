"""Build the wheel `gpudoctor-rules`: the compiled rules and nothing else, to be installed beside gpudoctor.

Run by `make rules-wheel`. The same rules give the same bytes; nothing in the wheel is code.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from gpudoctor import compiled
from gpudoctor.rule_packages import PACKAGE
from gpudoctor.ruledb import RuleDatabaseError, load_pages

ROOT = Path(__file__).resolve().parent.parent
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same bytes each time
_WHEEL = """\
Wheel-Version: 1.0
Generator: gpudoctor tools/rules_wheel.py
Root-Is-Purelib: true
Tag: py3-none-any
"""
_METADATA = """\
Metadata-Version: 2.4
Name: gpudoctor-rules
Version: {version}
Summary: The rules of gpudoctor (schema {schema}), as data: newer ones than came with gpudoctor-cli
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.10
Requires-Dist: gpudoctor-cli>={engine}
Description-Content-Type: text/plain

The causes, tables and messages that gpudoctor judges by. gpudoctor-cli uses them instead of its own when they
are newer, if it understands their schema and they are whole; otherwise its report says why it does not.
"""


def build(rules: Path, output: Path) -> Path:
    """Build the wheel of a folder of pages in the folder `output`; return its path."""
    database = load_pages(rules)
    files = {f"{PACKAGE}/{name}": data for name, data in sorted(compiled.encode(database).items())}
    info = f"{PACKAGE}-{database.version}.dist-info"
    files[f"{info}/METADATA"] = _METADATA.format(
        version=database.version, engine=database.engine, schema=compiled.NEWEST_SCHEMA).encode()
    files[f"{info}/WHEEL"] = _WHEEL.encode()
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD")
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{PACKAGE}-{database.version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            member = zipfile.ZipInfo(name, _EPOCH)
            member.external_attr = 0o644 << 16
            archive.writestr(member, data, zipfile.ZIP_DEFLATED, 9)
    return path


def _record(files: Mapping[str, bytes], name: str) -> bytes:
    lines = []
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    return "".join((*lines, f"{name},,\n")).encode()


def main(arguments: list[str]) -> int:
    """Build the wheel of the named folder, or of the repository's own rules; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", type=Path, nargs="?", default=ROOT / "rules", help="a folder of rule pages")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist", help="the folder to write to")
    options = parser.parse_args(arguments)
    try:
        print(build(options.rules, options.output))
    except RuleDatabaseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
