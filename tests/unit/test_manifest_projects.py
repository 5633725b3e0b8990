"""What a Dockerfile installs of a project with a lock: the locked releases, where the image has it."""

from __future__ import annotations

import pytest

from gpudoctor.manifests import kinds
from gpudoctor.manifests.spans import ManifestError, Source
from gpudoctor.manifests.statements import Environment
from tests.unit.test_manifest_troubles import Files, causes, docker, judged

SLIM = "FROM python:3.12-slim"
PROJECT = """[project]
name = "app"
requires-python = ">=3.11"
dependencies = ["tensorflow[and-cuda]>=2.17", "loader; sys_platform == 'linux'"]
[project.optional-dependencies]
more = ["jax>=0.5"]
[dependency-groups]
dev = ["six"]
"""
PACKAGE = '[[package]]\nname = "{}"\nversion = "{}"\n'
UV = "".join((
    'version = 1\nrequires-python = ">=3.11"\n',
    '[[package]]\nname = "app"\nversion = "0"\nsource = { virtual = "." }\n',
    PACKAGE.format("tensorflow", "2.18.0"), 'dependencies = [{ name = "numpy" }]\n',
    ('[package.optional-dependencies]\nand-cuda = [{ name = "nvidia-cublas-cu12" }]\n'
    'other = [{ name = "unwanted" }]\n'),
    PACKAGE.format("numpy", "2.0.2"), PACKAGE.format("nvidia-cublas-cu12", "12.5.3.2"),
    PACKAGE.format("loader", "1.0"),
    ('dependencies = [{ name = "torch" }, { name = "win", marker = "sys_platform == \'win32\'" },\n'
    '    { name = "old", marker = "python_full_version < \'3.9\'" }]\n'),
    PACKAGE.format("torch", "2.6.0"), PACKAGE.format("win", "1"), PACKAGE.format("jax", "0.5.3"),
    PACKAGE.format("six", "1.17"), PACKAGE.format("unwanted", "1")))
HELD = ["tensorflow[and-cuda]==2.18.0", "numpy==2.0.2", "nvidia-cublas-cu12==12.5.3.2", "loader==1.0",
        "torch==2.6.0"]
POETRY = "".join((
    PACKAGE.format("tensorflow", "2.18.0"),
    ('[package.dependencies]\nnumpy = ">=1.26"\n'
    'nvidia-cublas-cu12 = {version = "12.5.3.2", optional = true, markers = "extra == \\"and-cuda\\""}\n'
    'unwanted = {version = "1", optional = true, markers = "extra == \\"other\\""}\n'),
    PACKAGE.format("numpy", "2.0.2"), PACKAGE.format("nvidia-cublas-cu12", "12.5.3.2"),
    PACKAGE.format("loader", "1.0"), '[package.dependencies]\ntorch = [{version = "2.6.0"}]\n',
    PACKAGE.format("torch", "2.6.0"), PACKAGE.format("jax", "0.5.3"), PACKAGE.format("six", "1.17"),
    PACKAGE.format("unwanted", "1")))
PDM = "".join((
    PACKAGE.format("tensorflow", "2.18.0"), 'dependencies = ["numpy>=1.26"]\n',
    PACKAGE.format("tensorflow", "2.18.0"),
    'extras = ["and-cuda"]\ndependencies = ["tensorflow==2.18.0", "nvidia-cublas-cu12==12.5.3.2"]\n',
    PACKAGE.format("numpy", "2.0.2"), PACKAGE.format("nvidia-cublas-cu12", "12.5.3.2"),
    PACKAGE.format("loader", "1.0"), "dependencies = [\"torch==2.6.0; sys_platform == 'linux'\"]\n",
    PACKAGE.format("torch", "2.6.0"), PACKAGE.format("jax", "0.5.3"), PACKAGE.format("six", "1.17")))
