"""Every noun of gpudoctor and nothing else: frozen value types, standard library only, no input or output.

Facts describe a machine; a `Snapshot` holds them; `Rule` pages judge them; a `Report` says what was found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, TypeAlias

# -- facts -----------------------------------------------------------------------------------------

Scalar: TypeAlias = bool | int | float | str | tuple[str, ...]
Record: TypeAlias = Mapping[str, Scalar]
Value: TypeAlias = Scalar | tuple[Record, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Something we saw, and where."""

    value: Value
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """We looked in the right place; it is not there."""

    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """We could not look. `asked=False`: nobody wanted to (a deeper `--depth` would)."""

    reason: str
    asked: bool = True


Fact: TypeAlias = Known | Absent | Unknown
Facts: TypeAlias = Mapping[str, Fact]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRun:
    """How one probe ended: `outcome` is a `child.Outcome` value or "not-asked"; `seconds` is wall time."""

    probe: str
    outcome: str
    seconds: float
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All a machine told us: the only input of the pure half of the program.

    A scope that could not be enumerated is `Unknown`, which is not the same as empty.
    """

    host: Facts
    gpus: tuple[Facts, ...] | Unknown = ()
    frameworks: tuple[Facts, ...] | Unknown = ()
    probes: tuple[ProbeRun, ...] = ()


# -- rules -----------------------------------------------------------------------------------------

class Severity(Enum):
    """How bad a finding is; only the first two are faults."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    BENIGN = "benign"

    @property
    def rank(self) -> int:
        """Return 0 for the worst."""
        return tuple(Severity).index(self)


class Scope(Enum):
    """What a rule is judged for: the host once, each GPU, each framework, or each pair of the two."""

    HOST = "host"
    GPU = "gpu"
    FRAMEWORK = "framework"
    PAIR = "gpu x framework"


class Certainty(Enum):
    """`LIKELY` findings name the probe that would decide."""

    CERTAIN = "certain"
    LIKELY = "likely"


Operator: TypeAlias = Literal[
    "below", "at_least", "within", "equals", "differs", "in", "not_in", "contains", "lacks", "exists", "missing"
]
Risk: TypeAlias = Literal["safe", "restart", "admin", "reinstall"]
FixKind: TypeAlias = Literal["environment", "pip", "driver", "system", "container", "image", "restart", "hardware"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """The right-hand side of a condition or an effect: exactly one of a literal, a fact, or a table look-up.

    A look-up is `TABLE.COLUMN`, in the row whose key columns equal the facts (or literals in quotes) in `key`.
    """

    value: Value | None = None
    other: str | None = None
    lookup: str | None = None
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One comparison; `exists` and `missing` have no right-hand side."""

    fact: str
    op: Operator
    right: Operand | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Detect:
    """A conjunction of conditions that establishes the cause."""

    name: str
    certainty: Certainty = Certainty.CERTAIN
    when: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What would decide a finding that is only likely: a question, the command that answers it, what answers mean."""

    question: str
    command: str
    answers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a fix changes: a probed fact, or one of the names `assume.py` expands ("driver", "release", ...).

    `absent` sets the fact to "looked, not there".
    """

    fact: str
    right: Operand | None = None
    absent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A remedy as written on a page; `{fact.name}` placeholders are filled in for the machine at hand."""

    kind: FixKind
    title: str
    risk: Risk
    commands: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    undo: str | None = None
    when: tuple[Condition, ...] = ()
    effect: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a page's claims come from: a dated https address or `pypi:NAME==VERSION`."""

    url: str
    accessed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test that travels with its rule: facts laid over the base machine, and the verdict they must give.

    `facts` are taken in order and may use the names that `assume.py` expands; then `absent` and `unknown` apply.
    """

    name: str
    expect: Literal["match", "clear", "undecided"]
    block: str | None = None
    facts: Mapping[str, Value] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One page of `rules/`: one cause, how it is recognised, what cures it, and the tests that prove both."""

    id: str
    cause: str
    severity: Severity
    scope: Scope
    summary: str
    since: str
    withdrawn: str | None = None
    detect: tuple[Detect, ...]
    ask: tuple[Ask, ...] = ()
    fix: tuple[Fix, ...] = ()
    source: tuple[Source, ...] = ()
    case: tuple[Case, ...] = ()
    title: str
    page: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Reference data: rows of columns, each row with its source."""

    name: str
    summary: str
    key: tuple[str, ...]
    columns: Mapping[str, str]
    rows: tuple[Mapping[str, Value], ...]


Tables: TypeAlias = Mapping[str, Table]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleDatabase:
    """All that gpudoctor knows: pages and tables of one version, and the machine that cases start from."""

    version: str
    sha256: str
    rules: tuple[Rule, ...]
    tables: Tables
    base: Snapshot


# -- results ---------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One fact that a verdict rests on: what was seen and where."""

    fact: str
    saw: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A fix made concrete for this machine. `proven`: "model" (its effect, laid over the snapshot, cures the
    finding and causes no other) or "tried" (in a child process as well)."""

    kind: FixKind
    title: str
    commands: tuple[str, ...]
    env: Mapping[str, str]
    image: str | None
    effect: Mapping[str, Value | None]
    risk: Risk
    undo: str | None
    proven: Literal["model", "tried"]


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """A rule that could not be judged for a subject, and what was missing. `asked` as in `Unknown`."""

    rule: str
    cause: str
    severity: Severity
    subject: str
    reasons: tuple[Evidence, ...]
    asked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The engine's whole answer for one snapshot, before remedies and consequences."""

    findings: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]


class Verdict(Enum):
    """The report in one word."""

    HEALTHY = "healthy"
    FINDINGS = "findings"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What `gpudoctor check` says, complete."""

    tool_version: str
    rules_version: str
    rules_sha256: str
    verdict: Verdict
    exit_code: int
    findings: tuple[Finding, ...]
    undecided: tuple[Undecided, ...]
    snapshot: Snapshot
