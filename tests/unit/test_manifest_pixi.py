"""What pixi installs: its manifests, alone and in a pyproject.toml, its lock; packages as conda does."""

from __future__ import annotations

import pytest

from gpudoctor.manifests import kinds
from gpudoctor.manifests.conda_specs import asked_of, specs_of, unread_of
from gpudoctor.manifests.spans import ManifestError, Source
from gpudoctor.manifests.statements import Environment
from tests.unit.test_manifest_troubles import causes, judged

MANIFEST = """\
[workspace]
channels = ["conda-forge"]
platforms = [
  "osx-arm64",
  {name = "linux-64-cuda", platform = "linux-64", cuda = "12.0"},
  "linux-64",
]

[dependencies]
python = ">=3.11.2,<3.12"

[target.linux-64-cuda.dependencies]
pytorch-gpu = "2.6.*"
cuda-version = "12.6.*"

[target.osx-arm64.dependencies]
jax = "*"

[feature.pip.target."*-cuda".pypi-dependencies]
torch = { version = ">=2.5.1", index = "https://download.pytorch.org/whl/cu124" }
"tensorflow" = { version = "==2.17.0", extras = ["and-cuda"] }

[feature.alone]
platforms = ["linux-64"]
dependencies.jaxlib = { version = "0.4.35", build = "*cuda12*" }

[environments]
pip = ["pip"]
alone = { features = ["alone"], no-default-feature = true }
"""
HEAD = '[workspace]\nplatforms = ["linux-64"]\n'
LOCK = """\
version: 7
platforms:
- name: linux-64-cuda
  subdir: linux-64
  virtual-packages:
  - __cuda=12
- name: linux-64
environments:
  default:
    channels:
    - url: https://conda.anaconda.org/conda-forge/
    packages:
      linux-64:
      - conda: https://conda.anaconda.org/conda-forge/linux-64/pytorch-2.5.1-cpu_generic_py312_h4444444_3.conda
      linux-64-cuda:
      - conda: https://conda.anaconda.org/conda-forge/linux-64/python-3.12.9-h9e4cc4f_1_cpython.conda
      - conda: https://conda.anaconda.org/conda-forge/linux-64/pytorch-2.5.1-cuda126_generic_py312_h1_206.conda
      - conda: https://conda.anaconda.org/conda-forge/noarch/pytorch-gpu-2.5.1-cuda126_generic_ha999a5f_206.conda
      - conda: https://conda.anaconda.org/conda-forge/noarch/jax-0.4.35-pyhd8ed1ab_0.conda
      - conda: https://conda.anaconda.org/conda-forge/linux-64/jaxlib-0.4.35-cuda118py312h1_201.conda
      - pypi: https://download.pytorch.org/whl/cu124/torch-2.4.1%2Bcu124-cp312-cp312-linux_x86_64.whl#sha256=0
      - pypi: ./torch
packages:
- conda: https://conda.anaconda.org/conda-forge/linux-64/pytorch-2.5.1-cpu_generic_py312_h4444444_3.conda
"""


def found(name: str, text: str) -> dict[str, Environment]:
    """Return the environments of a file by their names."""
    return {one.name: one for one in kinds.environments(Source(name, text), lambda _: None)}


def asked(one: Environment) -> list[tuple[str, int, str, str | None, str | None]]:
    """Return what an environment asks for: text, line, build, CUDA, index."""
    return [(each.text, each.place.line, each.build, each.cuda, each.index) for each in one.asked]


def test_each_environment_on_each_linux_of_a_manifest() -> None:
    """What is for a Mac is not for this; a feature may be for one platform alone."""
    environments = found("pixi.toml", MANIFEST)
    assert sorted(environments) == [
        "environment alone on linux-64", "environment default on linux-64",
        "environment default on linux-64-cuda", "environment pip on linux-64",
        "environment pip on linux-64-cuda"]
    assert asked(environments["environment default on linux-64"]) == []
    torch = ("torch==2.6.*", 13, "cuda", "12.6", None)
    both = environments["environment pip on linux-64-cuda"]
    assert asked(both) == [torch, ("torch>=2.5.1", 20, "", None, "https://download.pytorch.org/whl/cu124"),
                           ("tensorflow[and-cuda]==2.17.0", 21, "", None, None)]
    assert (both.python, both.python_place and both.python_place.line) == ("3.11", 10)
    assert [wish.why for wish in both.wishes] == [
        "pytorch-gpu 2.6.* is for GPUs", "cuda-version 12.6.* is for GPUs",
        "it is for a driver with CUDA 12.0"]
    alone = environments["environment alone on linux-64"]
    assert (asked(alone), alone.python) == ([("jax==0.4.35", 25, "cuda", None, None)], None)


