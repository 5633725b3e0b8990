"""Read what each framework came to when it was run: its import, its stages, its words, its libraries."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import Any

from gpudoctor.facts import promised
from gpudoctor.frozen import frozen
from gpudoctor.model import Fact, Facts, Known, Record, Scope, Unknown
from gpudoctor.probes import backtrace, journal
from gpudoctor.probes.calls import count, mapping, objects, text
from gpudoctor.probes.journal import Journal
from gpudoctor.probes.raw import Answer
from gpudoctor.probes.shapes import Data, printable, record, texts

PROMISED = promised("stages", Scope.FRAMEWORK)
ENDED = ("passed", "ran-on-cpu", "wrong-result", "no-proof", "failed", "skipped")
EVERY_STAGE = "all"
_BETWEEN_LINES = " / "  # between the lines in a stage's words
_LOG_LINES, _LINE_CHARACTERS, _WORDS_LINES, _WORDS_CHARACTERS = 400, 1000, 24, 4000
_MARK = "gpudoctor: stage "
_MEMORY_TYPES = {1: "host", 2: "device", 3: "array", 4: "unified"}  # the driver's CU_MEMORYTYPE_...
_BUSY_SHARE = 0.1  # from which on it counts as work: asleep it is near 0, beside busy neighbours far from 1
_WATCHDOG = "Timeout ("  # how the interpreter's watchdog begins what it prints


@frozen
class _Round:
    """One child: how it ended, its journal, its standard error."""

    outcome: str
    detail: str
    seconds: float | None
    journal: Journal
    log: tuple[str, ...]


@frozen
class _Course:
    """One framework on one card, and its children in order."""

    card: str
    stages: tuple[str, ...]
    left_out: tuple[str, ...]
    skipped: Data
    rounds: tuple[_Round, ...]


def _course(found: Data) -> _Course:
    return _Course(card=text(found.get("card")) or "", stages=texts(found.get("stages")),
                   left_out=texts(found.get("left_out")),
                   skipped=mapping(found.get("skipped")),
                   rounds=tuple(_round(one) for one in objects(found.get("rounds"))))


def _round(found: Data) -> _Round:
    return _Round(outcome=text(found.get("outcome")) or "", detail=text(found.get("detail")) or "",
                  seconds=_number(found.get("seconds")), journal=journal.read(found.get("journal")),
                  log=tuple(_lines(text(found.get("log")))))


def read_framework(answer: Answer, name: str) -> dict[str, Fact]:
    """Return the facts of one framework that this probe promises."""
    data = mapping(answer.data) if answer.outcome == "ok" else None
    if data is None:
        return dict.fromkeys(PROMISED, answer.unknown)
    courses = [_course(c) for c in objects(data.get("courses")) if text(c.get("framework")) == name]
    if not courses:
        return dict.fromkeys(PROMISED, Unknown(reason=f"{name} was not run", asked=False))
    rounds = [found for course in courses for found in course.rounds]
    facts = _import(rounds)
    facts["framework.stages"] = _stages(courses, facts["framework.import_outcome"])
    facts |= _libraries(rounds)
    facts["framework.log"] = Known(value=tuple(_log(rounds)), source=f"standard error of {name}")
    return {fact: facts[fact] for fact in PROMISED}


# -- the import ------------------------------------------------------------------------------------

def _import(rounds: Sequence[_Round]) -> dict[str, Fact]:
    """Return how the import ended: of several children the first that went wrong, else the first."""
    names = ("import_outcome", "import_words", "import_seconds", "seen_gpus")
    started = [found for found in rounds if found.journal.events]
    if not started:
        return dict.fromkeys((f"framework.{name}" for name in names), Unknown(reason=_silence(rounds)))
    found = next((f for f in started if _import_outcome(f) != "passed"), started[0])
    outcome, source = _import_outcome(found), "the import in a child process"
    event = next(iter(found.journal.of("imported") or found.journal.of("import-failed")), {})
    not_imported = Unknown(reason=f"its import ended with: {outcome}", asked=False)
    seconds, gpus = _number(event.get("seconds")), count(event.get("gpus"))
    return {
        "framework.import_outcome": Known(value=outcome, source=source),
        "framework.import_words": Known(value=tuple(_import_words(found, outcome)), source=source),
        "framework.import_seconds": not_imported if seconds is None else Known(value=seconds, source=source),
        "framework.seen_gpus": not_imported if gpus is None else Known(value=gpus, source="its own list"),
    }


def _silence(rounds: Sequence[_Round]) -> str:
    """Return why nothing at all is known of an import."""
    if not rounds:
        return "no child could be started"
    what = "no child could be started" if rounds[0].outcome == "not-started" else "its child kept no journal"
    return f"{what}: {rounds[0].detail}" if rounds[0].detail else what


def _import_outcome(found: _Round) -> str:
    if found.journal.of("imported"):
        return "passed"
    return "failed" if found.journal.of("import-failed") else _ending(found)


def _import_words(found: _Round, outcome: str) -> Iterator[str]:
    if outcome == "failed":
        yield from _last(_lines(text(found.journal.of("import-failed")[0].get("words"))))
    elif outcome != "passed":
        yield from _last(backtrace.before_addresses(_said_during(found, None)))
        yield from _last(backtrace.gist(_lines(found.journal.rest)))


def _ending(found: _Round) -> str:
    """Return how a child ended that ended too early."""
    if found.outcome in ("timeout", "unkillable") or _WATCHDOG in found.journal.rest:
        return "timed-out"
    return "crashed" if found.outcome == "signal" else "exited"


# -- the stages ------------------------------------------------------------------------------------

def _stages(courses: Sequence[_Course], imported: Fact) -> Fact:
    records: list[Record] = []
    for course in courses:
        if course.skipped:
            reason, wanted = text(course.skipped.get("reason")) or "", bool(course.skipped.get("wanted"))
            records += [record(stage=stage, card=course.card, outcome="skipped", reason=reason, wanted=wanted)
                        for stage in course.left_out or (EVERY_STAGE,)]
        records += (_stage(course, stage, imported) for stage in course.stages)
    return Known(value=tuple(records), source="the smoke stages in child processes")


def _stage(course: _Course, stage: str, imported: Fact) -> Record:
    for found in course.rounds:
        ended = found.journal.about("ended", stage)
        if ended is not None:
            return _ended(course.card, stage, ended, found)
        begun = found.journal.about("begun", stage)
        if begun is not None:
            return _broken_off(course.card, stage, begun, found)
    how = imported.value if isinstance(imported, Known) else "could not be started"
    return record(stage=stage, card=course.card, outcome="not-reached", reason=f"its import: {how}")


def _ended(card: str, stage: str, event: Data, found: _Round) -> Record:
    outcome = text(event.get("outcome"))
    said = text(event.get("words"))
    if said is None and outcome in ("failed", "wrong-result", "ran-on-cpu", "no-proof"):
        said = _BETWEEN_LINES.join(_last(_said_during(found, stage)))
    proof = mapping(event.get("proof"))
    ordinals = proof.get("ordinals")
    every = tuple(str(count(one)) for one in ordinals) if isinstance(ordinals, list) else None
    return record(
        stage=stage, card=card, outcome=outcome if outcome in ENDED else "failed",
        memory=_MEMORY_TYPES.get(count(proof.get("memory_type")) or 0),
        ordinal=count(proof.get("ordinal")) if every is None else None, ordinals=every,
        device=text(event.get("device")), largest_error=_number(event.get("largest_error")),
        tolerance=_number(event.get("tolerance")), seconds=_number(event.get("seconds")),
        words=said[:_WORDS_CHARACTERS] if said else None, reason=text(event.get("reason")))


def _broken_off(card: str, stage: str, begun: Data, found: _Round) -> Record:
    """Return the stage in which a child ended; a hang in the driver's PTX compiler is one of its own."""
    outcome = _ending(found)
    limit = _number(begun.get("limit"))
    seconds = _seconds_until_the_end(begun, found)
    reason = found.detail.partition(": ")[0]  # without its last line, which the words hold
    if outcome == "timed-out":
        reason = f"no end within {limit:g} s" if limit is not None else "no end within its limit"
        at_work = _compiler_at_work(stage, found)
        if at_work:
            outcome, reason = "compiling", f"{reason}; {at_work}"
    said = backtrace.before_addresses(_said_during(found, stage))
    words = [*_last(said), *_last(backtrace.gist(_lines(found.journal.rest)))]
    return record(stage=stage, card=card, outcome=outcome, seconds=seconds, reason=reason or None,
                  words=_BETWEEN_LINES.join(words)[-_WORDS_CHARACTERS:] or None)


