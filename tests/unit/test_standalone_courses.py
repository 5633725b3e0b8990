"""Which card the stand-alone payload runs frameworks on: the first that they would see, and no other."""

from __future__ import annotations

import pytest

from gpudoctor.payloads import standalone_courses


@pytest.mark.parametrize(("devices", "hidden_by", "visible"), [
    (1, None, None), (2, None, "0"), (8, "3,4", "3"), (2, "GPU-1,GPU-2", "GPU-1"), (2, "", ""),
    (2, "-1", "-1"),
])
def test_of_several_cards_the_first_is_left_visible(
        devices: int, hidden_by: str | None, visible: str | None) -> None:
    """One alone is shown as it always is."""
    answers = {"cuda": {"data": {"devices": [{"ordinal": number} for number in range(devices)]}},
               "frameworks": {"data": {"frameworks": [{"name": "jax"}]}}}
    course, = standalone_courses.courses(answers, "smoke", hidden_by)
    assert (course["visible"], course["stages"]) == (visible, list(standalone_courses.STAGES))


UUIDS = [f"{number:032x}" for number in (17, 18)]
NAMES = [f"GPU-00000000-0000-0000-0000-0000000000{number}" for number in (11, 12)]


def card(name: str, free: int = 40 << 30, mode: int = 0, processes: int = 0) -> dict[str, object]:
    """Return what NVML says of a card with 80 GiB."""
    calls = {
        "nvmlDeviceGetUUID": name, "nvmlDeviceGetComputeMode": mode,
        "nvmlDeviceGetMemoryInfo_v2": {"total": 80 << 30, "free": free, "used": 0, "reserved": 0},
        "nvmlDeviceGetComputeRunningProcesses_v3": [{"pid": 1, "memory": 1}] * processes}
    return {"index": 0, "calls": {call: {"code": 0, "value": value} for call, value in calls.items()}}


def planned(*cards: dict[str, object], hidden_by: str | None = None,
            computes: bool = False, trial: dict[str, object] | None = None) -> dict[str, object]:
    """Return the course on a machine with two devices, of which NVML says this."""
    devices = [{"ordinal": number, "calls": {"cuDeviceGetUuid_v2": {"code": 0, "value": UUIDS[number]}}}
               for number in range(2)]
    trial = trial or {"outcome": "passed" if computes else "skipped"}
    answers = {
        "cuda": {"data": {"devices": devices}}, "nvml": {"data": {"cards": list(cards)}},
        "smoke": {"data": {"devices": [{"ordinal": 0, "trial": trial}]}},
        "frameworks": {"data": {"frameworks": [{"name": "jax"}]}}}
    course: dict[str, object]
    course, = standalone_courses.courses(answers, "smoke", hidden_by)
    return course


FULL, FREE = card(NAMES[0], free=64 << 20), card(NAMES[1])


@pytest.mark.parametrize(("first", "reason"), [
    (FULL, "no room on it: 64 MiB of its 81920 MiB are free, 1024 MiB are needed"),
    (card(NAMES[0], mode=2), "its compute mode prohibits computing"),
    (card(NAMES[0], mode=3, processes=2), "its compute mode is exclusive-process and 2 process(es) use it"),
    (card(NAMES[0], mode=1, processes=1), "its compute mode is exclusive-thread and 1 process(es) use it"),
    (card(NAMES[0], mode=3), None), (card(NAMES[0], processes=3), None), (card(NAMES[0]), None),
])
def test_a_card_that_is_taken_closed_or_full_is_left_alone(
        first: dict[str, object], reason: str | None) -> None:
    """As by the planner, and so that it is asked for: nothing was proven although it was wanted."""
    course = planned(first, FREE)
    assert course["skipped"] == (None if reason is None else {"reason": reason, "wanted": True})
    assert course["stages"] == ([] if reason else list(standalone_courses.STAGES))


@pytest.mark.parametrize(("code", "is_left_alone"), [(46, True), (2, True), (223, False)])
def test_a_card_that_turned_the_kernel_away_is_left_alone(code: int, is_left_alone: bool) -> None:
    """In a container NVML tells of nobody; 223 forbids to compile text, which a framework does not need."""
    trial: dict[str, object] = {"outcome": "skipped", "reason": "it is taken", "answer": {"code": code}}
    expected = {"reason": "it is taken", "wanted": True} if is_left_alone else None
    assert planned(card(NAMES[0], mode=3), FREE, trial=trial)["skipped"] == expected


def test_a_card_whose_driver_takes_another_process_is_run_on() -> None:
    """With MPS an exclusive card has room beside others, as the checked kernel showed."""
    assert planned(card(NAMES[0], mode=3, processes=1), computes=True)["skipped"] is None


@pytest.mark.parametrize(("hidden_by", "is_full"), [
    (None, True), ("0", True), ("1", False), ("1,0", False), (NAMES[0], True), (NAMES[1], False),
    ("GPU-x", False), ("", False), ("-1", False), ("MIG-1", False),
])
def test_the_card_that_the_environment_shows_first_is_looked_at(hidden_by: str | None, is_full: bool) -> None:
    """Whatever NVML's order is; of none, and of an instance, nothing is known."""
    course = planned(FREE, FULL, hidden_by=hidden_by)
    assert (course["skipped"] is not None) is is_full


def test_the_framework_is_told_how_large_the_card_is() -> None:
    """So that what takes only a share of it can be limited."""
    request = standalone_courses.request(planned(FREE, card(NAMES[0])), ["matmul"], 9.0)
    assert request["card_memory_bytes"] == 80 << 30


def test_where_no_device_is_listed_nothing_is_hidden_or_run() -> None:
    answers: dict[str, dict[str, object]] = {
        "cuda": {"data": None}, "frameworks": {"data": {"frameworks": [{"name": "jax"}]}}}
    course, = standalone_courses.courses(answers, "smoke", None)
    assert (course["visible"], course["stages"]) == (None, [])
