"""Facts of one subject of which the derived ones are computed when somebody reads them, once.

Most rules are decided by their first conditions, so most derivations are never needed for most machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gpudoctor.derive.view import NotKnown, View
from gpudoctor.model import Fact, Facts, RuleDatabase, Unknown

Derivation = Callable[[View], Fact]


class LazyFacts(Mapping[str, Fact]):
    """Probed facts over those of a wider subject (a framework's over the host's), derived facts on top."""

    def __init__(self, own: Facts, wider: Facts, derivations: Mapping[str, Derivation],
                 database: RuleDatabase, missing: Unknown) -> None:
        self._own = own
        self._wider = wider
        self._derivations = derivations
        self._computed: dict[str, Fact] = {}
        self._view = View(facts=self, database=database, missing=missing)

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
        return self._wider[name]

    def __iter__(self) -> Iterator[str]:
        """Yield every name, derived ones too."""
        return iter(dict.fromkeys((*self._wider, *self._own, *self._derivations)))

    def __len__(self) -> int:
        """Return how many names there are."""
        return sum(1 for _ in self)
