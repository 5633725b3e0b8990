"""Make text from a machine safe to print: control characters become visible and are never obeyed."""

from __future__ import annotations

import unicodedata

LIMIT = 400
REDACTED = "names in its paths are stand-ins (name1): write the real ones into the commands"
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def printable(text: str, limit: int = LIMIT) -> str:
    """Return `text` with control characters spelled out and at most `limit` characters of it."""
    shown = "".join(_spell(character) for character in text[:limit])
    return shown if len(text) <= limit else f"{shown}... ({len(text)} characters)"


def _spell(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    number = ord(character)
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(
        character, f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}")


def counted_words(number: int, word: str) -> str:
    """Return "1 error" or "2 errors"."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