PIPFILE = '[packages]\ntensorflow = {version = ">=2.17", extras = ["and-cuda"]}\n[dev-packages]\nsix = "*"\n'
PIPENV = """{"_meta": {"requires": {}},
 "default": {"tensorflow": {"extras": ["and-cuda"], "version": "==2.18.0"}, "numpy": {"version": "==2.0.2"}},
 "develop": {"six": {"version": "==1.17"}}, "web": {"jax": {"version": "==0.5.3"}}}
"""
BESIDE = {"pyproject.toml": PROJECT, "uv.lock": UV, "poetry.lock": POETRY, "pdm.lock": PDM,
          "Pipfile": PIPFILE, "Pipfile.lock": PIPENV}


def built(files: Files) -> Environment:
    """Return what the Dockerfile among the files builds; the others lie beside it."""
    found, = kinds.environments(Source("Dockerfile", files["Dockerfile"]),
                                lambda name: Source(name, files[name]) if name in files else None)
    return found


def texts(run: str, copy: str = "COPY . .", **changed: str) -> list[str]:
    """Return what is installed, by its releases."""
    beside = {**BESIDE, **{name.replace("_", "."): text for name, text in changed.items()}}
    return [one.text for one in built({**docker(SLIM, copy, run), **beside}).asked]


@pytest.mark.parametrize(("run", "expected"), [
    ("uv sync --frozen", [*HELD, "six==1.17"]), ("uv sync --no-dev", HELD),
    ("uv sync --only-dev", ["six==1.17"]),
    ("uv sync --locked --no-default-groups --extra more", [*HELD, "jax==0.5.3"]),
    ("poetry install --without=dev -E more", [*HELD, "jax==0.5.3"]), ("poetry sync --only main", HELD),
    ("pdm install --prod", HELD), ("pdm sync", [*HELD, "six==1.17"]),
    ("pipenv install --deploy --system", HELD[:2]), ("pipenv sync --dev", [*HELD[:2], "six==1.17"]),
    ("pipenv sync --categories web", [*HELD[:2], "jax==0.5.3"]),
])
def test_the_locked_releases_are_installed(run: str, expected: list[str]) -> None:
    """With what they need in turn, of the groups that are chosen; not what only other groups need."""
    assert sorted(texts(f"RUN {run}")) == sorted(expected)


@pytest.mark.parametrize(("copy", "run"), [
    ("COPY pyproject.toml uv.lock ./", "RUN uv sync"),
    ('COPY ["pyproject.toml", "uv.lock*", "./"]', "RUN uv sync"),
    ("ADD ./ /app/", "RUN uv sync"),
    ("COPY pyproject.toml .", "RUN --mount=source=uv.lock,target=uv.lock uv sync"),
    ("WORKDIR /a", "RUN --mount=type=bind,target=. uv sync"),
    ("WORKDIR /a", "RUN --mount=type=bind,src=uv.lock,dst=uv.lock --mount=type=cache,target=/c uv sync"),
])
def test_a_lock_counts_where_the_image_has_it(copy: str, run: str) -> None:
    assert texts(run, copy) == [*HELD, "six==1.17"]


@pytest.mark.parametrize(("copy", "run"), [
    ("COPY pyproject.toml .", "RUN uv sync"), ("COPY src/ /src/", "RUN uv sync"),
    ("RUN --mount=source=uv.lock,target=uv.lock true", "RUN uv sync"),  # gone when that RUN has ended
    ("COPY pyproject.toml .", "RUN --mount=from=other,source=uv.lock,target=uv.lock uv sync"),
    ("COPY . .", "RUN uv sync --upgrade"), ("COPY . .", "RUN pip install . six"),
])
def test_elsewhere_the_projects_own_file_counts(copy: str, run: str) -> None:
    assert sorted(texts(run, copy)) == [
        "loader; sys_platform == 'linux'", "six", "tensorflow[and-cuda]>=2.17"]


