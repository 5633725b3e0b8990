"""What came of running a framework: which smoke stages ran where, and whether the loader trace was right."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence

from gpudoctor import symptoms
from gpudoctor.derive.view import View, as_records, as_texts, text_in
from gpudoctor.model import Fact, Known, Record, Unknown

Derivation = Callable[[View], Fact]
_SOURCE = "the smoke stages in child processes"
_WENT_WRONG = (  # the worst first
    "wrong-result", "crashed", "exited", "timed-out", "compiling", "failed", "ran-on-cpu", "no-proof")

_QUOTED_LINES = 8
_BETWEEN_LINES = " / "  # as the probe joins them
_NOT_FOUND, _OPENED = "loader-library-missing", "tf-library-loaded"
_NOT_LOADED = ("library-missing", "library-not-loaded")  # how the ids of such messages end


def _records(view: View) -> tuple[Record, ...]:
    """Return the stages; end the derivation where somebody who asked for proof got none at all."""
    return as_records(view.need("framework.stages"))


def _withheld(records: Sequence[Record]) -> Unknown | None:
    """Return why nothing was proven although proof was asked for: every card was left alone."""
    ran = any(r.get("outcome") not in ("skipped", "not-reached") for r in records)
    kept_from = [r for r in records if r.get("wanted") is True]
    if ran or not kept_from:
        return None
    return Unknown(reason="; ".join(_why(record) for record in kept_from))


def _why(skipped: Record) -> str:
    card, reason = text_in(skipped, "card"), text_in(skipped, "reason")
    return f"GPU {card} was left alone: {reason}" if card else reason


def ended_with(*outcomes: str) -> Derivation:
    """Return a derivation of the stages that ended in one of these ways, with their cards."""

    def derivation(view: View) -> Fact:
        records = _records(view)
        withheld = _withheld(records)
        if withheld is not None:
            return withheld
        named = dict.fromkeys(_named(r, records) for r in records if r.get("outcome") in outcomes)
        return Known(value=tuple(named), source=_SOURCE)

    return derivation


def _named(stage: Record, records: Sequence[Record]) -> str:
    """Return a stage's name, with its card where there were several."""
    cards = {text_in(r, "card") for r in records}
    name, card = text_in(stage, "stage"), text_in(stage, "card")
    return f"{name} on GPU {card}" if len(cards) > 1 and card else name


def compiling_for(view: View) -> Fact:
    """Return how long the driver's PTX compiler was at work in the stages that it kept from their end."""
    records = _records(view)
    found = (f"{_minutes(r)}in {_named(r, records)}" for r in records if r.get("outcome") == "compiling")
    return Known(value=tuple(dict.fromkeys(found)), source=_SOURCE)


def _minutes(stage: Record) -> str:
    seconds = stage.get("seconds")
    return f"for {seconds / 60:.1f} minutes " if isinstance(seconds, int | float) else ""


def not_run(view: View) -> Fact:
    """Return the stages that were not run, each with its reason."""
    left = (f"{text_in(r, 'stage')}: {text_in(r, 'reason')}" for r in _records(view)
            if r.get("outcome") == "skipped")
    return Known(value=tuple(dict.fromkeys(left)), source=_SOURCE)


def words(view: View) -> Fact:
    """Return the last words of the first stage that went wrong, else those of the import, without chatter."""
    wrong = next((r for outcome in _WENT_WRONG for r in _records(view) if r.get("outcome") == outcome), None)
    if wrong is None:
        said = _telling(view.texts("framework.import_words"), view)
        return Known(value=tuple(_quoted(line) for line in said), source="its import")
    said = [line for line in _telling(text_in(wrong, "words").split(_BETWEEN_LINES), view) if line]
    if wrong.get("outcome") == "ran-on-cpu":
        said += _complaints(view)
    parts = (_quoted(text) for text in (text_in(wrong, "reason"), _BETWEEN_LINES.join(said)))
    return Known(value=tuple(part for part in parts if part), source=f"the stage {text_in(wrong, 'stage')}")


def _telling(lines: Sequence[str], view: View) -> list[str]:
    """Return the last lines that are not known to be harmless."""
    harmless = {symptom.id for symptom in view.symptoms if symptom.benign}
    chatter = {hit.line for hit in symptoms.read(lines, view.symptoms) if hit.id in harmless}
    return [line for number, line in enumerate(lines, start=1) if number not in chatter][-_QUOTED_LINES:]


def _complaints(view: View) -> list[str]:
    """Return what it said in its log of a fault; the libraries it could not load are a fact of their own."""
    log = as_texts(view.need("framework.log"))
    harmless = {symptom.id for symptom in view.symptoms if symptom.benign}
    faults = {hit.line for hit in symptoms.read(log, view.symptoms)
              if hit.id not in harmless and not hit.id.endswith(_NOT_LOADED)}
    return [line for number, line in enumerate(log, start=1) if number in faults][:_QUOTED_LINES]


def _quoted(said: str) -> str:
    """Return words as they are quoted in a sentence: blanks are for columns."""
    return " ".join(said.split())


