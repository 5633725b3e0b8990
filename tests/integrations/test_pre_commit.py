""".pre-commit-hooks.yaml: the files that the hook is given are those that `gpudoctor lint` knows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.contract.checkout import run_gpudoctor
from tests.integrations.services import document

(HOOK,) = document(".pre-commit-hooks.yaml")
DOCKERFILE = "FROM python:3.12\nRUN pip install 'torch==2.9.0'\n"
LOCK = '[[package]]\nname = "numpy"\nversion = "2.0.0"\n'
KNOWN = {
    **dict.fromkeys(("Dockerfile", "gpu.Dockerfile", "Dockerfile.gpu", "a/Containerfile", "dockerfile"),
                    DOCKERFILE),
    "requirements.txt": "numpy\n", "requirements-dev.in": "numpy\n",
    "pyproject.toml": '[project]\nname = "x"\ndependencies = ["numpy"]\n',
    "Pipfile": "[packages]\nnumpy = \"*\"\n",
    "uv.lock": LOCK, "poetry.lock": LOCK,
    "pylock.toml": '[[packages]]\nname = "numpy"\nversion = "2.0.0"\n',
    "environment.yml": "dependencies:\n  - numpy\n",
    "compose.yaml": "services:\n  a:\n    image: python:3.12\n",
    "docker-compose.override.yml": "services:\n  a:\n    image: python:3.12\n",
}
OTHERS = ("README.md", "Dockerfile.md", "Dockerfile.yml", "Dockerfile.dockerignore", "my-environment.yml",
          "values.yaml", "setup.py", "package-lock.json", "notes/dockerfiles.txt", "requirements.txt.bak")


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


def test_a_fault_stops_the_commit(tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text("FROM nvidia/cuda:12.4.1-cudnn9-runtime-ubuntu22.04\n", encoding="utf-8")
    done = run_gpudoctor(*shlex.split(HOOK["entry"])[1:], str(path))
    assert done.returncode == 1
    assert "image-not-published" in done.stdout
