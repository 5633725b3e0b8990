"""A fault: what is broken and how, which facts that may cost, and what is promised nevertheless.

Every fault is one row of the table in table.py and one test. What all rows promise is in `survived_with`:
every fact that the row does not give up is in the report and is what it is on the same machine unbroken; what
is given up is unknown, with a reason, and never another value or "not there"; the exit code is the promised
one; one line of the report says what failed; there is no traceback, no process is left, and the end comes
within four times --timeout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.faults.scene import Scene, Seen, Stage
from tests.hosts.looking import Looked

LINE_CHARACTERS = 600


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A row. `survive` raises AssertionError where a promise is broken; `scenes` are the runs it looks at."""

    group: str
    subject: str
    kind: str
    scenes: tuple[Scene, ...]
    survive: Callable[[Stage], None]

    @property
    def name(self) -> str:
        """The row's name, which no other has."""
        return f"{self.subject}: {self.kind}"


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What a row promises beside that which all rows do.

    may_lose: facts that may be unknown. may_change: facts that may be another value or absent, because the
    fault is what they tell of. says: words of the one line about what failed; empty where nothing is lost.
    follows: of those that may be lost, which nobody asks for then.
    outcomes: how the import of the framework (torch) and each of its stages end, where it is run.
    """

    exit_codes: frozenset[int]
    may_lose: frozenset[str] = frozenset()
    may_change: frozenset[str] = frozenset()
    follows: frozenset[str] = frozenset()
    says: str = ""
    outcomes: Mapping[str, str] | None = None


def survived_with(promise: Promise, broken: Scene, unbroken: Scene) -> Callable[[Stage], None]:
    """Return the check that a broken run keeps the promise, compared with the unbroken one."""

    def survive(stage: Stage) -> None:
        keeps(promise, stage.seen(broken), stage.seen(unbroken))

    return survive


def keeps(promise: Promise, seen: Seen, before: Seen) -> None:
    """Hold a report to a promise."""
    was, now = before.facts, seen.facts
    differing = {name for name in {*was, *now} if was.get(name, "-") != now.get(name, "-")}
    excess = differing - promise.may_lose - promise.may_change
    assert excess == set(), {name: (was.get(name), now.get(name)) for name in excess}
    lost = {name: now.get(name, "unknown") for name in differing - promise.may_change}
    right = {name: {"unknown", *(["not_asked"] if name in promise.follows else [])} for name in lost}
    wrong = {name: (was.get(name), fact) for name, fact in lost.items()
             if not isinstance(fact, str) or fact not in right[name]}
    assert wrong == {}, wrong
    said = list(lines(seen.looked))
    crooked = [line for line in said if not is_one_clear_line(line)]
    assert crooked == [], crooked
    assert any(promise.says in line for line in said) or not promise.says, (promise.says, sorted(set(said)))
    assert promise.outcomes is None or outcomes(seen) == promise.outcomes, seen.facts
    assert seen.exit_code in promise.exit_codes, (seen.exit_code, seen.looked.report["undecided"])


def outcomes(seen: Seen) -> dict[str, object]:
    """Return how torch's import and its stages ended."""
    stages = seen.facts["torch framework.stages"]
    assert isinstance(stages, list), stages
    return {"import": seen.facts["torch framework.import_outcome"],
            **{stage["stage"]: stage["outcome"] for stage in stages}}


def is_one_clear_line(line: str) -> bool:
    """Say whether a text can be shown to a person as a line."""
    return bool(line.strip()) and line.isprintable() and len(line) <= LINE_CHARACTERS


def lines(seen: Looked) -> Iterator[str]:
    """Yield what a report says about what failed: each probe's end, why facts are unknown, and of stages."""
    snapshot = seen.report["snapshot"]
    for probe in snapshot["probes"]:
        if probe["outcome"] != "ok" or probe["detail"]:
            yield probe["detail"]
    for holder in (snapshot["host"], *_listed(snapshot["gpus"]), *_listed(snapshot["frameworks"])):
        for fact in holder.values():
            if "unknown" in fact:
                yield fact["unknown"]
            elif isinstance(fact.get("value"), list):
                yield from (one["reason"] for one in _listed(fact["value"]) if "reason" in one)


def _listed(holders: object) -> list[dict[str, Any]]:
    return [one for one in holders if isinstance(one, dict)] if isinstance(holders, list) else []