def went_wrong(view: View) -> Fact:
    """Return what did not end well on a GPU: the import, and stages with their cards."""
    imported = str(view.need("framework.import_outcome"))
    records = _records(view)
    stages = dict.fromkeys(_named(r, records) for r in records if r.get("outcome") in _WENT_WRONG)
    if imported == "passed" and (withheld := _withheld(records)) is not None:
        return withheld
    first = () if imported == "passed" else (f"its import ({imported})",)
    return Known(value=(*first, *stages), source=_SOURCE)


def _hits(view: View) -> tuple[symptoms.Hit, ...]:
    """Return the known messages in all that it said: in its log, its import's words, its stages' words."""
    said = [*as_texts(view.need("framework.log")), *view.texts("framework.import_words")]
    for stage in view.records("framework.stages"):
        said += [line for key in ("words", "reason") for line in text_in(stage, key).split(_BETWEEN_LINES)]
    return symptoms.read(dict.fromkeys(said), view.symptoms)


def said_symptoms(view: View) -> Fact:
    """Return the ids of the known messages among what it said, each once."""
    hits = view.once("symptoms", _hits)
    return _unread(view) or Known(
        value=tuple(dict.fromkeys(hit.id for hit in hits)), source="its log and its last words")


def _unread(view: View) -> Unknown | None:
    """Return why its last words are not known: what it said there is not nothing because nobody read it."""
    has_come_up = view.value("framework.import_outcome") == "passed"
    return view.unknown_among(("framework.stages" if has_come_up else "framework.import_words",))


def log_libraries_missing(view: View) -> Fact:
    """Return the libraries that it said it could not load, without those that it can do without."""
    optional = {row["stem"] for row in view.table("libraries").rows if row["role"] == "optional"}
    names = (hit.captures.get("library", "") for hit in view.once("symptoms", _hits)
             if hit.id.endswith(_NOT_LOADED))
    missing = dict.fromkeys(name for name in names if name and name.partition(".so")[0] not in optional)
    return _unread(view) or Known(value=tuple(missing), source="its log and its last words")


def trace_differs(view: View) -> Fact:
    """Return what it loaded from another file than the loader trace said: then the trace is wrong, not it."""
    trace = as_records(view.need("framework.libraries"))
    loaded = [text_in(r, "path") for r in as_records(view.need("framework.loaded_libraries"))]
    resolved = as_records(view.need("framework.resolved_libraries"))
    real = {text_in(r, "path"): text_in(r, "real") for r in resolved}
    differing = []
    for entry in trace:
        soname, predicted = text_in(entry, "soname"), text_in(entry, "path")
        found = [path for path in loaded if _is(path, soname)]  # several where one opens another
        if found and not {predicted, real.get(predicted)}.intersection(found):
            differing.append(f"{soname}: loaded from {found[0]}, foretold {predicted or 'nowhere'}")
    differing += _said_otherwise(trace, loaded, view)
    return Known(value=tuple(differing), source="/proc/self/maps and log of the child, and the loader trace")


def _said_otherwise(trace: Sequence[Record], loaded: Sequence[str], view: View) -> Iterator[str]:
    """Yield where its log contradicts the trace; what is mapped after all says more than the log."""
    named = {(hit.id, hit.captures.get("library", "")) for hit in view.once("symptoms", _hits)}
    broken = view.texts("framework.libraries_broken")
    for entry in trace:
        soname, predicted = text_in(entry, "soname"), text_in(entry, "path")
        if any(_is(path, soname) for path in loaded):
            continue
        if predicted and soname not in broken and (_NOT_FOUND, soname) in named:
            yield f"{soname}: its log says that there is none, foretold {predicted}"
        if not predicted and (_OPENED, soname) in named:
            yield f"{soname}: its log says that it was opened, foretold nowhere"


def _is(path: str, soname: str) -> bool:
    name = posixpath.basename(path)
    return name == soname or name.startswith(f"{soname}.")


def blocked_by(view: View) -> Fact:
    """Return what is known to keep the framework from the GPU before it is run."""
    reasons = []
    if view.look("framework.has_gpu_build") is False:
        reasons.append("the build uses no NVIDIA GPU")
    if view.value("driver.works") is not True:
        reasons.append("the driver does not work")
    if view.value("cuda.visible_count") == 0:
        reasons.append("CUDA_VISIBLE_DEVICES hides every device")
    missing = view.texts("framework.libraries_missing")
    if missing:
        reasons.append(f"{', '.join(missing)} cannot be found")
    return Known(value=tuple(reasons), source="the other facts")


DERIVATIONS: Mapping[str, Derivation] = {
    "framework.stages_passed": ended_with("passed"),
    "framework.stages_on_cpu": ended_with("ran-on-cpu"),
    "framework.stages_wrong": ended_with("wrong-result"),
    "framework.stages_unproven": ended_with("no-proof"),
    "framework.stages_failed": ended_with("failed"),
    "framework.stages_crashed": ended_with("crashed", "exited"),
    "framework.stages_timed_out": ended_with("timed-out"),
    "framework.stages_compiling": ended_with("compiling"),
    "framework.compiling_for": compiling_for,
    "framework.stages_skipped": not_run,
    "framework.stage_words": words,
    "framework.blocked_by": blocked_by,
    "framework.trace_differs": trace_differs,
    "framework.went_wrong": went_wrong,
    "framework.symptoms": said_symptoms,
    "framework.log_libraries_missing": log_libraries_missing,
}
