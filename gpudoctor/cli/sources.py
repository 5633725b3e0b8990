"""Where commands get rules and snapshots from, and where they put their output."""

from __future__ import annotations

import os
import stat
import sys
from typing import Any

from gpudoctor import codec, host, ruledb
from gpudoctor.cli import streams
from gpudoctor.cli.errors import InputError
from gpudoctor.compiled import Extent
from gpudoctor.host import Host, Missing, Refused, Text
from gpudoctor.model import RuleDatabase, Snapshot
from gpudoctor.render.plain import printable

STANDARD_INPUT = "standard input"


def database(folder: str | None, extent: Extent = "judged", *, for_proof: bool = False) -> RuleDatabase:
    """Return the rules that the options and the environment name, as much of them as a command needs."""
    variables = os.environ
    return ruledb.load(folder or variables.get("GPUDOCTOR_RULES") or None,
                       variables.get("GPUDOCTOR_RULES_EXTRA") or None, extent, for_proof=for_proof)


def announced_database(folder: str | None, extent: Extent, *, for_proof: bool = False) -> RuleDatabase:
    """Return the rules, newer ones that were not taken named on standard error: no report will say it."""
    found = database(folder, extent, for_proof=for_proof)
    for refused in found.refused:
        sys.stderr.write(f"gpudoctor: newer rules are not used: {printable(refused, 2000)}\n")
    return found


def read_document(name: str) -> Any:
    """Return the JSON in a file, or on standard input when the name is `-`."""
    if name == "-":
        return codec.parse_json(_standard_input(), STANDARD_INPUT)
    match Host().read_text(name, limit_bytes=codec.MAX_BYTES):
        case Text(truncated=True):
            raise InputError(f"{name}: larger than {codec.MAX_BYTES >> 20} MiB, which no snapshot is")
        case Text(text=text):
            return codec.parse_json(text, name)
        case Missing():
            raise InputError(f"{name}: no such file")
        case Refused(reason=reason):
            raise InputError(f"{name}: cannot be read: {reason}")


def _standard_input() -> str:
    try:
        data = sys.stdin.buffer.read(codec.MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"standard input cannot be read: {error.strerror}") from None
    if len(data) > codec.MAX_BYTES:
        raise InputError(f"standard input is larger than {codec.MAX_BYTES >> 20} MiB, which no snapshot is")
    return data.decode("utf-8", "replace")


def read_snapshot(name: str) -> Snapshot:
    """Return the snapshot in a snapshot, report or raw document; an unusable one is an error with remedy."""
    from gpudoctor.probes import document, snapshot

    try:
        raw = read_document(name)
        shown = STANDARD_INPUT if name == "-" else name
        if document.is_raw(raw):
            return snapshot.read(document.decode(raw, shown))
        return codec.decode_snapshot(raw, shown)
    except codec.NewerSchema:
        raise
    except codec.CodecError as error:
        raise codec.CodecError(f"{error}; write one anew: gpudoctor snapshot -o FILE") from None


def write(text: str, output: str | None) -> None:
    """Write to a file, whole or not at all, or to standard output."""
    if output in (None, "-"):
        streams.say(text)
        return
    if _is_stream(output):
        _pour(text, output)
        return
    refused = host.write_atomically(output, text.encode("utf-8", "backslashreplace"))
    if refused is not None:
        raise InputError(f"{output}: cannot be written: {refused.reason}")


def append(text: str, output: str) -> None:
    """Add to the end of a file that somebody else keeps."""
    try:
        with open(output, "a", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
    except OSError as error:
        raise InputError(f"{output}: cannot be written: {error.strerror}") from None


def _is_stream(output: str) -> bool:
    """Return whether it is a device or a pipe (/dev/null, /dev/stdout, >(...)), which nobody can replace."""
    try:
        mode = os.stat(output).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _pour(text: str, output: str) -> None:
    try:
        with open(output, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
    except BrokenPipeError:
        raise SystemExit(streams.EXIT_BROKEN_PIPE) from None
    except OSError as error:
        raise InputError(f"{output}: cannot be written: {error.strerror}") from None
