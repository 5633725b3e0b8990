""".pre-commit-hooks.yaml: the hook as pre-commit installs and runs it, and the files that it is given."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest
from hypothesis.strategies import from_regex, just, one_of

from gpudoctor.manifests import kinds, locks, pixi_lock
from gpudoctor.manifests.spans import ManifestError, Source
from tests.contract.checkout import ROOT, run_gpudoctor
from tests.integrations.services import document

(HOOK,) = document(".pre-commit-hooks.yaml")
DOCKERFILE = "FROM python:3.12\nRUN pip install 'torch==2.9.0'\n"
LOCK = '[[package]]\nname = "numpy"\nversion = "2.0.0"\n'
KNOWN = {
    **dict.fromkeys(("Dockerfile", "gpu.Dockerfile", "Dockerfile.gpu", "a/Containerfile", "dockerfile"),
                    DOCKERFILE),
    **dict.fromkeys(("requirements.txt", "requirements-dev.in", "dev-requirements.txt",
                     "requirements.dev.txt", "test_requirements.txt", "requirements/gpu.txt",
                     "a/requirements/base.in"), "numpy\n"),
    # sound as bounds, of which no installation has to meet more than those that it needs
    **dict.fromkeys(("constraints.txt", "requirements/constraints-cpu.txt", "constraints/3.12.txt"),
                    "tensorflow-gpu==2.12.0\ntorch==2.5.1\ntensorflow==2.15.0\n"),
    "pyproject.toml": '[project]\nname = "x"\ndependencies = ["numpy"]\n',
    "Pipfile": "[packages]\nnumpy = \"*\"\n",
    "uv.lock": LOCK, "poetry.lock": LOCK, "pdm.lock": LOCK,
    "Pipfile.lock": '{"_meta": {}, "default": {"numpy": {"version": "==2.0.0"}}}',
    "pixi.lock": "version: 6\nenvironments:\n  default:\n    packages: {linux-64: []}\npackages: []\n",
    "pixi.toml": '[workspace]\nchannels = ["conda-forge"]\nplatforms = ["linux-64"]\n',
    "pylock.toml": '[[packages]]\nname = "numpy"\nversion = "2.0.0"\n',
    "environment.yml": "dependencies:\n  - numpy\n",
    "compose.yaml": "services:\n  a:\n    image: python:3.12\n",
    "docker-compose.override.yml": "services:\n  a:\n    image: python:3.12\n",
}
FAULTY = "FROM nvidia/cuda:12.4.1-cudnn9-runtime-ubuntu22.04\n"  # no such tag
INSTALL_SECONDS = 900  # pip builds gpudoctor and fetches what it needs
OTHERS = ("README.md", "Dockerfile.md", "Dockerfile.yml", "Dockerfile.dockerignore", "my-environment.yml",
          "values.yaml", "setup.py", "package-lock.json", "notes/dockerfiles.txt", "requirements.txt.bak",
          "notes.txt", "Cargo.lock", "PIPFILE", "conda-lock.yml")


def given(path: str) -> bool:
    """Say whether pre-commit gives the hook a file, as it searches with both patterns."""
    return bool(re.search(HOOK["files"], path)) and not re.search(HOOK["exclude"], path)


def test_the_file_is_a_manifest() -> None:
    """Every field is one that pre-commit documents; there is no schema of it but its own program."""
    assert set(HOOK) == {"id", "name", "description", "entry", "language", "additional_dependencies", "files",
                         "exclude", "require_serial"}
    assert shlex.split(HOOK["entry"])[0] == "gpudoctor"


@pytest.mark.parametrize("name", KNOWN)
def test_what_the_hook_is_given_can_be_linted(name: str, tmp_path: Path) -> None:
    """And a file without a fault passes."""
    assert given(name)
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(KNOWN[name], encoding="utf-8")
    done = run_gpudoctor(*shlex.split(HOOK["entry"])[1:], str(path))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", OTHERS)
def test_what_it_would_refuse_is_not_given_to_it(name: str) -> None:
    assert not given(name)


def is_plain(name: str) -> bool:
    """Say whether it is a file's name, and none that another kind of file has."""
    return name.isprintable() and "/" not in name


