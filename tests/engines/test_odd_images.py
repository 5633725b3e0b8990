"""Images and containers in which no program can be asked, on a real engine: what is told of them."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor.transports import sandbox
from tests.engines.test_examined_images import FINDINGS, HEALTHY, PLAIN, UNDECIDED, check, left, with_images
from tests.engines.toolkit import Toolkit
from tests.harness.engine import Engine
from tests.harness.nvidia import H100

BARE, FOREIGN, FORBIDDEN = (f"gpudoctor-test/{name}" for name in ("bare", "foreign:1", "forbidden"))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Start an engine that hands out a scripted card."""
    toolkit = Toolkit(tmp_path_factory.mktemp("toolkit"), H100)
    folder = tmp_path_factory.mktemp("built")
    for started in with_images(folder, (), programs=toolkit.programs):
        (folder / "program").write_bytes(b"\x7fELF")
        started.build("FROM scratch\nCOPY program /program\nENTRYPOINT [\"/program\"]\n", folder, BARE, {})
        started.build(f"FROM {PLAIN}\nRUN chmod 700 /usr/bin/python3.11\nUSER 65534\n", folder, FORBIDDEN, {})
        archive = folder / "image.tar"
        started.run("save", "--output", str(archive), BARE)
        started.run("load", data=_for_another_processor(archive, FOREIGN))
        yield started


def _for_another_processor(archive: Path, name: str) -> bytes:
    """Return a saved image under another name, made for arm64 as it says itself."""
    with tarfile.open(archive) as opened:
        files = {one.name: stream.read() for one in opened if (stream := opened.extractfile(one)) is not None}
    manifest = json.loads(files.pop("manifest.json"))
    settings = {**json.loads(files.pop(manifest[0]["Config"])), "architecture": "arm64"}
    written = json.dumps(settings).encode()
    own = f"{hashlib.sha256(written).hexdigest()}.json"
    manifest[0].update(Config=own, RepoTags=[name])
    files.pop("repositories", None)
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as opened:
        for path, data in {**files, own: written, "manifest.json": json.dumps(manifest).encode()}.items():
            member = tarfile.TarInfo(path)
            member.size = len(data)
            opened.addfile(member, io.BytesIO(data))
    return made.getvalue()


def test_an_image_of_one_program_is_no_question_of_a_c_library(engine: Engine) -> None:
    """Nothing is in it: that glibc was not found made it undecided, by a Python that it does not have."""
    seen = check(engine.address, "--image", BARE)
    assert seen.fact("image.gpu_request") == "nvidia"
    asked = {one["cause"] for one in seen.report["undecided"] if one["asked"]}
    assert "glibc-too-old" not in asked
    assert seen.report["snapshot"]["host"]["system.glibc"] == {
        "not_asked": "no C library lies where images have theirs"}
    assert left(engine) == ""


def test_an_image_for_another_processor(engine: Engine) -> None:
    """Without a Python nothing in it was run, so nobody saw that nothing in it can be."""
    seen = check(engine.address, "--image", FOREIGN)
    assert (seen.code, seen.causes[0]) == (FINDINGS, "image-for-other-processor")
    fetched = seen.report["findings"][0]["fixes"][0]["commands"][0]
    assert fetched == f"docker pull --platform linux/amd64 {FOREIGN}"
    assert left(engine) == ""


def test_a_user_who_may_not_run_its_python(engine: Engine) -> None:
    """It was "not examined", though the engine starts it, and hands the GPU out."""
    seen = check(engine.address, "--image", FORBIDDEN)
    assert seen.code == UNDECIDED, seen.report["findings"]
    assert (seen.fact("image.trouble"), seen.fact("image.gpu_request")) == (None, "nvidia")
    assert (seen.fact("system.distribution"), seen.fact("system.glibc")) == ("debian", "2.36")
    assert "permission denied" in json.dumps(seen.report["snapshot"]["frameworks"])
    assert left(engine) == ""


def test_a_python_that_prints_while_it_starts(engine: Engine, tmp_path: Path) -> None:
    """Its line stood before the answer, and all was undecided."""
    engine.build(f"FROM {PLAIN}\nRUN echo 'print(chr(123))' > /usr/lib/python3.11/sitecustomize.py\n",
                 tmp_path, "gpudoctor-test/chatty", {})
    seen = check(engine.address, "--image", "gpudoctor-test/chatty", "--depth", "static")
    assert (seen.code, seen.fact("python.version")) == (HEALTHY, "3.11.2"), seen.report["undecided"]


def test_a_python_that_cannot_start_says_why(engine: Engine, tmp_path: Path) -> None:
    """Its last line was quoted, which names no frame."""
    engine.build(f"FROM {PLAIN}\nENV PYTHONHOME=/nowhere\n", tmp_path, "gpudoctor-test/homeless", {})
    seen = check(engine.address, "--image", "gpudoctor-test/homeless", "--depth", "static")
    assert seen.code == UNDECIDED
    assert "Fatal Python error: " in json.dumps(seen.report["snapshot"]["frameworks"])


def test_a_user_whom_the_image_does_not_know(engine: Engine, tmp_path: Path) -> None:
    """No container of it starts, whatever the program: that is the finding."""
    engine.build(f"FROM {PLAIN}\nUSER nobody-knows\n", tmp_path, "gpudoctor-test/unknown-user", {})
    seen = check(engine.address, "--image", "gpudoctor-test/unknown-user")
    assert (seen.code, seen.causes) == (FINDINGS, ["container-not-started"])
    assert "unable to find user nobody-knows" in seen.report["findings"][0]["message"]
    assert left(engine) == ""


@pytest.mark.parametrize(("words", "trouble"), [
    (("--container", ".."), "not-found"), (("--container", "../images"), "not-found"),
    (("--image", PLAIN, "--python", "/opt/nosuch"), "no-python")])
def test_what_is_named_and_is_not_there(words: tuple[str, ...], trouble: str, engine: Engine) -> None:
    """A path led elsewhere in the engine's API; a Python that is not there left all undecided."""
    seen = check(engine.address, *words)
    assert (seen.code, len(seen.causes)) == (FINDINGS, 1)
    assert seen.fact("image.trouble") == trouble


@pytest.mark.parametrize(("state", "next_command"), [
    ("paused", "docker unpause mine"), ("exited", "docker start mine"),
    ("restarting", "docker logs --tail 50 mine 2>&1 | gpudoctor explain -")])
def test_a_container_that_takes_no_program(state: str, next_command: str, engine: Engine) -> None:
    """A paused one was to be examined by starting an image of its name."""
    program = {"paused": "sleep 600", "restarting": "false", "exited": "true"}[state]
    again = ["--restart", "always"] if state == "restarting" else []
    engine.run("run", "--detach", "--network", "none", "--name", "mine", *again, PLAIN, *program.split())
    try:
        if state == "paused":
            engine.run("pause", "mine")
        else:
            _wait_for(engine, state)
        seen = check(engine.address, "--container", "mine")
        assert (seen.code, seen.causes) == (FINDINGS, ["container-not-started"])
        fix, = seen.report["findings"][0]["fixes"]
        assert fix["commands"][0] == next_command
        assert all("docker run" not in words for words in fix["commands"])
    finally:
        engine.run("rm", "--force", "mine")
    assert sandbox.LABEL not in engine.run("ps", "--all", "--format", "{{.Labels}}").stdout


def _wait_for(engine: Engine, state: str) -> None:
    for _ in range(100):
        if engine.run("inspect", "--format", "{{.State.Status}}", "mine").stdout.strip() == state:
            return
    raise AssertionError(f"mine is not {state}")
