"""What each tool's own words become: commands of a RUN, tables of a pyproject, packages of conda, compose."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudoctor.manifests import kinds, rewrites
from gpudoctor.manifests.spans import Source
from gpudoctor.manifests.statements import Asked
from gpudoctor.model import RuleDatabase
from tests.unit.test_manifest_troubles import CUDA_12, GPU, SLIM, Files, causes, database, docker, judged

PROJECT = """[project]
dependencies = ["torch==2.6.0"]
[project.optional-dependencies]
gpu = ["jax[cuda12]==0.5.3"]
[dependency-groups]
dev = ["six"]
"""
POETRY = """[tool.poetry.dependencies]
python = "~3.11"
numpy = "^1.26"
torch = {version = "^2.5", source = "cpu"}
[tool.poetry.dependencies.jax]
version = "~0.5.3"
[tool.poetry.group.gpu.dependencies]
tensorflow = {version = "2.18.0", extras = ["and-cuda"]}
mine = {path = "../mine"}
[[tool.poetry.source]]
name = "cpu"
url = "https://download.pytorch.org/whl/cpu"
"""
UV = """[project]
dependencies = ["torch>=2.5", "six"]
[tool.uv.sources]
torch = [{ index = "cu124", marker = "sys_platform == 'linux'" }]
[[tool.uv.index]]
name = "cu124"
url = "https://download.pytorch.org/whl/cu124"
[dependency-groups]
all = ["jax", {include-group = "more"}]
more = ["tensorflow"]
"""
PIPFILE = """[packages]
torch = "*"
jax = {extras = ["cuda12"], version = "==0.5.3"}
[dev-packages]
six = ">=1"
[requires]
python_version = "3.11"
"""
CONDA = """channels: [conda-forge]
dependencies:
- python=3.11
- conda-forge::pytorch=2.4.1
- pytorch-cuda=12.4
- tensorflow=2.17.0=cpu_py311*
- tensorflow-gpu>=2.4
- pip:
  - --extra-index-url https://download.pytorch.org/whl/cu121
  - torch==2.3.1
