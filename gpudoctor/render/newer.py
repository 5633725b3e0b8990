"""Which of the candidates that are not offered would have come before those that are."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudoctor import versions
from gpudoctor.model import Candidate

_MONTH = re.compile(r":([0-9][0-9]\.[0-9][0-9])-")  # nvcr.io/nvidia/pytorch:23.06-py3


def in_vain(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the rejected candidates that would have come before what is offered of their kind.

    They come newest first; an older build of the release that is offered is no loss. Images are told of where
    only these were asked for.
    """
    found = []
    kinds = ("pip",) if any(one.kind == "pip" for one in candidates) else ("image",)
    for kind in kinds:
        some = [one for one in candidates if one.kind == kind]
        fitting = next((one for one in some if one.offered), None)
        rejected = [one for one in some if not one.offered]
        if fitting is None:
            found += rejected
        else:
            found += [one for one in rejected if _is_newer(one, fitting)]
    return found


def _is_newer(one: Candidate, fitting: Candidate) -> bool:
    try:
        return _newness(one) > _newness(fitting)
    except versions.Incomparable:
        return False


def _newness(one: Candidate) -> tuple[bool, object]:
    """Return what to compare: releases, and behind them NVIDIA's own builds, by their month."""
    month = _MONTH.search(one.image or "")
    return month is None, versions.parse(month[1] if month else one.version)
