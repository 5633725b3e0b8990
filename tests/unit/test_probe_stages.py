"""What is read out of a framework's run: journals that end anywhere, words, libraries."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.child import ANSWER, Job, Outcome, run_all
from gpudoctor.facts import CATALOGUE
from gpudoctor.model import Fact, Known, Record, Unknown
from gpudoctor.probes import journal, stages
from gpudoctor.probes.raw import Answer

IMPORTED = {"event": "imported", "version": "2.21.0", "gpus": 1, "seconds": 6.5, "at": 1.0}
PASSED = {"event": "ended", "stage": "matmul", "outcome": "passed", "device": "GPU:0", "largest_error": 0.0,
          "tolerance": 0.0, "seconds": 0.5}


def begun(stage: str) -> dict[str, Any]:
    return {"event": "begun", "stage": stage, "limit": 120}


def ran(*lines: dict[str, Any], outcome: str = "ok", rest: str = "", log: str = "") -> dict[str, Any]:
    written = "".join(json.dumps(line) + "\n" for line in lines) + rest
    return {"outcome": outcome, "detail": "SIGSEGV" if outcome == "signal" else "", "journal": written,
            "log": log, "seconds": 1.0}


def answer(*rounds: dict[str, Any], stages: tuple[str, ...] = ("matmul", "convolution"),
           skipped: dict[str, Any] | None = None) -> Answer:
    course = {"framework": "tensorflow", "card": "0", "stages": list(stages), "rounds": list(rounds),
              "skipped": skipped}
    return Answer(outcome="ok", seconds=9.0, data={"courses": [course]})


def facts(*rounds: dict[str, Any], **options: Any) -> dict[str, Fact]:
    return stages.read_framework(answer(*rounds, **options), "tensorflow")


def records(found: dict[str, Fact]) -> list[Record]:
    fact = found["framework.stages"]
    assert isinstance(fact, Known)
    assert isinstance(fact.value, tuple)
    return [record for record in fact.value if not isinstance(record, str)]


def value(found: dict[str, Fact], name: str) -> Any:
    fact = found[name]
    assert isinstance(fact, Known), fact
    return fact.value


def test_a_stage_that_ended_says_what_it_said() -> None:
    found = facts(ran(IMPORTED, begun("matmul"), PASSED), stages=("matmul",))
    record, = records(found)
    assert (record["outcome"], record["device"], record["largest_error"]) == ("passed", "GPU:0", 0.0)
    assert value(found, "framework.import_outcome") == "passed"
    assert value(found, "framework.seen_gpus") == 1


def test_a_crash_names_its_stage_and_a_fresh_child_does_the_rest() -> None:
    log = "before\ngpudoctor: stage matmul\nF0000 the last words\n"
    first = ran(IMPORTED, begun("matmul"), outcome="signal", rest="Fatal Python error: x\n  File y", log=log)
    second = ran(IMPORTED, begun("convolution"), {**PASSED, "stage": "convolution"})
    crashed, passed = records(facts(first, second))
    assert (crashed["outcome"], passed["outcome"]) == ("crashed", "passed")
    assert "the last words" in str(crashed["words"])
    assert "Fatal Python error" in str(crashed["words"])


def test_a_hang_is_told_from_a_crash_by_the_watchdogs_own_words() -> None:
    hung = ran(IMPORTED, begun("matmul"), outcome="exit", rest="Timeout (0:02:00)!\nThread 0x1\n  File z")
    assert records(facts(hung, stages=("matmul",)))[0]["outcome"] == "timed-out"


@pytest.mark.parametrize(("busy_seconds", "outcome"), [
    (110.0, "compiling"), (51.0, "timed-out"), (65.0, "compiling"),
])
def test_a_hang_in_the_drivers_compiler_is_one_of_its_own(busy_seconds: float, outcome: str) -> None:
    """As far as there was work towards the end: once loaded, the compiler stays in memory."""
    told = {"event": "compiling", "stage": "matmul", "library": "/usr/lib/libnvidia-ptxjitcompiler.so.1"}
    hung = ran(IMPORTED, begun("matmul"), {**told, "seconds": 50.0, "busy_seconds": 50.0},
               {**told, "seconds": 118.0, "busy_seconds": busy_seconds}, outcome="timeout")
    record, = records(facts(hung, stages=("matmul",)))
    assert record["outcome"] == outcome
    assert ("ptxjitcompiler" in str(record["reason"])) is (outcome == "compiling")


def test_the_compiler_at_work_in_one_stage_says_nothing_of_another() -> None:
    told = {"event": "compiling", "stage": "matmul", "library": "/x", "seconds": 9.0, "busy_seconds": 9.0}
    hung = ran(IMPORTED, begun("matmul"), told, PASSED, begun("convolution"), outcome="timeout")
    assert [record["outcome"] for record in records(facts(hung))] == ["passed", "timed-out"]


def test_a_stage_without_an_end_has_its_seconds() -> None:
    """Of the child's time that which came before the stage is no part of it; a watchdog ends at the limit."""
    importing = {"event": "importing", "at": 100.0, "process_seconds": 0.5}
    last = {**begun("matmul"), "at": 107.0}
    crashed = {**ran(importing, IMPORTED, last, outcome="signal"), "seconds": 9.25}
    hung = {**ran(importing, IMPORTED, last, outcome="exit", rest="Timeout (0:02:00)!"), "seconds": 140.0}
    for one, seconds in ((crashed, 1.75), (hung, 120.0)):
        assert records(facts(one, stages=("matmul",)))[0]["seconds"] == seconds


