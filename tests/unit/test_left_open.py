"""What files leave open: whether it matters, and what is found where it would be as nearby."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import CUDA_12, GPU, SLIM, TF_212, Files, causes, docker, judged

CU118 = "--extra-index-url https://download.pytorch.org/whl/cu118"
CU115 = CU118.replace("118", "115")
CPU = "--extra-index-url https://download.pytorch.org/whl/cpu"
MIRROR = "--index-url https://mirror.example/simple"
CARD = ("driver=580.95.05", "cc=8.9")
OLD = ("driver=535.104.05", "cc=8.9")
COMPOSE = "services:\n  a:\n    gpus: all\n    {}\n"
CONDA = "dependencies:\n- python=3.12\n{}"

# name: files, the host, (place, whether it matters, words of the note)
OPEN: dict[str, tuple[Files, tuple[str, ...], list[tuple[str, bool, str]]]] = {
    "a newer release, and all is well": (
        docker(CUDA_12, "RUN pip install torch==99.1"), (),
        [("Dockerfile:2:17", False, "is newer than these rules; judged as torch==")]),
    "a release that the tables have from another index alone": (
        docker(CUDA_12, "RUN pip install paddlepaddle-gpu==3.2.0"), (),
        [("Dockerfile:2:17", True, "these rules know no release that pip would take for it here")]),
    "a newer release, and its neighbour asks for a newer driver": (
        docker(GPU, SLIM, "RUN pip install torch==99.1"), OLD,
        [("Dockerfile:4:17", True, "this would be found: driver-too-old [GPD")]),
    "a newer release without its libraries": (
        docker(GPU, SLIM, "RUN pip install 'tensorflow>=99'"), (),
        [("Dockerfile:4:17", True, "this would be found: pip-nvidia-libs-not-installed")]),
    "a release before the tables": (
        docker(CUDA_12, "RUN pip install torch==1.2.0"), (),
        [("Dockerfile:2:17", True, "these rules know no release that pip would take")]),
    "a mirror": (
        docker(CUDA_12, f"RUN pip install torch==2.10.0 {MIRROR}"), (),
        [("Dockerfile:2:17", False, "of which nothing is known; judged as torch==2.10.0")]),
    "a mirror, without the libraries": (
        docker(GPU, SLIM, f"RUN pip install tensorflow==2.20.0 {MIRROR}"), (),
        [("Dockerfile:4:17", True, "pip-nvidia-libs-not-installed")]),
    "an index for the CPU beside the default one": (
        docker(CUDA_12, f"RUN pip install torch {CPU}"), (),
        [("Dockerfile:2:17", True, "cpu-only-build")]),
    "an index beside the default one that the tables do not have": (
        docker(CUDA_12, f"RUN pip install torch {CU115}"), (),
        [("Dockerfile:2:17", False, "may come from the index for CUDA 11.5")]),
    "a build that is in no table, on a card": (
        docker(SLIM, f"RUN pip install torch==2.7.1+cu118 {CU118}"), CARD,
        [("Dockerfile:2:17", True, "has code for the card was not judged")]),
    "a build that is in no table, for whatever card": (
        docker(SLIM, f"RUN pip install torch==2.7.1+cu118 {CU118}"), (), []),
    "an image of CUDA from which the GPU is kept": (
        docker(CUDA_12, "RUN pip install torch", 'ENV CUDA_VISIBLE_DEVICES=""'), (),
        [("Dockerfile:3:5", False, "CUDA_VISIBLE_DEVICES keeps every GPU away here")]),
    "a condition": (
        docker(CUDA_12, "ARG X", 'RUN if [ "$X" = a ]; then pip install torch; else pip install numpy; fi'),
        (),
        [("Dockerfile:3:39", True, "under a condition")]),
    "a condition, of what is no framework": (
        docker(CUDA_12, "RUN if x; then pip install numpy; fi"), (), []),
    "a version that only the build knows": (
        docker(CUDA_12, "ARG V", "RUN pip install torch==$V"), (),
        [("Dockerfile:3:17", True, "--build-arg")]),
    "an image of CUDA whose tag only the build knows": (
        docker("ARG V", "FROM nvidia/cuda:$V-base"), (), [("Dockerfile:2:6", True, "only the build knows")]),
    "an image of somebody whose tag only the build knows": (
        docker("ARG V", "FROM mine/x:$V", "ENV NVIDIA_VISIBLE_DEVICES=all"), (),
        [("Dockerfile:2:6", False, "only the build knows")]),
    "a list that is not there": (
        docker(CUDA_12, "COPY . .", "RUN pip install -r r.txt"), (),
        [("Dockerfile:3:20", True, "r.txt is not there")]),
    "a list that is not there, for the CPU": (
        docker(SLIM, "COPY . .", "RUN pip install -r r.txt"), (),
        [("Dockerfile:3:20", False, "r.txt is not there")]),
    "a list that another list names": (
        {"r.txt": "-r s.txt\ntensorflow[and-cuda]==2.20.0\n"}, (),
        [("r.txt:1:4", True, "s.txt is not there")]),
    "a wheel by its address": (
        docker(CUDA_12, "RUN pip install https://x.example/torch-2.1.whl git+https://x.example/y"), (),
        [("Dockerfile:2:17", True, "torch-2.1.whl is no release of an index"),
         ("Dockerfile:2:49", False, "is no release of an index")]),
    "CUDA in other ways, and libraries that must come from there": (
        docker(CUDA_12, "RUN sh cuda_11.8.0_520.61.05_linux.run", "RUN pip install tensorflow==2.12.0"),
        (),
        [("Dockerfile:3:17", True, "finds its libraries")]),
    "packages of CUDA whose name no table has": (
        docker(CUDA_12, "RUN apt-get install -y cuda-libraries-11-8 cuda-samples", TF_212), (),
        [("Dockerfile:3:17", True, "finds its libraries")]),
    "packages of CUDA in an image of which nothing is known": (
        docker(GPU, "FROM base:1", "RUN apt-get install -y cuda-libraries-11-8", TF_212), (),
        [("Dockerfile:5:17", True, "finds its libraries")]),
    "CUDA in other ways, which torch does not need": (
        docker(CUDA_12, "RUN apt-get install -y cuda-nvcc-12-4", "RUN pip install torch==2.10.0"), (), []),
    "what xargs hands over": (
        docker(CUDA_12, "RUN xargs -a r.txt pip install"), (),
        [("Dockerfile:2:5", True, "what xargs gives")]),
    "what a loop reads": (
        docker(CUDA_12, 'RUN while read r; do pip install "$r"; done < r.txt'), (),
        [("Dockerfile:2:34", False, '"$r" is installed under a condition')]),
    "dependencies that stand elsewhere": (
        {"pyproject.toml": '[project]\ndynamic = ["dependencies"]\n'}, (),
        [("pyproject.toml:2:1", False, "the dependencies are dynamic")]),
    "a capability that only some need": (
        docker(CUDA_12, "ENV NVIDIA_DRIVER_CAPABILITIES=compute", "RUN pip install torch==2.10.0"), (),
        [("Dockerfile:2:5", True, "there is no NVML")]),
    "a capability that nobody here needs": (
        docker(CUDA_12, "ENV NVIDIA_DRIVER_CAPABILITIES=compute"), (),
        [("Dockerfile:2:5", False, "add utility")]),
    "another platform": (
        docker(CUDA_12.replace("FROM", "FROM --platform=linux/arm64"), "RUN pip install torch==2.10.0"), (),
        [("Dockerfile:1:29", True, "built for linux/arm64"),
         ("Dockerfile:2:17", True, "no release that pip would take")]),  # for that processor
    "a service that takes over another": (
        {"compose.yaml": COMPOSE.format("extends: {file: b.yaml, service: b}")}, (),
        [("compose.yaml:4:14", True, "b.yaml is not there to be read")]),
    "other files that are taken in": (
        {"compose.yaml": "include: [b.yaml]\n" + COMPOSE.format("image: python:3.12")}, (),
        [("compose.yaml:1:11", True, "b.yaml is not there to be read")]),
    "what compose misses with or without a GPU": (
        {"compose.yaml": "services:\n  a:\n    image: a:3\n    extends: {file: b.yaml, service: b}\n"}, (),
        [("compose.yaml:4:14", True, "b.yaml is not there to be read")]),
    "what may lie outside of the folder": (
        {"compose.yaml": "include: [../b.yaml]\n" + COMPOSE.format("image: python:3.12")}, (),
        [("compose.yaml:1:11", False, "lies outside of the folder")]),
    "a service of an image for GPUs that is given none": (
        {"compose.yaml": f"services:\n  a:\n    image: {CUDA_12.partition(' ')[2]}\n"}, (),
        [("compose.yaml:3:12", False, "is given none here")]),
    "one whose folder of devices may have it": (
        {"compose.yaml": f"services:\n  a:\n    image: {CUDA_12.partition(' ')[2]}\n"
                         "    devices: [/dev/nvidia0]\n"}, (), []),
    "a pod with a limit of none": (
        {"pod.yaml": f"kind: Pod\nspec:\n  containers:\n  - image: {CUDA_12.partition(' ')[2]}\n"
                     "    resources: {limits: {nvidia.com/gpu: '0'}}\n"}, (),
        [("pod.yaml:4:12", False, "the limit nvidia.com/gpu")]),
    "a pod with one": (
        {"pod.yaml": f"kind: Pod\nspec:\n  containers:\n  - image: {CUDA_12.partition(' ')[2]}\n"
                     "    resources: {limits: {nvidia.com/gpu: 1}}\n"}, (), []),
    "a pod with a GPU by another plugin's name": (
        {"pod.yaml": f"kind: Pod\nspec:\n  containers:\n  - image: {CUDA_12.partition(' ')[2]}\n"
                     "    resources: {limits: {vendor/gpu-mem: 3}}\n"}, (), []),
    "a folder that only the environment says": (
        {"compose.yaml": COMPOSE.format("build: '${FOLDER}'"), **docker(SLIM, "RUN pip install torch")},
        (), [("compose.yaml:4:13", True, "which Dockerfile it is only the environment says")]),
    "a service that is to be fetched": (
        {"compose.yaml": COMPOSE.format("extends: {file: 'oci://x/y', service: b}")}, (),
        [("compose.yaml:4:14", True, "oci://x/y is not fetched")]),
    "a file that only the environment says": (
        {"compose.yaml": "include: ['${MORE}.yaml']\n"}, (),
        [("compose.yaml:1:12", False, "only the environment says")]),
    "what is done in images built from this one": (
        docker(CUDA_12, "ONBUILD RUN pip install torch"), (),
        [("Dockerfile:2:1", True, "what ONBUILD says")]),
    "what is done there without a framework": (
        docker(CUDA_12, "ONBUILD COPY . /app"), (),
        [("Dockerfile:2:1", False, "what ONBUILD says")]),
    "variables in a file": (
        {"compose.yaml": COMPOSE.format("image: python:3.12\n    env_file: x.env")}, (),
        [("compose.yaml:5:15", False, "env_file are not read")]),
    "a Dockerfile that is not there": (
        {"compose.yaml": COMPOSE.format("build: ./x")}, (),
        [("compose.yaml:4:12", True, "x/Dockerfile is not there")]),
    "a stage that is not there": (
        {"compose.yaml": COMPOSE.format("build: {context: ., target: z}"), **docker(CUDA_12)}, (),
        [("Dockerfile:1:6", True, "there is no stage z")]),
    "conda, without a word of its build": (
        {"environment.yml": CONDA.format("- pytorch=2.5\n- cuda-nvcc\n")}, (),
        [("environment.yml:3:3", True, "conda-resolved-cpu-build")]),
    "conda, with a build for CUDA": (
        {"environment.yml": CONDA.format("- pytorch=2.5=*cuda*\n")}, (), []),
    "conda, with a build for CUDA, on a card": (
        {"environment.yml": CONDA.format("- pytorch=2.5=*cuda*\n")}, CARD,
        [("environment.yml:3:3", True, "has code for the card")]),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_is_left_open_is_said_and_whether_it_matters(name: str) -> None:
    files, host, expected = OPEN[name]
    found = judged(files, *host, gpu=name == "a list that another list names")
    assert (causes(found), [one.cause for _, one in found.undecided]) == ([], [])
    assert [(str(note.place), note.matters) for note in found.notes] == [
        (place, matters) for place, matters, _ in expected]
    for note, (_, _, words) in zip(found.notes, expected, strict=True):
        assert words in note.said


def test_a_release_is_newer_than_the_rules_only_if_it_is_than_all_of_its_table() -> None:
    """A regression: 2.4.7 was said to be newer, for of the wheels for this Python none is as new."""
    found = judged(docker("FROM python:3.8", "RUN pip install torch==2.4.7"), gpu=True)
    assert (causes(found), found.notes) == (["image-at-its-end", "release-not-published"], ())


def test_what_matters_for_a_gpu_is_a_note_where_none_is_meant() -> None:
    files = docker("ARG V", "FROM python:3.12", "RUN pip install torch==$V")
    assert [note.matters for note in judged(files).notes] == [False]
    assert [note.matters for note in judged(files, gpu=True).notes] == [True]


def test_a_service_that_is_given_no_gpu_counts_where_one_is_meant() -> None:
    files = {"compose.yaml": f"services:\n  a:\n    image: {CUDA_12.partition(' ')[2]}\n"}
    assert [note.matters for note in judged(files, gpu=True).notes if "is given none" in note.said] == [True]
    others = {"compose.yaml": "services:\n  a:\n    image: postgres:16\n"}
    assert not [note for note in judged(others, gpu=True).notes if "is given none" in note.said]
