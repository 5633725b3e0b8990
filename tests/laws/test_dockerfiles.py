"""What must hold of every Dockerfile: it is what `recommend` offers, and no value leaves its line."""

from __future__ import annotations

import functools
import json
import re
import shlex
import string
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpudoctor.assume import lay
from gpudoctor.candidates import Asked, recommend
from gpudoctor.candidates.commands import install
from gpudoctor.candidates.ground import Place
from gpudoctor.derive import requirements
from gpudoctor.derive.stacks import Stack
from gpudoctor.dockerfiles import (
    Chosen, Nothing, Options, UnwritableError, Wanted, choose, compose, dockerfile, kubernetes, lines,
)
from gpudoctor.dockerfiles.bases import python_images
from gpudoctor.dockerfiles.compiler import with_compiler
from gpudoctor.dockerfiles.content import OLDEST_PYTHON, has_preflight
from gpudoctor.dockerfiles.cuda_base import cuda_images
from gpudoctor.dockerfiles.inside import PYTHON, inside
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.model import Known, RuleDatabase, Snapshot
from gpudoctor.ruledb import load
from tests.harness.dockerfile import INSTRUCTIONS, directives, instructions
from tests.laws.test_grid import CARDS, DRIVERS
from tests.unit.test_shells import HOSTILE, PIECES

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
MORE_HOSTILE = ("\nONBUILD RUN reboot", "\n# escape=`", "\\", "\\\n", " \\", "<<EOF", "# x", "${BASE}", "]",
                '", "', "\r", "\x85", "\u2028RUN x", "\x00", "\ud800", "@sha256:", "]\nRUN reboot", "\t")
values = st.one_of(PIECES, st.sampled_from([*HOSTILE, *MORE_HOSTILE]),
                   st.lists(st.sampled_from(MORE_HOSTILE), min_size=1, max_size=3).map("".join))
bases = st.sampled_from(["python-slim", "tensorflow", "ngc", "cuda"])


@functools.cache
def database() -> RuleDatabase:
    return load(extent="told")


def host(driver: str, capability: str) -> Snapshot:
    facts = {"cc": Known(value=(capability,), source="the law"),
             "driver": Known(value=driver, source="the law")}
    return lay(database().base, facts, database().tables, source="the law")


@functools.cache
def chosen() -> Chosen:
    """Return what is built for an L4."""
    found = choose(host("535.104.05", "8.9"), database(), Wanted(frameworks=("torch",)))
    assert isinstance(found, Chosen)
    return found


def outline(text: str) -> list[str]:
    return [one.word for one in instructions(text)]


# -- what is generated is what recommend offers --------------------------------------------------------------


@given(driver=st.sampled_from(DRIVERS), capability=st.sampled_from(CARDS),
       framework=st.sampled_from(FRAMEWORKS), python=st.sampled_from((None, *PYTHONS)))
@settings(max_examples=15)
def test_on_python_it_is_the_first_offer_of_recommend(driver: str, capability: str, framework: str,
                                                      python: str | None) -> None:
    """For a container on that machine; and where there is none, none is written."""
    machine = host(driver, capability)
    found = choose(machine, database(), Wanted(frameworks=(framework,), python=python))
    tried = [image for image in python_images(database())
             if python in (None, image.system.python_minor)]
    offers = {image.reference: [one for one in recommend(
        inside(machine, image.system, database()), database(), Asked(frameworks=(framework,))).candidates
        if one.offered and one.kind == "pip"] for image in tried}
    if isinstance(found, Nothing):
        kept = [one for some in offers.values() for one in some
                if not any("brings no CUDA libraries" in note for note in one.notes)]
        assert kept == []
        return
    inner = next(image.system.python_minor for image in tried if image.reference == found.image)
    assert found.candidate in [with_compiler(one, inner, database()) for one in offers[found.image]]
    text = dockerfile(found, (), Options(), database())
    typed = found.candidate.commands[0].replace(" -m pip install ", " -m pip install --no-cache-dir ")
    assert typed in re.sub(r" \\\n && ", " && ", text)
    for name, value in found.candidate.environment.items():
        assert f'ENV {name}="{value}"' in text
    assert f'ENV NVIDIA_REQUIRE_CUDA="cuda>={found.candidate.least_cuda}"' in text


@given(driver=st.sampled_from(DRIVERS), capability=st.sampled_from(CARDS), base=bases,
       framework=st.sampled_from(FRAMEWORKS))
