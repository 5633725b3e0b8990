"""nvidia-smi's heading in one line, as people paste it, with what they write beside it."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb, texts
from tests.sources.stating import stated, value


@pytest.mark.parametrize(("text", "driver", "ceiling"), [
    ("NVIDIA-SMI 470.82 Driver Version: 470.82 CUDA Version: 11.4", "470.82", "11.4"),
    ("| NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4     |", "470.82.01", "11.4"),
    ("NVIDIA-SMI 470.82, Driver Version: 470.82, CUDA Version: 11.4. TensorFlow 2.15 sees no GPU", "470.82",
     "11.4"),
    ("Driver Version: 535.183.01 | CUDA Version: 12.2 | Python 3.10", "535.183.01", "12.2"),
    ("Driver Version: 535.183.01 CUDA Version: 12.2", "535.183.01", "12.2"),
])
def test_the_heading_is_read_with_and_without_bars(text: str, driver: str, ceiling: str) -> None:
    """Its CUDA is what the driver runs, and no toolkit."""
    found = stated(text + "\n")
    assert [value(found.text, name) for name in ("text.driver", "text.driver_ceiling", "text.cuda")] == [
        driver, ceiling, None]


@pytest.mark.parametrize(("text", "version"), [
    ("NVIDIA-SMI 535.183.01 Driver Version: 535.183.01 CUDA Version: 12.2, torch 2.9.0+cu130: False",
     "2.9.0+cu130"),
    ("NVIDIA-SMI 470.82, Driver Version: 470.82, CUDA Version: 11.4. TensorFlow 2.15 sees no GPU", "2.15"),
])
def test_what_people_write_behind_the_heading_is_read_too(text: str, version: str) -> None:
    """Regression: the whole line was the program's, so no framework was too new for the driver."""
    database = ruledb.load_shipped("told")
    assert value(texts.read_text(text, database).text, "text.framework_version") == version
    assert texts.told_causes(text + "\ntorch.cuda.is_available(): False", database)[0] == "driver-too-old"


def test_versions_in_the_heading_are_of_nothing_else() -> None:
    """A heading says neither a toolkit nor a framework."""
    found = stated("NVIDIA-SMI 610.43 KMD Version: 610.43 CUDA UMD Version: 13.3\n")
    assert value(found.text, "text.cuda") is None
    assert value(found.text, "text.framework_version") is None
