"""Each trouble that files show: one that has it, with its place, and a sibling that is sound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pytest

from gpudoctor import ruledb
from gpudoctor.assume import assumed, lay, parse_assumption, unobserved
from gpudoctor.cli import lint_host
from gpudoctor.manifests import kinds, rewrites
from gpudoctor.manifests.judging import Linter, Verdicts
from gpudoctor.manifests.spans import Source
from gpudoctor.model import RuleDatabase, Snapshot

L4 = ("driver=535.104.05", "cc=8.9")
GPU = "# docker run --gpus all\n"
Files = Mapping[str, str]


@cache
def database() -> RuleDatabase:
    return ruledb.load()


@cache
def machine(*assumptions: str) -> Snapshot:
    """Return the host that is judged for: one on which everything runs, but for what is assumed."""
    facts = assumed([parse_assumption(text) for text in assumptions])
    host = lint_host.ideal(database())
    return lay(unobserved(host, facts, framework=None), facts, database().tables, source="assumed")


def judged(files: Files, *assumptions: str, gpu: bool = False, rules: RuleDatabase | None = None,
           first: int = 1, whole: bool = False) -> Verdicts:
    """Judge the first of the files, by the shipped rules or by these; the others lie beside them.

    Most files here leave out the line that installs a Python: only as a `whole` one it is missed.
    """
    def reader(name: str) -> Source | None:
        return Source(name, files[name]) if name in files else None

    environments = [environment for name in [*files][:first]
                    for environment in kinds.environments(Source(name, files[name]), reader)]
    found = Linter(machine(*assumptions), rules or database(), wants_gpu=gpu).judge(environments)
    return replace(found, findings=tuple(
        one for one in found.findings if whole or one.finding.cause != "python-not-in-image"))


def causes(verdicts: Verdicts) -> list[str]:
    return [one.finding.cause for one in verdicts.findings]


def docker(*lines: str) -> dict[str, str]:
    return {"Dockerfile": "".join(f"{line}\n" for line in lines)}


CUDA_11 = "FROM nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04"
CUDA_12 = "FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04"
SLIM = "FROM python:3.12-slim"
FORGETS = "RUN pip install 'tensorflow[and-cuda]==2.21.0'"  # to search the folder of cuSOLVER
SLIM_11 = "FROM python:3.11-slim"
BOOKWORM = "FROM python:3.11-slim-bookworm"
CUDA_APT = "RUN apt-get install -y cuda-libraries-12-4 libcudnn9-cuda-12="
TF_212, TF_220 = "RUN pip install tensorflow==2.12.0", "RUN pip install tensorflow==2.20.0"
TORCH_24 = "RUN pip install torch==2.4.1"
REPOSITORY = ("RUN wget https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/"
              "cuda-keyring_1.1-1_all.deb && dpkg -i cuda-keyring_1.1-1_all.deb && apt-get update")
AND_CUDA = "RUN pip install 'tensorflow[and-cuda]==2.20.0'"
LISTED = docker("# docker run --gpus all", SLIM, "COPY r.txt .", "RUN pip install -r r.txt")
CPU_IMAGE = "tensorflow/tensorflow:2.17.0"
POD = """kind: Pod
spec:
  containers:
  - image: {}
    resources:
      limits: {{nvidia.com/gpu: 1}}
    env:
    - name: NVIDIA_DRIVER_CAPABILITIES
      value: {}
"""
COMPOSE = """services:
  a:
    image: {}
    gpus: all
