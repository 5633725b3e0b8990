"""Bounds that a shell takes for redirections, behind each installer; and what a fix says that it installs."""

from __future__ import annotations

import pytest

from gpudoctor.manifests import rewrites
from gpudoctor.manifests.report import advice
from tests.unit.test_manifest_troubles import GPU, L4, SLIM, causes, docker, judged


@pytest.mark.parametrize(("line", "column", "given"), [
    ("RUN pip install numpy >= 1.26", 17, "numpy"), ("RUN pip install numpy>= 1.26 scipy", 17, "numpy"),
    ("RUN conda install -y numpy>=1.26 scipy", 22, "numpy"), ("RUN uv add numpy>=1", 12, "numpy"),
    ("RUN uv --quiet pip install numpy>=1", 28, "numpy"), ("CMD pip install numpy<2 && top", 17, "numpy"),
    ("RUN conda run -n a pip install numpy[x]>=1", 32, "numpy[x]")])
def test_a_bound_is_lost_whoever_installs_and_put_right(line: str, column: int, given: str) -> None:
    files = docker(SLIM, line)
    [found] = judged(files).findings
    assert (found.finding.cause, found.place.column) == ("requirement-not-quoted", column)
    assert found.said["file.requirement_given"] == given
    after = rewrites.applied(files, rewrites.proven([found], files, judged))
    assert f"'{found.said['file.requirement_meant']}'" in after["Dockerfile"]
    assert causes(judged(after)) == []


@pytest.mark.parametrize("line", ["RUN pip install numpy > =log", "RUN pip install numpy >= log",
                                  "RUN pip install numpy > 1.26", "RUN conda list >= 1", "RUN echo a>=1"])
def test_what_is_no_bound_is_none(line: str) -> None:
    assert causes(judged(docker(SLIM, line))) == []


def test_changes_that_hold_together_alone_are_made_together() -> None:
    files = docker(GPU.strip(), "FROM nvidia/cuda:12.4.1-base-ubuntu22.04",
                   "RUN pip install jax==0.4.34 && pip install tensorflow==2.18.0")
    changes = rewrites.proven(judged(files, *L4).findings, files, lambda texts: judged(texts, *L4))
    assert {one.text for one in changes} == {"'jax[cuda12]==0.4.34'", "'tensorflow[and-cuda]==2.18.0'"}


def test_a_fix_says_what_it_installs() -> None:
    files = docker(SLIM, "RUN pip install tensorflow==2.20.0 torch==2.4.1")
    found = judged(files, "driver=595.45.04", "cc=8.9", gpu=True).findings
    said = [advice(fix) for one in found for fix in one.finding.fixes]
    assert "(pip install 'nvidia-cudnn-cu12<10.0,>=9.3.0.75')" in " ".join(said)
