"""What a change of compute modes is undone by: the modes that were seen, each on its own card."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudoctor import planning, ruledb
from gpudoctor.examine import Policy, examine
from gpudoctor.model import Fact, Known, RuleDatabase, Unknown
from gpudoctor.model.plan import Step


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Return the shipped rules."""
    return ruledb.load_shipped()


def steps(database: RuleDatabase, rule: str, *modes: str | None) -> list[Step]:
    """Return the steps of one rule for a machine whose cards have these modes; None: nobody could ask."""
    base = database.base
    assert not isinstance(base.gpus, Unknown)
    seen = [Unknown(reason="x") if mode is None else Known(value=mode, source="x") for mode in modes]
    listed = tuple({**base.gpus[0], "gpu.index": Known(value=at, source="x"), "gpu.compute_mode": mode,
                    "gpu.compute_processes": Known(value=1, source="x"),
                    "gpu.bus_id": Known(value=f"0000:0{at + 1}:00.0", source="x")}
                   for at, mode in enumerate(seen))
    code: dict[str, Fact] = {
        "cuda.init_code": Known(value=46 if rule == "GPD1042" else 0, source="x"),
        "system.user_id": Known(value=1000, source="x")}
    machine = replace(base, host={**base.host, **code}, gpus=listed)
    alone = replace(database, rules=tuple(one for one in database.rules if one.id == rule))
    return list(planning.make(examine(machine, alone, Policy()), machine, alone).steps)


def test_each_card_gets_the_mode_back_that_it_had(database: RuleDatabase) -> None:
    [step] = steps(database, "GPD1042", "exclusive-process", "default", "prohibited")
    assert step.commands == ("sudo nvidia-smi -c DEFAULT",)
    assert step.undo == ("sudo nvidia-smi -i 0 -c EXCLUSIVE_PROCESS; sudo nvidia-smi -i 2 -c PROHIBITED",)


@pytest.mark.parametrize("modes", [("default", "default"), ("exclusive-process", None)])
def test_nothing_is_set_where_that_helps_nothing_or_could_not_be_undone(
    database: RuleDatabase, modes: tuple[str | None, ...],
) -> None:
    """A card whose mode is default hangs; of one that nobody could ask no mode is known to go back to."""
    assert steps(database, "GPD1042", *modes) == []


@pytest.mark.parametrize(("mode", "word"), [
    ("exclusive-process", "EXCLUSIVE_PROCESS"), ("exclusive-thread", "EXCLUSIVE_THREAD")])
def test_one_card_gets_its_own_mode_back(database: RuleDatabase, mode: str, word: str) -> None:
    """Of a card with the mode of old drivers, one process was said to be the mode from before."""
    found = steps(database, "GPD1041", "default", mode)
    assert [step.undo for step in found] == [(f"sudo nvidia-smi -i 1 -c {word}",)]