def test_pixi_in_a_pyproject_installs_the_projects_dependencies_too() -> None:
    environments = found("pyproject.toml", (
        '[project]\nname = "x"\ndependencies = ["torch==2.6.0"]\n'
        '[tool.pixi.workspace]\nplatforms = ["linux-64"]\n'
        '[tool.pixi.system-requirements]\ncuda = "12"\n'
        '[tool.pixi.dependencies]\ntensorflow = ">=2.17,<3"\n'
        '[tool.pixi.pypi-options]\nextra-index-urls = ["https://download.pytorch.org/whl/cu124"]\n'))
    assert [one.text for one in environments["dependencies"].asked] == ["torch==2.6.0"]
    [conda, torch] = environments["environment default"].asked
    assert (conda.text, conda.place.line, conda.build, conda.tool) == (
        "tensorflow>=2.17,<3", 9, "cuda", "conda")
    assert (torch.text, torch.extra_indexes) == (
        "torch==2.6.0", ("https://download.pytorch.org/whl/cu124",))


def test_a_table_over_several_lines_is_read_as_pixi_reads_it() -> None:
    """TOML 1.1 allows it; what it does not allow is said at its line."""
    [one] = found("pixi.toml", HEAD + (
        'x = "{ # no table"\n[pypi-dependencies]\ntorch = {\n  version = ">=2.5", # the {least\n'
        '  index = "https://download.pytorch.org/whl/cu124",\n  extras = [\n"a",\n],\n}\n')).values()
    assert [(each.text, each.place.line) for each in one.asked] == [("torch[a]>=2.5", 5)]
    with pytest.raises(ManifestError, match=r"pixi.toml:5:\d+: is no TOML"):
        found("pixi.toml", f"{HEAD}torch = {{\n  version\n}}\n")


@pytest.mark.parametrize(("text", "is_open"), [
    ('[workspace]\nplatforms = ["osx-arm64"]\n[dependencies]\npytorch = "*"\n', True),
    ('[workspace]\nplatforms = ["osx-arm64"]\n[dependencies]\nnumpy = "*"\n', False),
    ('[workspace]\n[dependencies]\npytorch = "*"\n', True),
    (f'{HEAD}[pypi-dependencies]\ntorch = {{git = "https://a.example/b"}}\n', True),
    (f'{HEAD}[dependencies]\ntensorflow = {{version = "*", when = "__cuda"}}\n', True),
    (f'{HEAD}[dependencies]\npytorch = ">=2.5|<2"\n', True),
    (f'{HEAD}[dependencies]\nnumpy = {{path = "."}}\n', None),
])
def test_what_was_not_judged_is_open(text: str, is_open: bool | None) -> None:
    """A pixi.toml was read as a pyproject.toml without dependencies, and found sound."""
    [one] = found("pixi.toml", text).values()
    assert [unread.of_framework for unread in one.unread] == ([] if is_open is None else [is_open])


def test_a_lock_pins_each_build() -> None:
    """The package that only chooses a build is none; JAX has the build of its library."""
    environments = found("pixi.lock", LOCK)
    assert asked(environments["environment default on linux-64"]) == [
        ("torch==2.5.1", 14, "cpu", None, None)]
    cuda = environments["environment default on linux-64-cuda"]
    assert asked(cuda) == [
        ("torch==2.5.1", 17, "cuda", "12.6", None), ("jax==0.4.35", 19, "cuda", "11.8", None),
        ("torch==2.4.1+cu124", 21, "", None, "https://download.pytorch.org/whl/cu124")]
    assert (cuda.python, [one.place.line for one in cuda.unread]) == ("3.12", [22])
    assert "it is for a driver with CUDA 12" in [wish.why for wish in cuda.wishes]


@pytest.mark.parametrize("text", ["", "version: 6\n", "environments:\n", "package:\n", "\0\n", "- - -\n",
                                  ": :\n" * 9])
