"""Read what the process that was to be examined is, and which GPU libraries it has mapped."""

from __future__ import annotations

from typing import Any

from gpudoctor.facts import promised
from gpudoctor.model import Absent, Fact, Known, Scope, Unknown
from gpudoctor.probes import calls
from gpudoctor.probes.calls import mapping
from gpudoctor.probes.raw import NOT_COLLECTED, Answer
from gpudoctor.probes.shapes import failure, record, text_at


def read(answer: Answer) -> dict[str, Fact]:
    """Return the host facts that the process probe promises; without a process none is there."""
    if answer == NOT_COLLECTED:
        return dict.fromkeys(promised("process", Scope.HOST), Absent(source="no process was named (--pid)"))
    data = mapping(answer.data)
    number = calls.count(data.get("id"))
    folder = f"/proc/{'?' if number is None else number}"
    command = text_at(data, "command")
    nameless = Unknown(reason="the process was not recorded")
    return {
        "process.id": nameless if number is None else Known(value=number, source="--pid"),
        "process.command": nameless if command is None else Known(value=command, source=f"{folder}/cmdline"),
        "process.libraries": _libraries(answer, data.get("libraries"), f"{folder}/maps"),
    }


def _libraries(answer: Answer, listed: Any, path: str) -> Fact:
    if not isinstance(listed, list):
        return answer.unknown if answer.outcome != "ok" else failure(listed, path)
    return Known(source=path, value=tuple(
        record(path=text_at(entry, "path"), soname=text_at(entry, "soname"),
               deleted=mapping(entry).get("deleted") is True)
        for entry in calls.objects(listed) if text_at(entry, "path")))
