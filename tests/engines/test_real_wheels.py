"""A generated Dockerfile is built with the real wheels of the index, gigabytes, and looks at a card.

The base is a small Debian with Python that stands in for python:...-slim; pip in it is configured as pip here
is. The card is scripted, and so nothing is computed on it: what runs is the look before the start.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.standins import WHEEL, own_wheel
from tests.engines.test_built_images import FINDINGS, HEALTHY, RUN, written
from tests.frameworks.installing import pip_settings
from tests.harness.engine import Engine, handed_in, unavailable
from tests.harness.nvidia import K80, L4, Card

FRAMEWORK = "jax"  # of those that bring their CUDA the smallest
IMAGE, BASE = "real:image", "gpudoctor-test/base:index"
ROOM_GIB = 10
GIB = 1 << 30
_CERTIFICATES = "/etc/ssl/certs/of-the-index.pem"
WITH_INDEX = f"FROM gpudoctor-test/system\nCOPY certificates {_CERTIFICATES}\nCOPY pip.conf /etc/pip.conf\n"


def test_settings_of_pip_reach_the_image(tmp_path: Path) -> None:
    """Folders of this machine do not: they are not there."""
    (tmp_path / "ca.pem").write_text("certificate")
    write_settings(tmp_path, {
        "index-url": "https://index.example/simple", "cert": str(tmp_path / "ca.pem"), "timeout": "180",
        "extra-index-url": "file:///here https://more.example/simple", "find-links": "/wheels"})
    assert (tmp_path / "certificates").read_text() == "certificate"
    assert (tmp_path / "pip.conf").read_text().splitlines() == [
        "[global]", "index-url = https://index.example/simple",
        "extra-index-url = https://more.example/simple", "timeout = 180", f"cert = {_CERTIFICATES}"]


def write_settings(folder: Path, settings: dict[str, str]) -> None:
    """Write into a folder what an image needs of the settings of pip here, with the certificates."""
    lines = ["[global]"]
    for name in ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout"):
        words = [word for word in settings.get(name, "").split() if not word.startswith("file:")]
        lines += [f"{name} = {' '.join(words)}"] if words else []
    named = settings.get("cert")
    lines += [f"cert = {_CERTIFICATES}"] if named else []
    (folder / "certificates").write_bytes(Path(named).read_bytes() if named else b"")
    (folder / "pip.conf").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Start an engine with its images on disk, and build one as it was written for an L4."""
    reason = unavailable()
    folder = Path(tempfile.mkdtemp(prefix="gpudoctor-", dir=engine_folder()))
    free = shutil.disk_usage(folder).free / GIB
    if not reason and free < ROOM_GIB:
        reason = f"{ROOM_GIB} GiB are needed below {folder}, {free:.1f} are free"
    if not reason and not index_answers(tmp_path_factory.mktemp("index")):
        reason = "pip here has no index that answers"
    if reason:
        folder.rmdir()
        pytest.skip(reason)
    started = Engine(folder, in_memory=False)
    started.start()
    try:
        build(started, tmp_path_factory)
        yield started
    finally:
        started.stop()


def engine_folder() -> str | None:
    """Return a folder that is no file system in memory, None for the usual one."""
    return "/var/tmp" if Path("/var/tmp").is_dir() else None


def index_answers(folder: Path) -> bool:
    """Say whether the index can be had, by what gpudoctor needs itself."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(folder), "packaging"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def build(engine: Engine, factory: pytest.TempPathFactory) -> None:
    base, beside = factory.mktemp("base"), factory.mktemp("beside")
    write_settings(base, pip_settings())
    engine.load_system("gpudoctor-test/system")
    engine.build(WITH_INDEX, base, BASE, {})
    shutil.copy(own_wheel(factory.mktemp("own")), beside / WHEEL)
    text = written(FRAMEWORK)[0]
    # BuildKit, which does not copy each layer of gigabytes once more
    engine.build(text, beside, IMAGE, {"BASE": BASE}, network="host", buildkit=True)


@pytest.mark.parametrize(("card", "variables", "code", "said"), [
    (L4, ("GPUDOCTOR_PREFLIGHT=static",), HEALTHY, "Healthy"),
    (L4, ("GPUDOCTOR_PREFLIGHT=import",), HEALTHY, "import passed"),
    (L4, ("GPUDOCTOR_PREFLIGHT=static", "JAX_PLATFORMS=cpu"), FINDINGS, "ran-on-cpu"),
    (K80, ("GPUDOCTOR_PREFLIGHT=static",), FINDINGS, "gpu-too-old-for-build"),
    (None, ("GPUDOCTOR_PREFLIGHT=static",), FINDINGS, "no-nvidia-gpu"),
])
def test_the_look_says_what_it_must(card: Card | None, variables: tuple[str, ...], code: int, said: str,
                                    engine: Engine, tmp_path: Path) -> None:
    """On the card that it was written for the program starts; elsewhere, or sent to the CPU, it does not."""
    options = [word for text in variables for word in ("-e", text)]
    lent = handed_in(tmp_path, card) if card is not None else []
    ran = engine.run(*RUN, *lent, *options, IMAGE, "echo", "started", check=False)
    assert (ran.returncode, ran.stdout) == (code, "started\n" if code == HEALTHY else ""), ran.stderr
    assert said in ran.stderr
    assert written(FRAMEWORK)[1].candidate.version.rpartition(".")[0] in ran.stderr


def test_pip_finds_nothing_missing(engine: Engine) -> None:
    ran = engine.run(*RUN, "-e", "GPUDOCTOR_PREFLIGHT=off", IMAGE, "python", "-m", "pip", "check")
    assert "No broken requirements" in ran.stdout
