"""What the command line itself complains about, each in one line."""

from __future__ import annotations


class InputError(ValueError):
    """A named file cannot be read or written: file and reason."""


class UsageError(ValueError):
    """Options that say two things at once: both, in one line."""
