"""TensorFlow's tf_env_collect: sections under `== heading ===`, of all its ages."""

from __future__ import annotations

import re

from gpudoctor.sources import fields
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank

_SECTION_LINES = 60
_LIBRARY = re.compile(r"/(libcudart|libcudnn)\.so\.([0-9]{1,2}(?:\.[0-9]{1,4}){1,3})\b")


def read(text: Text, found: Found) -> None:
    """Read the sections whose lines are no `key: value`."""
    for index in text.having("== "):
        heading = text.lines[index].strip(" =").lower()
        if heading.startswith(("are we in docker", "check for docker", "docker")):
            _docker(text, found, index)
        elif heading.startswith("cuda libs"):
            _libraries(text, found, index)
        elif heading.startswith("tensorflow import"):
            found.say("text.framework", "tensorflow", text.source(index), Rank.STATED)
        elif heading.startswith("python version"):
            _python(text, found, index)
        elif heading == "env":
            _variables(text, found, index)


def _section(text: Text, start: int) -> list[int]:
    indices = []
    for index in range(start + 1, min(start + _SECTION_LINES, len(text.lines))):
        if text.lines[index].lstrip().startswith("== "):
            break
        indices.append(index)
    return indices


def _docker(text: Text, found: Found, start: int) -> None:
    for index in _section(text, start):
        if text.lines[index].strip().lower().startswith("yes"):
            found.mention("text.places", "docker", text.source(index))


def _libraries(text: Text, found: Found, start: int) -> None:
    """Note the versions of the libraries that were found; several toolkits contradict one another."""
    for index in _section(text, start):
        library = _LIBRARY.search(text.lines[index])
        if library:
            fact = "text.cuda" if library[1] == "libcudart" else "text.cudnn"
            found.say(fact, library[2], text.source(index), Rank.SHOWN)


def _variables(text: Text, found: Found, start: int) -> None:
    for index in _section(text, start):
        name, _, value = text.lines[index].strip().partition(" ")
        if name == "LD_LIBRARY_PATH" and value.startswith(("/", ":")):
            found.say("environment.LD_LIBRARY_PATH", value[:4000], text.source(index))


def _python(text: Text, found: Found, start: int) -> None:
    for index in _section(text, start)[:2]:
        version = re.match(r"\(([23]), ([0-9]{1,2}), ([0-9]{1,2}),", text.lines[index].strip())
        if version:
            found.say("python.version", ".".join(version.groups()), text.source(index))
        else:
            fields.python(found, text.lines[index].partition(":")[2], text.source(index), Rank.REPORTED)
