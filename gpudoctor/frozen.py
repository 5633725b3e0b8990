"""The one decorator of every noun: a dataclass with slots and keywords whose general methods are shared.

`dataclass` generates and compiles six methods for each class. With the seventy classes of a check that took
a sixth of its time, so only `__init__` is generated, when the first value of the class is made or its fields
are asked for: a short run makes values of half of them. Equality, hash and representation are these
functions. That a value never changes is proven by the type checker, to which every such class is frozen.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:
    def dataclass_transform(**_):
        """Tell nobody: what type checkers hear would cost an import."""
        return lambda decorator: decorator

_T = TypeVar("_T")
_COMPLETING = RLock()  # a class asks for the fields of those that it extends


@dataclass_transform(frozen_default=True, kw_only_default=True)
def frozen(kind: type[_T]) -> type[_T]:
    """Make a class of annotated fields one of immutable values, compared by their fields."""
    slots = tuple(kind.__annotations__)
    left_out = {*slots, "__dict__", "__weakref__"}
    members = {**_SHARED, **{name: it for name, it in kind.__dict__.items() if name not in left_out}}
    declared = _Declared(kind)
    members |= {"__slots__": slots, "__init__": _first, "__dataclass_fields__": declared}
    metaclass: Any = type(kind)
    declared.made = made = metaclass(kind.__name__, kind.__bases__, members)
    made.__qualname__ = kind.__qualname__
    return made  # type: ignore[no-any-return]


class _Declared:
    """The fields of a class, until somebody asks for them: then the class becomes a dataclass."""

    made: Any

    def __init__(self, kind: type) -> None:
        self.kind = kind  # as it was written, with its defaults, which a class with slots cannot hold

    def __get__(self, value: object, owner: Any) -> Any:
        with _COMPLETING:  # of two threads that ask at once, the second finds it done
            if self.made.__dict__["__dataclass_fields__"] is self:
                complete: Any = dataclass(kw_only=True, eq=False, repr=False)(self.kind)
                for name in ("__init__", "__dataclass_params__", "__dataclass_fields__"):
                    setattr(self.made, name, complete.__dict__[name])
        return self.made.__dataclass_fields__


def _first(self: Any, **values: Any) -> None:
    """Make the first value of a class: from then on its own `__init__` does."""
    fields(self)
    self.__class__.__init__(self, **values)


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