def _seconds_until_the_end(begun: Data, found: _Round) -> float | None:
    """Return how long a stage took that never ended: until its watchdog, or until its child was gone."""
    if _WATCHDOG in found.journal.rest:
        return _number(begun.get("limit"))
    first, begun_at = found.journal.events[0], _number(begun.get("at"))
    first_at, whole = _number(first.get("at")), found.seconds
    if begun_at is None or first_at is None or whole is None:
        return None
    before = (_number(first.get("process_seconds")) or 0.0) + begun_at - first_at
    return round(max(0.0, whole - before), 4)


def _compiler_at_work(stage: str, found: _Round) -> str:
    """Return how the driver's PTX compiler was at work in a stage, "" where it only lay in memory.

    Judged by the later half of the time: before it hung, the stage may have had something to do.
    """
    told = [event for event in found.journal.of("compiling") if event.get("stage") == stage]
    looks = [look for event in told if (look := _look(event)) is not None]
    if not looks:
        return ""
    seconds, busy = looks[-1]
    half_seconds, half_busy = max((look for look in looks if look[0] <= seconds / 2), default=(0.0, 0.0))
    if busy - half_busy < _BUSY_SHARE * (seconds - half_seconds):
        return ""
    library = text(told[-1].get("library"))
    return f"{library} is loaded, and the process had {busy:.1f} s of the processor in {seconds:.1f} s"


