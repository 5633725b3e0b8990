"""What each framework is run through, on which card, and why not."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb
from gpudoctor.assume import lay
from gpudoctor.courses import STAGES, NoSuchCard, Wish, courses, of_unknown_code
from gpudoctor.model import Course, Fact, Facts, Known, RuleDatabase, Snapshot, Unknown, Value

GIB = 1 << 30


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return ruledb.load(None, None)


def known(**values: Value) -> dict[str, Fact]:
    return {name.replace("__", "."): Known(value=value, source="test") for name, value in values.items()}


def card(index: int, **values: Value) -> Facts:
    return known(**{
        "gpu__index": index, "gpu__uuid": f"GPU-{index}0000000", "gpu__name": "NVIDIA H100 80GB HBM3",
        "gpu__compute_capability": "9.0", "gpu__memory_total_bytes": 80 * GIB, "gpu__in_nvml": True,
        "gpu__memory_used_bytes": GIB, "gpu__compute_mode": "default", "gpu__compute_processes": 0,
        "gpu__in_cuda": True, "gpu__mig_mode": False, **values})


def machine(database: RuleDatabase, *cards: Facts, torch: str = "2.10.0", **host: Value) -> Snapshot:
    """Return a machine with a working driver, these cards and torch."""
    facts = known(release=f"torch=={torch}", **host)
    snapshot = lay(database.base, facts, database.tables, source="test")
    listed = tuple(known(**{k.replace(".", "__"): v.value for k, v in one.items() if isinstance(v, Known)})
                   for one in cards)
    devices = tuple({"uuid": str(n), "bus_id": "", "name": "", "compute_capability": "9.0"}
                    for n in range(len(cards)))
    host_facts = {**snapshot.host, **known(cuda__device_count=len(cards), cuda__devices=devices)}
    return Snapshot(host=host_facts, gpus=listed, frameworks=snapshot.frameworks)


def planned(database: RuleDatabase, snapshot: Snapshot, wish: Wish | None = None,
            depth: str = "smoke") -> tuple[Course, ...]:
    return courses(snapshot, database, wish or Wish(), depth=depth)


def test_of_each_model_the_card_with_the_most_room_is_run_on(database: RuleDatabase) -> None:
    small = {"gpu__name": "NVIDIA L4", "gpu__compute_capability": "8.9"}
    snapshot = machine(database, card(0, gpu__memory_used_bytes=50 * GIB), card(1), card(2, **small))
    single = [course for course in planned(database, snapshot) if course.stages != ("all-reduce",)]
    assert [(c.card, c.visible) for c in single] == [("1", "GPU-10000000"), ("2", "GPU-20000000")]
    assert all(course.stages == STAGES[:-1] for course in single)
    assert set(single[0].precisions) == {"float16", "bfloat16", "tf32"}  # float8 is known, and not tried


def test_the_memory_of_the_smallest_card_is_known_to_who_limits_it(database: RuleDatabase) -> None:
    """Not of a card in MIG mode: its instances have less."""
    smaller = card(1, gpu__memory_total_bytes=40 * GIB)
    single, together = planned(database, machine(database, card(0), smaller))
    assert (single.card, single.memory_bytes) == ("0", 80 * GIB)
    assert together.memory_bytes == 40 * GIB
    course, = planned(database, machine(database, card(0, gpu__mig_mode=True)))
    assert course.memory_bytes is None


def test_all_cards_of_one_model_are_summed_over_together(database: RuleDatabase) -> None:
    """One of them is run on alone; a display's card beside them takes no part."""
    small = {"gpu__name": "NVIDIA T400", "gpu__compute_capability": "7.5"}
    snapshot = machine(database, card(0, **small), card(1), card(2), card(3, gpu__memory_used_bytes=78 * GIB))
    alone, together = [c for c in planned(database, snapshot) if c.card != "0"]
    assert (alone.card, alone.stages) == ("1", STAGES[:-1])
    assert (together.card, together.stages) == ("1,2", ("all-reduce",))
    assert together.visible == "GPU-10000000,GPU-20000000"


