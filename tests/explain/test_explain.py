"""From texts to findings: which candidates are told, how sure we are, and when the answer is "harmless"."""

from __future__ import annotations

from gpudoctor.examine import Policy
from gpudoctor.explanation import report
from gpudoctor.model import Certainty, Known, Severity, Verdict
from gpudoctor.render.told import last_words
from tests.explain.cranes import CUDNN, HOOK, MYSTERY, SQUEAK, STILL, TORN, causes, database, told


def test_candidates_are_ranked_and_likely_each_with_what_decides() -> None:
    """What a text cannot decide is a question, not a verdict."""
    found = told(HOOK).findings
    assert [finding.cause for finding in found] == ["hook-missing", "hook-of-other-make"]
    assert {finding.certainty for finding in found} == {Certainty.LIKELY}
    assert [ask.command for finding in found for ask in finding.asks] == ["ls /hook", "cat /hook"]


def test_one_cause_beyond_doubt_is_certain_and_asks_nothing() -> None:
    """At 0.95 and with no other near; the consequence's other suspects are not told."""
    found = told(TORN, STILL).findings
    assert [(finding.cause, finding.certainty) for finding in found] == [("rope-torn", Certainty.CERTAIN)]
    assert found[0].asks == ()


def test_harmless_lines_alone_are_harmless() -> None:
    """No fault is made of a squeak."""
    found = told(SQUEAK)
    assert [(finding.cause, finding.severity) for finding in found.findings] == [
        ("benign-squeak", Severity.BENIGN)]
    assert report(found, database(), Policy()).exit_code == 0


def test_a_harmless_line_does_not_hide_a_fault_that_it_has_nothing_to_do_with() -> None:
    """It squeaks, and the hook is missing: the fault comes first, the squeak last."""
    assert causes(SQUEAK, HOOK) == ["hook-missing", "hook-of-other-make", "benign-squeak"]


def test_a_message_that_is_more_probably_harmless_is_called_so_and_names_what_else_it_could_be() -> None:
    """Without a card of NVIDIA's the crane needs no hook."""
    found = told(HOOK, STILL, "gpu: AMD Radeon RX 580").findings
    assert [(finding.cause, finding.severity) for finding in found] == [
        ("benign-crane-parked", Severity.BENIGN)]
    assert "hook-missing" in found[0].asks[0].answers["if it is a fault"]
    assert told(HOOK, STILL, "gpu: AMD Radeon RX 580").undecided == ()


def test_what_is_only_probably_harmless_is_not_called_healthy() -> None:
    """Regression: a CUDA library that was not found ended with 0 where no card was stated."""
    judged = report(told(HOOK, STILL, "gpu: AMD Radeon RX 580"), database(), Policy())
    assert (judged.verdict, judged.exit_code) == (Verdict.UNDECIDED, 3)


def test_what_ended_the_program_is_never_harmless() -> None:
    """The same words, at the end of a traceback: the crane did not go on without its hook."""
    said = ("gpu: none", f"crane.errors.HookError: {HOOK}")
    assert causes(HOOK, said[0]) == ["benign-crane-parked"]
    assert causes(*said)[:2] == ["hook-missing", "hook-of-other-make"]


def test_the_same_message_is_a_fault_where_the_harmless_cause_is_less_probable() -> None:
    """With a card it is one."""
    assert causes(HOOK, "gpu: RTX 3090")[0] == "hook-missing"


def test_evidence_is_the_line_with_its_place_and_the_facts_that_the_reasons_read() -> None:
    """The line as it was said, where, and what was stated."""
    first = told("", CUDNN, "cudnn: 9.1.0").findings[0]
    assert first.cause == "hook-of-other-make"
    line = first.evidence[0]
    assert (line.saw, line.source) == (CUDNN, "standard input:2, crane-hook-missing")
    assert first.evidence[1].fact == "text.library_other_version_stated"
    assert "another version is stated" in first.message