@hypothesis.given(from_regex(HOOK["files"]).filter(str.isprintable))
def test_lint_knows_every_file_that_the_hook_is_given(path: str) -> None:
    """By its name, whatever stands in it: the hook must not refuse a commit for a file that it took."""
    hypothesis.assume(given(path) and not path.endswith("/"))
    assert knows(path)


@hypothesis.given(one_of(from_regex(kinds.DOCKERFILE, fullmatch=True).filter(is_plain),
                         from_regex(locks.LOCKS, fullmatch=True).filter(is_plain), just(pixi_lock.NAME)))
def test_the_hook_is_given_every_file_of_which_lint_knows_the_name(name: str) -> None:
    """Regression: the locks of pdm, pipenv and pixi were not given to it when `lint` had learned them."""
    hypothesis.assume(knows(name))
    assert given(name)


def knows(path: str) -> bool:
    """Say whether `lint` knows by a file's name how to read it."""
    try:
        kinds.environments(Source(path, ""), lambda _: None)
    except ManifestError as error:
        return "Its name is not that of" not in str(error)
    return True


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a repository, as somebody who has no environment of Python's active."""
    variables = {name: value for name, value in os.environ.items()
                 if name not in ("VIRTUAL_ENV", "PYTHONPATH") and not name.startswith("GIT_")}
    return subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=INSTALL_SECONDS, check=False,
                          env={**variables, "PRE_COMMIT_HOME": str(folder.parent / "store")})


def git(folder: Path, *words: str) -> str:
    done = run(folder, "git", "-c", "user.name=test", "-c", "user.email=test@localhost", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def pre_commit(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(folder, sys.executable, "-m", "pre_commit", *words)


def checkout(folder: Path, *options: str) -> Path:
    """Return a clone of this checkout's HEAD, from which pre-commit takes the hook."""
    if run(ROOT, "git", "rev-parse", "--verify", "HEAD").returncode:
        pytest.skip("this checkout is no repository of git, and pre-commit takes hooks from nothing else")
    git(folder, "clone", "--quiet", *options, ROOT.as_uri(), "hook")
    return folder / "hook"


def repository(folder: Path, dockerfile: str) -> Path:
    """Return a new repository with a Dockerfile and with requirements that are well."""
    place = folder / "mine"
    place.mkdir()
    git(place, "init", "--quiet")
    (place / "Dockerfile").write_text(dockerfile, encoding="utf-8")
    (place / "requirements.txt").write_text("numpy\n", encoding="utf-8")
    git(place, "add", "--all")
    return place


def test_pre_commit_tries_the_hook(tmp_path: Path) -> None:
    """It installs the repository as a package, and fails on the faulty one of two files."""
    hook, mine = checkout(tmp_path), repository(tmp_path, FAULTY)
    done = pre_commit(mine, "try-repo", str(hook), HOOK["id"], "--files", "Dockerfile", "requirements.txt")
    assert done.returncode == 1, done.stderr
    assert "- exit code: 1\n" in done.stdout
    assert "Dockerfile:1:6: ERROR image-not-published [GPD0020]" in done.stdout
    assert "1 error found in 2 files." in done.stdout


def test_a_fault_stops_the_commit_and_its_repair_lets_it_pass(tmp_path: Path) -> None:
    """By the configuration that the page shows, out of a shallow clone."""
    hook, mine = checkout(tmp_path, "--depth", "1"), repository(tmp_path, FAULTY)
    (mine / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {hook}\n    rev: {git(hook, 'rev-parse', 'HEAD')}\n    hooks:\n"
        f"      - id: {HOOK['id']}\n        args: [--assume, driver=550.54.14, --assume, cc=8.9]\n",
        encoding="utf-8")
    git(mine, "add", "--all")
    installed = pre_commit(mine, "install")
    assert installed.returncode == 0, installed.stderr
    words = ("git", "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-m", "One")
    stopped = run(mine, *words)
    assert stopped.returncode == 1
    assert "image-not-published" in stopped.stdout + stopped.stderr
    (mine / "Dockerfile").write_text(FAULTY.replace("cudnn9", "cudnn"), encoding="utf-8")
    git(mine, "add", "--all")
    passed = run(mine, *words)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert git(mine, "log", "--format=%s") == "One"
