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


def test_where_no_device_is_listed_nothing_is_hidden_or_run() -> None:
    answers: dict[str, dict[str, object]] = {
        "cuda": {"data": None}, "frameworks": {"data": {"frameworks": [{"name": "jax"}]}}}
    course, = standalone_courses.courses(answers, "smoke", None)
    assert (course["visible"], course["stages"]) == (None, [])