def test_a_sum_over_cards_that_cannot_be_is_left_out_with_the_reason(database: RuleDatabase) -> None:
    """Both cards are of one model, and one of them is full."""
    alone, together = planned(database, machine(database, card(0), card(1, gpu__memory_used_bytes=78 * GIB)))
    assert (alone.card, alone.stages) == ("0", STAGES[:-1])
    assert (together.stages, together.left_out) == ((), ("all-reduce",))
    assert together.skip is not None
    assert "and 1 may be used; GPU 1: no room on it" in together.skip.reason


def test_who_asks_for_a_sum_over_cards_hears_that_there_is_one(database: RuleDatabase) -> None:
    """Else nothing would be run, and nothing said; who asks for all stages does not mean this one."""
    alone, together = planned(database, machine(database, card(0)), Wish(stages=("all-reduce",)))
    assert (alone.stages, together.left_out) == ((), ("all-reduce",))
    assert together.skip is not None
    assert together.skip.wanted
    assert len(planned(database, machine(database, card(0)))) == 1


def test_unlike_cards_are_summed_over_only_when_they_are_named(database: RuleDatabase) -> None:
    small = {"gpu__name": "NVIDIA L4", "gpu__compute_capability": "8.9"}
    snapshot = machine(database, card(0), card(1, **small))
    assert [c for c in planned(database, snapshot) if "all-reduce" in c.stages] == []
    named = planned(database, snapshot, Wish(gpus=("0", "1")))[-1]
    assert (named.card, named.stages) == ("0,1", ("all-reduce",))


def test_a_machine_with_one_device_shows_the_program_what_it_always_sees(database: RuleDatabase) -> None:
    """Drivers that do not take UUIDs would hide the card, and that would look like a fault."""
    course, = planned(database, machine(database, card(0)))
    assert (course.card, course.visible, course.stages) == ("0", None, STAGES[:-1])


@pytest.mark.parametrize(("values", "said"), [
    ({"gpu__compute_mode": "exclusive-process", "gpu__compute_processes": 1}, "exclusive-process"),
    ({"gpu__compute_mode": "prohibited"}, "prohibits"),
    ({"gpu__compute_mode": "exclusive-process", "gpu__driver_kernel": "skipped",
      "gpu__driver_kernel_answer": "46"}, "exclusive-process and it is taken"),
    ({"gpu__driver_kernel": "skipped", "gpu__driver_kernel_answer": "2"}, "not even for the checked kernel"),
    ({"gpu__memory_used_bytes": 80 * GIB - (1 << 20)}, "no room on it: 1 MiB of its 81920 MiB are free"),
])
def test_a_neighbours_card_is_left_alone(values: dict[str, Value], said: str, database: RuleDatabase) -> None:
    course, = planned(database, machine(database, card(0, **values)))
    assert course.stages == ()
    assert course.skip is not None
    assert course.skip.wanted
    assert said in course.skip.reason


def test_a_card_that_just_computed_beside_another_process_is_not_taken(database: RuleDatabase) -> None:
    """So it is with MPS."""
    shared: dict[str, Value] = {"gpu__compute_mode": "exclusive-process", "gpu__compute_processes": 1,
              "gpu__driver_kernel": "passed"}
    course, = planned(database, machine(database, card(0, **shared)))
    assert course.skip is None


def test_a_card_for_which_our_kernel_may_not_be_compiled_is_no_taken_one(database: RuleDatabase) -> None:
    """The kernel is text; a framework brings machine code."""
    forbidden = card(0, gpu__driver_kernel="skipped", gpu__driver_kernel_answer="223")
    course, = planned(database, machine(database, forbidden))
    assert course.skip is None


def test_a_free_exclusive_card_is_used(database: RuleDatabase) -> None:
    course, = planned(database, machine(database, card(0, gpu__compute_mode="exclusive-process")))
    assert course.skip is None


