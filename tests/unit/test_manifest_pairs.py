"""Pairs of files of one shape, faulty and sound: where each dialect says what is installed, and for what."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpudoctor.manifests import rewrites
from gpudoctor.manifests.judging import Verdicts
from tests.unit.test_manifest_troubles import CPU_IMAGE, CUDA_12, GPU, SLIM, Files, causes, docker, judged

HOST = ("driver=580.95.05", "cc=8.9")
CPU, CUDA = "https://download.pytorch.org/whl/cpu", "https://download.pytorch.org/whl/cu124"
PROJECT = '[project]\nname = "x"\nrequires-python = ">=3.11"\ndependencies = [{}]\n'
OF_UV = f"""[[tool.uv.index]]
name = "cpu"
url = "{CPU}"
explicit = true
[[tool.uv.index]]
name = "cuda"
url = "{CUDA}"
explicit = true
[tool.uv.sources]
torch = """
OF_POETRY = f"""[[tool.poetry.source]]
name = "cpu"
url = "{CPU}"
priority = "explicit"
[[tool.poetry.source]]
name = "cuda"
url = "{CUDA}"
priority = "explicit"
[tool.poetry.dependencies]
python = "^3.11"
torch = """
TORCH, CPU_BUILD = '"torch==2.5.1"', "cpu-only-build"


def project(text: str, dependencies: str = TORCH) -> Files:
    return {"pyproject.toml": PROJECT.format(dependencies) + text}


def uv(sources: str, text: str = "") -> Files:
    """Return a project whose torch uv takes from these sources; with `text` it is in an extra or a group."""
    return project(f"{text}{OF_UV}{sources}\n", "" if text else TORCH)


def poetry(stated: str) -> Files:
    return {"pyproject.toml": f"{OF_POETRY}{stated}\n"}


LINUX, DARWIN = (f"marker = \"sys_platform == '{name}'\"" for name in ("linux", "darwin"))
EXTRA = f"[project.optional-dependencies]\nx = [{TORCH}]\n"
GROUP = f"[dependency-groups]\nx = [{TORCH}]\n"


@pytest.mark.parametrize(("faulty", "sound"), [
    (uv(f'[{{index = "cpu", {LINUX}}}, {{index = "cuda", {DARWIN}}}]'),
     uv(f'[{{index = "cuda", {LINUX}}}, {{index = "cpu", {DARWIN}}}]')),
    (uv('[{index = "cpu", extra = "x"}, {index = "cuda", extra = "y"}]', EXTRA),
     uv('[{index = "cuda", extra = "x"}, {index = "cpu", extra = "y"}]', EXTRA)),
    (uv('[{index = "cuda"}, {index = "cpu", group = "x"}]', GROUP),
     uv('[{index = "cpu", group = "y"}, {index = "cuda", group = "x"}]', GROUP)),
    (project(f'[[tool.uv.index]]\nurl = "{CPU}"\n'), project(f'[[tool.uv.index]]\nurl = "{CUDA}"\n')),
    (project(f'[[tool.uv.index]]\nurl = "{CPU}"\ndefault = true\n'),
     project(f'[[tool.uv.index]]\nname = "x"\nurl = "{CPU}"\nexplicit = true\n')),
    (project(f'[tool.uv]\nextra-index-url = ["{CPU}"]\n'),
     project(f'[tool.uv]\nextra-index-url = ["{CUDA}"]\n')),
    (project(f'[tool.uv]\nindex-url = "{CPU}"\n'), project(f'[tool.uv]\nindex-url = "{CUDA}"\n')),
    (project(f'[[tool.pdm.source]]\nname = "a"\nurl = "{CPU}"\ninclude_packages = ["torch*"]\n'),
     project(f'[[tool.pdm.source]]\nname = "a"\nurl = "{CPU}"\ninclude_packages = ["six"]\n')),
    (project(f'[[tool.pdm.source]]\nname = "pypi"\nurl = "{CPU}"\n'),
     project(f'[[tool.pdm.source]]\nname = "pypi"\nurl = "{CUDA}"\n')),
    (poetry('[{version = "2.5.1", platform = "linux", source = "cpu"}, '
            '{version = "2.5.1", platform = "darwin", source = "cuda"}]'),
     poetry('[{version = "2.5.1", platform = "linux", source = "cuda"}, '
            '{version = "2.5.1", platform = "darwin", source = "cpu"}]')),
    (poetry('[{version = "2.5.1", markers = "sys_platform == \'linux\'", source = "cpu"}]'),
     poetry('[{version = "2.5.1", markers = "sys_platform == \'darwin\'", source = "cpu"}]')),
    ({"Pipfile": f'[[source]]\nname = "a"\nurl = "{CPU}"\n[packages]\n'
                 'torch = {version = "==2.5.1", index = "a", sys_platform = "== \'linux\'"}\n'},
     {"Pipfile": f'[[source]]\nname = "a"\nurl = "{CPU}"\n[packages]\n'
                 'torch = {version = "==2.5.1", index = "a", sys_platform = "== \'win32\'"}\n'})])
def test_a_project_takes_its_build_from_where_its_own_program_is_told(faulty: Files, sound: Files) -> None:
    """Of several sources the last was taken, whatever it was for; indexes for all packages were not read."""
    assert causes(judged(faulty, *HOST, gpu=True)) == [CPU_BUILD]
    assert causes(judged(sound, *HOST, gpu=True)) == []


def conda(*pip: str) -> str:
    lines = "".join(f"  - {one}\n" for one in pip)
    return f"dependencies:\n- python=3.11\n- pip:\n{lines}"


BOUND = {"c.txt": "nvidia-cudnn-cu12==8.9.7.29\n"}
FITTING = {"c.txt": "nvidia-cudnn-cu12==9.5.0.50\n"}
TENSORFLOW = "tensorflow[and-cuda]==2.20.0"


@pytest.mark.parametrize(("faulty", "sound", "cause"), [
    ({"r.txt": f"--extra-index-url {CPU}\ntorch==2.5.1\n"},
     {"r.txt": f"--extra-index-url {CUDA}\ntorch==2.5.1\n"},
     CPU_BUILD),
    ({"r.txt": "tensorflow-cpu==2.18.0 ; os_name == 'posix'\ntensorflow-cpu==2.17.0 ; os_name == 'nt'\n"},
     {"r.txt": "tensorflow-cpu==2.18.0 ; os_name == 'nt'\n"}, CPU_BUILD),
    ({"r.txt": "onnxruntime-gpu\nonnxruntime ; sys_platform == 'linux'\n"},
     {"r.txt": "onnxruntime-gpu\nonnxruntime ; sys_platform == 'darwin'\n"}, "wheel-file-collision"),
    ({"environment.yml": conda("-c c.txt", TENSORFLOW), **BOUND},
     {"environment.yml": conda("-c c.txt", TENSORFLOW), **FITTING}, "requirements-contradict"),
    ({"environment.yml": conda(f"-i {CPU}", "torch==2.5.1")},
     {"environment.yml": conda("torch==2.5.1")}, CPU_BUILD),
    ({"environment.yml": conda("-r a/r.txt"), "a/r.txt": "-r s.txt\n", "a/s.txt": "tensorflow==2.20.0\n"},
     {"environment.yml": conda("-r a/r.txt"), "a/r.txt": "-r s.txt\n", "a/s.txt": f"{TENSORFLOW}\n"},
     "pip-nvidia-libs-not-installed"),
    ({"environment.yml": "dependencies:\n- conda-forge::pytorch=2.5=cpu_mkl*\n- cuda-version=12.6\n"},
     {"environment.yml": "dependencies:\n- conda-forge::pytorch=2.5=cuda126*\n- cuda-version=12.6\n"},
     "conda-resolved-cpu-build")])
def test_what_pip_and_conda_read_of_a_list(faulty: Files, sound: Files, cause: str) -> None:
    assert causes(judged(faulty, *HOST, gpu=True)) == [cause]
    assert causes(judged(sound, *HOST, gpu=True)) == []


def listed(*lines: str) -> Files:
    """Return a Dockerfile whose list stands in a here-document."""
    return docker(GPU, SLIM, f"COPY <<{lines[0]} {lines[1]}", *lines[2:])


DEPLOYMENT = """kind: ConfigMap
data: {{image: 'tensorflow/tensorflow:2.17.0'}}
---
kind: CronJob
spec:
  jobTemplate:
    spec:
      template:
        spec:
          initContainers:
          - {{image: busybox, command: [sh, -c, 'test 2 -gt 1']}}
          containers:
          - image: python:3.12-slim
            command: [/bin/bash, -c]
            args:
            - |
              set -e
              pip install {}
            resources: {{limits: {{nvidia.com/gpu: 1}}}}
