"""A text beside a machine: what the machine confirms is certain and comes first, what it refutes falls."""

from __future__ import annotations

from dataclasses import replace

from gpudoctor.assume import assumed, lay
from gpudoctor.examine import Policy, examine
from gpudoctor.explanation import findings, here
from gpudoctor.explanation import report as explained
from gpudoctor.explanation.ranking import Candidate
from gpudoctor.model import Absent, Certainty, Known, ProbeRun, Report, Severity, Undecided, Value
from gpudoctor.render import outline
from tests.explain.shipped import database, told

NO_DEVICE = "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n"


def machine(*facts: tuple[str, Value]) -> Report:
    """Return the report on a healthy machine with one card, laid over with facts."""
    pairs = [("cc", "8.6"), ("driver", "580.95.05"), ("release", "torch==2.9.1"), *facts]
    snapshot = lay(database().base, assumed(pairs), database().tables, source="a test")
    return examine(snapshot, database(), Policy())


def test_alone_the_message_has_many_causes() -> None:
    """None of them certain, and the one that the machine will show among them."""
    found = told(NO_DEVICE, None).findings
    assert len(found) > 2
    assert "cuda-visible-devices" in [finding.cause for finding in found]
    assert Certainty.CERTAIN not in {finding.certainty for finding in found}


def test_what_the_machine_shows_is_certain_and_has_proven_fixes() -> None:
    """The line of the text and the fact of the machine stand together as evidence."""
    first = told(NO_DEVICE, machine(("environment.CUDA_VISIBLE_DEVICES", "-1"))).findings[0]
    assert (first.cause, first.certainty) == ("cuda-visible-devices", Certainty.CERTAIN)
    assert {fix.proven for fix in first.fixes} == {"model"}
    assert first.evidence[0].fact == "text.symptoms"
    assert [evidence.fact for evidence in first.evidence if evidence.fact.startswith("cuda.")]


def test_what_a_machine_refutes_falls_and_what_it_cannot_see_stays() -> None:
    """A page that looked and did not find it, one whose question is open, and one that has no way to look."""
    report = machine(("environment.CUDA_VISIBLE_DEVICES", "-1"))
    hidden = replace(report, undecided=(Undecided(
        rule="GPD2001", cause="driver-not-installed", severity=Severity.ERROR, subject="host", reasons=(),
        asked=True),))
    causes = ("driver-module-not-loaded", "driver-not-installed", "slurm-no-gres", "cuda-visible-devices")
    before = [Candidate(cause=cause, score=0.4, suspicions={}) for cause in causes]
    after = here.verified(before, findings.rules_by_cause(database().rules), hidden)
    assert {candidate.cause: round(candidate.score, 3) for candidate in after} == {
        "cuda-visible-devices": 1.0, "driver-not-installed": 0.4, "slurm-no-gres": 0.4,
        "driver-module-not-loaded": 0.02}
    assert after[0].cause == "cuda-visible-devices"


def test_an_empty_environment_refutes_no_fault_of_a_framework() -> None:
    """Nothing was there to judge: an empty product must never look like health."""
    empty = machine()
    empty = replace(empty, findings=(), snapshot=replace(empty.snapshot, frameworks=()))
    before = (Candidate(cause="cudnn-missing", score=0.4, suspicions={}),)
    assert here.verified(before, findings.rules_by_cause(database().rules), empty) == before


def test_the_machine_s_own_faults_are_told_too() -> None:
    """What is wrong here besides the text."""
    found = told("nothing of interest\n", machine(("environment.CUDA_VISIBLE_DEVICES", "-1"))).findings
    assert "cuda-visible-devices" in [finding.cause for finding in found]


def test_what_the_text_states_and_the_machine_denies_is_shown() -> None:
    """The log may be older than the driver; the machine's answer counts."""
    found = told(NO_DEVICE + "driver: 470.57.02\npython: 3.12\n", machine())
    assert [(other.fact, other.saw) for other in found.contradictions] == [
        ("text.driver", "470.57.02 in the text, 580.95.05 on this machine")]
    assert getattr(found.snapshot.host["text.driver"], "value", None) == "580.95.05"


def test_what_the_text_states_and_the_machine_has_none_of_is_shown() -> None:
    """Such a text is of another machine; a card that no driver lists may still be there."""
    bare = machine()
    host = {**bare.snapshot.host, "driver.version": Absent(source="a test"),
            "system.pci_nvidia": Known(value=(), source="a test")}
    without = replace(bare, findings=(), snapshot=replace(bare.snapshot, host=host, gpus=()))
    text = NO_DEVICE + "driver: 470.57.02\ngpu: NVIDIA H100\n"
    assert [(other.fact, other.saw) for other in told(text, without).contradictions] == [
        ("text.driver", "470.57.02 in the text, none on this machine"),
        ("text.nvidia_card", "yes in the text, no on this machine")]
    host["system.pci_nvidia"] = Known(value=("0000:01:00.0",), source="a test")
    unlisted = replace(without, snapshot=replace(without.snapshot, host=host))
    assert [other.fact for other in told(text, unlisted).contradictions] == ["text.driver"]


OUT_OF_MEMORY = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"


def test_what_the_text_speaks_against_stands_behind_it() -> None:
    """A machine without a card stood first, as if an allocation on a card could come of that."""
    pairs = assumed([("cc", "none"), ("driver", "none"), ("release", "torch==2.9.1")])
    bare = examine(lay(database().base, pairs, database().tables, source="a test"), database(), Policy())
    assert "no-nvidia-gpu" in [finding.cause for finding in bare.findings]
    causes = [finding.cause for finding in told(OUT_OF_MEMORY, bare).findings]
    assert causes.index("out-of-memory-model") < causes.index("no-nvidia-gpu")
    assert told(NO_DEVICE, bare).findings[0].cause == "no-nvidia-gpu"


def test_the_text_and_the_machine_have_a_row_each() -> None:
    """There were two rows `cards`, and nothing said which of them was whose."""
    found = explained(told(OUT_OF_MEMORY + "gpu: RTX 2070\n", machine()), database(), Policy())
    looked_at = replace(found.snapshot, probes=(ProbeRun(probe="nvml", outcome="ok", seconds=0.1),))
    labels = [label for label, _ in outline.seen(replace(found, snapshot=looked_at))]
    assert len(labels) == len(set(labels))
    assert labels[0] == "text"


def test_every_contradiction_has_a_name_that_people_know() -> None:
    """`text.driver is ...` was said of it."""
    found = told(NO_DEVICE + "driver: 470.57.02\n", machine())
    assert {other.fact for other in found.contradictions} <= set(here.NAMES)
    assert set(here.NAMES) == {*here._SAME, "text.framework_version", "text.nvidia_card"}