def test_without_a_card_only_the_import_is_tried(database: RuleDatabase) -> None:
    course, = planned(database, machine(database))
    assert (course.stages, course.visible) == ((), None)
    assert course.skip is not None
    assert not course.skip.wanted


def test_cards_that_nobody_could_list_leave_the_question_open(database: RuleDatabase) -> None:
    snapshot = machine(database)
    blind = Snapshot(host=snapshot.host, gpus=Unknown(reason="NVML hung"), frameworks=snapshot.frameworks)
    course, = planned(database, blind)
    assert course.skip is not None
    assert course.skip.wanted
    assert "NVML hung" in course.skip.reason


def test_depth_import_runs_nothing(database: RuleDatabase) -> None:
    course, = planned(database, machine(database, card(0)), depth="import")
    assert course.stages == ()


def test_hidden_cards_stay_hidden(database: RuleDatabase) -> None:
    hidden = machine(database, card(0), environment__CUDA_VISIBLE_DEVICES="")
    course, = planned(database, hidden)
    assert course.visible is None, "the framework must see what the user's program sees"
    assert course.stages


def test_a_card_in_mig_mode_is_left_to_the_driver(database: RuleDatabase) -> None:
    course, = planned(database, machine(database, card(0, gpu__mig_mode=True)))
    assert course.visible is None


@pytest.mark.parametrize(("release", "capability", "name", "said"), [
    ("tensorflow==2.15.1", "9.0", "NVIDIA H100", "compiled from PTX"),
    ("tensorflow==2.20.0", "12.0", "NVIDIA GeForce RTX 5090", "no code that works on this card"),
])
def test_a_long_compilation_is_announced_and_started_only_when_there_is_time_for_it(
        release: str, capability: str, name: str, said: str, database: RuleDatabase) -> None:
    there = {"gpu__compute_capability": capability, "gpu__name": name}
    base = lay(database.base, known(release=release), database.tables, source="test")
    snapshot = Snapshot(host={**base.host, **known(cuda__device_count=1)}, gpus=(card(0, **there),),
                        frameworks=base.frameworks)
    course, = planned(database, snapshot)
    assert course.skip is not None
    assert said in course.skip.reason
    patiently, = planned(database, snapshot, Wish(limit_seconds=1800))
    assert patiently.stages


@pytest.mark.parametrize("name", ["1", "GPU-1", "gpu-10000000"])
def test_a_card_is_named_by_index_or_uuid(name: str, database: RuleDatabase) -> None:
    snapshot = machine(database, card(0), card(1))
    course, = planned(database, snapshot, Wish(gpus=(name,), stages=("matmul",)))
    assert (course.card, course.stages) == ("1", ("matmul",))


@pytest.mark.parametrize(("name", "said"), [("7", "no such card; cards here: 0 (NVIDIA H100"),
                                            ("GPU-", "names several cards")])
def test_a_card_that_is_not_there_is_an_error_that_names_those_that_are(
        name: str, said: str, database: RuleDatabase) -> None:
    with pytest.raises(NoSuchCard, match=r"--gpu") as error:
        planned(database, machine(database, card(0), card(1)), Wish(gpus=(name,)))
    assert said in str(error.value)


def test_no_card_is_looked_for_where_nothing_can_be_run(database: RuleDatabase) -> None:
    """Whoever names a card of a machine whose driver is broken is told of the driver."""
    broken = machine(database, card(0), cuda__init_code=999)
    course, = planned(database, broken, Wish(gpus=("7",)))
    assert course.skip is not None
    assert "driver does not work" in course.skip.reason


def test_only_device_code_that_no_table_has_is_walked(database: RuleDatabase) -> None:
    listed = machine(database, card(0))
    assert of_unknown_code(listed, database) == frozenset()
    strange = lay(listed, known(framework__version="2.10.0+local"), database.tables, source="test")
    assert of_unknown_code(strange, database) == {"torch"}
    for_cpu = lay(strange, known(framework__build="cpu"), database.tables, source="test")
    assert of_unknown_code(for_cpu, database) == frozenset()
