"""Nodes of Kubernetes as `kubectl describe node` shows them: one without a GPU says so by leaving it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.explanation.answers import Answered

OFFERS_NONE = "the node offers no nvidia.com/gpu"
_HEADINGS = ("Capacity:", "Allocatable:")
_MOST_ENTRIES = 20


def without_gpus(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield a line where whole lists of what nodes have stand in a text, and a GPU in none of them."""
    lists = [(number, _entries(lines, number)) for number, line in enumerate(lines, start=1)
             if line.strip() in _HEADINGS]
    whole = [(number, entries) for number, entries in lists if {"cpu", "memory", "pods"} <= entries]
    if whole and not any(name.startswith("nvidia.com/") for _, entries in lists for name in entries):
        yield Answered(text=OFFERS_NONE, line=whole[0][0])


def _entries(lines: Sequence[str], number: int) -> set[str]:
    """Return the names below a heading that stand farther in than it does."""
    depth = _depth(lines[number - 1])
    found: set[str] = set()
    for line in lines[number:number + _MOST_ENTRIES]:
        if line.strip() and _depth(line) <= depth:
            break
        found.add(line.strip().partition(":")[0])
    return found


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
