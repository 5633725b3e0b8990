"""The one decorator of every noun: a dataclass with slots and keywords whose general methods are shared.

`dataclass` generates and compiles six methods for each class. With the seventy classes of a check that took
a sixth of its time, so only `__init__` is generated; equality, hash and representation are these functions.
That a value never changes is proven by the type checker, to which every such class is frozen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:
    def dataclass_transform(**_):
        """Tell nobody: what type checkers hear would cost an import."""
        return lambda decorator: decorator

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def frozen(kind: type[_T]) -> type[_T]:
    """Make a class of annotated fields one of immutable values, compared by their fields."""
    made: Any = dataclass(slots=True, kw_only=True, eq=False, repr=False)(kind)
    for name, function in _SHARED.items():
        if name not in kind.__dict__:
            setattr(made, name, function)
    return made  # type: ignore[no-any-return]


def _fields(it: Any) -> tuple[Any, ...]:
    return tuple([getattr(it, name) for name in it.__dataclass_fields__])


def _equal(self: Any, other: object) -> bool:
    if other.__class__ is not self.__class__:
        return NotImplemented  # type: ignore[no-any-return]
    return self is other or _fields(self) == _fields(other)


def _hash(self: Any) -> int:
    return hash(_fields(self))


def _representation(self: Any) -> str:
    listed = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__dataclass_fields__)
    return f"{self.__class__.__qualname__}({listed})"


_SHARED = {"__eq__": _equal, "__hash__": _hash, "__repr__": _representation}
