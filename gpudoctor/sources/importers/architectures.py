"""Architectures that a build has code for, where a text lists them: a warning, a list, its flags of nvcc."""

from __future__ import annotations

import re
from collections.abc import Callable

from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text

_NAME = r"(?:sm|compute)_[0-9]{2,3}[af]?"
_WARNING = re.compile(rf"supports CUDA capabilities ((?:{_NAME}[ .]?){{1,40}})")
_LIST = re.compile(rf"\[((?:['\"]{_NAME}['\"](?:, ?)?){{2,40}})\]")
# as PyTorch tells its own, and CMake a project's; what nvcc is called with may build anything
_FLAG = re.compile(rf"-gencode;\"?arch=compute_[0-9]{{2,3}}[af]?,code=\"?\[?({_NAME}(?:,{_NAME})?)")
_EACH = re.compile(_NAME)
_PADDLE = re.compile(r"with arch: ((?:[0-9]{2,3}[ ,]{0,2}){1,40})")


def _paddles(line: str) -> list[str]:
    """Return the list in Paddle's warning, which has bare numbers: 70 75 80."""
    lists = _PADDLE.findall(line)
    return [" ".join(f"sm_{number}" for number in re.findall(r"[0-9]+", one)) for one in lists]


# The oldest and the newest card that PyTorch was built for, in its warning of one outside.
_SPAN = re.compile(r"\(([0-9]{1,2}\.[0-9])\) - \(([0-9]{1,2}\.[0-9])\)")


def _ends(line: str) -> list[str]:
    """Return both ends of what a build serves."""
    return [f"sm_{end.replace('.', '')}" for ends in _SPAN.findall(line) for end in ends]


# What a build says of itself comes before what its compiler was told.
_KINDS: tuple[tuple[str, Callable[[str], list[str]]], ...] = (
    ("supports CUDA capabilities", _WARNING.findall), ("Paddle installation with arch: ", _paddles),
    (") - (", _ends), ("['sm_", _LIST.findall), ("-gencode;", _FLAG.findall))


def read(text: Text, found: Found) -> None:
    """Read the first kind of list that is there."""
    for mark, listed in _KINDS:
        lists = [(name, text.source(index)) for index in text.having(mark)
                 for part in listed(text.lines[index]) for name in _EACH.findall(part)]
        for name, source in lists:
            found.mention("text.build_code", name, source)
        if lists:
            return
