"""A proof of execution outweighs a prediction, for the very card and framework that it is about."""

from __future__ import annotations

import pytest

from gpudoctor import remedy, ruledb
from gpudoctor.assume import lay
from gpudoctor.model import Fact, Judgement, Known, Record, RuleDatabase, Severity, Value

MISSING = "pip-nvidia-libs-not-installed"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return ruledb.load(None, None)


def stage(name: str, outcome: str, card: str = "0") -> Record:
    return {"stage": name, "card": card, "outcome": outcome}


MAIN_STAGES_PASSED = (stage("matmul", "passed"), stage("convolution", "passed"))


def judged(database: RuleDatabase, stages: tuple[Record, ...], **host: Value) -> Judgement:
    """Return the judgement on TensorFlow without any CUDA library, after these stages."""
    facts: dict[str, Fact] = {name.replace("__", "."): Known(value=value, source="test") for name, value in {
        "release": "tensorflow==2.20.0", "python__planned_distributions": (),
        "framework__import_outcome": "passed", "framework__seen_gpus": 1, "framework__stages": stages,
        "framework__log": (), **host}.items()}
    return remedy.diagnose(lay(database.base, facts, database.tables, source="test"), database)


def severities(judgement: Judgement) -> dict[str, Severity]:
    return {finding.cause: finding.severity for finding in judgement.findings}


def test_without_a_proof_the_prediction_stands(database: RuleDatabase) -> None:
    assert severities(judged(database, ()))[MISSING] is Severity.ERROR


def test_stages_that_all_passed_make_it_a_note(database: RuleDatabase) -> None:
    judgement = judged(database, (*MAIN_STAGES_PASSED, stage("compiled", "skipped")))
    assert severities(judgement)[MISSING] is Severity.INFO
    note = next(finding for finding in judgement.findings if finding.cause == MISSING)
    assert "ran on the GPU" in note.message


@pytest.mark.parametrize("name", ["matmul", "convolution"])
def test_one_main_stage_says_nothing_of_the_other_ones_library(name: str, database: RuleDatabase) -> None:
    assert severities(judged(database, (stage(name, "passed"),)))[MISSING] is Severity.ERROR


@pytest.mark.parametrize("outcome", [
    "failed", "ran-on-cpu", "no-proof", "crashed", "wrong-result", "skipped"])
def test_anything_less_is_no_proof(outcome: str, database: RuleDatabase) -> None:
    stages = (stage("matmul", "passed"), stage("convolution", outcome))
    assert severities(judged(database, stages))[MISSING] is Severity.ERROR


def test_the_machines_own_errors_are_not_touched(database: RuleDatabase) -> None:
    judgement = judged(database, MAIN_STAGES_PASSED, environment__CUDA_VISIBLE_DEVICES="-1")
    assert severities(judgement)["cuda-visible-devices"] is Severity.ERROR


def test_another_cards_error_is_not_touched(database: RuleDatabase) -> None:
    facts: dict[str, Fact] = {"cc": Known(value=("7.0", "9.0"), source="test"),
                              "driver": Known(value="580.95.05", source="test"),
                              "release": Known(value="torch==2.11.0", source="test")}
    snapshot = lay(database.base, facts, database.tables, source="test")
    indexes = [card["gpu.index"] for card in snapshot.gpus] if isinstance(snapshot.gpus, tuple) else []
    assert [fact.value for fact in indexes if isinstance(fact, Known)] == [0, 1]
    for card, severity in (("0", Severity.INFO), ("1", Severity.ERROR)):
        stages = Known(value=(stage("matmul", "passed", card), stage("convolution", "passed", card)),
                       source="test")
        ran: dict[str, Fact] = {"framework.stages": stages}
        judgement = remedy.diagnose(lay(snapshot, ran, database.tables, source="test"), database)
        found = {(f.cause, f.subject): f.severity for f in judgement.findings}
        assert found["gpu-too-old-for-build", "GPU 0 x torch"] is severity