def _look(event: Data) -> tuple[float, float] | None:
    """Return the seconds since a stage began, and those of the processor."""
    seconds, busy = _number(event.get("seconds")), _number(event.get("busy_seconds"))
    return None if seconds is None or busy is None else (seconds, busy)


# -- libraries and words ---------------------------------------------------------------------------

def _libraries(rounds: Sequence[_Round]) -> dict[str, Fact]:
    events = [event for found in rounds for event in found.journal.of("libraries")]
    if not events:
        unknown = Unknown(reason="the child ended before it could say what it had loaded", asked=False)
        return {"framework.loaded_libraries": unknown, "framework.resolved_libraries": unknown}
    paths = dict.fromkeys(path for event in events for path in texts(event.get("paths")))
    real = {printable(path): text(target) for event in events
            for path, target in mapping(event.get("real")).items()}
    loaded = tuple(record(path=path, soname=posixpath.basename(path)) for path in paths)
    resolved = tuple(record(path=path, real=target) for path, target in real.items() if target)
    return {"framework.loaded_libraries": Known(value=loaded, source="/proc/self/maps of the child"),
            "framework.resolved_libraries": Known(value=resolved, source="the loader trace, links followed")}


def _log(rounds: Sequence[_Round]) -> list[str]:
    """Return what was said, each line once, the last ones if there are too many.

    What a child said that never came to its journal was not the framework's word.
    """
    said = dict.fromkeys(line for found in rounds if found.journal.events
                         for line in found.log if not line.startswith(_MARK))
    return list(said)[-_LOG_LINES:]


def _said_during(found: _Round, stage: str | None) -> list[str]:
    """Return what was said during a stage; None: before the first."""
    current, kept = None, []
    for line in found.log:
        if line.startswith(_MARK):
            current = line.removeprefix(_MARK)
        elif current == stage:
            kept.append(line)
    return kept


def _lines(said: str | None) -> list[str]:
    return [line[:_LINE_CHARACTERS].rstrip() for line in (said or "").splitlines() if line.strip()]


def _last(lines: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(lines))[-_WORDS_LINES:]


def _number(value: Any) -> float | None:
    """Return a finite number; JSON written by Python may hold NaN."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return float(value) if good else None


def merged(frameworks: tuple[Facts, ...] | Unknown, answer: Answer) -> tuple[Facts, ...] | Unknown:
    """Return the frameworks' facts with those of this probe among them."""
    if isinstance(frameworks, Unknown):
        return frameworks
    return tuple({**facts, **read_framework(answer, _name(facts))} for facts in frameworks)


def _name(facts: Facts) -> str:
    fact = facts.get("framework.name")
    return str(fact.value) if isinstance(fact, Known) else ""