def test_an_import_that_fails_leaves_its_words_and_no_stage_is_reached() -> None:
    failed = {"event": "import-failed", "kind": "ImportError", "words": "numpy.core.umath failed to import"}
    found = facts(ran({"event": "importing"}, failed))
    assert value(found, "framework.import_outcome") == "failed"
    assert value(found, "framework.import_words") == ("numpy.core.umath failed to import",)
    assert {record["outcome"] for record in records(found)} == {"not-reached"}


def test_an_import_that_crashes_is_no_exception() -> None:
    rest = "Fatal Python error: Illegal instruction"
    found = facts(ran({"event": "importing"}, outcome="signal", rest=rest))
    assert value(found, "framework.import_outcome") == "crashed"
    assert "Illegal instruction" in str(value(found, "framework.import_words"))


def test_a_card_left_alone_keeps_its_reason() -> None:
    found = facts(stages=(), skipped={"reason": "no room on it", "wanted": True})
    record, = records(found)
    assert (record["outcome"], record["reason"], record["wanted"]) == ("skipped", "no room on it", True)
    assert isinstance(found["framework.import_outcome"], Unknown)


def test_one_stage_that_was_left_out_is_named() -> None:
    """The others of its framework ran elsewhere."""
    course = {"framework": "tensorflow", "card": "", "stages": [], "rounds": [], "left_out": ["all-reduce"],
              "skipped": {"reason": "it takes two cards", "wanted": True}}
    found = stages.read_framework(Answer(outcome="ok", seconds=1.0, data={"courses": [course]}), "tensorflow")
    record, = records(found)
    assert (record["stage"], record["outcome"], record["reason"]) == (
        "all-reduce", "skipped", "it takes two cards")


def test_nobody_asked_is_not_could_not() -> None:
    found = stages.read_framework(Answer(outcome="not-asked", seconds=0, detail="static"), "tensorflow")
    assert all(isinstance(fact, Unknown) and not fact.asked for fact in found.values())


def test_a_child_that_could_not_start_is_unknown_and_asked_for() -> None:
    lost = {"outcome": "not-started", "detail": "Resource temporarily unavailable", "journal": ""}
    fact = facts(lost)["framework.import_outcome"]
    assert isinstance(fact, Unknown)
    assert fact.asked
    assert "Resource temporarily" in fact.reason


NAMES = st.sampled_from(["courses", "rounds", "journal", "event", "stage", "framework", "stages", "skipped",
                         "paths", "real", "outcome", "log", "words", "card", "wanted"])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(), inner, max_size=6),
    max_leaves=30)


@given(JUNK, st.sampled_from(["ok", "timeout", "garbled", "not-asked"]))
def test_any_json_is_read(data: Any, outcome: str) -> None:
    found = stages.read_framework(Answer(outcome=outcome, seconds=0, data=data), "tensorflow")
    assert set(found) == set(stages.PROMISED) <= set(CATALOGUE)


@given(st.lists(JUNK, max_size=4))
def test_any_journal_is_read(lines: list[Any]) -> None:
    written = "\n".join(json.dumps(line) for line in lines)
    found = facts({"outcome": "ok", "journal": written, "log": ""})
    assert set(found) == set(stages.PROMISED)


@given(st.text() | st.binary().map(lambda data: data.decode("utf-8", "replace")) | JUNK)
def test_any_text_is_a_journal(written: Any) -> None:
    journal.read(written)


@pytest.mark.parametrize(("text", "events", "rest"), [
    ('{"event": "a"}\n{"event": "b"}\n', 2, ""),
    ('{"event": "a"}\n{"event": "b', 1, '{"event": "b'),
    ('{"event": "a"}\nTimeout (0:00:01)!\n  File "x"\n', 1, 'Timeout (0:00:01)!\n  File "x"'),
    ("", 0, ""),
])
def test_a_journal_is_read_as_far_as_it_goes(text: str, events: int, rest: str) -> None:
    found = journal.read(text)
    assert (len(found.events), found.rest) == (events, rest)


def test_a_killed_childs_journal_is_kept() -> None:
    code = ("import os, sys; os.write(int(sys.argv[1]), b'{\"event\": \"begun\"}\\n');"
            "os.kill(os.getpid(), 11)")
    job = Job(argv=[sys.executable, "-c", code, ANSWER], timeout_seconds=20, environment={}, journal=True)
    ran, = run_all([job])
    assert ran.outcome is Outcome.SIGNAL
    assert journal.read(ran.answer).events == ({"event": "begun"},)