"""


def asked(files: Files) -> list[Asked]:
    """Return what is asked for by the first of the files, in all that it describes, each once."""
    name, text = next(iter(files.items()))

    def reader(path: str) -> Source | None:
        return Source(path, files[path]) if path in files else None

    found = kinds.environments(Source(name, text), reader)
    return list(dict.fromkeys(one for some in found for one in some.asked))


def texts(files: Files) -> list[str]:
    return [one.text for one in asked(files)]


@pytest.mark.parametrize(("run", "expected"), [
    ("bash -c 'pip install a==1 && pip install b'", ["a==1", "b"]),
    ('sh -lc "pip install a"', ["a"]), ("su - x -c 'pip install a'", ["a"]),
    ("sudo -H -u x pip install a", ["a"]), ("conda run -n x pip install a", ["a"]),
    ("uv add a b", ["a", "b"]), ("python -m uv pip install a", ["a"]), ("poetry add a@^1 b", ["b"]),
    ("uv sync", ["torch==2.6.0", "six"]),
    ("uv sync --extra gpu", ["torch==2.6.0", "jax[cuda12]==0.5.3", "six"]),
    ("uv sync --all-extras", ["torch==2.6.0", "jax[cuda12]==0.5.3", "six"]),
    ("poetry install --with gpu,x", ["torch==2.6.0", "jax[cuda12]==0.5.3", "six"]),
    ("pip install .", ["torch==2.6.0"]),  # no wheel has the groups of its project
    ("pip install -e '.[gpu]' a", ["a", "torch==2.6.0", "jax[cuda12]==0.5.3"]),
    ("uv sync --no-dev", ["torch==2.6.0"]), ("uv sync --only-group=dev", ["six"]),
    ("poetry install --only main", ["torch==2.6.0"]),
    ("pdm sync --prod -G gpu", ["torch==2.6.0", "jax[cuda12]==0.5.3"]),
    ("pip install -c c.txt torch", ["torch"]), ("uv pip sync r.txt", ["b==2"]),
    ("pip install -r /x/r.txt", ["b==2"]),
    ("conda install -y pytorch=2.1 six", ["torch==2.1.*"]), ("conda env create -f e.yml", ["torch==2.4.*"]),
    ("micromamba install -n base -c conda-forge 'pytorch>=2.4,<3'", ["torch>=2.4,<3"]),
    ("pip install /w/torch-2.3.1+cu121-cp311-cp311-linux_x86_64.whl", ["torch==2.3.1+cu121"]),
    ("if [ \"$A\" = 1 ]; then pip install a; else pip install b; fi", ["a"]),
    ("case $A in 1) pip install a;; *) pip install b;; esac", ["a"]),
    ("for x in 1 2; do pip install a$x; done", ["a1", "a2"]), ("x && [ $A = 2 ] && pip install a", []),
    ("A=2; [ $A = 2 ] && pip install a", ["a"]), ("deps='a b==1' && pip install $deps", ["a", "b==1"]),
])
def test_what_a_command_installs(run: str, expected: list[str]) -> None:
    files = {**docker(SLIM, "ARG A=1", "COPY list/ /x/", "COPY . .", f"RUN {run}"), "pyproject.toml": PROJECT,
             "c.txt": "torch==2.4.1\n", "r.txt": "b==2\n", "list/r.txt": "b==2\n",
             "e.yml": "dependencies: [pytorch=2.4]\n"}
    assert texts(files) == expected


@pytest.mark.parametrize(("name", "text", "expected"), [
    ("pyproject.toml", POETRY, ["numpy>=1.26,<2", "torch>=2.5,<3", "jax>=0.5.3,<0.6",
                                "tensorflow[and-cuda]==2.18.0"]),
    ("pyproject.toml", UV, ["torch>=2.5", "six", "jax", "tensorflow"]),
    ("Pipfile", PIPFILE, ["torch", "jax[cuda12]==0.5.3", "six>=1"]),
    ("environment.yml", CONDA, ["torch==2.4.1.*", "tensorflow==2.17.0.*", "tensorflow>=2.4", "torch==2.3.1"]),
])
def test_what_a_file_lists(name: str, text: str, expected: list[str]) -> None:
    """Each at the place of its name or its text."""
    assert texts({name: text}) == expected
    for one in asked({name: text}):
        written = text[one.place.start:one.place.end].strip("'\"")
        assert written
        assert written.rpartition("::")[2].startswith(("pytorch", one.text[:3]))


def test_indexes_that_tools_name_for_one_package() -> None:
    assert [one.index for one in asked({"pyproject.toml": UV})][:2] == [
        "https://download.pytorch.org/whl/cu124", None]
    [torch] = [one for one in asked({"pyproject.toml": POETRY}) if one.text.startswith("torch")]
    assert torch.index == "https://download.pytorch.org/whl/cpu"


def test_what_conda_is_told_of_a_build() -> None:
    found = [(one.text, one.build, one.cuda) for one in asked({"environment.yml": CONDA})]
    assert found == [("torch==2.4.1.*", "cuda", "12.4"), ("tensorflow==2.17.0.*", "cpu", "12.4"),
                     ("tensorflow>=2.4", "cuda", "12.4"), ("torch==2.3.1", "", None)]


@pytest.mark.parametrize(("files", "expected"), [
    # a constraint counts, a branch that is not come to does not
    ({**docker(CUDA_12, "COPY . .", "RUN pip install -c c.txt torch"), "c.txt": "torch==2.4.7\n"},
     ["release-not-published"]),
    (docker(CUDA_12, "ARG V=cpu", 'RUN if [ "$V" = gpu ]; then pip install torch; else pip install torch '
            "--index-url https://download.pytorch.org/whl/cpu; fi"), ["cpu-only-build"]),
    ({"environment.yml": "dependencies:\n- pytorch=2.4\n- cpuonly\n- cuda-version=12.4\n"},
     ["conda-resolved-cpu-build"]),  # one cause, also where nobody names a Python
    # what two frameworks need of NVIDIA's packages, in one command and in two
    ({"requirements.txt": "torch==2.6.0\ntensorflow[and-cuda]==2.18.0\n"},
     ["requirements-contradict"]),
    (docker(SLIM, "RUN pip install 'tensorflow[and-cuda]==2.18.0'", "RUN pip install torch==2.6.0"),
     ["cudnn-runtime-older-than-compiled"]),
    (docker(SLIM, "RUN pip install torch==2.6.0", "RUN pip install 'tensorflow[and-cuda]==2.18.0'"), []),
    ({"requirements.txt": "torch==2.6.0\ntensorflow[and-cuda]\n"}, []),
    # an extra is the same in any spelling
    (docker(SLIM, "RUN pip install 'tensorflow[and_cuda]==2.20.0'"), []),
    (docker(SLIM, "RUN pip install 'tensorflow[AND-CUDA]==2.20.0'"), []),
    (docker(SLIM, "RUN pip install 'jax[CUDA12]==0.5.3'"), []),
    (docker(SLIM, "RUN pip install 'jax[Cuda12_Pip]==0.5.3'"), []),
    # a stage that is named, arguments that a service gives
    ({"compose.yaml": "services:\n  a:\n    gpus: all\n    build: {context: ., target: x, args: [V=2.4.7]}\n",
      **docker(f"{SLIM} AS x", "ARG V", "RUN pip install torch==$V", SLIM, "RUN pip install jax==0.5.3")},
     ["release-not-published"]),
    # tensorflow-gpu was real before it ended, and takes a NumPy of today as tensorflow does
    (docker("FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04", "RUN pip install tensorflow-gpu==2.10.0"),
     ["package-newer-than-build", "cuda-version-mismatch"]),
    (docker(SLIM, "RUN pip install six >=1.0"), ["requirement-not-quoted"]),
    (docker(SLIM, "RUN pip install six > log"), []),
    (docker(CUDA_12, "RUN pip install tensorflow==2.18.0 && pip uninstall -y tensorflow"), []),
    (docker(CUDA_12, "RUN uv pip install --torch-backend=cpu torch"), ["cpu-only-build"]),
    (docker(CUDA_12, "RUN uv pip install --torch-backend=auto torch"), []),
    # what compose and lists of pods take in
    ({"compose.yaml": "x: &x {gpus: all}\nservices:\n  a:\n    <<: *x\n"
                      "    image: tensorflow/tensorflow:2.16.1\n"}, ["cpu-only-build"]),
    ({"compose.yaml": "services:\n  a:\n    image: tensorflow/tensorflow:2.16.1\n"
                      "    environment: {NVIDIA_VISIBLE_DEVICES: all}\n"}, ["cpu-only-build"]),
    ({"compose.yaml": "services:\n  a:\n    image: tensorflow/tensorflow:2.16.1\n"
                      "    devices: ['nvidia.com/gpu=all']\n"}, ["cpu-only-build"]),
    ({"compose.yaml": "services:\n  a:\n    image: tensorflow/tensorflow:2.16.1\n    deploy: {resources: "
                      "{reservations: {devices: [{driver: cdi, device_ids: [nvidia.com/gpu=0]}]}}}\n"},
     ["cpu-only-build"]),
    ({"compose.yaml": "services:\n  a:\n    image: tensorflow/tensorflow:2.16.1\n    deploy: {resources: "
                      "{reservations: {generic_resources: [{discrete_resource_spec: {kind: GPU}}]}}}\n"},
     ["cpu-only-build"]),
    ({"compose.yaml": "services:\n  a:\n    image: tensorflow/tensorflow:2.16.1\n"
                      "    devices: ['/dev/snd']\n"}, []),
    ({"pods.yaml": "kind: List\nitems:\n- kind: Pod\n  spec:\n    runtimeClassName: nvidia\n    containers:\n"
                   "    - image: tensorflow/tensorflow:2.16.1\n"}, ["cpu-only-build"]),
    # an object of an operator that nobody here knows: its pod stands in it all the same
    ({"job.yaml": "kind: PyTorchJob\nspec:\n  pytorchReplicaSpecs:\n    Worker:\n      template:\n"
                  "        spec:\n          containers:\n          - image: tensorflow/tensorflow:2.16.1\n"
                  "            resources: {limits: {nvidia.com/gpu: 1}}\n"}, ["cpu-only-build"]),
    ({"definition.yaml": "kind: CustomResourceDefinition\nspec:\n  properties:\n    containers:\n"
                         "      type: array\n"}, []),
])
def test_what_is_found_of_it(files: Files, expected: list[str]) -> None:
    assert causes(judged(files)) == expected


@pytest.mark.parametrize(("name", "is_for_one"), [
    ("Dockerfile.gpu", True), ("gpu.Dockerfile", True), ("Dockerfile.cuda12.4", True),
    ("Dockerfile-cu121", True),
    ("Dockerfile", False), ("Dockerfile.nogpu", False), ("Dockerfile.no-gpu", False),
    ("Dockerfile.cpu", False),
    ("requirements-gpu.txt", True), ("requirements_cuda.txt", True), ("requirements.txt", False),
    ("barracuda.Dockerfile", False),
])
def test_a_name_of_a_file_says_that_it_is_for_a_gpu(name: str, is_for_one: bool) -> None:
    text = "FROM python:3.12\nRUN pip install jax==0.5.3\n" if "ocker" in name else "jax==0.5.3\n"
    assert causes(judged({name: text})) == ["jax-cuda-plugin-missing"] * is_for_one


@pytest.mark.parametrize("path", ["/opt/conda", "/srv/.local /x", "/usr/local", "/app/.venv /venv"])
def test_what_is_copied_out_of_a_stage_is_there(path: str) -> None:
    files = docker(GPU, f"{SLIM} AS b", "RUN pip install jax==0.5.3", SLIM, f"COPY --from=b {path} /x")
    assert causes(judged(files)) == ["jax-cuda-plugin-missing"]


@pytest.mark.parametrize(("line", "expected"), [
    ('bash -c "pip install six>=1"', """bash -c "pip install 'six>=1'\""""),
    ("bash -c 'pip install six>=1'", None),  # other quotes inside would end the word
    ('bash -c "pip install \\"six\\" six>=1"', None),
    ('["sh", "-c", "pip install six>=1"]', """["sh", "-c", "pip install 'six>=1'"]"""),
    ("pip install six >=1.0 # x", "pip install 'six>=1.0' # x"),
    ("pip install cupy-cuda13x jax==0.9.2", "pip install cupy-cuda13x 'jax[cuda13]==0.9.2'"),
    ("pip install cupy-cuda13x nvidia-nccl-cu12 jax==0.9.2", None),  # which CUDA is meant?
])
def test_what_can_be_put_right_in_these_words(line: str, expected: str | None) -> None:
    """Only where the quotes fit into what stands around, and the CUDA into what is asked for besides."""
    files = docker(SLIM, f"RUN {line}")
    changes = rewrites.proven(judged(files).findings, files, judged)
    assert rewrites.applied(files, changes) == docker(SLIM, f"RUN {expected or line}")


