"""What lock files pin, what environments of hatch ask for, and Dockerfiles that are called otherwise."""

from __future__ import annotations

import pytest

from gpudoctor.manifests import kinds
from gpudoctor.manifests.spans import ManifestError, Source
from gpudoctor.manifests.statements import Environment
from tests.unit.test_manifest_troubles import causes, judged

UV = """version = 1
requires-python = "==3.12.*"

[[package]]
name = "app"
source = { virtual = "." }
dependencies = [{ name = "tensorflow", extra = ["and-cuda"] }, { name = "torch" }]

[[package]]
name = "tensorflow"
version = "2.20.0"
source = { registry = "https://index.example/simple" }

[[package]]
name = "torch"
version = "2.9.0+cu130"
source = { registry = "https://download.pytorch.org/whl/cu130" }

[[package]]
name = "jax"
version = "0.5.3"
source = { git = "https://git.example/jax" }

[[package]]
name = "numpy"
version = "1.26.4"

[[package]]
name = "numpy"
version = "2.1.0"
"""
POETRY = """[[package]]
name = "torch"
version = "2.6.0+cu124"

[package.source]
type = "legacy"
url = "https://download.pytorch.org/whl/cu124"
reference = "cu124"

[[package]]
name = "mine"
version = "1"

[package.dependencies]
jax = {version = "0.5.3", extras = ["cuda12"]}

[package.source]
type = "git"
url = "https://git.example/mine"

[[package]]
name = "jax"
version = "0.5.3"

[metadata]
python-versions = "~3.11"
"""


UV_SPLIT = """version = 1
requires-python = ">=3.12"

[[package]]
name = "torch"
version = "2.6.0"
source = { registry = "https://index.example/simple" }
resolution-markers = ["sys_platform == 'darwin'"]

[[package]]
name = "torch"
version = "2.6.0+cu124"
source = { registry = "https://download.pytorch.org/whl/cu124" }
resolution-markers = ["platform_machine == 'x86_64' and sys_platform == 'linux'", "sys_platform == 'win32'"]
"""
PDM = """[metadata]
groups = ["default"]
lock_version = "4.5.0"

[[metadata.targets]]
requires_python = "==3.12.*"

[[package]]
name = "tensorflow"
version = "2.20.0"
requires_python = ">=3.9"
groups = ["default"]
files = [
    {file = "tensorflow-2.20.0-cp312-cp312-manylinux_2_17_x86_64.whl", hash = "sha256:00"},
]

[[package]]
name = "tensorflow"
version = "2.20.0"
extras = ["and-cuda"]
dependencies = ["tensorflow==2.20.0"]

[[package]]
name = "jax"
version = "0.5.3"
git = "https://git.example/jax"
revision = "00"
"""
PIPENV = """{
    "_meta": {
        "pipfile-spec": 6,
        "requires": {"python_version": "3.12"},
        "sources": [{"name": "pytorch", "url": "https://download.pytorch.org/whl/cu124", "verify_ssl": true}]
    },
    "default": {
        "tensorflow": {"extras": ["and-cuda"], "hashes": ["sha256:00"], "version": "==2.20.0"},
        "torch": {
            "index": "pytorch",
            "version": "==2.6.0+cu124"
        }
    },
    "develop": {"jax": {"git": "https://git.example/jax", "ref": "00"}, "torch": {"version": "==2.6.0"}}
}
"""


def only(name: str, text: str) -> Environment:
    """Return the one environment that a file describes."""
    found, = kinds.environments(Source(file=name, text=text), lambda _: None)
    return found


def test_a_lock_of_uv() -> None:
    """Extras stand where a package is asked for; an index is named only where a local label shows it."""
    found = only("uv.lock", UV)
    assert [(one.text, one.index, one.place.line) for one in found.asked] == [
        ("tensorflow[and-cuda]==2.20.0", None, 9),
        ("torch==2.9.0+cu130", "https://download.pytorch.org/whl/cu130", 14)]
    assert [(one.why.split(":")[0], one.of_framework) for one in found.unread] == [
        ("jax is no release of an index, so what it is was not judged", True),
        ("numpy is locked in several versions", False)]
    assert found.python == "3.12"


def test_a_lock_of_poetry() -> None:
    found = only("poetry.lock", POETRY)
    assert [(one.text, one.index) for one in found.asked] == [
        ("torch==2.6.0+cu124", "https://download.pytorch.org/whl/cu124"), ("jax[cuda12]==0.5.3", None)]
    assert found.python == "3.11"


def test_of_several_versions_that_one_counts_which_linux_gets() -> None:
    found = only("uv.lock", UV_SPLIT)
    assert [(one.text, one.index, one.place.line) for one in found.asked] == [
        ("torch==2.6.0+cu124", "https://download.pytorch.org/whl/cu124", 10)]
    assert found.unread == ()
    # a Python that nobody says, and two that count
    for one, other in (("python_version < '3.13'", "python_version >= '3.13'"),
                       ("sys_platform == 'linux'", "")):
        text = UV_SPLIT.replace("sys_platform == 'darwin'", one)
        open_ = only("uv.lock", text.replace("platform_machine == 'x86_64'", other) if other else text)
        assert (open_.asked, [one.of_framework for one in open_.unread]) == ((), [True])


