"""The machine with releases installed on it, and with what a fix of one of them brings besides."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.assume import lay
from gpudoctor.assume.releases import with_build
from gpudoctor.candidates import cures, together
from gpudoctor.candidates.ground import Ground
from gpudoctor.consequences import key_of
from gpudoctor.derive.stacks import Stack
from gpudoctor.derive.view import as_texts
from gpudoctor.model import Judgement, Known, Snapshot, value_of

_PLANNED = "python.planned_distributions"
_SOURCE = "a candidate"


def installed(stacks: Sequence[Stack], base: Ground) -> Snapshot:
    """Return the machine with the releases installed, as pip would resolve what they ask for together."""
    tables, snapshot = base.database.tables, base.snapshot
    for stack in stacks:
        if stack.index is not None:  # its row was worked out, with those of all builds on its index
            snapshot = with_build(snapshot, stack.framework, stack.row, _SOURCE)
        else:
            release = Known(value=stack.release, source=_SOURCE)
            snapshot = lay(snapshot, {"release": release}, tables, source=_SOURCE)
    if len(stacks) == 1:
        return snapshot
    asked = together.merged(as_texts(value_of(snapshot.host, _PLANNED)))
    return lay(snapshot, {_PLANNED: Known(value=asked, source=_SOURCE)}, tables, source=_SOURCE)


def cured(snapshot: Snapshot, cure: cures.Cure, base: Ground) -> tuple[Snapshot, list[str]]:
    """Return the machine with a fix laid over it, and the requirements that it added."""
    changed = lay(snapshot, cure.effect, base.database.tables, source=_SOURCE)
    had = as_texts(value_of(snapshot.host, _PLANNED))
    return changed, [text for text in as_texts(value_of(changed.host, _PLANNED)) if text not in had]


def added(found: Judgement, base: Ground) -> Judgement:
    """Return what was not there before."""
    had = base.had
    return Judgement(findings=tuple(f for f in found.findings if key_of(f) not in had),
                     undecided=tuple(u for u in found.undecided if key_of(u) not in had))