def test_tabs_and_wide_characters_are_one_column_each() -> None:
    found = judged(docker(SLIM, "RUN\techo 'é日' &&\tpip install six>=1"))
    assert [(one.place.line, one.place.column) for one in found.findings] == [(2, 30)]


def unmeasured(version: str) -> RuleDatabase:
    """Return the rules as they are before anybody has read the device code of a release of JAX's plugins."""
    table = database().tables["jax_distributions"]
    rows = tuple({name: value for name, value in row.items() if name not in ("code", "fat_binaries")}
                 if row["version"] == version else row for row in table.rows)
    return replace(database(), tables={**database().tables, table.name: replace(table, rows=rows)})


def test_a_release_without_known_device_code_is_told_once_where_it_is_asked_for() -> None:
    """Regression: each rule that reads the code said so by itself, at FROM, without the release's name."""
    words = ("driver=580.95.05", "cc=6.1", "system.architecture=aarch64")
    asked = docker(SLIM, "RUN pip install 'jax[cuda12]==0.5.0'")
    found = judged(asked, *words, rules=unmeasured("0.5.0"))
    [note] = found.notes
    assert (found.undecided, str(note.place), note.matters) == ((), "Dockerfile:2:17", True)
    assert "whether jax[cuda12]==0.5.0 has code for the card" in note.said
    assert [note.said for note in judged(asked, *words).notes if "has code for the card" in note.said] == []
