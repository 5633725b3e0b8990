"""What `.dockerignore` leaves out of a build, and what `lint` says of a file that is left out."""

from __future__ import annotations

import pytest

from gpudoctor.manifests import ignored
from tests.unit.test_manifest_projects import BESIDE, HELD, SLIM, built
from tests.unit.test_manifest_troubles import docker

TORCH = {"requirements.txt": "torch==2.6.0\n"}
INSTALL = ("COPY requirements.txt .", "RUN pip install -r requirements.txt")


@pytest.mark.parametrize(("patterns", "path", "expected"), [
    ("requirements.txt", "requirements.txt", True), ("requirements.txt", "app/requirements.txt", False),
    ("/requirements.txt", "requirements.txt", True), ("./app/", "app/requirements.txt", True),
    ("*.txt", "requirements.txt", True), ("*.txt", "app/requirements.txt", False),
    ("**/*.txt", "app/one/requirements.txt", True), ("**/*.txt", "requirements.txt", True),
    ("**/requirements.txt", "requirements.txt", True), ("**/list.txt", "a/old-list.txt", False),
    ("**requirements.txt", "a/old-requirements.txt", True), ("app/**", "app/one/two", True),
    ("app/**", "app", False), ("a/**/z", "a/z", True), ("a/**/z", "a/b/c/z", True),
    ("a/*/z", "a/b/c/z", False),
    ("**", "any/thing", True), ("temp?", "tempa", True), ("temp?", "temp", False), ("temp?", "temp/", False),
    ("[rs]equirements.txt", "requirements.txt", True), ("[^r]*", "requirements.txt", False),
    ("a\\*b", "a*b", True), ("a\\*b", "axb", False), ("a.txt", "abtxt", False),
    ("# requirements.txt", "requirements.txt", False), (" requirements.txt \r\n", "requirements.txt", True),
    ("", "requirements.txt", False), (".", "requirements.txt", False), ("/", "requirements.txt", False),
    ("*\n!requirements.txt", "requirements.txt", False), ("*\n!requirements.txt", "setup.py", True),
    ("*.md\n!README*.md\nREADME-secret.md", "README-secret.md", True),
    ("*.md\nREADME-secret.md\n!README*.md", "README-secret.md", False),
    ("*\n! /app", "app/list.txt", False), ("app\n!app/list.txt", "app/list.txt", False),
])
def test_the_last_pattern_that_matches_a_path_or_a_folder_above_it_counts(
        patterns: str, path: str, *, expected: bool) -> None:
    """The examples of Docker's page, and the rules of moby/patternmatcher."""
    assert ignored.read(patterns).leaves_out(path) is expected


@pytest.mark.parametrize("line", ["!", "! ", "[a", "a\\d", "\ufeff*.txt"])
def test_what_is_no_pattern_or_is_not_read_alike_is_refused(line: str) -> None:
    with pytest.raises(ignored.PatternError, match="line 2"):
        ignored.read(f"one\n{line}")


@pytest.mark.parametrize("pattern", [
    f"{'*a' * 200}b", f"{'**/a' * 200}b", f"{'[a]*' * 200}b", f"{'**' * 200}b"])
def test_no_pattern_makes_it_slow(pattern: str) -> None:
    """Whoever goes back in such a pattern tries more ways than there are atoms: this test would not end."""
    assert not ignored.read(pattern).leaves_out("a" * 400)


def unread(files: dict[str, str]) -> list[tuple[str, bool]]:
    return [(one.why, one.of_framework) for one in built(files).unread]


@pytest.mark.parametrize("name", [".dockerignore", "Dockerfile.dockerignore"])
def test_a_list_that_is_left_out_is_not_judged_as_installed(name: str) -> None:
    """The build ends there: pip finds no such file. It was judged as if it were."""
    files = {**docker(SLIM, *INSTALL), **TORCH, name: "*.txt"}
    assert built(files).asked == ()
    assert unread(files) == [
        (f"requirements.txt is left out of the build by {name}, so what it asks for was not judged", True)]


def test_the_list_of_a_dockerfile_stands_in_for_that_of_the_folder() -> None:
    files = {**docker(SLIM, *INSTALL), **TORCH, ".dockerignore": "*", "Dockerfile.dockerignore": "*.md"}
    assert [one.text for one in built(files).asked] == ["torch==2.6.0"]
    assert unread(files) == []


def test_a_list_that_is_not_read_leaves_open_what_is_installed() -> None:
    files = {**docker(SLIM, *INSTALL), **TORCH, ".dockerignore": "one\n!"}
    assert built(files).asked == ()
    said = ("requirements.txt may be left out by .dockerignore, which is not read as a builder does, so what "
            "it asks for was not judged")
    assert unread(files) == [(said, True)]


def test_what_a_list_takes_in_may_be_left_out_as_well() -> None:
    files = {**docker(SLIM, "COPY . .", "RUN pip install -r requirements.txt"), "gpu.txt": "torch==2.6.0",
             "requirements.txt": "-r gpu.txt\nsix\n", ".dockerignore": "gpu.txt"}
    assert [one.text for one in built(files).asked] == ["six"]
    assert unread(files) != []


def test_without_the_lock_the_project_is_resolved_anew() -> None:
    """`uv sync` writes a lock of its own then, so the project's bounds count."""
    files = {**docker(SLIM, "COPY . .", "RUN uv sync --no-dev"), **BESIDE}
    assert [one.text for one in built(files).asked] == HELD
    left = {**files, ".dockerignore": "uv.lock\n"}
    assert next(one.text for one in built(left).asked) == "tensorflow[and-cuda]>=2.17"


def test_a_bind_mount_has_no_more_than_the_build() -> None:
    run = "RUN --mount=type=bind,target=/src pip install -r requirements.txt"
    files = {**docker(SLIM, run), **TORCH, ".dockerignore": "requirements.txt"}
    assert built(files).asked == ()


def test_podmans_own_list_is_heeded_beside_dockers() -> None:
    """Docker does not know `.containerignore`, and Podman reads nothing else where there is one."""
    files = {**docker(SLIM, *INSTALL), **TORCH, ".dockerignore": "*.md", ".containerignore": "*.txt"}
    (why, of_framework), = unread(files)
    assert of_framework
    assert why.startswith("requirements.txt is left out of the build of Podman or Buildah by .containerig")
    assert unread({**files, ".containerignore": "*.md", ".dockerignore": "*.txt"})[0][0].startswith(
        "requirements.txt is left out of the build by .dockerignore")
    assert unread({**files, ".containerignore": "*\n!*.txt"}) == []
