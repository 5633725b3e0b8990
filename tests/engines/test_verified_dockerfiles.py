"""`dockerfile --verify` on a real engine: what is built, checked, told of a failure, and left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.engines import computing_torch
from tests.engines.standins import BASE, PYTHON, WHEEL, make_base, own_wheel
from tests.engines.test_built_images import written
from tests.engines.toolkit import Toolkit
from tests.harness import nvidia
from tests.harness.engine import CUDA, DRIVER, Engine, unavailable
from tests.harness.nvidia import H100

HEALTHY, FINDINGS, WRONG_USAGE, UNDECIDED = range(4)
FOR = ("--framework", "torch", "--assume", "cc=9.0", "--assume", f"driver={DRIVER}")


@dataclass(frozen=True)
class Said:
    """How the command ended and what it said, its lines joined where they were broken."""

    code: int
    report: str
    errors: str


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return own_wheel(tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="module")
def engine(own: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Start an engine with a toolkit, which knows the stand-in base."""
    reason = unavailable()
    if reason:
        pytest.skip(reason)
    toolkit = Toolkit(tmp_path_factory.mktemp("toolkit"), H100)
    started = Engine(Path(tempfile.mkdtemp(prefix="gpudoctor-")), programs=toolkit.programs)
    started.start()
    try:
        releases = {"torch": written("torch")[1].candidate.version}
        make_base(started, tmp_path_factory.mktemp("base"), own, releases)
        yield started
    finally:
        started.stop()


@pytest.fixture
def folder(own: Path, tmp_path: Path) -> Path:
    """Return a folder with gpudoctor's wheel, for the Dockerfile."""
    (tmp_path / WHEEL).write_bytes(own.read_bytes())
    return tmp_path


def words(folder: Path, *more: str, machine: Sequence[str] = FOR) -> list[str]:
    python = [] if "--base" in more else ["--python", PYTHON]  # an image has its own
    return [sys.executable, "-m", "gpudoctor", "dockerfile", *machine, *python, "--gpudoctor", WHEEL,
            "-o", str(folder / "Dockerfile"), "--verify", *more]


def verify(engine: Engine, folder: Path, *more: str, base: str = BASE) -> Said:
    ran = subprocess.run(words(folder, "--build-arg", f"BASE={base}", *more), check=False, timeout=300,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         env={**os.environ, "DOCKER_HOST": engine.address, "COLUMNS": "200"})
    assert ran.returncode != WRONG_USAGE, ran.stderr
    return Said(code=ran.returncode, report=" ".join(ran.stdout.split()), errors=ran.stderr)


def verify_here(engine: Engine, folder: Path, driver: Mapping[str, str], base: str) -> Said:
    """Verify where nothing is assumed: the machine's own driver has the card that the engine hands out."""
    command = words(folder, "--build-arg", f"BASE={base}", machine=("--framework", "torch"))
    ran = subprocess.run(command, check=False, timeout=300, stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, env={**os.environ, **driver, "DOCKER_HOST": engine.address,
                                         "COLUMNS": "200"})
    return Said(code=ran.returncode, report=" ".join(ran.stdout.split()), errors=ran.stderr)


def there(engine: Engine) -> set[str]:
    """Return all containers, and all images with their layers."""
    return {*engine.run("ps", "--all", "--quiet").stdout.split(),
            *engine.run("images", "--all", "--quiet").stdout.split()}


def test_it_is_built_and_what_is_in_it_is_checked(engine: Engine, folder: Path) -> None:
    """The engine hands the card out, the release that was written is there, and nothing is left of it.

    The empty torch has no build that could be judged, which is no health.
    """
    before = there(engine)
    said = verify(engine, folder)
    version = written("torch")[1].candidate.version
    assert (said.code, f"torch {version}, build unknown" in said.report) == (UNDECIDED, True), said
    assert "a container of it on docker" in said.report
    assert "with --gpus all" in said.report
    assert "/opt/venv/bin/python" in said.report
    assert "gpudoctor: Step 1/" in said.errors
    assert there(engine) == before


