"""Facts of one subject of which the derived ones are computed when somebody reads them, once.

Most rules are decided by their first conditions, so most derivations are never needed for most machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpudoctor.derive.view import NotKnown, View
from gpudoctor.model import Fact, Facts, Known, RuleDatabase, Unknown

Derivation = Callable[[View], Fact]
Whole = tuple[type[dict[str, Fact]], tuple[dict[str, Fact]]]
ASSUMED = "assumed"  # the source of what was not seen


class LazyFacts(Mapping[str, Fact]):
    """Probed facts over those of a wider subject (a framework's over the host's), derived facts on top."""

    def __init__(self, own: Facts, wider: Facts, derivations: Mapping[str, Derivation],
                 database: RuleDatabase, missing: Unknown) -> None:
        self._own = own
        self._wider = wider
        self._derivations = derivations
        self._computed: dict[str, Fact] = {}
        self._view = View(facts=self, database=database, missing=missing)

    def __reduce__(self) -> Whole:
        """Leave the process as the facts that they are: how they are computed stays behind, and the rules."""
        return dict, (dict(self),)

    def __getitem__(self, name: str) -> Fact:
        """Return a fact; raise KeyError when nobody filled it in."""
        if name in self._computed:
            return self._computed[name]
        if name in self._own:
            return self._own[name]
        if name in self._derivations:
            try:
                fact = self._derivations[name](self._view)
            except NotKnown as error:
                fact = error.fact
            except ValueError as error:  # a stranger's snapshot: a version that is none, a number without end
                fact = Unknown(reason=f"cannot be computed: {error}")
            except KeyError as error:  # a stranger's rules: a table without a column that is read here
                fact = Unknown(reason=f"the rule database lacks {error}")
            self._computed[name] = fact
            return fact
        fact = self._computed[name] = self._wider[name]
        return fact

    def get(self, name: str, default: Any = None) -> Any:
        """Return a fact, or the default: what the mix-in does, which takes twice as long."""
        fact = self._computed.get(name) or self._own.get(name)
        if fact is not None:
            return fact
        try:
            return self[name]
        except KeyError:
            return default

    def take_over(self, other: LazyFacts, but: Fact) -> None:
        """Take over what another has computed, as it would be here; what it could not see is `but`."""
        self._computed.update({name: fact for name, fact in other._computed.items() if fact is not but})

    def __contains__(self, name: object) -> bool:
        """Return whether there is such a fact, without computing it."""
        return name in self._own or name in self._derivations or name in self._wider

    def __iter__(self) -> Iterator[str]:
        """Yield every name, derived ones too."""
        return iter(dict.fromkeys((*self._wider, *self._own, *self._derivations)))

    def __len__(self) -> int:
        """Return how many names there are."""
        return sum(1 for _ in self)


class Narrowed(Mapping[str, Fact]):
    """Those of some facts whose names are wanted; each is computed when it is read."""

    def __init__(self, facts: Facts, is_wanted: Callable[[str], bool]) -> None:
        self._facts = facts
        self._is_wanted = is_wanted

    def __reduce__(self) -> Whole:
        """Leave the process as the facts that they are."""
        return dict, (dict(self),)

    def __getitem__(self, name: str) -> Fact:
        """Return a fact; raise KeyError where there is none, or none that is wanted."""
        if not self._is_wanted(name):
            raise KeyError(name)
        return self._facts[name]

    def __contains__(self, name: object) -> bool:
        """Return whether there is such a fact, without computing it."""
        return name in self._facts and self._is_wanted(str(name))

    def __iter__(self) -> Iterator[str]:
        """Yield the names that are wanted."""
        return (name for name in self._facts if self._is_wanted(name))

    def __len__(self) -> int:
        """Return how many names there are."""
        return sum(1 for _ in self)


class Supposed(LazyFacts):
    """Facts of a machine that is partly assumed: what is computed from an assumption says so."""

    def __init__(self, *facts: Any) -> None:
        """Take what `LazyFacts` takes."""
        super().__init__(*facts)
        self._reading: list[bool] = []  # of each derivation under way, whether it has read an assumption

    def get(self, name: str, default: Any = None) -> Any:
        """Return a fact, or the default."""
        return Mapping.get(self, name, default)

    def __getitem__(self, name: str) -> Fact:
        """Return a fact, an assumption's consequence marked; raise KeyError when nobody filled it in."""
        is_new = name not in self._computed and name not in self._own and name in self._derivations
        self._reading.append(False)
        try:
            fact = super().__getitem__(name)
        finally:
            rests = self._reading.pop()
        if is_new and rests and isinstance(fact, Known) and not fact.source.startswith(ASSUMED):
            fact = self._computed[name] = replace(fact, source=f"{ASSUMED}: {fact.source}")
        if self._reading and isinstance(fact, Known) and fact.source.startswith(ASSUMED):
            self._reading[-1] = True
        return fact
