"""A driver that a sentence names by its branch, and numbers beside the word that are none."""

from __future__ import annotations

import pytest

from tests.sources.stating import stated, value


@pytest.mark.parametrize(("text", "driver"), [
    ("My GTX 1050 is not found with nvidia driver 595, what now?", "595"),
    ("RTX 5090 with driver version 535", "535"), ("drivers 470.xx on Debian", "470"),
    ("I use the 535 drivers", "535"), ("the R535 driver", "535"), ("the 580 open driver", "580"),
    ("NVIDIA Treiber 595 installiert", "595"), ("\u663e\u5361\u9a71\u52a8\u7248\u672c 535", "535"),
    ("NVIDIA \u30c9\u30e9\u30a4\u30d0\u30fc 535", "535"), ("GTX 960, driver 470", "470"),
    ("driver 550.54.14", "550.54.14"),
])
def test_a_branch_is_the_stated_driver(text: str, driver: str) -> None:
    """Regression: only a whole version was read, and the card was not held against the driver."""
    assert value(stated(text).host, "driver.version") == driver


@pytest.mark.parametrize("text", [
    "GTX 960 drivers are installed", "an RX 580 driver", "requires driver 525 or newer",
    "driver 525+ is fine", "needs NVIDIA driver >= 525",
    "NVIDIA driver 535.54.03 or later", "the driver took 300 ms",
    "driver 500 times reloaded", "driver 535 works and driver 550 does not", "error 500 driver not found",
    "line 512 driver failed", "driver1.595", "driver 4096", "upgrading to driver 550",
])
def test_what_is_no_stated_branch(text: str) -> None:
    """A product, a wish, a measure, a code, and two that contradict each other."""
    assert value(stated(text).host, "driver.version") is None
