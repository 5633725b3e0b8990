"""A sequence that is made when somebody asks for what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T")


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
