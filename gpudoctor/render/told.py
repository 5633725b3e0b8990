"""How a report on texts differs from one on a machine: what was stated, quoted lines, and the last words."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive.view import as_texts
from gpudoctor.model import Certainty, Evidence, Facts, Finding, Known, Report, Snapshot, Verdict, value_of
from gpudoctor.words import show

# What is said of a text that is not judged, by the name of the open question.
OPEN = {
    "unknown-message": "I do not know what these lines come from:",
    "fault-of-the-program": "Python says this of the program itself, and nothing here speaks of a GPU:",
    "complaint-without-facts": "Something does not work, it says, and nothing that tells the causes apart:",
    "no-fault-spoken-of": "Nothing in this text speaks of a fault, and it is no proof of health:",
}
NO_LINE = "Nothing in this text speaks of a fault, and no line of it is known; that is no proof of health."
_NO_FAULT, _OWN_FAULT, _COMPLAINT = "no-fault-spoken-of", "fault-of-the-program", "complaint-without-facts"
_HELPS_PROGRAM = ("look at the line of the program that Python names; of programs gpudoctor knows nothing, "
                  "only of GPUs, their drivers, libraries and frameworks")
_HELPS = ("on the machine where it happened, `gpudoctor check` looks for the cause without the message; "
              "`gpudoctor explain LOG --here` does both")


def what_helps(cause: str) -> str:
    """Return what to do about an open question."""
    return _HELPS_PROGRAM if cause == _OWN_FAULT else _HELPS


def is_of_text(snapshot: Snapshot) -> bool:
    """Say whether somebody gave a text; what an engine said of an image is none."""
    return _was_read(snapshot) and not isinstance(snapshot.host.get("image.reference"), Known)


def _was_read(snapshot: Snapshot) -> bool:
    return "text.symptoms" in snapshot.host


def is_of_machine(snapshot: Snapshot) -> bool:
    """Say whether a machine was looked at."""
    return bool(snapshot.probes) or not is_of_text(snapshot)


def lines(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield (area, what the text says), without what it does not say."""
    said = snapshot.host
    framework = _joined(said, "", "text.framework", "text.framework_version")
    build = _joined(said, " built for ", "text.build_cuda", "text.build_cudnn", labels=("CUDA", "cuDNN"))
    if framework:
        yield "framework", f"{framework.replace(', ', ' ')}{',' if build else ''}{build}"
    ceiling = "which runs CUDA up to" if isinstance(said.get("text.driver"), Known) else \
        "a driver that runs CUDA up to"
    stated = _joined(said, "", "text.cuda", "text.cudnn", "text.driver", "text.driver_ceiling", "text.python",
                     labels=("CUDA", "cuDNN", "driver", ceiling, "Python"))
    if stated:
        yield "versions", stated
    named = str(value_of(said, "text.os") or "")
    kind = next((kind for kind in ("windows", "macos") if named.lower().startswith(kind)), "linux")
    places = as_texts(value_of(said, "text.places"))
    system = [named, *(place for place in places if not named or place != kind)]
    if any(system):
        yield "where", ", ".join(dict.fromkeys(part for part in system if part))
    cards = as_texts(value_of(said, "text.cards"))
    if cards:
        capabilities = as_texts(value_of(said, "text.capabilities"))
        yield "cards", ", ".join(cards) + (
            f" (compute capability {', '.join(capabilities)})" if capabilities else "")
    missing = as_texts(value_of(said, "text.libraries"))
    if missing:
        yield "misses", ", ".join(missing)


def _joined(facts: Facts, lead: str, *names: str, labels: tuple[str, ...] = ()) -> str:
    parts = []
    for number, name in enumerate(names):
        fact = facts.get(name)
        if isinstance(fact, Known):
            label = f"{labels[number]} " if labels else ""
            parts.append(label + show(fact.value))
    return lead + ", ".join(parts) if parts else ""


def quoted(evidence: Evidence, before: set[str]) -> str | None:
    """Return a line that was read, as it is quoted the first time and later; None for any other evidence."""
    if evidence.fact != "text.symptoms":
        return None
    line = evidence.source.rpartition(", ")[0] or evidence.source  # one line may hold several messages
    if line in before:
        return f"the same line  ({evidence.source})"
    before.add(line)
    return f"{evidence.saw}  ({evidence.source})"


def ranks(report: Report) -> dict[str, str]:
    """Return the place of each candidate among several, by its rule: ", 2 of 3"."""
    candidates = [f.rule for f in _faults(report) if f.certainty is not Certainty.CERTAIN]
    if not _was_read(report.snapshot) or len(set(candidates)) < 2:
        return {}
    return {rule: f", {place} of {len(candidates)}" for place, rule in enumerate(candidates, 1)}


def last_words(report: Report) -> str:
    """Return what it all comes to."""
    faults = _faults(report)
    if report.verdict is Verdict.UNDECIDED:
        if any(question.cause == _NO_FAULT for question in report.undecided):
            return "Undecided: nothing in this text speaks of a fault"
        if any(question.cause == _OWN_FAULT for question in report.undecided):
            return "Undecided: a fault of the program, not of the GPU, as far as this text goes"
        if any(question.cause == _COMPLAINT for question in report.undecided):
            return "Undecided: nothing is stated that would tell the causes apart; the question decides"
        if any(finding.certainty is Certainty.LIKELY for finding in report.findings):
            return "Undecided: harmless or not, the question decides"
        if not report.undecided:
            return "Undecided: the text was not read to its end"
        return "Undecided: I do not know what this text says"
    if not faults:
        return "Nothing but harmless lines" if report.findings else "Nothing was found"
    first = faults[0]
    if not any(evidence.fact.startswith("text.") for evidence in first.evidence):
        return f"This machine has {first.cause}; whether the text comes of that, it does not say"
    if first.certainty is Certainty.CERTAIN:
        sure = [fault.cause for fault in faults if fault.certainty is Certainty.CERTAIN]
        return f"The cause is {first.cause}" if len(sure) == 1 else f"The causes are {' and '.join(sure)}"
    likely = [fault for fault in faults if fault.certainty is not Certainty.CERTAIN]
    if len(likely) == 1:
        return f"The cause is probably {first.cause}; its question decides"
    return f"Not certain: {len(likely)} candidates, the most probable first; their questions decide"


def _faults(report: Report) -> list[Finding]:
    return [f for f in report.findings if f.severity.is_fault]