---
"""
ANCHOR = "x-gpu: &gpu {deploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}}\n"
STAGES = (CUDA_12.replace("runtime", "devel") + " AS build", "RUN python3 -m venv /opt/venv",
          "ENV PATH=/opt/venv/bin:$PATH", "RUN pip install {}", "FROM python:3.12-slim",
          "COPY --from=build /opt/venv /opt/venv")
ABSENT, UNQUOTED = "pip-nvidia-libs-not-installed", "requirement-not-quoted"


@pytest.mark.parametrize(("faulty", "sound", "place"), [
    (listed("EOF", "/r.txt", "six", "tensorflow==2.20.0", "EOF", "RUN pip install -r /r.txt"),
     listed("EOF", "/r.txt", "six", TENSORFLOW, "EOF", "RUN pip install -r /r.txt"),
     f"Dockerfile:6:1 {ABSENT}"),
    (listed("'r.txt'", "/a/", "# $X", "tensorflow==2.20.0", "r.txt", "RUN cd /a && pip install -r r.txt"),
     listed("'r.txt'", "/a/", "# $X", TENSORFLOW, "r.txt", "RUN cd /a && pip install -r r.txt"),
     f"Dockerfile:6:1 {ABSENT}"),
    (docker(CUDA_12, "RUN <<EOF bash -ex", "  pip install six numpy>=1.26", "EOF"),
     docker(CUDA_12, "RUN <<EOF bash -ex", "  pip install six 'numpy>=1.26'", "EOF"),
     f"Dockerfile:3:19 {UNQUOTED}"),
    (docker("ARG T=cu", f"{SLIM} AS cu", f"RUN pip install torch==2.5.1 -i {CPU}", "FROM ${T}", GPU),
     docker("ARG T=x", f"{SLIM} AS cu", f"RUN pip install torch==2.5.1 -i {CPU}", f"{SLIM} AS x", "FROM ${T}",
            GPU), f"Dockerfile:3:17 {CPU_BUILD}"),
    (docker(*STAGES[:3], STAGES[3].format("tensorflow==2.20.0"), *STAGES[4:]),
     docker(*STAGES[:3], STAGES[3].format(f"'{TENSORFLOW}'"), *STAGES[4:]), f"Dockerfile:4:17 {ABSENT}"),
    (docker(CUDA_12, "RUN uv pip install --system --torch-backend=cpu torch==2.9.0"),
     docker(CUDA_12, "RUN uv pip install --system --torch-backend=cu128 torch==2.9.0"),
     f"Dockerfile:2:49 {CPU_BUILD}"),
    ({"k.yaml": DEPLOYMENT.format("tensorflow==2.20.0")}, {"k.yaml": DEPLOYMENT.format(f"'{TENSORFLOW}'")},
     f"k.yaml:18:27 {ABSENT}"),
    ({"compose.yaml": f"{ANCHOR}services:\n  a:\n    <<: *gpu\n    profiles: [x]\n    image: {CPU_IMAGE}\n"},
     {"compose.yaml": f"{ANCHOR}services:\n  a:\n    <<: *gpu\n    profiles: [x]\n    image: python:3.12\n"
                      f"  b:\n    image: {CPU_IMAGE}\n"},
     f"compose.yaml:6:12 {CPU_BUILD}")])
def test_what_a_build_or_a_container_installs(faulty: Files, sound: Files, place: str) -> None:
    assert [f"{one.place} {one.finding.cause}" for one in judged(faulty, *HOST).findings] == [place]
    assert causes(judged(sound, *HOST)) == []


@pytest.mark.parametrize(("before", "after"), [
    ("  - tensorflow==2.20.0\n", f"  - {TENSORFLOW}\n"),
    ("  - 'tensorflow==2.20.0'  # x\n", f"  - '{TENSORFLOW}'  # x\n"),
    ("    [tensorflow==2.20.0, six]\n", "    [tensorflow==2.20.0, six]\n")])
def test_fix_writes_what_pip_is_told_by_conda(before: str, after: str) -> None:
    """Regression: with brackets in a list that stands in brackets it was no YAML, which ended the command."""
    head = "dependencies:\n- python=3.11\n- pip:\n"

    def judge_again(texts: Mapping[str, str]) -> Verdicts:
        return judged(texts, *HOST, gpu=True)

    files = {"environment.yml": f"{head}{before}"}
    changes = rewrites.proven(judge_again(files).findings, files, judge_again)
    assert rewrites.applied(files, changes) == {"environment.yml": f"{head}{after}"}
