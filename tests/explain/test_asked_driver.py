"""The driver that NVIDIA's container asks for, held against the stated card."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.explanation import explain
from gpudoctor.model import value_of

BANNER = ("ERROR: This container was built for NVIDIA Driver Release {asked} or later, but{gap}"
          "version {driver} was detected and compatibility mode is UNAVAILABLE.\nGPU: {card}\n")


@pytest.mark.parametrize("gap", [" ", "\n       "])
@pytest.mark.parametrize(("asked", "driver", "card", "cause"), [
    ("530.30", "470.57.02", "Tesla K80", "gpu-too-old-for-build"),
    ("545.23", "390.157", "GeForce GTX 580", "gpu-too-old-for-build"),
    ("465.19", "450.80.02", "Tesla K80", "driver-too-old"),
    ("545.23", "470.57.02", "Tesla V100", "driver-too-old"),
    ("545.23", "470.57.02", "a card", "driver-too-old"),
])
def test_a_card_that_no_such_driver_serves_is_too_old_for_the_image(
        gap: str, asked: str, driver: str, card: str, cause: str) -> None:
    """Regression: a K80 was to get another driver, and there is none for it."""
    database = ruledb.load_shipped("told")
    text = BANNER.format(asked=asked, gap=gap, driver=driver, card=card)
    found = explain(texts.read_text(text, database), database)
    assert found.findings[0].cause == cause
    assert [value_of(found.snapshot.host, name) for name in ("text.asked_driver", "text.driver")] == [
        asked, driver]
    if cause != "driver-too-old":
        assert not [fix for one in found.findings[:1] for fix in one.fixes if fix.kind == "driver"]