@pytest.fixture
def driver(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return the variables by which the machine itself has a scripted driver with an H100."""
    folder = tmp_path_factory.mktemp("driver")
    for path, library in nvidia.driver_libraries(DRIVER, CUDA).items():
        (folder / f"{Path(path).name.removesuffix(DRIVER)}1").symlink_to(library)
    (folder / "script").write_text(nvidia.script(DRIVER, CUDA, [H100]))
    return {"LD_LIBRARY_PATH": str(folder), "GPUDOCTOR_SHIM": str(folder / "script")}


@pytest.fixture(scope="module")
def whole(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a base whose torch has all that the published one asks for, and computes."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "wheels").mkdir()
    computing_torch.write(folder / "wheels", written("torch")[1].candidate.version, PYTHON)
    engine.build(f"FROM {BASE}\nRUN rm /wheels/torch-*\nCOPY wheels /wheels\n", folder,
                 "gpudoctor-test/whole-base", {})
    return "gpudoctor-test/whole-base"


def test_what_is_whole_and_computes_is_healthy(engine: Engine, folder: Path, whole: str,
                                               driver: Mapping[str, str]) -> None:
    """Nothing is left open: its libraries are traced, and what it computes lies on the card of the engine."""
    before = there(engine)
    said = verify_here(engine, folder, driver, whole)
    assert (said.code, "Healthy (" in said.report, "WARNING" in said.report) == (HEALTHY, True, False), said
    assert "passed: matmul, convolution" in said.report
    assert there(engine) == before


def test_what_is_whole_and_is_kept_from_the_card(engine: Engine, folder: Path, whole: str,
                                                 driver: Mapping[str, str],
                                                 tmp_path_factory: pytest.TempPathFactory) -> None:
    """It is built all the same; the finding is of the image that was built, and says where to mend it."""
    engine.build(f"FROM {whole}\nENV CUDA_VISIBLE_DEVICES=7\n", tmp_path_factory.mktemp("kept"),
                 "gpudoctor-test/kept-from-the-card", {})
    before = there(engine)
    said = verify_here(engine, folder, driver, "gpudoctor-test/kept-from-the-card")
    assert said.code == FINDINGS
    assert "ERROR cuda-visible-devices" in said.report
    assert "in the image (ENV)" in said.report
    assert "container-image-not-built" not in said.report
    assert there(engine) == before


def test_the_report_in_json(engine: Engine, folder: Path) -> None:
    """The document of check alone stands on standard output."""
    ran = subprocess.run(words(folder, "--build-arg", f"BASE={BASE}", "--format", "json"), check=False,
                         timeout=300, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         env={**os.environ, "DOCKER_HOST": engine.address})
    document = json.loads(ran.stdout)
    assert (document["schema"], document["exit_code"], ran.returncode) == (
        "gpudoctor.report/1", UNDECIDED, UNDECIDED)


def test_with_a_name_it_stays(engine: Engine, folder: Path) -> None:
    """And bears no label of ours, which would have it swept away."""
    try:
        said = verify(engine, folder, "--tag", "gpudoctor-test/kept:1", "--allow-undecided")
        assert (said.code, "stays as gpudoctor-test/kept:1" in said.errors) == (HEALTHY, True), said
        labels = engine.run("image", "inspect", "--format", "{{.Config.Labels}}", "gpudoctor-test/kept:1")
        assert labels.stdout == "map[]\n"
    finally:
        engine.run("rmi", "gpudoctor-test/kept:1", check=False)


def test_what_was_promised_and_is_not_there(engine: Engine, folder: Path) -> None:
    """On an image that should have its framework and has none."""
    said = verify(engine, folder, "--base", "ngc")
    assert said.code == FINDINGS
    assert "requirement-not-met" in said.report


def test_a_base_that_cannot_be_had(engine: Engine, folder: Path) -> None:
    """The registry's answer, the image by its name, and what to do."""
    before = there(engine)
    said = verify(engine, folder, base="localhost:1/absent:1")
    assert said.code == FINDINGS
    assert "container-image-not-built" in said.report
    assert "(FROM localhost:1/absent:1): " in said.report
    assert "connection refused" in said.report
    assert "docker pull" in said.report
    assert there(engine) == before


def test_a_step_that_fails(engine: Engine, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Its number, the end of what was said in it, and nothing of it left."""
    engine.build(f"FROM {BASE}\nRUN rm /wheels/torch-*\n", tmp_path_factory.mktemp("poor"),
                 "gpudoctor-test/poor", {})
    before = there(engine)
    said = verify(engine, folder, base="gpudoctor-test/poor")
    assert said.code == FINDINGS
    assert "container-image-not-built" in said.report
    assert re.search(r"step \d+/\d+ \(RUN python3 -m venv /opt/venv", said.report)
    assert "ended with exit status 1 | " in said.report
    assert "| ERROR: No matching distribution found for torch==" in said.report
    assert "x1b" not in said.report
    assert "python-version-unsupported" in said.report  # what pip's words lead to
    assert there(engine) == before


@pytest.fixture(scope="module")
def slow(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a base whose Python does not come back."""
    engine.build(f"FROM {BASE}\nRUN printf 'import time\\ntime.sleep(300)\\n' "
                 "> /usr/lib/python3.11/sitecustomize.py\n", tmp_path_factory.mktemp("slow"),
                 "gpudoctor-test/slow-base", {})
    return "gpudoctor-test/slow-base"


def test_a_build_past_its_limit(engine: Engine, folder: Path, slow: str) -> None:
    before = there(engine)
    begun = time.monotonic()
    said = verify(engine, folder, "--build-timeout", "5", base=slow)
    assert time.monotonic() - begun < 60
    assert said.code == FINDINGS
    assert "no answer within 5 s" in said.report
    assert "(RUN python3 -m venv" in said.report
    assert there(engine) == before


@pytest.mark.parametrize(("number", "code"), [
    (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_an_end_in_the_middle_leaves_nothing(number: int, code: int, engine: Engine, folder: Path,
                                             slow: str) -> None:
    """Ctrl-C and SIGTERM take everything along; after SIGKILL the next build does."""
    before = there(engine)
    # who runs the tests in the background has SIGINT ignored
    process = subprocess.Popen(["env", "--default-signal=INT", *words(folder, "--build-arg", f"BASE={slow}")],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, "DOCKER_HOST": engine.address})
    until = time.monotonic() + 60
    while time.monotonic() < until and "python3 -m venv" not in engine.run("ps", "--no-trunc").stdout:
        time.sleep(0.1)
    assert there(engine) != before
    process.send_signal(number)
    assert process.wait(30) == code
    if number == signal.SIGKILL:
        verify(engine, folder, base="localhost:1/absent:1")
    assert there(engine) == before


@pytest.mark.parametrize(("more", "said"), [
    (("--verify",), "-o FILE"), (("--verify", "-o", "-"), "-o FILE"),
    (("--verify", "-o", "D", "--from", "machine.json"), "--from and --verify"),
    (("--verify", "-o", "D", "--buildkit"), "--buildkit and --verify"),
    (("--verify", "-o", "D", "--build-arg", "BASE"), "write NAME=VALUE"),
    (("--build-arg", "BASE=a"), "is for the build of --verify")])
def test_wrong_usage(more: tuple[str, ...], said: str, tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-m", "gpudoctor", "dockerfile", *more], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert (ran.returncode, said in ran.stderr) == (WRONG_USAGE, True), ran.stderr
    assert list(tmp_path.iterdir()) == []
