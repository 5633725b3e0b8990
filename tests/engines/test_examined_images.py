"""`check --image` and `--container` on a real engine: what is told, what is left, what stays untouched."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.transports import sandbox
from gpudoctor.transports.engine import connect
from tests.engines.toolkit import NOT_LOADED, TOO_OLD, Toolkit
from tests.harness.engine import Engine, unavailable
from tests.harness.interpreters import need_python
from tests.harness.nvidia import H100

HEALTHY, FINDINGS, WRONG_USAGE, UNDECIDED = range(4)
WORKS = ("--assume", "driver=580.95.05", "--assume", "cc=9.0")  # the machine itself is well
PLAIN, NONE, ASKING, BENT, BARE, OLDER, QUIET, LATER, FAR, LABELLED = (
    f"gpudoctor-test/{name}" for name in (
        "plain", "no-python", "asking", "bent", "bare-python", "older-branches", "quiet", "later", "far",
        "labelled"))
FILES = {
    NONE: "RUN rm /usr/bin/python3*\n",
    ASKING: "ENV NVIDIA_REQUIRE_CUDA='cuda>=99.0 brand=tesla,driver>=470,driver<471'\n"
            "ENV CUDA_VISIBLE_DEVICES=7\n",
    OLDER: "ENV NVIDIA_REQUIRE_CUDA='cuda>=12.8 brand=tesla,driver>=535,driver<536'\n",
    QUIET: "ENV NVIDIA_REQUIRE_CUDA='cuda>=99.0' NVIDIA_DISABLE_REQUIRE=1\n",
    LABELLED: "LABEL com.nvidia.cuda.version=14.0.1 com.nvidia.volumes.needed=nvidia_driver maintainer=ana\n",
    LATER: "ENV NVIDIA_REQUIRE_CUDA='cuda>=13.9'\n",
    FAR: "ENV NVIDIA_REQUIRE_CUDA='cuda>=14.0'\n",
    BENT: 'RUN printf "import os\\nos._exit(3)\\n" > /usr/lib/python3.11/sitecustomize.py\n',
    BARE: "RUN cd /usr/lib/python3.11 && rm -r ctypes shutil.py uuid.py\n",  # as python3-minimal alone has it
}


@dataclass(frozen=True)
class Seen:
    """What a check said."""

    code: int
    report: Any
    errors: str

    @property
    def causes(self) -> list[str]:
        """Return the causes of its findings."""
        return [finding["cause"] for finding in self.report["findings"]]

    def fact(self, name: str) -> Any:
        """Return the value of a fact of the host, None where it is not known."""
        return self.report["snapshot"]["host"][name].get("value")


def check(address: str, *words: str, seconds: float = 120, command: str = "check",
          variables: Mapping[str, str] | None = None) -> Seen:
    """Check by the command line, with that engine; "" names none."""
    ran = subprocess.run(
        [sys.executable, "-m", "gpudoctor", command, "--format", "json", *words], check=False,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds,
        env={**os.environ, "DOCKER_HOST": address, **(variables or {})})
    assert ran.stdout, ran.stderr
    return Seen(code=ran.returncode, report=json.loads(ran.stdout), errors=ran.stderr)


def told_next(seen: Seen, place: str) -> bool:
    """Say whether who looks for the framework is sent to another Python in the same place."""
    note, = (one for one in seen.report["findings"] if one["cause"] == "framework-not-installed")
    return str(note["message"]).endswith(f"gpudoctor check {place} --python ITS/bin/python")


def left(engine: Engine) -> str:
    """Return the containers of looks that are still there."""
    return engine.run("ps", "--all", "--quiet", "--filter", f"label={sandbox.LABEL}").stdout


def started(programs: Path | None, folder: Path) -> Iterator[Engine]:
    yield from with_images(folder, (NONE, ASKING, BENT, BARE), programs=programs)


def with_images(folder: Path, names: Iterable[str], **settings: Any) -> Iterator[Engine]:
    """Start an engine with these settings that has the small Debian and these images made of it."""
    reason = unavailable()
    if reason:
        pytest.skip(reason)
    engine = Engine(Path(tempfile.mkdtemp(prefix="gpudoctor-")), **settings)
    engine.start()
    try:
        engine.load_system(PLAIN)
        for name in names:
            engine.build(f"FROM {PLAIN}\n{FILES[name]}", folder, name, {})
        yield engine
    finally:
        engine.stop()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Start an engine that knows nothing of GPUs."""
    yield from started(None, tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Toolkit:
    return Toolkit(tmp_path_factory.mktemp("toolkit"), H100)


@pytest.fixture(scope="module")
def with_toolkit(toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Start an engine that hands out a scripted card."""
    yield from started(toolkit.programs, tmp_path_factory.mktemp("built"))


def test_with_a_gpu_it_is_told_what_a_container_sees(with_toolkit: Engine, toolkit: Toolkit) -> None:
    """The card, the driver and the Python are those inside; nothing of the container is left."""
    toolkit.fails(None)
    seen = check(with_toolkit.address, "--image", PLAIN)
    assert seen.code == HEALTHY, seen.report["findings"]
    assert (seen.fact("image.reference"), seen.fact("image.gpu_request")) == (PLAIN, "nvidia")
    assert [card["gpu.name"]["value"] for card in seen.report["snapshot"]["gpus"]] == [H100.name]
    assert seen.fact("python.version") == "3.11.2"
    assert seen.fact("container.runtime") == "docker"
    assert told_next(seen, f"--image {PLAIN}")
    assert left(with_toolkit) == ""


def test_a_container_is_gated_before_it_starts(with_toolkit: Engine, toolkit: Toolkit) -> None:
    """By `preflight`: it passes where the container has its card, and fails where the hook does."""
    toolkit.fails(None)
    named = ("--image", PLAIN, "--require", "gpu>=1")
    assert check(with_toolkit.address, *named, command="preflight").code == HEALTHY
    toolkit.fails(NOT_LOADED)
    stopped = check(with_toolkit.address, *named, command="preflight")
    assert (stopped.code, "docker-host-driver-missing" in stopped.causes) == (FINDINGS, True)
    assert left(with_toolkit) == ""


def test_variables_of_the_image_are_judged(with_toolkit: Engine, toolkit: Toolkit) -> None:
    """A CUDA_VISIBLE_DEVICES in the image hides the card, and the fix says where it is set."""
    toolkit.fails(None)
    seen = check(with_toolkit.address, "--image", ASKING)
    assert (seen.code, seen.causes[0]) == (FINDINGS, "cuda-visible-devices")
    assert "in the image (ENV)" in json.dumps(seen.report["findings"][0]["fixes"])


@pytest.mark.parametrize(("words", "cause"), [
    (NOT_LOADED, "docker-host-driver-missing"), (TOO_OLD, "docker-require-cuda-unsatisfied")])
def test_a_hook_that_fails_is_a_finding(words: str, cause: str, with_toolkit: Engine,
                                        toolkit: Toolkit) -> None:
    """Its words lead to the page, and the image is examined without a GPU."""
    toolkit.fails(words)
    seen = check(with_toolkit.address, "--image", PLAIN)
    assert seen.code == FINDINGS
    assert cause in seen.causes
    assert seen.fact("python.version") == "3.11.2"
    assert left(with_toolkit) == ""


@pytest.mark.parametrize("image", [PLAIN, NONE])
def test_an_engine_without_the_toolkit(image: str, engine: Engine) -> None:
    """It is asked by starting nothing where the image has no Python."""
    seen = check(engine.address, "--image", image)
    assert seen.code == FINDINGS
    assert "nvidia-container-toolkit-missing" in seen.causes
    assert "docker-no-gpu-flag" not in seen.causes  # a GPU was asked for
    assert seen.fact("image.gpu_request") is None
    assert seen.fact("image.engine") == "docker"
    assert left(engine) == ""


def test_an_image_without_python_is_examined(with_toolkit: Engine, toolkit: Toolkit) -> None:
    """Its system, its C library and its variables are read from files; the engine hands the GPU out."""
    toolkit.fails(None)
    seen = check(with_toolkit.address, "--image", NONE)
    assert (seen.fact("system.distribution"), seen.fact("system.glibc")) == ("debian", "2.36")
    assert seen.fact("image.gpu_request") == "nvidia"
    assert seen.report["snapshot"]["frameworks"] == {
        "not_asked": "no Python in the image: there is none on its PATH"}
    assert left(with_toolkit) == ""


@pytest.mark.parametrize(("image", "said"), [(BENT, "exit status 3"), (BARE, "ModuleNotFoundError")])
def test_a_python_that_cannot_run_the_payload(image: str, said: str, engine: Engine) -> None:
    """What could not be seen is undecided, and never health; its files are read as of one without Python."""
    seen = check(engine.address, "--image", image)
    assert said in json.dumps(seen.report["snapshot"]["frameworks"])
    assert seen.report["undecided"] != []
    assert (seen.fact("system.distribution"), seen.fact("system.glibc")) == ("debian", "2.36")
    assert "nvidia-container-toolkit-missing" in seen.causes
    assert left(engine) == ""


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7", "3.13"])
def test_a_python_of_another_age(version: str, engine: Engine, tmp_path: Path) -> None:
    """Python 3.6 is asked like any other, without its own call for files in memory; 2.7 is too old.

    It lies in the image where it was built to lie.
    """
    interpreter = need_python(version)
    prefix, library = interpreter.resolve().parent.parent, f"lib/python{version}"
    shutil.copytree(prefix / library, tmp_path / library, symlinks=True, ignore=shutil.ignore_patterns(
        "test", "tests", "site-packages", "config-*", "__pycache__", "*.pyc", "idlelib", "ensurepip"))
    for shared in (prefix / "lib").glob("libpython*.so*"):
        shutil.copy(shared, tmp_path / "lib" / shared.name)
    shutil.copy(interpreter.resolve(), tmp_path / "python")
    engine.build(f"FROM {PLAIN}\nCOPY lib {prefix}/lib\nCOPY python {prefix}/bin/python\n",
                 tmp_path, "gpudoctor-test/aged", {})
    seen = check(engine.address, "--image", "gpudoctor-test/aged", "--python", f"{prefix}/bin/python")
    if version == "2.7":
        assert "this is Python 2.7" in seen.report["snapshot"]["host"]["python.version"]["unknown"]
        assert seen.report["undecided"] != []
        assert (seen.fact("system.distribution"), seen.fact("system.glibc")) == ("debian", "2.36")
    else:
        assert str(seen.fact("python.version")).startswith(f"{version}.")
    assert left(engine) == ""


def test_nothing_is_pulled(engine: Engine) -> None:
    """An image that is not there is a finding; with --pull the registry cannot be reached from here."""
    seen = check(engine.address, "--image", "gpudoctor-test/absent:1")
    assert (seen.code, seen.causes) == (FINDINGS, ["container-image-absent"])
    pulled = check(engine.address, "--pull", "--image", "localhost:1/absent:1")
    assert (pulled.code, pulled.causes) == (FINDINGS, ["container-image-absent"])
    assert pulled.fact("image.trouble") == "not-pulled"
    assert "connection refused" in pulled.fact("image.trouble_said")
    assert "proxy" in pulled.report["findings"][0]["fixes"][0]["title"]


def test_no_engine_at_all(tmp_path: Path) -> None:
    seen = check(f"unix://{tmp_path}/docker.sock", "--image", PLAIN)
    assert (seen.code, seen.causes) == (FINDINGS, ["container-engine-unreachable"])
    assert seen.fact("image.trouble") == "unreachable"


def test_a_context_is_heeded_as_docker_heeds_it(tmp_path: Path) -> None:
    """One that is not there was passed over, and another engine asked than the one that was meant."""
    def said(**variables: str) -> str:
        seen = check("", "--image", PLAIN, variables={"DOCKER_CONFIG": str(tmp_path), **variables})
        assert (seen.code, seen.causes) == (FINDINGS, ["container-engine-unreachable"])
        return str(seen.fact("image.trouble_said"))

    made = ["docker", "--config", str(tmp_path), "context", "create", "mine", "--docker", "host=unix:///mine"]
    subprocess.run(made, check=True, capture_output=True)
    assert said(DOCKER_CONTEXT="mine") == "unix:///mine: No such file or directory"
    assert said(DOCKER_CONTEXT="nope") == "the context nope that was chosen does not exist"
    (tmp_path / "config.json").write_text('{"currentContext": "gone"}')
    assert said() == "the context gone that was chosen does not exist"
    assert said(DOCKER_HOST="unix:///else") == "unix:///else: No such file or directory"


def test_an_engine_that_hangs(engine: Engine) -> None:
    """It takes the question, and the limit ends the wait."""
    engine.signal(signal.SIGSTOP)
    try:
        begun = time.monotonic()
        seen = check(engine.address, "--image", PLAIN, "--timeout", "2", seconds=30)
        assert time.monotonic() - begun < 15
    finally:
        engine.signal(signal.SIGCONT)
    assert (seen.code, seen.causes) == (FINDINGS, ["container-engine-unreachable"])
    assert seen.fact("image.trouble") == "silent"


def test_a_socket_that_is_closed_to_the_user(engine: Engine) -> None:
    """Everything is imported as root first, because the checkout may be closed to nobody."""
    code = ("import os, sys, docker\nfrom docker import context\nfrom gpudoctor.transports import engine\n"
            "try:\n    engine.connect({'DOCKER_HOST': 'unix:///nowhere'}, 5)\n"
            "except engine.EngineTrouble as error:\n    print(error.trouble.kind)\n"
            "os.setgroups([])\nos.setuid(65534)\n"
            "try:\n    engine.connect({'DOCKER_HOST': sys.argv[1]}, 5)\n"
            "except engine.EngineTrouble as error:\n    print(error.trouble.kind)\n")
    ran = subprocess.run([sys.executable, "-c", code, engine.address], capture_output=True, text=True,
                         stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert ran.stdout.split() == ["unreachable", "denied"], ran.stderr


def test_a_container_that_is_not_there(engine: Engine) -> None:
    """It was said that it was not fetched, which no container is."""
    seen = check(engine.address, "--container", "nosuch")
    assert (seen.code, seen.causes) == (FINDINGS, ["container-image-absent"])
    said = seen.report["findings"][0]["message"]
    assert said == "The engine does not have nosuch: No such container: nosuch"


def test_a_running_container_stays_as_it_is(engine: Engine) -> None:
    """The payload lies in memory: not one file differs afterwards, and the program goes on."""
    engine.run("run", "--detach", "--network", "none", "--name", "mine", PLAIN, "sleep", "600")
    try:
        seen = check(engine.address, "--container", "mine")
        assert seen.fact("python.version") == "3.11.2"
        assert seen.fact("image.is_running") is True
        assert told_next(seen, "--container mine")
        assert engine.run("diff", "mine").stdout == ""
        assert engine.run("top", "mine").stdout.count("sleep 600") == 1
        engine.run("stop", "--time", "0", "mine")
        stopped = check(engine.address, "--container", "mine")
        assert (stopped.code, stopped.causes) == (FINDINGS, ["container-not-started"])
    finally:
        engine.run("rm", "--force", "mine")


def test_a_running_container_without_python_is_read_by_its_files(engine: Engine) -> None:
    """It was "not examined". Whether its lack of a request means that it has no card, nobody could see."""
    engine.run("run", "--detach", "--network", "none", "--name", "mine", NONE, "sleep", "600")
    try:
        seen = check(engine.address, "--container", "mine")
        assert seen.code == UNDECIDED
        assert (seen.fact("image.trouble"), seen.fact("image.is_running")) == (None, True)
        assert (seen.fact("system.distribution"), seen.fact("system.glibc")) == ("debian", "2.36")
        assert seen.fact("system.kernel") == os.uname().release
        assert seen.report["snapshot"]["frameworks"] == {
            "not_asked": "no Python in the container: there is none on its PATH"}
        assert "tells of no request for a GPU" in json.dumps(seen.report["snapshot"]["gpus"])
        assert engine.run("diff", "mine").stdout == ""
        named = check(engine.address, "--container", "mine", "--python", "/opt/python")
        assert (named.code, named.fact("image.trouble")) == (FINDINGS, "no-python")
    finally:
        engine.run("rm", "--force", "mine")


def test_it_is_shut_in(engine: Engine, tmp_path: Path) -> None:
    """No network, no way to write, no capability, no way to more rights, limits: as the kernel says."""
    engine.build(f"FROM {PLAIN}\nRUN printf 'import os\\n"
                 "text = open(\"/proc/self/status\").read() + str(os.listdir(\"/sys/class/net\"))\\n"
                 "text += str(os.access(\"/opt\", os.W_OK)) + open(\"/proc/self/mountinfo\").read()\\n"
                 "if os.getpid() == 1: os.write(2, repr(text).encode() + b\"\\\\n\"); os._exit(3)\\n'"
                 " > /usr/lib/python3.11/sitecustomize.py\n", tmp_path, "gpudoctor-test/telling", {})
    found = connect({"DOCKER_HOST": engine.address}, 20)
    with sandbox.created(found, "gpudoctor-test/telling", ["/usr/bin/python3", "-c", "0"], request=None,
                         timeout_seconds=20) as container:
        described = json.loads(engine.run("inspect", container).stdout)[0]["HostConfig"]
        done = sandbox.run(found, container, b"", limit_seconds=20, timeout_seconds=20)
    found.api.close()
    said = done.said.errors.decode()
    assert done.status == 3
    for word in ("CapEff:\\t0000000000000000", "CapBnd:\\t0000000000000000", "NoNewPrivs:\\t1",
                 "['lo']False"):
        assert word in said
    assert described["Memory"] > 0
    assert described["PidsLimit"] > 0
    assert described["NanoCpus"] > 0
    assert left(engine) == ""


@pytest.mark.parametrize(("number", "code"), [
    (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_an_end_in_the_middle_leaves_nothing(number: int, code: int, engine: Engine, tmp_path: Path) -> None:
    """Ctrl-C and SIGTERM take the container along; after SIGKILL the next look does."""
    engine.build(f"FROM {PLAIN}\nRUN printf 'import time\\ntime.sleep(300)\\n' "
                 "> /usr/lib/python3.11/sitecustomize.py\n", tmp_path, "gpudoctor-test/slow", {})
    # who runs the tests in the background has SIGINT ignored
    process = subprocess.Popen(["env", "--default-signal=INT", sys.executable, "-m", "gpudoctor", "check",
                                "--image", "gpudoctor-test/slow"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, "DOCKER_HOST": engine.address})
    until = time.monotonic() + 30
    while time.monotonic() < until and "Up" not in engine.run(
            "ps", "--filter", f"label={sandbox.LABEL}").stdout:
        time.sleep(0.1)
    assert left(engine) != ""
    process.send_signal(number)
    assert process.wait(30) == code
    if number == signal.SIGKILL:
        assert left(engine) != ""
        check(engine.address, "--image", PLAIN, "--depth", "static")
    assert left(engine) == ""


@pytest.mark.parametrize(("words", "said"), [
    (("--image", "a", "--container", "b"), "exclude one another"), (("--image", "a", "--pid", "1"), "--pid"),
    (("--image", "a", "--stages", "matmul"), "on the first card"), (("--pull",), "--image"),
    (("--image", ""), "this one is empty"), (("--container", " "), "this one is empty")])
def test_wrong_usage(words: tuple[str, ...], said: str) -> None:
    ran = subprocess.run([sys.executable, "-m", "gpudoctor", "check", *words], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == WRONG_USAGE
    assert said in ran.stderr
