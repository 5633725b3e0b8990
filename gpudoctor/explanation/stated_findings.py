"""What the ordinary rules say of the facts that a text states: candidates with a high weight.

A text states little, and three-valued rules decide only what little is enough for. Even so the statement may
be of another machine, or of another time, than the message: it is a reason among others, never a certainty.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gpudoctor.engine import evaluate
from gpudoctor.explanation.ranking import Candidate
from gpudoctor.model import Certainty, Finding, Rule, RuleDatabase, Severity, Subjects, Suspect

STATED = "what is stated"  # stands among the symptoms of a candidate
CONFIRMS, ALONE = 85, 45
WEAK = 0.3  # the best fault's score below which stated facts are asked
_BECAUSE = "what the text states of the machine is enough for it"


def stated_findings(subjects: Subjects, database: RuleDatabase) -> tuple[Finding, ...]:
    """Return errors that hold for certain on what is stated."""
    judged = [rule for rule in database.rules if rule.detect and rule.severity is Severity.ERROR]
    found = evaluate(subjects, judged, database.tables).findings
    return tuple(finding for finding in found if finding.certainty is Certainty.CERTAIN)


def joined(candidates: Sequence[Candidate], stated: Sequence[Finding]) -> tuple[Candidate, ...]:
    """Return the candidates with those of stated facts among them.

    One that symptoms suspect gains; another counts only where no symptom names any fault.
    """
    known = {candidate.cause: candidate for candidate in candidates}
    for finding in stated:
        before = known.get(finding.cause)
        if before is None and any(candidate.score > ALONE / 100 for candidate in candidates):
            continue
        weight = CONFIRMS if before else ALONE
        suspect = Suspect(cause=finding.cause, weight=weight, because=_BECAUSE)
        score = 1 - (1 - (before.score if before else 0.0)) * (1 - weight / 100)
        known[finding.cause] = Candidate(
            cause=finding.cause, score=score, opposed=before.opposed if before else (),
            refuted=before.refuted if before else (),
            suspicions={**(before.suspicions if before else {}), STATED: suspect})
    return tuple(sorted(known.values(), key=lambda candidate: -candidate.score))


def completed(candidates: Sequence[Candidate], by_facts: Sequence[Candidate], rules: Mapping[str, Rule], *,
              understood: Collection[str], is_suspect: bool) -> tuple[Candidate, ...]:
    """Return the candidates, and where no line speaks well for any fault those of the stated facts alone.

    Only lines that are `understood` speak so: what a wording that nobody knows may mean is a guess, and what
    two statements are to one another is none. Not what a line of the text denies; and a text whose every line
    is harmless stays harmless, whatever is stated around it.
    """
    faults = [candidate.score_of(understood) for candidate in candidates
              if candidate.cause in rules and rules[candidate.cause].severity is not Severity.BENIGN]
    if not is_suspect or max(faults, default=0.0) >= WEAK:
        return tuple(candidates)
    known = {candidate.cause for candidate in candidates}
    added = [candidate for candidate in by_facts
             if candidate.cause not in known and not (candidate.opposed or candidate.refuted)]
    return tuple(sorted([*candidates, *added], key=lambda candidate: -candidate.score))
