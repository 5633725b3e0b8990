"""Packages for GPUs that are no framework: CuPy is judged by its name, of others that is left open."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import causes, judged

OLD = "driver=470.223.02"


@pytest.mark.parametrize(("line", "driver", "instead"), [
    ("cupy-cuda12x", OLD, "cupy-cuda11x"), ("cupy-cuda13x==13.6.0", "driver=535.104.05", "cupy-cuda12x"),
    ("CuPy_CUDA12x[ctk]>=13", OLD, "cupy-cuda11x"), ("cupy-cuda110", "driver=440.33.01", "cupy-cuda102")])
def test_cupy_for_a_newer_cuda_than_the_drivers_is_an_error(line: str, driver: str, instead: str) -> None:
    """Regression: "nothing found", though the table of its wheels has the CUDA of each."""
    found = judged({"requirements.txt": f"six\n{line}\n"}, driver).findings
    assert [(one.place.line, one.finding.cause) for one in found] == [(2, "package-needs-newer-driver")]
    assert found[0].finding.fixes[0].title == f"Ask for {instead}, which this driver runs"
    assert causes(judged({"requirements.txt": f"{instead}\n"}, driver)) == []


@pytest.mark.parametrize(("line", "driver"), [
    ("cupy-cuda12x", "driver=525.60.13"), ("cupy-cuda11x", OLD), ("cupy-cuda115", OLD),
    ("cupy-cuda13x; python_version < '3'", OLD), ("numpy", OLD)])
def test_cupy_for_a_cuda_that_the_driver_runs_is_sound(line: str, driver: str) -> None:
    """From CUDA 11 on a driver runs every minor release of its own major one."""
    found = judged({"requirements.txt": f"{line}\n"}, driver)
    assert (causes(found), found.notes) == ([], ())


@pytest.mark.parametrize("line", ["onnxruntime-gpu==1.20.0", "vllm==0.11.0"])
def test_what_is_in_no_table_is_said_to_be_not_judged(line: str) -> None:
    """Regression: "nothing found", and not a word of it."""
    files = {"requirements.txt": f"six\n{line}\n"}
    found = judged(files, OLD, gpu=True)
    assert [(note.place.line, note.said.partition(":")[0], note.matters) for note in found.notes] == [
        (2, f"{line} was not judged", False)]


def test_what_rests_on_a_framework_that_is_judged_is_no_note() -> None:
    files = {"requirements.txt": "torch==2.0.1\nvllm\nxformers\n"}
    assert judged(files, OLD, gpu=True).notes == ()
