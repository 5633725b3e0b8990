"""What is made when it is asked for is made once, and never of what has changed since."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.lazily import latest_kept


def test_what_is_made_of_the_latest_items_is_kept() -> None:
    asked: list[Sequence[int]] = []

    def total(items: Sequence[int]) -> int:
        asked.append(items)
        return sum(items)

    kept, first, second = latest_kept(total), (1, 2), (3, 4)
    assert [kept(first), kept(first), kept(second), kept(first)] == [3, 3, 7, 3]
    assert asked == [first, second, first]


def test_nothing_is_kept_of_a_list_which_may_have_changed() -> None:
    kept, items = latest_kept(sum), [1, 2]
    assert kept(items) == 3
    items.append(3)
    assert kept(items) == 6
