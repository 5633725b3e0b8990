"""What was read out of texts, before anything is concluded from it: the input of all of `explain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from gpudoctor.frozen import frozen
from gpudoctor.model import Facts, Snapshot

_QUOTED_CHARACTERS = 300


def quoted(line: str) -> str:
    """Return a line as much of it as is quoted."""
    return line if len(line) <= _QUOTED_CHARACTERS else f"{line[:_QUOTED_CHARACTERS]}..."


@frozen
class Said:
    """A line that shows a symptom: what the pattern took out of it, the line itself, and where it stands.

    `is_trouble` says that its words speak of an error or a warning, whatever the symptom is. Where the
    wording is unknown, `likeness` (0 to 1) is how far the line may be taken for the symptom, and `because`
    says why.
    """

    id: str
    captures: Mapping[str, str]
    text: str
    source: str
    is_trouble: bool = True
    likeness: float = 1.0
    because: str = ""


@frozen
class Quoted:
    """A line that speaks of an error, or as a warning, and that no symptom explains.

    `may_be` says between what a number in it leaves the choice.
    """

    text: str
    source: str
    is_warning: bool = False
    may_be: str = ""


@frozen
class Reading:
    """All that texts say. `host` holds stated facts of a machine, `text` the stated `text.*` facts.

    `lines` are the first and the last lines, for what is said in words that no symptom has.
    `gpus` and `frameworks` are None where no text lists any. `notes` are what a reader should know of the
    reading itself. Without `has_text` there was nothing that could be read. `interrupted` says that Ctrl-C
    ended the reading. `recorded` is a machine that gpudoctor looked at before, where a text holds its
    document.
    """

    said: tuple[Said, ...] = ()
    suspicious: tuple[Quoted, ...] = ()
    lines: Sequence[Quoted] = ()
    host: Facts = field(default_factory=dict)
    text: Facts = field(default_factory=dict)
    gpus: tuple[Facts, ...] | None = None
    frameworks: tuple[Facts, ...] | None = None
    notes: tuple[str, ...] = ()
    has_text: bool = True
    interrupted: bool = False
    recorded: Snapshot | None = None
