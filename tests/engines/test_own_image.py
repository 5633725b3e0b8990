"""gpudoctor's own image, built from the checkout as it is: small, by nobody important, and of use."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import gpudoctor
from tests.contract.checkout import ROOT
from tests.engines.test_real_wheels import WITH_INDEX, index_answers, write_settings
from tests.frameworks.installing import pip_settings
from tests.harness.engine import Engine, handed_in, unavailable
from tests.harness.nvidia import H100

BASE, IMAGE = "gpudoctor-test/base:index", "gpudoctor-test/own"
RUN = ("run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL")
MOST_ADDED_BYTES = 150 * 10**6
HEALTHY, FINDINGS = 0, 1


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Start an engine and build the image on a stand-in base whose pip is configured as pip here."""
    reason = unavailable()
    if not reason and not index_answers(tmp_path_factory.mktemp("index")):
        reason = "pip here has no index that answers"
    if reason:
        pytest.skip(reason)
    started = Engine(Path(tempfile.mkdtemp(prefix="gpudoctor-")))
    started.start()
    try:
        base = tmp_path_factory.mktemp("base")
        write_settings(base, pip_settings())
        started.load_system("gpudoctor-test/system")
        started.build(WITH_INDEX, base, BASE, {})
        started.run("build", "--network", "host", "-t", IMAGE, "--build-arg", f"BASE={BASE}", ".",
                    folder=ROOT)
        yield started
    finally:
        started.stop()


def size(engine: Engine, image: str) -> int:
    return int(engine.run("image", "inspect", "--format", "{{.Size}}", image).stdout)


def test_it_adds_little_and_is_nobody(engine: Engine) -> None:
    """Under 150 MB on its base, a user with a number, and no pip that nobody needs."""
    assert 0 < size(engine, IMAGE) - size(engine, BASE) < MOST_ADDED_BYTES
    assert engine.run("image", "inspect", "--format", "{{.Config.User}}", IMAGE).stdout == "10001:10001\n"
    assert engine.run(*RUN, IMAGE, "--version").stdout == f"gpudoctor {gpudoctor.__version__}\n"


def test_without_a_card_it_says_so(engine: Engine) -> None:
    """With files that cannot be written and without a capability, as clusters start it."""
    ran = engine.run(*RUN, IMAGE, "check", "--format", "json", check=False)
    report = json.loads(ran.stdout)
    assert (ran.returncode, ran.stderr) == (FINDINGS, "")
    assert report["findings"][0]["cause"] == "no-nvidia-gpu"
    assert report["snapshot"]["host"]["container.runtime"]["value"] == "docker"


def test_with_a_card_it_is_healthy(engine: Engine, tmp_path: Path) -> None:
    """`docker run IMAGE` alone checks; a requirement is met or not."""
    ran = engine.run(*RUN, *handed_in(tmp_path, H100), IMAGE, check=False)
    assert ran.returncode == HEALTHY, ran.stdout + ran.stderr
    assert H100.name in ran.stdout
    for require, code in (("gpu>=1", HEALTHY), ("gpu>=8", FINDINGS)):
        ran = engine.run(*RUN, *handed_in(tmp_path, H100), IMAGE, "check", "--require", require, check=False)
        assert ran.returncode == code, ran.stdout


def test_it_is_the_init_container_of_a_pod(engine: Engine, tmp_path: Path) -> None:
    """With the arguments in integrations/kubernetes, a card lets the program start, and none does not."""
    pod = yaml.safe_load((ROOT / "integrations" / "kubernetes" / "pod.yaml").read_text())
    (look,) = pod["spec"]["initContainers"]
    ran = engine.run(*RUN, *handed_in(tmp_path, H100), IMAGE, *look["args"], check=False)
    assert ran.returncode == HEALTHY, ran.stdout + ran.stderr
    ran = engine.run(*RUN, IMAGE, *look["args"], check=False)
    assert ran.returncode == FINDINGS
    assert ran.stdout.startswith("no-nvidia-gpu [host]: ")