def test_fixes_are_unproven_and_only_those_that_can_be_filled_in() -> None:
    """No command with a hole in it; none for a container where there is none."""
    hook, other = told(HOOK).findings
    assert [(fix.commands, fix.proven) for fix in hook.fixes] == [(("pip install hook",), "unproven")]
    assert (other.fixes[0].commands, other.rule) == ((), "GPD9911")
    stated = {f.cause: f for f in told(HOOK, "cuda: 11.2", "platform: docker").findings}
    assert stated["hook-of-other-make"].fixes[0].commands == ("pip install hook==11.2",)
    assert ("docker run hook",) in [fix.commands for fix in stated["hook-missing"].fixes]


def test_a_summary_is_filled_or_replaced_by_the_title() -> None:
    """What is not stated leaves no hole in a sentence."""
    assert told(HOOK).findings[1].message.startswith("Take the right hook.")
    assert "CUDA 11.2" in told(HOOK, "cuda: 11.2").findings[1].message


def test_unknown_lines_are_quoted_and_the_verdict_is_open() -> None:
    """"I do not know this message" is a fair answer."""
    line = "fatal error: the flux compensator failed to start"
    found = told("step 1", line, "step 2")
    assert found.findings == ()
    (question,) = found.undecided
    assert [reason.saw for reason in question.reasons] == [line]
    judged = report(found, database(), Policy())
    assert (judged.verdict, judged.exit_code) == (Verdict.UNDECIDED, 3)
    assert report(found, database(), Policy(allow_undecided=True)).exit_code == 0


def test_a_known_message_without_a_known_cause_is_open_too() -> None:
    """It is quoted with its symptom."""
    (question,) = told(MYSTERY).undecided
    assert question.reasons[0].source == "standard input:1, crane-mystery"


def test_an_unknown_error_beside_harmless_lines_keeps_the_verdict_open() -> None:
    """A fault is never called harmless because a squeak was heard as well."""
    judged = report(told(SQUEAK, MYSTERY), database(), Policy())
    assert ([finding.cause for finding in judged.findings], judged.exit_code) == (["benign-squeak"], 3)


def test_a_text_that_says_nothing_is_not_healthy() -> None:
    """Silence is no proof; and it is called by another name than a line that nobody knows."""
    for text in ("epoch 1 loss 0.5", "", "Correctable Error : 0"):
        judged = report(told(text), database(), Policy())
        assert judged.exit_code == 3
        assert [question.cause for question in judged.undecided] == ["no-fault-spoken-of"]
        assert last_words(judged) == "Undecided: nothing in this text speaks of a fault"
    unknown = report(told("it failed"), database(), Policy())
    assert [question.cause for question in unknown.undecided] == ["unknown-message"]
    assert last_words(unknown) == "Undecided: I do not know what this text says"


def test_a_line_that_speaks_of_nothing_bad_is_named_where_nothing_else_is_said() -> None:
    """A package in a list, a table of cards: what was recognised, so that one sees that it was read."""
    (question,) = told("crane: stands where it stood").undecided
    assert question.cause == "no-fault-spoken-of"


def test_facts_of_the_text_are_in_the_snapshot() -> None:
    """Lists are always known; a single value that is not said is absent."""
    host = told(HOOK).snapshot.host
    assert host["text.symptoms"] == Known(value=("crane-hook-missing",), source="standard input:1")
    assert host["text.libraries"] == Known(value=("libhook.so.7",), source="standard input:1")
    assert host["text.xids"] == Known(value=(), source="the text")
    assert not isinstance(host["text.cuda"], Known)


def test_stated_facts_alone_are_asked_where_no_line_speaks_for_a_fault() -> None:
    """A hook 1.0 is stated, and nothing else is known."""
    stated = "cuda: 1.0"
    assert causes("all is well", stated) == ["hook-of-other-make"]
    assert causes(MYSTERY, stated) == ["hook-of-other-make"]
    assert causes(TORN, stated) == ["rope-torn"]


def test_stated_facts_make_no_fault_of_harmless_lines() -> None:
    """Whatever is stated around them."""
    assert causes(SQUEAK, "cuda: 1.0") == ["benign-squeak"]


def test_a_line_that_only_informs_is_no_word_on_health() -> None:
    """It is told, but the verdict stays open; and what is stated is asked all the same."""
    line = "crane: stands where it stood"
    found = told(line)
    assert [finding.cause for finding in found.findings] == ["benign-squeak"]
    assert report(found, database(), Policy()).exit_code == 3
    assert causes(line, "cuda: 1.0")[0] == "hook-of-other-make"
