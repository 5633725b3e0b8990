"""Whatever stands in an option or a recorded machine: files of the same shape, or one line that refuses."""

from __future__ import annotations

import copy
import functools
import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor import codec
from gpudoctor.assume import AssumptionError
from gpudoctor.candidates import WishError
from gpudoctor.cli import dockerfiles
from gpudoctor.cli.dockerfiles import COMPOSE, POD, Wish
from gpudoctor.cli.errors import InputError, UsageError
from gpudoctor.cli.failures import describe
from gpudoctor.codec import CodecError
from gpudoctor.derive.requirements import RequirementError
from gpudoctor.dockerfiles import UnwritableError
from gpudoctor.ruledb import load
from tests.harness.dockerfile import directives, instructions
from tests.harness.programs import yaml_as_json
from tests.laws.test_dockerfiles import values

MARK = "reboot-the-host"
REFUSALS = (AssumptionError, CodecError, InputError, RequirementError, UnwritableError, UsageError, WishError)
# Every instruction of a generated file, in its order.
SHAPE = re.compile(r"ARG FROM( ENV)*( RUN)+( ENV)+( ARG( COPY)? RUN)? USER WORKDIR( ENTRYPOINT)? CMD\Z")
OPTIONS = ("framework", "require", "python", "tag", "wheel", "output", "assume")
FACTS = ("driver", "cc", "python", "glibc", "release", "gpu.name", "system.distribution", "python.executable",
         "environment.LD_LIBRARY_PATH", "gpu.uuid", "container.runtime", "system.kernel", "no.such.fact")
hostile = st.tuples(values, st.sampled_from(["", MARK, f"\n{MARK}", f"\nRUN {MARK}\n", f"';{MARK};'"]),
                    st.sampled_from(["", "x" * 3000])).map("".join)


@functools.cache
def machine() -> Any:
    return codec.encode_snapshot(load().base)


def wish(option: str, fact: str, value: str, folder: Path, recorded: Path) -> Wish:
    """Return a wish for everything at once, with the value in one place of it."""
    one = Wish(frameworks=("torch",), recorded=str(recorded), output=str(folder / "Dockerfile"), compose=True,
               kubernetes=True, tag="a/b:1", force=True, require=("gpu>=1",))
    match option:
        case "framework":
            return replace(one, frameworks=(f"torch{value}",))
        case "require":
            return replace(one, require=(f"gpu>=1{value}",))
        case "output":
            return replace(one, output=str(folder / f"D{value.replace('/', '')[:200]}"))
        case "assume":
            return replace(one, assume=("cc=8.9", f"{fact}={value}"))
        case "wheel":
            return replace(one, wheel=f"gpudoctor_cli-{value}")
        case "tag":
            return replace(one, tag=value)
        case _:
            return replace(one, python=value)


def holds(one: Wish, folder: Path) -> None:
    """Write the files; each has the shape it always has, or nothing is written and one line says why."""
    try:
        code = dockerfiles.dockerfile(one)
    except REFUSALS as error:  # any other would be a fault of gpudoctor
        said, code = describe(error)
        assert said.count("\n") == 0, said
    written = {path.name: path.read_bytes().decode() for path in folder.iterdir() if path.name != "in.json"}
    if code:
        assert written == {}
        return
    name = next(name for name in written if name not in (COMPOSE, POD))
    text = written[name]
    read = instructions(text)
    assert SHAPE.match(" ".join(one.word for one in read)), text
    assert directives(text) == []
    assert [one.rest for one in read if one.word == "USER"] == ["10001:10001"]
    assert not any(MARK in one.rest for one in read if one.word != "ENTRYPOINT"), text
    assert all(line.isprintable() for line in text.split("\n"))
    composed, pod = (json.loads(yaml_as_json(written[beside])) for beside in (COMPOSE, POD))
    assert composed["services"]["app"]["build"] == {"context": ".", "dockerfile": name}
    assert list(composed["services"]["app"]) == ["image", "build", "shm_size", "deploy"]
    assert list(pod) == ["apiVersion", "kind", "metadata", "spec"]
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True


@given(option=st.sampled_from(OPTIONS), fact=st.sampled_from(FACTS), value=hostile)
@settings(max_examples=40)
def test_no_option_changes_the_shape(option: str, fact: str, value: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.json").write_text(json.dumps(machine()))
        holds(wish(option, fact, value, folder, folder / "in.json"), folder)


def texts(node: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the ways to all texts in a document."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [way] if isinstance(node, str) else [found for key, value in inner
                                                for found in texts(value, (*way, key))]


@given(place=st.integers(0, 10_000), value=hostile)
@settings(max_examples=40)
def test_no_text_of_a_recorded_machine_changes_the_shape(place: int, value: str) -> None:
    """Any one of them is another: a fact, its source, a name of a card."""
    document = copy.deepcopy(machine())
    ways = texts(document)
    *way, last = ways[place % len(ways)]
    functools.reduce(lambda node, key: node[key], way, document)[last] = value
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.json").write_text(json.dumps(document))
        holds(wish("tag", "", "a/b:1", folder, folder / "in.json"), folder)


@pytest.mark.parametrize("words", [
    "ARG FROM RUN ONBUILD RUN ENV USER WORKDIR CMD", "ARG FROM RUN ENV USER WORKDIR CMD RUN",
    "ARG FROM RUN ENV USER WORKDIR USER CMD"])
def test_an_instruction_more_would_be_noticed(words: str) -> None:
    assert SHAPE.match(words) is None
