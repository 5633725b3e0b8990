"""What we know: rule pages with their cases, symptoms, and the database of both and of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Literal, TypeAlias

from gpudoctor.frozen import frozen
from gpudoctor.model.snapshot import Snapshot, Value
from gpudoctor.model.tables import Tables


class Severity(Enum):
    """How bad a finding is; only the first two are faults."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    BENIGN = "benign"

    @property
    def is_fault(self) -> bool:
        """Return whether something is wrong that is to be put right."""
        return self in (Severity.ERROR, Severity.WARNING)

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
    "below", "at_least", "within", "equals", "differs", "in", "not_in", "contains", "lacks",
    "exists", "missing",
]
Risk: TypeAlias = Literal["safe", "restart", "admin", "reinstall"]
FixKind: TypeAlias = Literal[
    "environment", "pip", "driver", "system", "container", "image", "restart", "hardware",
]


@frozen
class Operand:
    """The right-hand side of a condition or an effect: exactly one of a literal, a fact, or a table look-up.

    A look-up is `TABLE.COLUMN`, in the row whose key columns equal the facts (or quoted literals) in `key`.
    """

    value: Value | None = None
    other: str | None = None
    lookup: str | None = None
    key: tuple[str, ...] = ()


@frozen
class Condition:
    """One comparison; `exists` and `missing` have no right-hand side."""

    fact: str
    op: Operator
    right: Operand | None = None


@frozen
class Detect:
    """A conjunction of conditions that establishes the cause."""

    name: str
    certainty: Certainty = Certainty.CERTAIN
    when: tuple[Condition, ...]


@frozen
class Ask:
    """What would decide a likely finding: a question, the command that answers it, what the answers mean.

    Of several on a page the first is asked whose conditions hold and whose `{fact.name}` are all known.
    """

    question: str
    command: str
    answers: Mapping[str, str] = field(default_factory=dict)
    when: tuple[Condition, ...] = ()


@frozen
class Effect:
    """What a fix changes: a probed fact, or one of the names `assume.py` expands ("driver", "release", ...).

    `absent` sets the fact to "looked, not there".
    """

    fact: str
    right: Operand | None = None
    absent: bool = False


@frozen
class Fix:
    """A remedy as written on a page; `{fact.name}` placeholders are filled in for the machine at hand.

    `by_hand`: its commands only look, or are not all that has to be done, or belong to another place.
    """

    kind: FixKind
    title: str
    risk: Risk
    by_hand: bool = False
    commands: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    undo: str | None = None
    when: tuple[Condition, ...] = ()
    effect: tuple[Effect, ...] = ()


@frozen
class Source:
    """Where a page's claims come from: a dated https address or `pypi:NAME==VERSION`."""

    url: str
    accessed: str | None = None


@frozen
class Case:
    """A test that travels with its rule: facts laid over the base machine, and the verdict they must give.

    `facts` are taken in order and may use the names that `assume.py` expands; then follow `absent` and
    `unknown`. Or a `log`, a text as `gpudoctor explain -` is given it, which must name the cause among others
    ("match"), before all others ("first"), or not at all ("clear").

    `offers` are the fixes that a match is offered, in order, by the beginnings of their titles; where a case
    names none it is offered one at least, if its page has any.
    """

    name: str
    expect: Literal["match", "first", "clear", "undecided"]
    block: str | None = None
    facts: Mapping[str, Value] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    offers: tuple[str, ...] | None = None
    log: str | None = None


@frozen
class Rule:
    """One page of `rules/`: one cause, how it is recognised, what cures it, and the tests that prove both.

    A cause that only a text can show has no `detect`: symptoms suspect it. `told` is the summary where only a
    text was read, which seldom has what the other names. What judges a machine reads the rules without their
    cases and their page, which are then empty.
    """

    id: str
    cause: str
    severity: Severity
    scope: Scope
    summary: str
    told: str | None = None
    since: str
    withdrawn: str | None = None
    detect: tuple[Detect, ...] = ()
    ask: tuple[Ask, ...] = ()
    fix: tuple[Fix, ...] = ()
    source: tuple[Source, ...] = ()
    case: tuple[Case, ...] = ()
    title: str
    page: str
    path: str


@frozen
class SymptomExample:
    """A line as a program really said it, and what the pattern takes out of it.

    `filled` lines nobody has heard: they are format strings of an artefact, with values put in.
    """

    line: str
    filled: bool = False
    captures: Mapping[str, str] = field(default_factory=dict)


@frozen
class Comparison:
    """What must hold between two numbers that a pattern takes out of a line, for it to show the symptom.

    `op` is below or above. With `times` both are sizes, and the right one counts so often; without, versions.
    """

    left: str
    op: str
    right: str
    times: float | None = None


@frozen
class Suspect:
    """A cause that a symptom may have: of a hundred texts that show it and fulfil `when`, `weight` have it.

    `because` says in a clause why, where the conditions hold. `anyway`: the message says so of this
    very text, and what speaks against the cause elsewhere does not weaken it.
    """

    cause: str
    weight: int
    when: tuple[Condition, ...] = ()
    because: str | None = None
    anyway: bool = False

    @property
    def refutes(self) -> bool:
        """Say whether it speaks against its cause: it weighs nothing where the conditions hold."""
        return self.weight == 0


@frozen
class SymptomPattern:
    """What a program says in one situation, in each wording it has had; `gpudoctor/symptoms.py` reads it.

    `patterns` are alternatives: the program's own words with `{holes}`. One without any says what stated
    facts alone are a reason for; each of its suspects has conditions. `captures` gives the type of a hole
    that is not called by its type, and all of `holds` must be true of the numbers in holes. `also` names the
    symptoms that its examples show besides. It speaks `against` causes that it cannot appear with. `gives`
    names facts that it shows, each with the hole that holds the value, or the value itself in single quotes;
    `framework` is the one whose program it is. `spoken` is made of its patterns (`pattern_forms`).
    Who reads texts reads it without what only its proof needs: meaning, versions, examples, also, source.
    """

    id: str
    program: str
    patterns: tuple[str, ...]
    meaning: str
    benign: bool
    versions: tuple[str, ...]
    captures: Mapping[str, str] = field(default_factory=dict)
    holds: tuple[Comparison, ...] = ()
    examples: tuple[SymptomExample, ...]
    also: tuple[str, ...] = ()
    suspects: Sequence[Suspect] = ()
    against: tuple[str, ...] = ()
    gives: Mapping[str, str] = field(default_factory=dict)
    framework: str | None = None
    source: tuple[str, ...]
    accessed: str | None = None
    path: str
    spoken: tuple[str, ...] = ()


@frozen
class WordIndex:
    """The words of known messages: `symptoms` are their ids, and each text about one has a place.

    `owners`: which symptom each is about, `masses`: what its words weigh, `places`: where words are found.
    """

    symptoms: tuple[str, ...]
    owners: tuple[int, ...]
    masses: tuple[float, ...]
    places: Mapping[str, tuple[int, ...]]


@frozen
class RuleDatabase:
    """All that gpudoctor knows: pages, tables and symptoms, and the machine that cases start from.

    `words` are indexes of what the symptoms say, for lines that show none of them. `engine` is the oldest
    gpudoctor that reads it rightly, `origin` its folder. `refused` are newer ones, each with the reason.
    """

    version: str
    sha256: str
    rules: tuple[Rule, ...]
    tables: Tables
    symptoms: Sequence[SymptomPattern] = ()
    words: Sequence[WordIndex] = ()
    base: Snapshot
    engine: str = "0"
    refused: tuple[str, ...] = ()
    origin: str = ""
