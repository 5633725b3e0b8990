"""Accelerators of other makers: which of them an installed framework was built for."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.derive.view import View, as_texts
from gpudoctor.model import Absent, Fact, Facts, Known, Unknown

_MAKERS = {"rocm": "amd", "xpu": "intel"}
_MISSING = Unknown(reason="no probe answered for it")


def served(view: View, frameworks: Sequence[Facts] | Unknown) -> Fact:
    """Return the frameworks that were built for an accelerator of another maker that is here.

    Absent where there is no such accelerator, or nothing was built for it.
    """
    here = set(as_texts(view.need("system.other_accelerators"))) & set(_MAKERS.values())
    if not here:
        return Absent(source="no accelerator here has builds of its own that gpudoctor knows")
    if isinstance(frameworks, Unknown):
        return frameworks
    kinds = [(facts.get("framework.name", _MISSING), facts.get("framework.build", _MISSING))
             for facts in frameworks]
    known = [(name.value, str(kind.value)) for name, kind in kinds
             if isinstance(name, Known) and isinstance(kind, Known)]
    found = tuple(f"{name} ({kind})" for name, kind in known if _MAKERS.get(kind) in here)
    if found:
        return Known(value=found, source="build information of the installed frameworks")
    unread = next((kind for _, kind in kinds if isinstance(kind, Unknown)), None)
    return unread or Absent(source="no framework here was built for it")