@pytest.mark.parametrize(("copy", "run", "lock"), [
    ("COPY pyproject.toml uv.lock ./", "RUN uv sync", "uv.lock"),
    ("COPY . .", "RUN uv sync --frozen", "uv.lock"), ("COPY . .", "RUN uv run --frozen app", "uv.lock"),
    ("COPY . .", "RUN uv sync --locked --no-dev", "uv.lock"),
    ("ENV UV_LOCKED=1\nCOPY . .", "RUN uv sync", "uv.lock"),
    ("ENV UV_FROZEN=true\nCOPY . .", "RUN uv run app", "uv.lock"),
    ("COPY pyproject.toml .", "RUN --mount=type=bind,source=uv.lock,target=uv.lock uv sync", "uv.lock"),
    ("COPY . .", "RUN uv export --frozen -o a.txt && pip install -r a.txt", "uv.lock"),
    ("COPY poetry.lock pyproject.toml .", "RUN poetry install", "poetry.lock"),
    ("COPY . .", "RUN pdm sync", "pdm.lock"), ("COPY . .", "RUN pipenv sync", "Pipfile.lock")])
def test_a_lock_that_the_build_needs_and_nobody_has_is_left_open(copy: str, run: str, lock: str) -> None:
    """The build would end; nothing was said, and the exit code was 0."""
    there = {name: text for name, text in BESIDE.items() if "lock" not in name}
    found = judged({**docker("# --gpus all", SLIM, copy, run), **there})
    said = f"{lock} is not there to be read, so which releases are installed was not judged"
    assert [one.said for one in found.notes if one.matters] == [said]


@pytest.mark.parametrize(("copy", "run"), [
    ("COPY . .", "RUN uv sync"), ("COPY pyproject.toml uv.lock* ./", "RUN uv sync"),
    ("COPY . .", "ENV UV_FROZEN=0\nRUN uv sync"), ("COPY . .", "RUN poetry install"),
    ("COPY . .", "RUN pip install ."), ("COPY . .", "RUN pdm install")])
def test_a_lock_that_the_command_makes_anew_is_not_missed(copy: str, run: str) -> None:
    there = {name: text for name, text in BESIDE.items() if "lock" not in name}
    found = judged({**docker("# --gpus all", SLIM, copy, run), **there})
    assert [one.said for one in found.notes if one.matters] == []


def test_the_lock_of_a_project_in_a_folder() -> None:
    """Of two folders with a lock each, the one with the project's file counts."""
    files = {**docker(SLIM, "COPY b/ /b/", "COPY a/pyproject.toml a/uv.lock /a/", "RUN uv sync --no-dev"),
             "a/pyproject.toml": PROJECT, "a/uv.lock": UV, "b/uv.lock": "broken"}
    found = built(files)
    assert [one.text for one in found.asked] == HELD
    assert {one.place.file for one in found.asked} == {"a/uv.lock"}


def test_what_a_lock_does_not_hold_is_judged_as_the_project_asks_for_it() -> None:
    """uv brings such a lock up to date; one that is frozen is taken as it is."""
    newer = PROJECT.replace(">=2.17", "==2.20.0")
    found = built({**docker(SLIM, "COPY . .", "RUN uv sync --no-dev"), **BESIDE, "pyproject.toml": newer})
    assert sorted(one.text for one in found.asked) == [
        "loader==1.0", "tensorflow[and-cuda]==2.20.0", "torch==2.6.0"]
    [note] = found.unread
    assert (note.why.partition(",")[0], note.place.file, note.of_framework) == (
        "uv.lock does not hold tensorflow[and-cuda]==2.20.0", "pyproject.toml", False)
    for run in ("RUN uv sync --no-dev --frozen", "ENV UV_FROZEN=1\nRUN uv sync --no-dev"):
        assert texts(run, pyproject_toml=newer) == HELD


