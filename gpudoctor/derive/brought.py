"""A framework that came along with another one, which requires it: nobody need have wanted it on a GPU."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.derive.view import View, as_texts
from gpudoctor.model import Absent, Fact, Facts, Known, value_of

_REQUESTED, _REQUIRED_BY = "framework.requested", "framework.required_by"


def brought_by(view: View, frameworks: Sequence[Facts]) -> Fact:
    """Return the other frameworks whose requirement is all that explains why this one is here.

    Where it is not known whether it was asked for, they explain it as well: `framework.requested` says so.
    """
    name = view.need("framework.name")
    others = [facts for facts in frameworks if value_of(facts, "framework.name") != name]
    if not others:
        return Absent(source="no other framework is installed")
    if view.value(_REQUESTED) is True:
        return Absent(source=f"it was asked for ({view.source(_REQUESTED)})")
    requiring = as_texts(view.need(_REQUIRED_BY))
    known = {value_of(facts, "framework.distribution") for facts in others}
    strangers = [one for one in requiring if one not in known]
    if strangers or not requiring:
        return Absent(source=f"{strangers[0]} requires it" if strangers else "nothing installed requires it")
    return Known(value=requiring, source=view.source(_REQUIRED_BY))