def test_a_lock_of_pdm() -> None:
    """A package is there once more with its extras."""
    found = only("pdm.lock", PDM)
    assert [(one.text, one.place.line) for one in found.asked] == [("tensorflow[and-cuda]==2.20.0", 8)]
    assert [(one.place.line, one.of_framework) for one in found.unread] == [(23, True)]
    assert found.python == "3.12"


def test_a_lock_of_pipenv() -> None:
    """Of a package in several categories the first is taken; what is called like a category is none."""
    found = only("Pipfile.lock", PIPENV)
    assert sorted((one.text, one.index, one.place.line, one.place.column) for one in found.asked) == [
        ("tensorflow[and-cuda]==2.20.0", None, 8, 10),
        ("torch==2.6.0+cu124", "https://download.pytorch.org/whl/cu124", 9, 10)]
    assert [(one.place.line, one.of_framework) for one in found.unread] == [(14, True)]
    assert found.python == "3.12"


@pytest.mark.parametrize(("text", "said"), [
    ('{\n  "default": {,}\n}', "Pipfile.lock:2:15: is no JSON"), ("", "Pipfile.lock:1:1: is no JSON"),
    ("[" * 100_000, "Pipfile.lock: is no JSON: nested too deeply")])
def test_a_lock_that_is_no_json_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ManifestError) as refused:
        only("Pipfile.lock", text)
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", [
    "[]", "{}", '{"default": {"torch": 1}, "_meta": []}', '{"default": {"torch": {}}}'])
def test_a_lock_of_pipenv_without_versions_pins_nothing(text: str) -> None:
    assert only("Pipfile.lock", text).asked == ()


def test_a_lock_of_conda_is_refused_with_what_to_lint() -> None:
    with pytest.raises(ManifestError, match=r"not read: lint the environment\.yml"):
        only("conda-lock.yml", "version: 1\nmetadata: {}\npackage: []\n")


def test_a_release_that_constraints_ask_for_is_named_with_them() -> None:
    """The line itself has no version: "There is no release torch" was said."""
    found = judged({"requirements.txt": "-c c.txt\ntorch\n", "c.txt": "torch==2.4.7\n"}, gpu=True)
    assert [one.finding.message.partition(";")[0] for one in found.findings] == [
        "There is no release torch==2.4.7"]


def test_a_bound_is_judged_as_the_release_that_pip_would_take() -> None:
    """Of 2.10 there are wheels up to Python 3.10 alone."""
    listed = {"requirements.txt": "tensorflow>=2.10,<2.11\nnumpy<2\n"}
    for python, expected in (("3.10", []), ("3.12", ["python-version-unsupported"])):
        docker = {"Dockerfile": f"FROM python:{python}-slim\nCOPY . .\nRUN pip install -r requirements.txt\n"}
        found = judged({**docker, **listed})
        assert [cause for cause in causes(found) if cause.startswith("python")] == expected


def test_hashes_hide_no_release() -> None:
    """As pip-compile and uv write them: behind the release and on lines of their own."""
    text = "tensorflow==2.20.0 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\n    # via -r in\n"
    found = judged({"requirements.txt": text}, gpu=True)
    assert [(one.finding.cause, one.place.line) for one in found.findings] == [
        ("pip-nvidia-libs-not-installed", 1)]


def test_a_lock_of_pip() -> None:
    """PEP 751: packages in the plural."""
    found = only("pylock.toml", '[[packages]]\nname = "torch"\nversion = "2.6.0"\n'
                                '[[packages]]\nname = "jax"\nversion = "1"\ndirectory = { path = "." }\n')
    assert [one.text for one in found.asked] == ["torch==2.6.0"]
    assert [one.of_framework for one in found.unread] == [True]


def test_a_locked_release_is_judged_as_a_written_one() -> None:
    assert "driver-too-old" in causes(judged({"uv.lock": UV}, "driver=535.104.05", gpu=True))


@pytest.mark.parametrize("text", [
    '[[package]]\nname = "torch"\n', "x = 1\n",
    '[[package]]\nname = "torch"\nsource = "x"\ndependencies = 2\n'])
def test_a_lock_without_packages_pins_nothing(text: str) -> None:
    assert only("uv.lock", text).asked == ()


def test_environments_of_hatch() -> None:
    """Each is one of its own; what it adds counts as well."""
    text = ('[tool.hatch.envs.gpu]\ndependencies = ["torch==2.6.0"]\nextra-dependencies = ["jax"]\n'
            '[tool.hatch.envs.docs]\n')
    found = kinds.environments(Source(file="pyproject.toml", text=text), lambda _: None)
    assert [(one.name, [asked.text for asked in one.asked]) for one in found] == [
        ("group hatch gpu", ["torch==2.6.0", "jax"]), ("group hatch docs", [])]


@pytest.mark.parametrize("text", [
    "FROM a\n", "# x\n\nARG A=1\n  FROM --platform=linux/amd64 a:1 AS b\n", "\ufefffrom ${A}\r\nRUN x\n",
    "# x\r\n\r\nFROM a@sha256:" + "0" * 64])
def test_a_dockerfile_by_what_it_begins_with(text: str) -> None:
    """D.cuda and image are Dockerfiles, too."""
    assert only("D.cuda", text).image is not None


@pytest.mark.parametrize("text", ["FROM here on\n", "x\nFROM a\n", "", "# only this\n",
                                  " " * 20000 + "\n" * 20000])
def test_what_begins_otherwise_is_none(text: str) -> None:
    with pytest.raises(ManifestError, match="does not begin with FROM"):
        only("notes", text)
