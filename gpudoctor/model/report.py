"""What was found: findings with their evidence and fixes, what could not be judged, and the report."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Literal

from gpudoctor.frozen import frozen
from gpudoctor.model.rules import Ask, Certainty, FixKind, Risk, Severity
from gpudoctor.model.snapshot import Snapshot, Value


@frozen
class Evidence:
    """One fact that a verdict rests on: what was seen and where."""

    fact: str
    saw: str
    source: str


@frozen
class Remedy:
    """A fix made concrete for this machine. `proven`: "model" (its effect, laid over the snapshot, cures the
    finding and causes no other), "tried" (in a child process as well), or "unproven" where only a text was
    read and there is no machine to prove it on. `by_hand`: its commands alone do not do it."""

    kind: FixKind
    title: str
    commands: tuple[str, ...]
    env: Mapping[str, str]
    image: str | None
    effect: Mapping[str, Value | None]
    risk: Risk
    undo: str | None
    proven: Literal["model", "tried", "unproven"]
    by_hand: bool = False

    @property
    def first_title(self) -> str:
        """Return the title where no other fix stands before it: then it is no "or" to anything."""
        rest = self.title.removeprefix("Or ")
        return self.title if rest == self.title else rest[:1].upper() + rest[1:]


@frozen
class Finding:
    """A cause that is present, for one subject ("host", "GPU 0", "tensorflow", "GPU 0 x torch")."""

    rule: str
    cause: str
    certainty: Certainty
    severity: Severity
    subject: str
    message: str
    evidence: tuple[Evidence, ...] = ()
    consequences: tuple[Finding, ...] = ()
    fixes: tuple[Remedy, ...] = ()
    asks: tuple[Ask, ...] = ()


@frozen
class Undecided:
    """A rule that could not be judged for a subject, and what was missing. `asked` as in `Unknown`.

    `asks` is what would decide, where it is known.
    """

    rule: str
    cause: str
    severity: Severity
    subject: str
    reasons: tuple[Evidence, ...]
    asked: bool
    asks: tuple[Ask, ...] = ()


@frozen
class Judgement:
    """The engine's whole answer for one snapshot, before remedies and consequences."""

    findings: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]


class Verdict(Enum):
    """The report in one word."""

    HEALTHY = "healthy"
    FINDINGS = "findings"
    UNDECIDED = "undecided"


@frozen
class Report:
    """What `gpudoctor check` says, complete."""

    tool_version: str
    rules_version: str
    rules_sha256: str
    verdict: Verdict
    exit_code: int
    assumptions: tuple[str, ...] = ()
    findings: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]
    snapshot: Snapshot
