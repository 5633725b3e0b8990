"""Requirements for some Pythons alone, in a list that does not say with which Python it is installed."""

from __future__ import annotations

import pytest

from gpudoctor.manifests import rewrites
from tests.unit.test_manifest_troubles import causes, judged

TF = "tensorflow==2.17.0"
MISSING = ["pip-nvidia-libs-not-installed"]


@pytest.mark.parametrize("marker", [
    "python_version >= '3.9'", 'python_version >= "3.10" and python_version < "4.0"',
    "python_full_version >= '3.9.1' and sys_platform == 'linux'", "python_version != '3.6'"])
def test_what_is_for_every_newer_python_is_judged(marker: str) -> None:
    """Regression: so poetry exports each line, and nothing was found in such a list."""
    assert causes(judged({"requirements.txt": f"{TF} ; {marker}\n"}, gpu=True)) == MISSING


@pytest.mark.parametrize(("more", "matters"), [("", True), ("tensorflow[and-cuda]==2.20.0\n", False)])
def test_what_is_for_older_ones_is_said_to_be_left_open(more: str, matters: bool) -> None:
    """It was passed over without a word; it matters where nothing else asks for the framework."""
    found = judged({"requirements.txt": f"{TF} ; python_version < '3.13'\n{more}"}, gpu=True)
    assert causes(found) == []
    assert [note.matters for note in found.notes if "for some Pythons alone" in note.said] == [matters]


@pytest.mark.parametrize("marker", [
    "sys_platform == 'darwin'", "sys_platform == 'darwin' and python_version < '3.12'"])
def test_what_is_not_for_linux_is_not_spoken_of(marker: str) -> None:
    found = judged({"requirements.txt": f"{TF} ; {marker}\n"}, gpu=True)
    assert (causes(found), found.notes) == ([], ())


def test_jax_is_given_an_extra_that_its_release_has() -> None:
    """Regression: 0.5.0 was given cuda13, which it does not have, so that pip installs the CPU part alone."""
    files = {"environment.yml": "dependencies:\n- python=3.12\n- pip:\n  - jax==0.5.0\n"}
    host = ("driver=580.95.05", "cc=8.9")
    again = rewrites.proven(judged(files, *host, gpu=True).findings, files,
                            lambda texts: judged(texts, *host, gpu=True))
    assert [one.text for one in again] == ["jax[cuda12]==0.5.0"]
