"""An extra for CUDA that the release of jax which pip takes does not have: pip only warns of it."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from gpudoctor.manifests import jax_extras, releases
from tests.unit.test_manifest_troubles import causes, database, docker, judged

JAMMY, SLIM = "FROM ubuntu:22.04", "FROM python:3.12-slim"  # the first has Python 3.10
MISSING = "jax-cuda-plugin-missing"


@pytest.mark.parametrize(("base", "extra", "release"), [
    (JAMMY, "cuda13", "0.6.2"), (JAMMY, "cuda12_pip", "0.6.2"), (SLIM, "cuda12_pip", "0.12.0"),
    (SLIM, "cuda11_pip", "0.12.0")])
def test_jax_whose_release_lacks_the_extra_is_one_for_the_cpu(base: str, extra: str, release: str) -> None:
    """Regression: `jax[cuda13]` with Python 3.10 was not judged, and `jax[cuda12_pip]` was called sound."""
    found = judged(docker(base, f"RUN pip install 'jax[{extra}]'"), gpu=True)
    assert causes(found) == [MISSING]
    assert f"jax {release}" in found.findings[0].finding.message
    assert any("has no extra" in note.said for note in found.notes)


@pytest.mark.parametrize("text", [
    "jax[cuda]", "jax[cuda12]", "jax[cuda13]", "jax[cuda12_pip]<0.6", "jax[cuda12]>=0.5,<0.7"])
def test_an_extra_that_the_release_has_is_sound(text: str) -> None:
    """Regression: `jax[cuda]`, which asks for the plugin of CUDA 12, was not judged."""
    found = judged(docker(SLIM, f"RUN pip install '{text}'"), gpu=True)
    assert causes(found) == []
    assert not any(note.matters for note in found.notes)


def test_no_wheel_of_jax_for_a_python_is_told() -> None:
    """Regression: `jax[cuda12]>=0.7` with Ubuntu 22.04's Python was not judged."""
    found = judged(docker(JAMMY, "RUN pip install 'jax[cuda12]>=0.7'"))
    assert causes(found) == ["python-version-unsupported"]
    assert "Python 3.10" in found.findings[0].finding.message
    assert causes(judged(docker(SLIM, "RUN pip install 'jax[cuda12]>=0.7'"))) == []


def test_of_several_cudas_the_newest_is_looked_for_first() -> None:
    """Regression: which of them was judged changed from run to run."""
    requirement = Requirement("jax[cuda12,cuda12-local,cuda13,cuda13-local]==0.8.3")
    found = jax_extras.brought(requirement, "3.12", "linux_x86_64", database().tables, releases.admits)
    assert found == ["cuda13", "cuda13-local", "cuda12", "cuda12-local"]
