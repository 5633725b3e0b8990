"""A NumPy that breaks an older TensorFlow, whose metadata admits it: where pip takes it, and where it may."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import Files, causes, docker, judged

OLD, CUDA_11 = "tensorflow==2.10.1", "FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04"
PIP = "RUN apt-get update && apt-get install -y python3-pip"
BREAKS = "package-newer-than-build"


def installed(*lines: str, image: str = CUDA_11, **files: str) -> Files:
    return {**docker(image, PIP, *lines), **{f"{name}.txt": text for name, text in files.items()}}


@pytest.mark.parametrize(("files", "place"), [
    (installed(f"RUN pip install {OLD}"), "Dockerfile:3:17"),
    (installed(f"RUN pip install {OLD} pandas matplotlib"), "Dockerfile:3:17"),
    (installed("RUN pip install 'tensorflow>=2.9,<2.12' 'numpy>=1.20'"), "Dockerfile:3:41"),
    (installed(f"RUN pip install {OLD} scipy==1.9.3 numpy==2.1.3"), "Dockerfile:3:49"),
    (installed("RUN pip install 'tensorflow[and-cuda]==2.14.0'", image="FROM python:3.11-slim"),
     "Dockerfile:3:17"),
    (installed("RUN pip install tensorflow-gpu==2.10.1"), "Dockerfile:3:17"),
    (installed("COPY r.txt .", "RUN pip install -r r.txt", r=f"six\n{OLD}\n"), "r.txt:2:1"),
    (installed("RUN apt-get install -y python3-dev python3-setuptools", f"RUN pip install {OLD}"),
     "Dockerfile:4:17"),
    (installed("RUN apt-get install -y python3-numpy", f"RUN pip install {OLD}",
               image="FROM python:3.10-slim"), "Dockerfile:4:17"),
    (installed("RUN apt-get install -y python3-numpy", "RUN python3 -m venv /v",
               f"RUN /v/bin/pip install {OLD}"), "Dockerfile:5:24"),
    ({"environment.yml": f"dependencies:\n- python=3.10\n- pip\n- pip:\n  - {OLD}\n"}, "environment.yml:5:5"),
    ({"pyproject.toml": f'[project]\nname = "x"\nrequires-python = "==3.10.*"\ndependencies = ["{OLD}"]\n'},
     "pyproject.toml:4:18")])
def test_a_numpy_that_breaks_an_older_tensorflow_is_found(files: Files, place: str) -> None:
    """Nothing was said of it, and the import ends."""
    found = [one for one in judged(files).findings if one.finding.cause == BREAKS]
    assert [str(one.place) for one in found] == [place]
    assert "numpy<2" in found[0].finding.fixes[0].title


@pytest.mark.parametrize("files", [
    installed(f"RUN pip install {OLD} 'numpy<2'"),
    installed(f"RUN pip install {OLD} numpy==1.26.4"),
    installed(f"RUN pip install {OLD}", "RUN pip install 'numpy<2'"),
    installed("RUN pip install 'numpy==1.23.5'", f"RUN pip install {OLD}"),
    installed("COPY c.txt .", f"RUN pip install {OLD} -c c.txt", c="numpy<2\n"),
    installed(f"RUN pip install {OLD} 'numpy<2 ; python_version < \"3.12\"'"),
    installed("RUN pip install tensorflow==2.15.1"), installed("RUN pip install tensorflow==2.20.0"),
    installed(f"RUN pip install --no-deps {OLD}"), installed("RUN pip install tensorflow"),
    installed(f"RUN pip install {OLD}", image="FROM python:3.8-slim"),
    installed(f"RUN pip install {OLD}", image="FROM example.org/with-numpy:1"),
    installed("RUN apt-get install -y python3-numpy", f"RUN pip install {OLD}"),
    installed("RUN apt-get install -y git python3-opencv", f"RUN pip install {OLD}"),
    installed(f"RUN pip install {OLD} scipy==1.9.3"), installed(f"RUN pip install {OLD} -c not-there.txt"),
    installed("ENV PIP_CONSTRAINT=/c.txt", f"RUN pip install {OLD}"),
    installed("RUN pip install -r not-there.txt", f"RUN pip install {OLD}"),
    {"environment.yml": f"dependencies:\n- python=3.10\n- numpy=1.26\n- pip\n- pip:\n  - {OLD}\n"},
    {"environment.yml": "dependencies:\n- python=3.10\n- tensorflow=2.10.1\n"},
    {"requirements.txt": f"{OLD}\n"}])
def test_where_something_keeps_numpy_older_or_may_nothing_is_found(files: Files) -> None:
    assert BREAKS not in causes(judged(files))
    assert BREAKS not in causes(judged(files, "driver=580.95.05", "cc=8.0", gpu=True))


@pytest.mark.parametrize(("files", "words", "matters"), [
    (installed(f"RUN pip install {OLD} scipy==1.9.3"), "scipy==1.9.3 keeps it older", False),
    (installed(f"RUN pip install {OLD}", image="FROM example.org/with-numpy:1"), "the image has one", False),
    (installed("RUN apt-get install -y python3-numpy", f"RUN pip install {OLD}"),
     "unless python3-numpy brings an older one", False),
    (installed(f"RUN pip install {OLD} -c not-there.txt"), "what was not read", False),
    ({"requirements.txt": f"{OLD}\n"}, "Python is older than 3.9", True)])
def test_where_something_may_keep_numpy_older_it_is_said(files: Files, words: str, *, matters: bool) -> None:
    for gpu in (True, False):
        [note] = [one for one in judged(files, gpu=gpu).notes if "cannot be imported" in one.said]
        assert words in note.said
        assert note.matters is (matters and gpu)
