"""The packages of NVIDIA's beside a framework, each by the one release that pip takes for this machine.

What is typed again next year is to install what was judged, not what the index has by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpudoctor.candidates.ground import Ground, version_of
from gpudoctor.candidates.judging import Judged
from gpudoctor.derive import planned, published
from gpudoctor.derive.view import as_texts

_NVIDIAS = "nvidia-"


def pinned(judged: Judged, base: Ground) -> Judged:
    """Return what was judged with a release in place of each bound; where no table has one, it says so."""
    asked = [text for stack in judged.stacks for text in as_texts(stack.row.get("requires_nvidia"))]
    for pin in judged.pins:
        if not pin.startswith(_NVIDIAS):
            continue
        exact = release(pin, asked, base)
        if exact is None:
            note = (f"{pin}: the bound stays, and pip takes the newest release within it; these rules know "
                    f"none for {base.platform} and the glibc here")
            judged = replace(judged, pin_reasons=(*judged.pin_reasons, note))
        else:
            judged = replace(
                judged, pins=tuple(exact if one == pin else one for one in judged.pins),
                pin_reasons=tuple(note.replace(f"{pin}:", f"{exact}:") for note in judged.pin_reasons))
    return judged


def release(pin: str, asked: Sequence[str], base: Ground) -> str | None:
    """Return the newest release for this platform and glibc within a pin and what is `asked` anyway."""
    (wanted,) = planned.parse((pin,))
    if any(bound.operator == "==" and not bound.version.endswith(".*") for bound in wanted.specifier):
        return pin
    bounds = [str(one.specifier) for one in (wanted, *planned.parse(asked)) if one.name == wanted.name]
    glibc = version_of(base.fact("system.glibc"))
    newest = published.newest_nvidia(wanted.name, bounds, base.platform, glibc, base.database.tables)
    return f"{wanted.name}=={newest}" if newest else None