@settings(max_examples=20)
def test_the_image_stands_in_the_tables(driver: str, capability: str, base: str, framework: str) -> None:
    """Its tag, and its digest where it has one; nothing of it is made up."""
    wanted = Wanted(frameworks=(framework,), base=base)  # type: ignore[arg-type]  # one of four texts
    found = choose(host(driver, capability), database(), wanted)
    if isinstance(found, Nothing):
        return
    tables = database().tables
    known = {image.reference for image in python_images(database())}
    known |= {image.reference for image in cuda_images(database())}
    known |= {f"{row['image']}:{row['tag']}" for row in tables["container_images"].rows}
    assert found.image in known
    assert {"python-slim": "python:", "tensorflow": "tensorflow/", "ngc": "nvcr.io/", "cuda": "nvidia/cuda:"}[
        base] in found.image
    text = dockerfile(found, (), Options(), database())
    words = outline(text)
    assert words[:2] == ["ARG", "FROM"]
    assert ("ENTRYPOINT" in words) == (has_preflight(found) and base != "ngc")
    assert "devel" not in found.image


def test_least_cuda_is_met_by_a_driver_that_is_offered_it() -> None:
    """The toolkit's own check lets the machine through for which the file was written."""
    for driver, ceiling in (("525.85.12", "12.0"), ("535.104.05", "12.2"), ("580.95.05", "13.0")):
        for framework in FRAMEWORKS:
            found = choose(host(driver, "8.9"), database(), Wanted(frameworks=(framework,)))
            if isinstance(found, Chosen):
                least = found.candidate.least_cuda
                assert least is not None
                assert [int(part) for part in least.split(".")] <= [int(part) for part in ceiling.split(".")]


def test_our_own_python_is_the_one_of_the_project() -> None:
    page = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'requires-python = ">={OLDEST_PYTHON}"' in page


# -- nothing from outside leaves its line --------------------------------------------------------------------


@given(name=values, driver=values, note=values, assumption=values)
@settings(max_examples=150)
def test_what_is_only_said_stays_a_comment(name: str, driver: str, note: str, assumption: str) -> None:
    """The card's name, the driver, notes and assumptions."""
    one = chosen()
    ground = replace(one.said.ground, driver=driver,
                     cards=tuple(replace(card, name=name) for card in one.said.ground.cards))
    said = replace(one.said, ground=ground, assumptions=(assumption,))
    hostile = replace(one, said=said, candidate=replace(one.candidate, notes=(note,)))
    text = dockerfile(hostile, (), Options(), database())
    assert outline(text) == outline(dockerfile(one, (), Options(), database()))
    assert directives(text) == []
    for other in (compose, kubernetes):
        assert without_comments(other(hostile, (), Options(), database())) == without_comments(
            other(one, (), Options(), database()))


def without_comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


@given(value=values)
@settings(max_examples=200)
def test_a_variable_keeps_its_value_or_is_refused(value: str) -> None:
    """By the rules of Docker's double quotes: a backslash protects itself, the quote and the dollar."""
    assume(value)
    one = chosen()
    hostile = replace(one, candidate=replace(one.candidate, environment={"LD_LIBRARY_PATH": value}))
    try:
        text = dockerfile(hostile, (), Options(), database())
    except UnwritableError as refused:
        said = str(refused)
    else:
        said = ""
    assert "\n" not in said
    if said:
        return
    found = [line.rest for line in instructions(text) if line.rest.startswith("LD_LIBRARY_PATH=")]
    assert len(found) == 1
    inner = re.fullmatch(r'LD_LIBRARY_PATH="((?:[^"\\$]|\\["\\$])*)"', found[0])
    assert inner is not None
    assert re.sub(r'\\(["\\$])', r"\1", inner[1]) == value
    assert outline(text).count("ENV") == outline(dockerfile(one, (), Options(), database())).count("ENV") + 1


