"""Generated Dockerfiles are built by a real engine, on a stand-in base, and start as they say.

There is no image registry here: the base is a small Debian that debootstrap made, named by the build
argument that every generated file has; pip finds a wheel of this checkout, what it needs, and empty wheels
that bear the frameworks' names. Nothing else differs from what a user builds.
"""

from __future__ import annotations

import ast
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import ruledb
from gpudoctor.assume import assumed, lay, parse_assumption
from gpudoctor.derive import requirements
from gpudoctor.dockerfiles import (
    BaseName, Chosen, Options, UnwritableError, Wanted, choose, dockerfile, lines,
)
from gpudoctor.model import RuleDatabase
from tests.engines.standins import BASE, PYTHON, WHEEL, make_base, own_wheel
from tests.frameworks.environments import Environments, Unavailable
from tests.harness.engine import DRIVER, Engine, handed_in, unavailable
from tests.harness.nvidia import H100
from tests.unit.test_shells import HOSTILE

RUN = ("run", "--rm", "--network", "none")
OFF = ("-e", "GPUDOCTOR_PREFLIGHT=off")
HEALTHY, FINDINGS, WRONG_USAGE, UNDECIDED = range(4)
WITH_FRAMEWORK, WITH_ENTRY = "gpudoctor-test/framework:1", "gpudoctor-test/entry:1"


def database() -> RuleDatabase:
    return ruledb.load(extent="told")


