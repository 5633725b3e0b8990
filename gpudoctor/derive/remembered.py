"""What is worked out of a large value that many states share: remembered by which one it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Concatenate, Generic, ParamSpec, TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")
_P = ParamSpec("_P")
_MOST = 64  # values of one function, so that thousands of snapshots are not kept; the oldest is forgotten


class Same(Generic[_T]):
    """A value as a key, equal to itself alone; the key keeps it, so that no other gets its identity."""

    __slots__ = ("value",)

    def __init__(self, value: _T) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value


def of_same(function: Callable[Concatenate[_T, _P], _R]) -> Callable[Concatenate[_T, _P], _R]:
    """Remember what a pure function returns for a first argument that never changes, by its identity.

    What else it is told has to be hashed; of another large value, a `Same`.
    """
    @lru_cache(maxsize=_MOST)
    def remembered(key: Same[_T], *rest: _P.args, **named: _P.kwargs) -> _R:
        return function(key.value, *rest, **named)

    def asked(first: _T, /, *rest: _P.args, **named: _P.kwargs) -> _R:
        return remembered(Same(first), *rest, **named)  # type: ignore[arg-type]

    return asked
