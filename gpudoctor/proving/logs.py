"""What the logs of a page must prove: that its cause is named where it is to be, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from gpudoctor.model import Case, RuleDatabase

# From a text, as `explain -` is given it, to the causes that are told, in order.
Explained: TypeAlias = Callable[[str], Sequence[str]]


def log_problems(database: RuleDatabase, explained: Explained) -> Iterator[str]:
    """Yield every case with a log that does not give what it says, `path: problem`."""
    for rule in database.rules:
        for case in rule.case:
            if case.log is not None:
                causes = explained(case.log)
                if problem := _problem(case, rule.cause, causes):
                    named = ", ".join(causes) or "nothing"
                    yield f"{rule.path}: case {case.name!r}: expected {problem}, got {named}"


def _problem(case: Case, cause: str, causes: Sequence[str]) -> str | None:
    match case.expect:
        case "first":
            return None if cause in causes[:1] else f"{cause} first"
        case "match":
            return None if cause in causes else f"{cause} among the candidates"
        case "clear":
            return None if cause not in causes else f"no {cause}"
        case "undecided":
            return "another verdict than undecided"
