"""What is worked out of a value is remembered for that very value, and for no other that is equal."""

from __future__ import annotations

from gpudoctor.derive.remembered import of_same


def test_it_is_worked_out_once_for_each_value_and_question() -> None:
    asked: list[tuple[list[int], int]] = []

    @of_same
    def plus(numbers: list[int], more: int) -> list[int]:
        asked.append((numbers, more))
        return [number + more for number in numbers]

    one, equal = [1, 2], [1, 2]
    assert [plus(one, 1), plus(one, 1), plus(one, 2), plus(equal, 1)] == [[2, 3], [2, 3], [3, 4], [2, 3]]
    assert [(numbers is one, more) for numbers, more in asked] == [(True, 1), (True, 2), (False, 1)]


def test_a_value_that_is_gone_is_not_taken_for_another_one() -> None:
    """A new value may get the identity of one that nobody holds any more; the key holds it."""
    @of_same
    def first(numbers: list[int]) -> int:
        return numbers[0]

    assert [first([number]) for number in range(100)] == list(range(100))
