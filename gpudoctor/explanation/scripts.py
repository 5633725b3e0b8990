"""Code of PyTorch in a text: a `torch.device` that is made, and nothing that is ever moved to it.

A statement that only makes one does nothing, whatever code stands around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from gpudoctor.explanation.answers import Answered

UNUSED = "code makes a torch.device and moves nothing to it"
_MADE = re.compile(r"[A-Za-z_][\w.]{0,60} ?= ?torch\.device\(")
_STATEMENT = re.compile(r"torch\.device\((?:f?['\"]cuda(?::[0-9]{1,2})?['\"])(?: if .{1,60})?\)")
# What moves a model or data, or makes tensors on a device from the start.
_MOVES = re.compile(r"\.to\(|\.cuda\(|\bdevice ?= ?(?!torch\.device\()[\w\"'.]|device_map|set_default_"
                    r"|\bwith device\b|accelerat|Trainer\(|map_location")
_COMPUTES = (".backward()", "optimizer.step()", ".train()", ".eval()", "criterion(", "loss_fn(")
_LONGEST = 2000


def unused_devices(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield a line where code that computes, or such a statement, stands in a text that moves nothing."""
    alone = _first(lines, lambda line: _STATEMENT.fullmatch(line.strip()) is not None)
    made = _first(lines, lambda line: "cuda" in line and _MADE.search(line) is not None)
    computes = any(mark in line for line in lines for mark in _COMPUTES)
    if (alone or (made and computes)) and not any(_MOVES.search(line[:_LONGEST]) for line in lines):
        yield Answered(text=UNUSED, line=alone or made or 1)


def _first(lines: Sequence[str], shows: Callable[[str], bool]) -> int | None:
    """Return the number of the first line with a `torch.device` of which this is true."""
    return next((number for number, line in enumerate(lines, start=1)
                 if "torch.device(" in line and shows(line[:_LONGEST])), None)