def written(*frameworks: str, base: BaseName = "python-slim", cards: tuple[str, ...] = (),
            options: Options | None = None) -> tuple[str, Chosen]:
    """Return the Dockerfile for an L4 whose Python is the stand-in's."""
    rules = database()
    machine = lay(rules.base, assumed([parse_assumption(word) for word in ("cc=8.9", f"driver={DRIVER}")]),
                  rules.tables, source="the test")
    required = tuple(map(requirements.parse, cards))
    python = PYTHON if base == "python-slim" else None
    wanted = Wanted(frameworks=frameworks, base=base, requirements=required, python=python)
    chosen = choose(machine, rules, wanted)
    assert isinstance(chosen, Chosen)
    return dockerfile(chosen, cards, options or Options(wheel=WHEEL), rules), chosen


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return own_wheel(tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="module")
def engine(own: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Start an engine that knows the stand-in base."""
    reason = unavailable()
    if reason:
        pytest.skip(reason)
    releases = {name: written(name)[1].candidate.version for name in ("tensorflow", "torch")}
    started = Engine(Path(tempfile.mkdtemp(prefix="gpudoctor-")))  # short: a socket's path is
    started.start()
    try:
        make_base(started, tmp_path_factory.mktemp("base"), own, releases)
        yield started
    finally:
        started.stop()


def built(engine: Engine, own: Path, folder: Path, text: str, name: str, *, base: str = BASE,
          buildkit: bool = False) -> Any:
    """Build a generated file as it is, beside gpudoctor's wheel; return how the image is set up."""
    (folder / WHEEL).write_bytes(own.read_bytes())
    engine.build(text, folder, name, {"BASE": base}, buildkit=buildkit)
    return json.loads(engine.run("image", "inspect", name).stdout)[0]["Config"]


@pytest.fixture(scope="module")
def tensorflow(engine: Engine, own: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Chosen]:
    """Build TensorFlow's; return how the image is set up, and what was chosen."""
    text, chosen = written("tensorflow", cards=("gpu>=1",))
    return built(engine, own, tmp_path_factory.mktemp("tensorflow"), text, "built:tensorflow"), chosen


def test_the_image_is_set_up_as_written(tensorflow: tuple[Any, Chosen]) -> None:
    set_up, chosen = tensorflow
    variables = dict(entry.split("=", 1) for entry in set_up["Env"])
    assert variables["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert variables["NVIDIA_DRIVER_CAPABILITIES"] == "compute,utility"
    assert variables["NVIDIA_REQUIRE_CUDA"] == f"cuda>={chosen.candidate.least_cuda}"
    assert variables["PATH"].startswith("/opt/venv/bin:/usr")
    for name, value in chosen.candidate.environment.items():
        assert variables[name] == value
    assert (set_up["User"], set_up["WorkingDir"], set_up["Cmd"]) == ("10001:10001", "/home/app", ["python"])


def test_without_a_card_it_does_not_start_and_says_why(engine: Engine,
                                                       tensorflow: tuple[Any, Chosen]) -> None:
    ran = engine.run(*RUN, "built:tensorflow", "echo", "started", check=False)
    assert (ran.returncode, ran.stdout) == (FINDINGS, ""), ran.stderr
    assert "no-nvidia-gpu" in ran.stderr  # the reason, in words
    assert "GPUDOCTOR_PREFLIGHT=off" in ran.stderr  # and the way around
    assert tensorflow[0]["Entrypoint"][0] == "/bin/sh"


def test_with_a_card_it_starts(engine: Engine, tensorflow: tuple[Any, Chosen], tmp_path: Path) -> None:
    """A scripted driver is handed in as the toolkit does it; the empty TensorFlow, no build, goes."""
    assert tensorflow[0]["User"] == "10001:10001"
    engine.build("FROM built:tensorflow\nUSER 0\nRUN /opt/venv/bin/python -m pip uninstall --yes tensorflow\n"
                 "USER 10001:10001\n", tmp_path, "built:alone", {})
    for depth in ("static", "smoke"):
        ran = engine.run(*RUN, *handed_in(tmp_path, H100), "-e", f"GPUDOCTOR_PREFLIGHT={depth}",
                         "built:alone", "echo", "started", check=False)
        assert (ran.returncode, ran.stdout) == (0, "started\n"), ran.stderr
        assert "NVIDIA H100" in ran.stderr


def test_unasked_it_is_what_was_chosen_and_nobody_important(engine: Engine,
                                                            tensorflow: tuple[Any, Chosen]) -> None:
    """The release that was chosen, in its own environment, by a user with a number, a name and a home."""
    code = ("import getpass, os, sys, tensorflow\n"
            "print(tensorflow.__version__, sys.prefix, os.getuid(), getpass.getuser(), os.getcwd())")
    ran = engine.run(*RUN, *OFF, "built:tensorflow", "python", "-c", code)
    assert ran.stdout.split() == [tensorflow[1].candidate.version, "/opt/venv", "10001", "app", "/home/app"]


def test_what_could_not_be_judged_ends_it_unless_allowed(engine: Engine, own: Path,
                                                         tmp_path: Path) -> None:
    """NVML crashes in the container: with the option the program starts, and what was not seen is said."""
    for allowed, code, started in ((False, UNDECIDED, ""), (True, HEALTHY, "started\n")):
        text = written("torch", options=Options(wheel=WHEEL, allow_undecided=allowed))[0]
        built(engine, own, tmp_path, text, "built:undecided")
        engine.build("FROM built:undecided\nUSER 0\nRUN /opt/venv/bin/python -m pip uninstall --yes torch\n"
                     "USER 10001:10001\n", tmp_path, "built:undecided", {})
        ran = engine.run(*RUN, *handed_in(tmp_path, H100, "crash.nvmlInit=11\n"), "built:undecided",
                         "echo", "started", check=False)
        assert (ran.returncode, ran.stdout) == (code, started), ran.stderr
        assert "Undecided: something that matters could not be seen" in " ".join(ran.stderr.split())


@pytest.mark.parametrize(("depth", "code"), [
    ("static", FINDINGS), ("import", FINDINGS), ("deep'; exit 0; '", WRONG_USAGE)])
def test_how_deep_the_look_goes_is_a_variable(depth: str, code: int, engine: Engine,
                                              tensorflow: tuple[Any, Chosen]) -> None:
    """And one that is none is wrong usage, said in words."""
    ran = engine.run(*RUN, "-e", f"GPUDOCTOR_PREFLIGHT={depth}", "built:tensorflow", check=False)
    assert (ran.returncode, ran.stdout) == (code, ""), ran.stderr
    assert tensorflow[0]["Cmd"] == ["python"]


def test_on_an_image_that_has_its_framework(engine: Engine, own: Path, tmp_path: Path) -> None:
    """As TensorFlow's: nothing is installed into its Python, and the look finds it by itself."""
    text, chosen = written("tensorflow", base="tensorflow")
    engine.build(f"FROM {BASE}\nRUN python3 -m venv /own && /own/bin/python -m pip install tensorflow\n"
                 "ENV PATH=/own/bin:$PATH\nENTRYPOINT [\"/bin/echo\", \"its own\"]\n",
                 tmp_path, WITH_FRAMEWORK, {})
    assert chosen.image.startswith("tensorflow/tensorflow:")
    built(engine, own, tmp_path, text, "built:own", base=WITH_FRAMEWORK)
    code = "import importlib.metadata as m; print(sorted(d.name for d in m.distributions()))"
    listed = engine.run(*RUN, *OFF, "built:own", "python3", "-c", code).stdout
    assert ast.literal_eval(listed) == ["pip", "setuptools", "tensorflow"]
    stopped = engine.run(*RUN, "built:own", "echo", "started", check=False)
    assert (stopped.returncode, stopped.stdout) == (FINDINGS, "")
    assert "/own/bin/python" in stopped.stderr


def test_on_an_image_with_an_entry_of_its_own(engine: Engine, own: Path, tmp_path: Path) -> None:
    """As NVIDIA's: its entry script stays, and runs what the image was given."""
    entry = json.dumps(["/bin/sh", "-c", 'echo its own; exec "$@"', "sh"])
    engine.build(f"FROM {BASE}\nENTRYPOINT {entry}\n", tmp_path, WITH_ENTRY, {})
    set_up = built(engine, own, tmp_path, written("tensorflow", base="ngc")[0], "built:ngc", base=WITH_ENTRY)
    assert set_up["Entrypoint"][0:2] == ["/bin/sh", "-c"]
    assert engine.run(*RUN, "built:ngc", "id", "-u").stdout.split("\n") == ["its own", "10001", ""]


def test_by_buildkit(engine: Engine, own: Path, tmp_path: Path) -> None:
    """With its cache for pip, which leaves nothing in the image; the program's end is the container's."""
    text, chosen = written("torch", options=Options(wheel=WHEEL, buildkit=True))
    built(engine, own, tmp_path, text, "built:buildkit", buildkit=True)
    code = "import os, torch; print(os.getpid(), torch.__version__); raise SystemExit(7)"
    ran = engine.run(*RUN, *OFF, "built:buildkit", "python", "-c", code, check=False)
    assert (ran.returncode, ran.stdout.split()) == (7, ["1", chosen.candidate.version]), ran.stderr
    cached = engine.run(*RUN, "--user", "0", *OFF, "built:buildkit",
                        "find", "/root", "/var/cache/pip", "-type", "f", "-size", "+1k", check=False)
    assert cached.stdout == ""


def test_hostile_values_arrive_as_they_are(engine: Engine, tmp_path: Path) -> None:
    """Docker itself reads variables back as they were meant; what it could not hold was refused."""
    values = {f"V{number}": value for number, value in enumerate((*HOSTILE, "${BASE}", "<<EOF", "a\\", '"]'))}
    text, kept = lines.rendered([lines.base(BASE, "")]), {}
    for name, value in values.items():
        try:
            text += lines.rendered([lines.variables({name: value}, value)])
        except UnwritableError:
            assert re.search(r"[\x00-\x1f\u2028\u202e]", value)
        else:
            kept[name] = value
    assert len(kept) > len(values) / 2
    engine.build(text, tmp_path, "built:hostile", {"BASE": BASE})
    set_up = json.loads(engine.run("image", "inspect", "built:hostile").stdout)[0]["Config"]
    found = dict(entry.split("=", 1) for entry in set_up["Env"])
    assert {name: found[name] for name in kept} == kept


@pytest.mark.parametrize(("environment", "framework"), [
    ("cpu", "tensorflow"), ("cpu", "jax"), ("torch-cpu", "torch"), ("paddle-cpu", "paddle")])
def test_real_wheels_lack_nothing_but_what_the_table_says(environment: str, framework: str,
                                                          engine: Engine) -> None:
    """In a Debian with Python and nothing else; with the libraries of the table each can be imported."""
    try:
        patient = Environments()(environment)
    except Unavailable as error:
        pytest.skip(str(error))
    if patient.version != tuple(map(int, PYTHON.split("."))):
        pytest.skip(f"the environments are not for Python {PYTHON}")
    packages = patient.prefix / "lib" / f"python{PYTHON}" / "site-packages"
    words = [*RUN, "-v", f"{packages}:/packages:ro", "-e", "PYTHONPATH=/packages"]
    code = ("python3", "-c", f"import {framework}")
    listed = [str(row["library"]) for row in database().tables["wheel_system_packages"].rows
              if row["framework"] == framework]
    bare = engine.run(*words, BASE, *code, check=False)
    assert (bare.returncode == 0) == (listed == []), bare.stderr
    assert all(f"ImportError: {library}" in bare.stderr for library in listed)
    for library in listed:  # gcc, which the tests need anyway, brought it to this machine
        path = f"/usr/lib/x86_64-linux-gnu/{library}"
        words += ["-v", f"{Path(path).resolve()}:{path}:ro"]
    engine.run(*words, BASE, *code)
