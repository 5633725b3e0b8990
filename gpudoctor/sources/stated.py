"""What a text states: facts with the line that says them, and what stands in the same text against them."""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum

from gpudoctor.frozen import frozen
from gpudoctor.model import Facts, Snapshot, Value


class Rank(IntEnum):
    """How well a statement is founded: what a program printed outranks what a person wrote."""

    SHOWN = 0  # a version inside a path or a file name
    SAID = 1  # a sentence: "on CUDA 11.2"
    STATED = 2  # a `key: value` line, a filled-in form
    REPORTED = 3  # output of nvidia-smi, pip, collect_env, ...


@frozen
class Statement:
    """One fact as one line states it; `source` is "issue.txt:12: Driver Version: 535.54.03"."""

    fact: str
    value: Value
    source: str
    rank: Rank


@frozen
class Stated:
    """All that a text states.

    `host` holds ordinary facts (nvml.driver_version, driver.version, python.version, system.*) and `text` the
    `text.*` facts; scalars that the text does not say are left out of both. `gpus` and `frameworks` are None
    where the text lists none, which is not the same as "there is none" (an empty tuple). `others` are the
    statements that lost against a contradicting one in `host` or `text`. `snapshot` is the newest gpudoctor
    snapshot or report in the text.
    """

    host: Facts = field(default_factory=dict)
    text: Facts = field(default_factory=dict)
    gpus: tuple[Facts, ...] | None = None
    frameworks: tuple[Facts, ...] | None = None
    others: tuple[Statement, ...] = ()
    snapshot: Snapshot | None = None
