"""What a rule is judged for: the machine, one of its cards, a framework, or a card with a framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from gpudoctor.frozen import frozen
from gpudoctor.model.rules import Scope
from gpudoctor.model.snapshot import Absent, Fact, Facts, Unknown, Value, value_of

_NONE = Absent(source="none was read")
_NOT_READ: Mapping[str, Fact] = {
    "text": Unknown(reason="no text was read", asked=False), "file": _NONE, "image": _NONE}


@frozen
class Subject:
    """One thing a rule is judged for: its name and every fact that is visible from there.

    `missing` is what a name reads as that nobody filled in, for example because the scope could not be
    enumerated. `gpu` and `framework` are positions in the snapshot.
    """

    name: str
    facts: Facts
    gpu: int | None = None
    framework: int | None = None
    missing: Unknown = Unknown(reason="no probe answered for it")

    def fact(self, name: str) -> Fact:
        """Return the fact, never raising."""
        fact = self.facts.get(name)
        return _NOT_READ.get(name.partition(".")[0], self.missing) if fact is None else fact

    def value(self, name: str) -> Value | None:
        """Return the value of a fact that is known, None of any other."""
        return value_of(self.facts, name)


Subjects: TypeAlias = Mapping[Scope, Sequence[Subject]]
