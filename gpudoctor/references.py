"""What a reference to an image looks like, by the grammar of those who resolve it."""

from __future__ import annotations

import re

# https://github.com/distribution/reference: a host may stand in front, a tag and a digest behind
_REFERENCE = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,200}[A-Za-z0-9])?(?::[0-9]{1,5})?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-{1,9})[a-z0-9]+){0,60}(?:/[a-z0-9]+(?:(?:[._]|__|-{1,9})[a-z0-9]+){0,60}){0,20}"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?\Z")
_LONGEST = 500


def is_reference(text: str) -> bool:
    """Say whether a text can name an image; an identity (sha256:...) can."""
    return len(text) <= _LONGEST and _REFERENCE.match(text) is not None
