"""What is made when somebody asks for it: a sequence, a regular expression."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T")
R = TypeVar("R")


class Lazy(Sequence[T]):
    """Decoded when somebody asks: a machine on which all runs says nothing, a text shows few symptoms."""

    def __init__(self, decode_all: Callable[[], tuple[T, ...]]) -> None:
        self._decode_all = decode_all
        self._decoded: tuple[T, ...] | None = None

    def _all(self) -> tuple[T, ...]:
        if self._decoded is None:
            self._decoded = self._decode_all()
        return self._decoded

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...

    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        """Return one, or several."""
        return self._all()[index]

    def __iter__(self) -> Iterator[T]:
        """Yield every one."""
        return iter(self._all())

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        """Say whether the same are in the other, in the same order."""
        return isinstance(other, Sequence) and self._all() == tuple(other)

    __hash__ = None  # type: ignore[assignment]


def latest_kept(make: Callable[[Sequence[T]], R]) -> Callable[[Sequence[T]], R]:
    """Return what makes a thing of some items, and keeps that of the latest: it is asked for again.

    Nothing is kept of a list, which could change meanwhile.
    """
    kept: list[tuple[Sequence[T], R]] = []

    def made(items: Sequence[T]) -> R:
        if kept and kept[0][0] is items:
            return kept[0][1]
        result = make(items)
        if not isinstance(items, list):
            kept[:] = [(items, result)]
        return result

    return made


class Pattern:
    """A regular expression, compiled when it is first used: most texts need few of those that read them."""

    __slots__ = ("_compiled", "_flags", "_text")

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text, self._flags = text, flags
        self._compiled: re.Pattern[str] | None = None

    def _whole(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self._text, self._flags)
        return self._compiled

    def search(self, text: str, begin: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """Return the first match from a place on, before another."""
        return self._whole().search(text, begin, end)

    def match(self, text: str, begin: int = 0) -> re.Match[str] | None:
        """Return the match that begins at a place."""
        return self._whole().match(text, begin)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match that is the whole text."""
        return self._whole().fullmatch(text)

    def finditer(self, text: str, begin: int = 0) -> Iterator[re.Match[str]]:
        """Return all matches from a place on."""
        return self._whole().finditer(text, begin)

    def findall(self, text: str) -> list[str]:
        """Return what the one group of the expression holds, or else the whole, in each match."""
        return self._whole().findall(text)

    def split(self, text: str, maxsplit: int = 0) -> list[str]:
        """Return what stands between the matches, of which so many count."""
        return self._whole().split(text, maxsplit)

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        """Return the text with each match replaced."""
        return self._whole().sub(replacement, text)