def test_findings_of_a_locked_release_stand_in_the_lock() -> None:
    """The project's file leaves open which TensorFlow it is: the lock names one without wheels for 3.13."""
    files = {**docker("FROM python:3.13-slim", "COPY . .", "RUN uv sync --frozen"), **BESIDE}
    found = judged(files)
    assert [(one.finding.cause, one.place.file, one.place.line) for one in found.findings][:1] == [
        ("python-version-unsupported", "uv.lock", 7)]
    assert "python-version-unsupported" not in causes(judged(
        {**files, "uv.lock": UV.replace("2.18.0", "2.20.0")}))


def test_a_lock_that_is_broken_is_told_with_its_place() -> None:
    with pytest.raises(ManifestError, match=r"\Auv\.lock:1:7: is no TOML"):
        texts("RUN uv sync", uv_lock="half = ")


def test_packages_that_need_one_another_come_to_an_end() -> None:
    ring = (PACKAGE.format("a", "1") + 'dependencies = [{ name = "b", extra = ["x"] }]\n'
            + PACKAGE.format("b", "1")
            + '[package.optional-dependencies]\nx = [{ name = "a" }, { name = "b" }]\n')
    assert texts("RUN uv sync", pyproject_toml='[project]\ndependencies = ["a"]\n', uv_lock=ring) == [
        "a==1", "b[x]==1"]


CONFLICTING = PROJECT.replace('more = ["jax>=0.5"]', 'cpu = ["jax>=0.5"]\ngpu = ["jax>=0.5"]')
FORKED = "".join((
    ('[[package]]\nname = "app"\nversion = "0"\nsource = { virtual = "." }\n[package.optional-dependencies]\n'
    'cpu = [{ name = "jax", version = "0.5.3", marker = "extra == \'extra-3-app-cpu\'" }]\n'
    'gpu = [{ name = "jax", version = "0.7.0", extra = ["cuda12"] }]\n'),
    PACKAGE.format("jax", "0.5.3"), PACKAGE.format("jax", "0.7.0"), PACKAGE.format("loader", "1.0"),
    PACKAGE.format("tensorflow", "2.18.0")))


@pytest.mark.parametrize(("extra", "expected"), [
    ("--extra cpu", ["jax==0.5.3"]), ("--extra=gpu", ["jax[cuda12]==0.7.0"]), ("", [])])
def test_extras_that_exclude_one_another_have_a_version_each(extra: str, expected: list[str]) -> None:
    """As uv locks a build for the CPU beside one for CUDA: the project's own entry says which is whose."""
    found = built({**docker(SLIM, "COPY . .", f"RUN uv sync --no-dev {extra}"), "pyproject.toml": CONFLICTING,
                   "uv.lock": FORKED})
    assert [one.text for one in found.asked if one.text.startswith("jax")] == expected
    assert found.unread == ()


@pytest.mark.parametrize(("run", "expected"), [
    ("uv pip install --system -r pyproject.toml", [
        "tensorflow[and-cuda]>=2.17", "loader; sys_platform == 'linux'"]),
    ("uv pip install -r pyproject.toml --extra more", [
        "tensorflow[and-cuda]>=2.17", "loader; sys_platform == 'linux'", "jax>=0.5"]),
    ("uv pip sync pylock.toml", ["torch==2.6.0"]),
    ("pip install -r pylock.toml six", ["six", "torch==2.6.0"]),
    ("uv pip install -r setup.py", [])])
def test_a_project_or_a_lock_behind_r_is_no_list_of_requirements(run: str, expected: list[str]) -> None:
    """It was read as one, and the whole Dockerfile refused."""
    found = built({**docker(SLIM, "COPY . .", f"RUN {run}"), **BESIDE, "setup.py": "import setuptools\n",
                   "pylock.toml": '[[packages]]\nname = "torch"\nversion = "2.6.0"\n'})
    assert [one.text for one in found.asked] == expected
    assert [one.of_framework for one in found.unread] == [True] * ("setup" in run)
