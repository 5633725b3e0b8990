"""What a machine told us: facts, each known, absent or unknown, and the snapshot that holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from gpudoctor.frozen import frozen

Scalar: TypeAlias = bool | int | float | str | tuple[str, ...]
Record: TypeAlias = Mapping[str, Scalar]
Value: TypeAlias = Scalar | tuple[Record, ...]


@frozen
class Known:
    """Something we saw, and where."""

    value: Value
    source: str


@frozen
class Absent:
    """We looked in the right place; it is not there."""

    source: str


@frozen
class Unknown:
    """We could not look. `asked=False`: nobody wanted to (a deeper `--depth` would).

    `at_least` is a bound known of what is not: a driver newer than the tables runs what older ones do.
    """

    reason: str
    asked: bool = True
    at_least: str | None = None


Fact: TypeAlias = Known | Absent | Unknown
Facts: TypeAlias = Mapping[str, Fact]


@frozen
class ProbeRun:
    """How one probe ended: `outcome` is a `child.Outcome` value or "not-asked"; `seconds` is wall time."""

    probe: str
    outcome: str
    seconds: float
    detail: str = ""


@frozen
class Snapshot:
    """All a machine told us: the only input of the pure half of the program.

    A scope that could not be enumerated is `Unknown`, which is not the same as empty. `redacted`:
    stand-ins are in place of private names, so that no path in it need exist. `assumed`: what was assumed of
    the machine when the report was made that this was read from.
    """

    host: Facts
    gpus: tuple[Facts, ...] | Unknown = ()
    frameworks: tuple[Facts, ...] | Unknown = ()
    probes: tuple[ProbeRun, ...] = ()
    redacted: bool = False
    assumed: tuple[str, ...] = ()


def value_of(facts: Facts, name: str) -> Value | None:
    """Return the value of a fact that is known, None of any other."""
    fact = facts.get(name)
    return fact.value if isinstance(fact, Known) else None