@given(pin=values)
@settings(max_examples=60)
def test_a_requirement_stays_one_word_of_the_shell(pin: str) -> None:
    """A pin of a stranger's rules, read by a real sh."""
    one = chosen()
    stack = Stack(framework="torch", version="1", release="torch==1", requirement="torch==1", row={})
    place = Place(python="3.12", executable=PYTHON, site_packages="/x", maker=None)
    hostile = replace(one, candidate=replace(one.candidate, commands=install((stack,), (pin,), place)))
    try:
        text = dockerfile(hostile, (), Options(), database())
    except UnwritableError:
        return
    line = next(line.rest for line in instructions(text) if "torch==1" in line.rest)
    command = line.partition(" && ")[2]
    start = f"{PYTHON} -m pip install "
    assert command.startswith(start)
    read = subprocess.run(["sh", "-c", f'set -- {command.removeprefix(start)}; printf "%s\\0" "$@"'],
                          stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout.decode()
    assert read.split("\0")[:-1] == ["--no-cache-dir", "torch==1", pin]


@given(text=st.text(alphabet=string.printable, max_size=20) | values)
@settings(max_examples=200)
def test_what_is_required_reaches_the_check_as_one_word(text: str) -> None:
    """What `--require` admits is one argument of the pre-flight, whatever stands in it."""
    try:
        required = requirements.parse(f"gpu>={text}")
    except requirements.RequirementError:
        required = requirements.Requirement(text=text, subject="gpu", bound=text)  # as if admitted
    try:
        written = dockerfile(chosen(), (required.text,), Options(), database())
    except UnwritableError:
        return
    entry = next(line for line in instructions(written) if line.word == "ENTRYPOINT").words()
    script = entry[2].replace("/opt/gpudoctor/bin/gpudoctor", 'printf "%s\\0"').replace(">&2", "")
    ran = subprocess.run(["sh", "-c", script, *entry[3:], "true"], capture_output=True, check=True,
                         stdin=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin"}).stdout.decode()
    assert ran.split("\0")[:-1] == [
        "check", "--python", PYTHON, "--require", required.text, "--depth", "smoke"]


@given(name=values | st.from_regex(r"[a-z0-9./:@_-]{1,40}", fullmatch=True))
@settings(max_examples=200)
def test_an_image_is_a_reference_or_refused(name: str) -> None:
    """As the option and as a row of a stranger's table: nothing else reaches FROM."""
    try:
        Options(name=name).checked()
        said = ""
    except lines.JunkReference as refused:
        said = str(refused)
    assert "\n" not in said
    if said:
        with pytest.raises(UnwritableError):
            dockerfile(replace(chosen(), image=name), (), Options(), database())
        return
    assert re.fullmatch(r"[A-Za-z0-9._/:-]+", name)
    text = dockerfile(replace(chosen(), image=name), (), Options(name=name), database())
    assert instructions(text)[0].rest == f"BASE={name}"
    assert typed(text, "docker build")[2:4] == ["-t", name]
    assert typed(text, "docker run")[-1] == name


def typed(text: str, start: str) -> list[str]:
    """Return the words of a command that the file's last lines tell to type."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"# {start} ")]
    return shlex.split(line.removeprefix("# "))


@pytest.mark.parametrize("name", [
    "python", "python:3.12", "nvcr.io/nvidia/pytorch:25.12-py3", "localhost:5000/a/b__c:1",
    "registry.example/team/training:1", "a-b--c/d.e:X_1", "h.example/" + "a/" * 15 + "a:" + "b" * 128])
def test_names_that_docker_takes(name: str) -> None:
    """And a digest behind one where an image is taken; the longest stands whole in what is to be typed."""
    assert lines.name(name) == name
    pinned = f"{name}@sha256:{'a' * 64}"
    text = dockerfile(replace(chosen(), image=pinned), (), Options(name=name), database())
    assert instructions(text)[0].rest == f"BASE={pinned}"
    assert typed(text, "docker run")[-1] == name


@pytest.mark.parametrize("name", [
    "", "Python", "a b", "a:b:c", "a//b", "/a", "a/", "a:", "a@sha256:12", "a:-x", "${BASE}", "a\n",
    "a" * 600, "a:" + "b" * 129, "-a", "a..b", "a/b@c", "a:1@sha256:" + "a" * 64])
def test_names_that_docker_refuses(name: str) -> None:
    with pytest.raises(lines.JunkReference):
        lines.name(name)


@given(file=values)
@settings(max_examples=100)
def test_the_name_of_the_file_stays_a_text_in_compose(file: str) -> None:
    """A YAML text in double quotes is here what JSON reads as one, and `$$` is Compose's `$`."""
    assume("/" not in file and file.strip())
    try:
        text = compose(chosen(), (), Options(file=file), database())
    except UnwritableError:
        return
    found = [line.partition(": ")[2] for line in text.splitlines() if line.strip().startswith("dockerfile:")]
    assert [json.loads(value).replace("$$", "$") for value in found] == [file]


def test_every_instruction_is_known() -> None:
    """The reader of these tests would notice a line that is none."""
    assert {"ONBUILD", "RUN"} < INSTRUCTIONS
    with pytest.raises(AssertionError):
        instructions("FROM x\nreboot\n")
