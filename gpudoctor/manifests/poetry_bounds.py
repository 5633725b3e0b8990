"""What poetry and pipenv say of a requirement, in the words of pip: its bound, and where it counts.

https://python-poetry.org/docs/dependency-specification/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_OF_PIPENV = ("sys_platform", "platform_system", "platform_machine", "os_name", "python_version")
_BEHIND_SIGN = re.compile(r"(?<=[<>=!~^])\s+")


def marker_of(given: Mapping[str, Any]) -> str:
    """Return where poetry or pipenv is told that a requirement counts."""
    parts = [str(given["markers"])] if "markers" in given else []
    parts += [f"sys_platform == '{given['platform']}'"] if "platform" in given else []
    parts += [f"{name} {given[name]}" for name in _OF_PIPENV if name in given]
    parts += _of_python(str(given["python"])) if "python" in given else []
    return " and ".join(f"({part})" for part in parts)


def _of_python(written: str) -> list[str]:
    """Return the marker of poetry's bound on Python, none where it holds for every one."""
    choices = [[one for one in bound_of(choice).split(",") if one]
               for choice in written.replace("||", "|").split("|")]
    if not all(choices):
        return []
    return [" or ".join(" and ".join(map(_python_marker, choice)) for choice in choices)]


def _python_marker(bound: str) -> str:
    sign = bound[:len(bound) - len(bound.lstrip("<>=!~"))]
    version = bound[len(sign):]
    whole = version.count(".") > 1 and not version.endswith(".*")
    return f"python_{'full_' if whole else ''}version {sign} '{version}'"


def bound_of(written: str) -> str:
    """Return what poetry's bounds say in the words of pip: ^1.2 is >=1.2,<2, and a blank is a comma."""
    last = _BEHIND_SIGN.sub("", written.replace("||", "|").split("|")[-1])
    return ",".join(part for one in last.replace(",", " ").split() for part in _part_of(one))


def _part_of(one: str) -> Iterator[str]:
    if one in ("", "*"):
        return
    if one[0] in "^~" and not one.startswith("~="):
        numbers = re.match(r"[0-9]+(?:\.[0-9]+)*", one[1:].strip())
        if numbers is None:
            yield one
            return
        parts = [int(part) for part in numbers[0].split(".")][:4]
        at = min(1, len(parts) - 1) if one[0] == "~" else next(
            (number for number, part in enumerate(parts) if part), len(parts) - 1)
        above = [*parts[:at], parts[at] + 1]
        yield f">={one[1:].strip()}"
        yield f"<{'.'.join(str(part) for part in above)}"
    else:
        yield one if one[0] in "<>!~" else f"=={one.lstrip('=')}" if one[:3] != "===" else one
