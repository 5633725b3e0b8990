"""Take answers of the file-reading collectors apart: whatever JSON comes, a fact comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from gpudoctor.facts import promised
from gpudoctor.model import Absent, Fact, Known, Scalar, Scope, Unknown
from gpudoctor.probes.calls import mapping
from gpudoctor.probes.raw import Answer

Data: TypeAlias = Mapping[str, Any]
Reader: TypeAlias = Callable[[Data], Fact]


def read_all(answer: Answer, probe: str, readers: Mapping[str, Reader]) -> dict[str, Fact]:
    """Return every host fact that `probe` promises, each by its own reader."""
    names = promised(probe, Scope.HOST)
    data = data_of(answer)
    if isinstance(data, Unknown):
        return dict.fromkeys(names, data)
    return {name: readers[name](data) for name in names}


def data_of(answer: Answer) -> Data | Unknown:
    """Return the collector's JSON object, or why there is none."""
    if answer.outcome != "ok":
        return answer.unknown
    return answer.data if isinstance(answer.data, Mapping) else Unknown(reason="the answer is no JSON object")


def printable(value: str) -> str:
    """Return the text with what is no UTF-8 (file names may hold any bytes) written as an escape."""
    return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")


def text_at(data: Any, key: str) -> str | None:
    """Return a text member with something in it, else None."""
    value = mapping(data).get(key)
    return printable(value) if isinstance(value, str) and value.strip() else None


def texts(value: Any) -> tuple[str, ...]:
    """Return the texts of a JSON array."""
    listed = value if isinstance(value, list) else []
    return tuple(printable(item) for item in listed if isinstance(item, str))


def failure(answer: Any, path: str) -> Absent | Unknown:
    """Say why a `files` answer holds nothing: the thing is not there, or it could not be read."""
    found = mapping(answer)
    if found.get("missing") is True:
        return Absent(source=path)
    return Unknown(reason=f"{path}: {text_at(found, 'error') or 'was not collected'}")


def names(answer: Any, path: str) -> tuple[str, ...] | Absent | Unknown:
    """Return the names of a folder listing, or why there are none."""
    value = mapping(answer).get("names")
    return texts(value) if isinstance(value, list) else failure(answer, path)


def some(values: tuple[str, ...], source: str) -> Fact:
    """Return `Known`, or `Absent` when there is none at all."""
    return Known(value=values, source=source) if values else Absent(source=source)


def needs(file: Data) -> dict[str, tuple[str, ...] | None]:
    """Return the members of a library's record that say which GPU libraries it needs and where it looks.

    And for those told apart by them: the functions that it asks of another, and those that it gives.
    """
    return {name: texts(file.get(name)) or None for name in ("needed", "rpath", "runpath", "asks", "gives")}


def record(**members: Scalar | None) -> dict[str, Scalar]:
    """Return a record without the members that are None."""
    return {key: value for key, value in members.items() if value is not None}