"""
# name: the file with the trouble, its cause, the text at its place, the sound sibling, the host
TROUBLES: Mapping[str, tuple[Files, str, str, Files, tuple[str, ...]]] = {
    "no and-cuda": (
        docker(GPU, SLIM, "RUN pip install tensorflow==2.20.0"), "pip-nvidia-libs-not-installed",
        "tensorflow==2.20.0", docker(GPU, SLIM, AND_CUDA), ()),
    "no and-cuda in a list": (
        {**LISTED, "r.txt": "six\ntensorflow==2.20.0\n"}, "pip-nvidia-libs-not-installed",
        "tensorflow==2.20.0",
        {**LISTED, "r.txt": "tensorflow[and-cuda]==2.20.0\n"}, ()),
    "NumPy 2 beside what was compiled before it": (
        docker(SLIM_11, "RUN pip install six tensorflow==2.14.0"), "package-newer-than-build",
        "tensorflow==2.14.0",
        docker(SLIM_11, "RUN pip install tensorflow==2.14.0 'numpy<2'"), ()),
    "a label without its index": (
        docker(SLIM, "RUN pip install torch==2.6.0+cu126"), "release-not-published", "torch==2.6.0+cu126",
        docker(SLIM, "RUN pip install torch==2.6.0+cu126 -i https://download.pytorch.org/whl/cu126"), ()),
    "CPU build": (
        docker(GPU, SLIM, "RUN pip install torch --index-url https://download.pytorch.org/whl/cpu"),
        "cpu-only-build", "torch", docker(GPU, SLIM, "RUN pip install torch"), ()),
    "CPU image": (
        {"compose.yaml": COMPOSE.format(CPU_IMAGE)}, "cpu-only-build", CPU_IMAGE,
        {"compose.yaml": COMPOSE.format(f"{CPU_IMAGE}-gpu")}, ()),
    "CPU base, CUDA in another stage": (
        docker("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS b", SLIM, "COPY --from=b /x /x",
               "RUN pip install tensorflow==2.20.0"),
        "pip-nvidia-libs-not-installed", "tensorflow==2.20.0",
        docker("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS b", SLIM, "COPY --from=b /x /x", AND_CUDA), ()),
    "jax without its plugin": (
        docker(GPU, SLIM, "RUN pip install jax==0.5.3"), "jax-cuda-plugin-missing", "jax==0.5.3",
        docker(GPU, SLIM, "RUN pip install 'jax[cuda12]==0.5.3'"), ()),
    "framework for a newer driver": (
        docker(GPU, SLIM, "RUN pip install torch==2.15.0"), "driver-too-old", "torch==2.15.0",
        docker(GPU, SLIM, "RUN pip install torch==2.10.0"), L4),
    "image for a newer driver": (
        docker("FROM nvidia/cuda:12.9.1-base-ubuntu24.04"), "docker-require-cuda-unsatisfied",
        "nvidia/cuda:12.9.1-base-ubuntu24.04", docker("FROM nvidia/cuda:12.3.2-base-ubuntu22.04"),
        ("driver=545.23.08", "cc=8.9")),
    "image of NVIDIA for a newer driver": (
        docker("FROM nvcr.io/nvidia/pytorch:24.08-py3"), "image-asks-newer-driver",
        "nvcr.io/nvidia/pytorch:24.08-py3", docker("FROM nvcr.io/nvidia/pytorch:24.01-py3"),
        ("driver=550.54.14", "cc=8.6")),
    "image of NVIDIA of a month for a newer driver": (
        docker("FROM nvcr.io/nvidia/pytorch:24.10-py3"), "image-asks-newer-driver",
        "nvcr.io/nvidia/pytorch:24.10-py3", docker("FROM nvcr.io/nvidia/pytorch:24.05-py3"),
        ("driver=550.54.14", "cc=8.6")),
    "image of NVIDIA on a system at its end": (
        docker("FROM nvcr.io/nvidia/tensorflow:21.06-tf2-py3"), "image-at-its-end",
        "nvcr.io/nvidia/tensorflow:21.06-tf2-py3", docker("FROM nvcr.io/nvidia/pytorch:24.01-py3"), ()),
    "another CUDA from apt than the build's": (
        docker(SLIM_11, REPOSITORY, "RUN apt-get install -y cuda-toolkit-12-4 libcudnn8", TF_212),
        "cuda-version-mismatch", "tensorflow==2.12.0",
        docker(SLIM_11, REPOSITORY, "RUN apt-get install -y cuda-toolkit-11-8 libcudnn8", TF_212), ()),
    "CUDA from dnf without cuDNN": (
        docker(SLIM_11, "RUN dnf install -y cuda-libraries-11-8.x86_64", TF_212), "cudnn-missing",
        "tensorflow==2.12.0",
        docker(SLIM_11, "RUN dnf install -y cuda-libraries-11-8 libcudnn8-8.9.7.29-1.cuda11.8", TF_212), ()),
    "an old cuDNN from apt": (
        docker(SLIM_11, f"{CUDA_APT}9.1.0.70-1", TF_220),
        "cudnn-runtime-older-than-compiled", "tensorflow==2.20.0",
        docker(SLIM_11, f"{CUDA_APT}9.3.0.75-1", TF_220), ()),
    "Debian's own CUDA": (
        docker(BOOKWORM, "RUN apt-get install -y nvidia-cuda-toolkit", TF_220),
        "pip-nvidia-libs-not-installed", "tensorflow==2.20.0",
        docker(BOOKWORM, "RUN apt-get install -y nvidia-cuda-toolkit libcudnn8", TF_212),
        ()),
    "a toolkit from apt for another CUDA than the wheels": (
        docker(SLIM_11, "RUN apt-get install -y cuda-nvcc-11-8", "RUN pip install torch==2.10.0"),
        "cuda-versions-differ", "torch==2.10.0",
        docker(SLIM_11, "RUN apt-get install -y cuda-nvcc-12-8", "RUN pip install torch==2.10.0"), ()),
    "Ubuntu's own CUDA beside that of the wheels": (
        docker("FROM ubuntu:22.04", "RUN apt-get install -y nvidia-cuda-toolkit python3-pip", AND_CUDA),
        "cuda-versions-differ", "'tensorflow[and-cuda]==2.20.0'",
        docker("FROM ubuntu:24.04", "RUN apt-get install -y nvidia-cuda-toolkit python3-pip", AND_CUDA), ()),
    "a CUDA of Ubuntu's that the tables of libraries do not reach back to": (
        docker("FROM ubuntu:18.04", "RUN apt-get install -y nvidia-cuda-toolkit",
               "RUN pip install torch==1.10.2"), "cuda-versions-differ", "torch==1.10.2",
        docker("FROM ubuntu:24.04", "RUN apt-get install -y nvidia-cuda-toolkit", TORCH_24), ()),
    "a toolkit beside the CUDA of an image of NVIDIA": (
        docker("FROM nvcr.io/nvidia/paddlepaddle:24.05-py3", "RUN apt-get install -y nvidia-cuda-toolkit"),
        "cuda-versions-differ", "nvidia-cuda-toolkit",
        docker("FROM nvcr.io/nvidia/paddlepaddle:24.05-py3", "RUN apt-get install -y cuda-nvcc-12-4"), ()),
    "a release that a loop names": (
        docker(GPU, SLIM, "RUN for p in six tensorflow==2.20.0; do pip install $p || exit 1; done"),
        "pip-nvidia-libs-not-installed", "$p",
        docker(GPU, SLIM, "RUN for v in 2.18.0 2.20.0; do pip install tensorflow[and-cuda]==$v; done"), ()),
    "card without code": (
        docker(GPU, SLIM, "RUN pip install torch==2.15.0"), "gpu-too-old-for-build", "torch==2.15.0",
        docker(GPU, SLIM, "RUN pip install torch==2.6.0"), ("driver=580.95.05", "cc=6.1")),
    "another CUDA than the build's": (
        docker(CUDA_12, "RUN pip install tensorflow==2.12.0"), "cuda-version-mismatch", "tensorflow==2.12.0",
        docker(CUDA_11, "RUN pip install tensorflow==2.12.0"), ()),
    "index for another CUDA than the base": (
        docker("FROM nvidia/cuda:11.8.0-devel-ubuntu22.04",
               "RUN pip install torch==2.9.0 --index-url https://download.pytorch.org/whl/cu130"),
        "cuda-versions-differ", "torch==2.9.0",
        docker("FROM nvidia/cuda:13.0.0-devel-ubuntu22.04",
               "RUN pip install torch==2.9.0 --index-url https://download.pytorch.org/whl/cu130"), ()),
    "index for another CUDA than a base without its compiler": (
        docker(CUDA_11, "RUN pip install torch==2.9.0"), "cuda-versions-differ", "torch==2.9.0",
        docker(CUDA_12, "RUN pip install torch==2.9.0"), ()),
    "jaxlib of another release than jax": (
        docker(GPU, SLIM, "RUN pip install 'jax[cuda12]==0.5.0' jaxlib==0.4.30"), "requirements-contradict",
        "jaxlib==0.4.30",
        docker(GPU, SLIM, "RUN pip install 'jax[cuda12]==0.5.0' jaxlib==0.5.0"), ()),
    "packages of which every release owns the same files": (
        docker(GPU, SLIM, "RUN pip install 'tensorflow[and-cuda]==2.20.0' tf-nightly"),
        "wheel-file-collision", "tf-nightly",
        docker(GPU, SLIM, "RUN pip install 'tensorflow[and-cuda]==2.20.0' tf-keras"), ()),
    "two CUDA versions": (
        docker(GPU, SLIM, "RUN pip install torch==2.10.0 'jax[cuda13]==0.9.2'"), "cuda-versions-differ",
        "'jax[cuda13]==0.9.2'", docker(GPU, SLIM, "RUN pip install torch==2.10.0 'jax[cuda12]==0.9.2'"), ()),
    "wheels that own the same files": (
        docker(GPU, SLIM, "RUN pip install nvidia-cudnn-cu12 nvidia-cudnn-cu11"), "wheel-file-collision",
        "nvidia-cudnn-cu11", docker(GPU, SLIM, "RUN pip install nvidia-cudnn-cu12 nvidia-cublas-cu12"), ()),
    "two packages of one framework": (
        docker(CUDA_12, "RUN pip install 'tensorflow[and-cuda]==2.20.0' tensorflow-cpu==2.20.0"),
        "mixed-tf-packages", "tensorflow-cpu==2.20.0", docker(CUDA_12, AND_CUDA), ()),
    "a folder that the release does not search": (
        docker(SLIM, FORGETS), "pip-nvidia-libs-not-found", "'tensorflow[and-cuda]==2.21.0'",
        docker(SLIM, FORGETS, "ENV LD_LIBRARY_PATH=/v/lib/python3.12/site-packages/nvidia/cusolver/lib"), ()),
    "LD_LIBRARY_PATH that shadows": (
        docker(CUDA_12, "ENV LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:$LD_LIBRARY_PATH", AND_CUDA),
        "ld-library-path-shadows", "LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:$LD_LIBRARY_PATH",
        docker(CUDA_12, "ENV LD_LIBRARY_PATH=/usr/local/cuda/lib64:$LD_LIBRARY_PATH", AND_CUDA), ()),
    "capabilities without compute": (
        docker(CUDA_12, "ENV NVIDIA_DRIVER_CAPABILITIES=utility"), "docker-driver-capabilities",
        "NVIDIA_DRIVER_CAPABILITIES=utility",
        docker(CUDA_12, "ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility"), ()),
    "capabilities of a pod": (
        {"pod.yaml": POD.format("python:3.12", "graphics")}, "docker-driver-capabilities", "graphics",
        {"pod.yaml": POD.format("python:3.12", "all")}, ()),
    "a bound without quotes": (
        docker(SLIM, "RUN pip install six>=1.16"), "requirement-not-quoted", "six>=1.16",
        docker(SLIM, "RUN pip install 'six>=1.16'"), ()),
    "a Python without wheel": (
        docker("FROM python:3.13", "RUN pip install tensorflow==2.15.1"), "python-version-unsupported",
        "tensorflow==2.15.1", docker("FROM python:3.11", "RUN pip install tensorflow==2.15.1"), ()),
    "a system without the C library of the wheels": (
        docker(GPU, "FROM python:3.12-alpine3.20", "RUN pip install torch==2.10.0"), "glibc-too-old",
        "torch==2.10.0", docker(GPU, SLIM, "RUN pip install torch==2.10.0"), ()),
    "a Python of conda without wheel": (
        {"environment.yml": "dependencies:\n- python=3.13\n- pip:\n  - tensorflow==2.15.1\n"},
        "python-version-unsupported", "tensorflow==2.15.1",
        {"environment.yml": "dependencies:\n- python=3.11\n- pip:\n  - tensorflow==2.15.1\n"}, ()),
    "a tag that does not exist": (
        docker("FROM nvidia/cuda:12.4.1-cudnn9-runtime-ubuntu22.04"), "image-not-published",
        "nvidia/cuda:12.4.1-cudnn9-runtime-ubuntu22.04", docker(CUDA_12), ()),
    "a tag at its end": (
        docker("FROM python:3.8-slim"), "image-at-its-end", "python:3.8-slim", docker(SLIM), ()),
    "a Python that has ended this year": (
        docker("FROM python:3.10-slim"), "image-at-its-end", "python:3.10-slim", docker(SLIM), ()),
    "a CUDA on a distribution at its end": (
        docker("FROM nvidia/cuda:11.8.0-base-centos7"), "image-at-its-end",
        "nvidia/cuda:11.8.0-base-centos7", docker("FROM nvidia/cuda:11.8.0-base-rockylinux8"), ()),
    "a release that does not exist": (
        {"pyproject.toml": '[project]\ndependencies = [\n  "torch==2.4.7",\n]\n'}, "release-not-published",
        "torch==2.4.7", {"pyproject.toml": '[project]\ndependencies = [\n  "torch==2.4.1",\n]\n'}, ()),
    "a package that has ended": (
        {"requirements.txt": "six\ntensorflow-gpu\n"}, "tensorflow-gpu-package-removed", "tensorflow-gpu",
        {"requirements.txt": "six\ntensorflow-gpu==2.10.1\n"}, ()),
    "an extra that cannot be installed": (
        {"requirements.txt": "six\ntensorflow[and-cuda]==2.15.0\n"}, "extra-not-installable",
        "tensorflow[and-cuda]==2.15.0", {"requirements.txt": "six\ntensorflow[and-cuda]==2.15.1\n"}, ()),
    "CuPy for a newer driver": (
        {"requirements.txt": "six\ncupy-cuda13x\n"}, "package-needs-newer-driver", "cupy-cuda13x",
        {"requirements.txt": "six\ncupy-cuda12x\n"}, L4),
    "a name that is no framework's": (
        docker(SLIM, "RUN pip install six pytorch==1.13"), "distribution-misnamed", "pytorch==1.13",
        docker(SLIM, "RUN pip install six torch==2.6.0"), ()),
    "requirements that contradict": (
        {"requirements.txt": "torch==2.4.1\nsix\ntorch>=2.6\n"}, "requirements-contradict", "torch>=2.6",
        {"requirements.txt": "torch==2.6.0\nsix\ntorch>=2.6\n"}, ()),
}

# what is found besides: packages for two CUDAs write the same files
BESIDES = {"two CUDA versions": ["wheel-file-collision"],
           "wheels that own the same files": ["cuda-versions-differ"],
           "image of NVIDIA on a system at its end": ["image-at-its-end"],  # its series is, too
           "a CUDA of Ubuntu's that the tables of libraries do not reach back to": ["image-at-its-end"]}


@pytest.mark.parametrize("name", TROUBLES)
def test_a_trouble_is_found_at_its_place(name: str) -> None:
    files, cause, text, _, host = TROUBLES[name]
    found = judged(files, *host)
    assert sorted(causes(found)) == sorted([cause, *BESIDES.get(name, [])])
    one = next(one for one in found.findings if one.finding.cause == cause)
    whole = files[one.place.file]
    assert whole[one.place.start:one.place.end] == text
    line = whole.splitlines()[one.place.line - 1]
    assert line[one.place.column - 1:].startswith(text)


@pytest.mark.parametrize("name", TROUBLES)
def test_its_sound_sibling_is_left_alone(name: str) -> None:
    _, _, _, files, host = TROUBLES[name]
    found = judged(files, *host)
    assert (causes(found), [one.cause for _, one in found.undecided]) == ([], [])


@pytest.mark.parametrize("name", ["no and-cuda", "no and-cuda in a list", "jax without its plugin",
                                  "capabilities without compute", "capabilities of a pod",
                                  "a bound without quotes"])
def test_what_can_be_put_right_is_sound_afterwards_and_stays_as_it_is(name: str) -> None:
    files, cause, _, _, host = TROUBLES[name]
    before = judged(files, *host)

    def judge_again(changed: Mapping[str, str]) -> Verdicts:
        return judged(changed, *host)

    changes = rewrites.proven(before.findings, files, judge_again)
    assert [change.rule for change in changes] == [one.finding.rule for one in before.findings]
    after = rewrites.applied(files, changes)
    assert cause not in causes(judged(after, *host))
    assert causes(judged(after, *host)) == []
    assert rewrites.proven(judged(after, *host).findings, after, judge_again) == ()
    assert f"-{name}" not in rewrites.diff(files, after)
    assert rewrites.diff(files, after).startswith("--- a/")


@pytest.mark.parametrize("files", [
    docker(SLIM, "RUN pip install tensorflow==2.20.0 torch jax"),
    docker(SLIM, "RUN pip install torch --index-url https://download.pytorch.org/whl/cpu"),
    docker("FROM tensorflow/tensorflow:2.17.0", "RUN pip install numpy"),
    docker("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS gpu", "RUN pip install torch", SLIM,
           "RUN pip install tensorflow==2.20.0"),
    docker(CUDA_12, "ENV CUDA_VISIBLE_DEVICES=", "RUN pip install tensorflow-cpu==2.20.0"),
    docker("FROM myregistry.example/base:1", "ENV NVIDIA_VISIBLE_DEVICES=all", "RUN pip install tensorflow"),
    docker(CUDA_12, "RUN apt-get install -y cuda-toolkit", "RUN pip install tensorflow==2.12.0"),
    docker("FROM ubuntu:25.10", "RUN apt-get install -y nvidia-cuda-toolkit", TF_212),
    docker("FROM ubuntu:22.04", "RUN apt-get install -y nvidia-cuda-toolkit nvidia-cudnn", TF_212),
    docker(GPU, SLIM_11, "RUN if [ $X ]; then apt-get install -y cuda-toolkit-12-4; fi", TF_212),
    docker(GPU, SLIM_11, "RUN apt-get install -y cuda-toolkit-$V", TF_212),
    docker(GPU, SLIM_11, "RUN for p in $LISTED; do pip install $p; done"),
    docker(GPU, SLIM_11, "ENV p=tensorflow==2.12.0", "RUN for p in *.whl; do pip install $p; done"),
    docker("ARG BASE", "FROM $BASE", "RUN pip install tensorflow==2.12.0"),
    docker(CUDA_12, "RUN if [ $X ]; then pip install tensorflow-cpu; else pip install 'tensorflow'; fi"),
    {"requirements.txt": "tensorflow==2.20.0\ntorch ; python_version < '3.9'\n--index-url https://mine/x\n"},
    {"pyproject.toml": '[project.optional-dependencies]\ncpu = ["tensorflow-cpu"]\n'
                       'gpu = ["tensorflow[and-cuda]==2.20.0"]'},
    {"pod.yaml": "kind: Pod\nspec:\n  containers:\n  - image: tensorflow/tensorflow:2.17.0\n"},
    {"compose.yaml": "services:\n  a:\n    image: tensorflow/tensorflow:${TAG}\n    gpus: all\n"},
    docker("FROM nvidia/cuda:99.9.9-runtime-ubuntu88.04"),
    docker("FROM nvidia/cuda@sha256:" + "0" * 64),
    {"requirements.txt": "torch==99.0\n"},
    docker(SLIM, "RUN pip install torch==2.4.1", "RUN pip install 'torch>=2.6'"),
    docker(SLIM, "RUN pip install tensorflow-cpu==2.1.9"),
])
def test_what_is_meant_for_the_cpu_or_not_known_is_left_alone(files: Files) -> None:
    assert causes(judged(files)) == []


def test_the_option_takes_everything_for_a_gpu() -> None:
    files = {"requirements.txt": "tensorflow==2.20.0\n"}
    assert causes(judged(files)) == []
    assert causes(judged(files, gpu=True)) == ["pip-nvidia-libs-not-installed"]


def test_an_image_that_only_the_build_knows_is_noted() -> None:
    [note] = judged(docker("ARG V", "FROM a:$V")).notes
    assert (note.place.line, note.place.column, note.matters) == (2, 6, False)
    assert "only the build knows" in note.said


def test_the_smallest_contradiction_is_named() -> None:
    """Of four requirements the two that clash."""
    found = judged({"r.txt": "torch>=2.1\ntorch==2.4.1\ntorch<3\ntorch>=2.6\n"})
    [one] = found.findings
    assert "torch==2.4.1 (r.txt:2:1), torch>=2.6 (r.txt:4:1)" in one.finding.message


