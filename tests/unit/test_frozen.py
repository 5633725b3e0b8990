"""Values: equal by their fields, usable as keys, shown whole, and never changed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, fields, replace
from pathlib import Path

import pytest
from mypy import api

from gpudoctor.frozen import frozen

SOURCE = """
from gpudoctor.frozen import frozen

@frozen
class Point:
    x: int
    name: str = ""

point = Point(x=1)
"""


@frozen
class Point:
    """A place on a line."""

    x: int
    names: tuple[str, ...] = field(default=())


@frozen
class Other:
    """Something with the same fields."""

    x: int
    names: tuple[str, ...] = ()


@frozen
class Plain:
    """Its own words for itself."""

    x: int

    def __repr__(self) -> str:
        """Return what it is called."""
        return "plain"


def test_values_are_compared_by_their_fields() -> None:
    """Of the same class, and only of the same."""
    assert Point(x=1) == Point(x=1, names=())
    assert Point(x=1) != Point(x=2)
    assert Point(x=1) != Other(x=1)  # type: ignore[comparison-overlap]
    assert {Point(x=1), Point(x=1), Point(x=2)} == {Point(x=2), Point(x=1)}
    assert hash(Point(x=3, names=("a",))) == hash(Point(x=3, names=("a",)))


def test_a_class_is_completed_when_somebody_asks_for_its_fields_or_its_first_value() -> None:
    """Not before: a short run makes values of half of its classes. One that inherits is completed as well."""
    @frozen
    class Base:
        """Has a default."""

        x: int = 1

    @frozen
    class Derived(Base):
        """Has a factory."""

        y: tuple[int, ...] = field(default_factory=tuple)

    assert Base.__init__ is Derived.__init__
    assert [one.name for one in fields(Derived)] == ["x", "y"]
    assert Derived(y=(2,)) == Derived(x=1, y=(2,))
    assert Base() == Base(x=1)
    assert Base.__init__ is not Derived.__init__


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Let threads take turns as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_threads")
def test_threads_that_make_first_values_at_once_get_them() -> None:
    """The probes run side by side; one that came while a class was being completed failed."""
    with ThreadPoolExecutor(8) as pool:
        for number in range(200):
            @frozen
            class Made:
                """Has a default, and a factory."""

                x: int = 1
                y: tuple[int, ...] = field(default_factory=tuple)

            values = [made.result() for made in [pool.submit(Made, x=number) for _ in range(8)]]
            assert {(value.x, value.y) for value in values} == {(number, ())}


def test_a_value_is_shown_with_all_its_fields() -> None:
    """Unless its class says how."""
    assert repr(Point(x=1, names=("a",))) == "Point(x=1, names=('a',))"
    assert repr(Plain(x=1)) == "plain"


def test_a_value_is_made_of_its_fields_by_name() -> None:
    """No other way, no other name, and nothing can be added later."""
    assert replace(Point(x=1), x=5) == Point(x=5)
    with pytest.raises(TypeError):
        Point(1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Point(x=1, z=2)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        Point(x=1).z = 2  # type: ignore[attr-defined]


@pytest.mark.parametrize(("line", "says"), [
    ("point.x = 2", 'Property "x" defined in "Point" is read-only'),
    ("Point(1)", "Too many positional arguments"),
    ("Point()", 'Missing named argument "x"'),
    ("Point(x='a')", 'Argument "x" to "Point" has incompatible type "str"'),
])
def test_the_type_checker_refuses_what_must_not_be(tmp_path: Path, line: str, says: str) -> None:
    """It stands in for the check at run time that a frozen dataclass would have."""
    file = tmp_path / "changed.py"
    file.write_text(SOURCE + line + "\n", encoding="utf-8")
    said, _, _ = api.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(file)])
    assert says in said, said