def test_no_lock_of_pixi(text: str) -> None:
    with pytest.raises(ManifestError, match="names no environment"):
        found("pixi.lock", text)


def test_a_lock_is_judged_as_what_is_written() -> None:
    """The CPU build on the platform that is locked for a driver is a finding, one beside it is not."""
    gone = [line for line in LOCK.splitlines(keepends=True) if "pypi:" in line or "/jax" in line]
    lock = "".join(line for line in LOCK.splitlines(keepends=True) if line not in gone)
    text = lock.replace("pytorch-2.5.1-cuda126_generic_py312_h1_206", "pytorch-2.5.1-cpu_generic_py312_h1_6")
    assert causes(judged({"pixi.lock": text})) == ["conda-resolved-cpu-build"]
    assert causes(judged({"pixi.lock": lock})) == []


@pytest.mark.parametrize(("command", "is_open"), [
    ("pixi install --locked", True), ("/usr/bin/pixi run -e cuda train", True),
    ("pixi add pytorch-gpu", True), ("pixi --version", False), ("pixi", False), ("pixi info", False)])
def test_what_pixi_installs_in_a_dockerfile_is_open(command: str, is_open: bool) -> None:
    """It was found sound; the lock says it."""
    [one] = found("Dockerfile", f"FROM ghcr.io/prefix-dev/pixi:0.40.0\nRUN {command}\n").values()
    assert [unread.of_framework for unread in one.unread] == [True] * is_open


@pytest.mark.parametrize(("text", "expected"), [
    ("pytorch", ("torch", "", None)), ("pytorch 2.5.1 cuda126*", ("torch==2.5.1", "cuda", "12.6")),
    ("pytorch>=2.0,<=2.5", ("torch>=2.0,<=2.5", "", None)),
    ("pytorch >= 2.0 , < 3", ("torch>=2.0,<3", "", None)),
    ("conda-forge::pytorch=*=*cuda*", ("torch", "cuda", None)),
    ("pytorch[version='>=2.5',build=cpu*]", ("torch>=2.5", "cpu", None)),
    ("pytorch==2.4.1=py3.12_cuda12.4_cudnn9.1.0_0", ("torch==2.4.1", "cuda", "12.4")),
    ("tensorflow=2.16.*=cuda118py311*", ("tensorflow==2.16.*", "cuda", "11.8")),
    ("jaxlib=0.4.35=*cuda126*", ("jax==0.4.35.*", "cuda", "12.6")),
    ("jaxlib=*=*cuda12*", ("jax", "cuda", None)), ("pytorch-cpu=2.6", ("torch==2.6.*", "cpu", None)),
])
def test_packages_as_conda_names_them(text: str, expected: tuple[str, str, str | None]) -> None:
    """Two bounds were read as one and a build, and the framework was passed over."""
    place = Source("environment.yml", text).place(0)
    [one] = asked_of(specs_of([(text, place)]), ())
    assert (one.text, one.build, one.cuda) == expected


def test_the_library_of_jax_says_its_build() -> None:
    place = Source("environment.yml", "").place(0)
    [one] = asked_of(specs_of([("jax=0.4.35", place), ("jaxlib=*=*cuda118*", place)]), ())
    assert (one.text, one.build, one.cuda) == ("jax==0.4.35.*", "cuda", "11.8")


def test_a_choice_among_releases_is_open() -> None:
    place = Source("environment.yml", "").place(0)
    assert [one.of_framework for one in unread_of(specs_of([("pytorch>=2.5|=2.3", place)]))] == [True]


@pytest.mark.parametrize(("listed", "assumed", "expected"), [
    ("jax\n- jaxlib=*=*cuda126*", (), []),
    ("jax\n- jaxlib=*=cpu*", (), ["jax-cuda-plugin-missing"]),
    ("jaxlib=0.4.35=*cuda126*", ("driver=450.80.02", "cc=8.0"), ["driver-too-old"]),
    ("pytorch=2.5=*cuda126*", ("driver=450.80.02", "cc=8.0"), ["driver-too-old"]),
])
def test_builds_of_conda_forge_are_judged(listed: str, assumed: tuple[str, ...], expected: list[str]) -> None:
    text = f"channels: [conda-forge]\ndependencies:\n- cuda-nvcc\n- {listed}\n"
    assert [one for one in causes(judged({"environment.yml": text}, *assumed))
            if one != "cpu-only-build"] == expected
