"""Read single answers of the driver libraries: a code, and a value when it is 0. Shared by their probes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from gpudoctor import versions
from gpudoctor.frozen import frozen
from gpudoctor.model import Absent, Fact, Facts, Known, Unknown, Value
from gpudoctor.probes.raw import Answer

Cards: TypeAlias = tuple[Facts, ...] | Absent | Unknown
"""What one source says about cards: a list; that the source is not there; or that it could not be asked."""

NVML_NOT_SUPPORTED = 3
COMPUTE_MODES = ("default", "exclusive-thread", "prohibited", "exclusive-process")  # in both libraries' order
_BUS_ID = re.compile(r"([0-9a-f]{1,8}):([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.([0-7]))?")


@frozen
class Library:
    """Whose answers are read: its name, which code means "not offered", and what was asked last, in vain."""

    name: str
    not_supported: int | None = None
    stuck_in: str | None = None

    def fact(self, calls: Any, functions: Sequence[str] | str, read: Callable[[Any], Value | None]) -> Fact:
        """Return the first function's answer that is a value; else why there is none, failures first."""
        names = (functions,) if isinstance(functions, str) else functions
        facts = [self._one(mapping(calls)[name], name, read) for name in names if name in mapping(calls)]
        for kind in (Known, Unknown, Absent):
            for fact in facts:
                if isinstance(fact, kind):
                    return fact
        return Unknown(reason=self.silence(names[0]))

    def silence(self, function: str) -> str:
        """Say why a function has no answer at all."""
        if self.stuck_in and self.stuck_in.startswith(function):
            return f"{self.stuck_in} did not return"
        if self.stuck_in:
            return f"{function} has no answer: {self.stuck_in} did not return"
        return f"{function} was not asked"

    def _one(self, answer: Any, function: str, read: Callable[[Any], Value | None]) -> Fact:
        answer = mapping(answer)
        source = f"{self.name} {function}"
        if answer.get("missing_function"):
            return Absent(source=f"{source}: this library does not have it")
        if answer.get("missing_binding"):
            return Unknown(reason=f"this nvidia-ml-py does not have {function}")
        code = integer(answer.get("code"))
        if code == 0:
            value = read(answer.get("value"))
            if value is None:
                return Unknown(reason=f"{source} answered what cannot be read")
            return Known(value=value, source=source)
        if code is not None and code == self.not_supported:
            return Absent(source=f"{source}: not supported")
        return Unknown(reason=failure(function, answer))


def failure(function: str, answer: Any) -> str:
    """Describe a failed call: its code and what the library calls that code."""
    answer = mapping(answer)
    code = integer(answer.get("code"))
    if code is None:
        missing = "this library does not have it" if answer.get("missing_function") else "no code"
        return f"{function} failed: {text(answer.get('error')) or missing}"
    said = [part for key in ("name", "text") if (part := text(answer.get(key)))]
    return f"{function} returned {code}" + (f" ({': '.join(said)})" if said else "")


def data_of(answer: Answer) -> Mapping[str, Any] | None:
    """Return what a collector found, also when it gave up waiting for a call; None when it failed."""
    if not isinstance(answer.data, Mapping):
        return None
    return answer.data if answer.outcome == "ok" or answer.data.get("stuck_in") else None


def refused(answer: Answer) -> Unknown:
    """Return why `data_of` gave None."""
    return Unknown(reason="the answer is no JSON object") if answer.outcome == "ok" else answer.unknown


def stuck_in(data: Mapping[str, Any]) -> str | None:
    """Return the question that never came back."""
    return text(data.get("stuck_in"))


def load_error(data: Mapping[str, Any]) -> str | None:
    """Return what the loader said when there is no such library to load."""
    return text(mapping(data.get("load")).get("error"))


def loaded_file(data: Mapping[str, Any], library: str) -> Fact:
    """Return the path of the file that was loaded; the caller has seen to `load_error`."""
    load = mapping(data.get("load"))
    path = text(load.get("path"))
    if path:
        return Known(value=path, source=text(load.get("found_by")) or "the loader")
    if load or "load" in data:
        return Unknown(reason=f"nobody says which file {library} is")
    return Unknown(reason=f"{stuck_in(data) or f'loading {library}'} did not return")


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the JSON object, or an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a JSON array, or none."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def integer(value: Any) -> int | None:
    """Return a whole number that fits 64 bits."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 64 else None


def count(value: Any) -> int | None:
    """Return a whole number that is not negative."""
    number = integer(value)
    return number if number is not None and number >= 0 else None


def flag(value: Any) -> bool | None:
    """Return 0 and 1 as False and True."""
    return {0: False, 1: True}.get(number) if (number := integer(value)) is not None else None


def text(value: Any) -> str | None:
    """Return a text with something in it, white space at its ends removed, what is no UTF-8 as an escape."""
    if not isinstance(value, str):
        return None
    value = value.strip()
    return (value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")) or None


def item(position: int, read: Callable[[Any], Value | None]) -> Callable[[Any], Value | None]:
    """Return a reader of one place of an array."""
    return lambda value: read(value[position]) if isinstance(value, list) and len(value) > position else None


def field(key: str, read: Callable[[Any], Value | None]) -> Callable[[Any], Value | None]:
    """Return a reader of one member of an object."""
    return lambda value: read(mapping(value).get(key))


def release(value: Any) -> str | None:
    """Return a driver release such as 570.86.15."""
    found = text(value)
    return found if found and re.fullmatch(r"[0-9]{1,5}(\.[0-9]{1,5}){1,3}", found) else None


def cuda_version(value: Any) -> str | None:
    """Return 12040 as "12.4"."""
    number = integer(value)
    return None if number is None else versions.of_cuda_number(number)


def compute_mode(value: Any) -> str | None:
    """Return the name of a compute mode."""
    number = count(value)
    return COMPUTE_MODES[number] if number is not None and number < len(COMPUTE_MODES) else None


def bus_id(value: Any) -> str | None:
    """Return a PCI bus id as the kernel writes it, 0000:01:00.0, whichever way a library wrote it."""
    found = _BUS_ID.fullmatch((text(value) or "").lower())
    if not found:
        return None
    domain, bus, device, function = found.groups()
    return f"{int(domain, 16):04x}:{int(bus, 16):02x}:{int(device, 16):02x}.{function or 0}"
