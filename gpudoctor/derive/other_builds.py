"""Builds of a framework beside the wheels that the tables have read: on its own index, or conda-forge's.

They are there. Which cards and Pythons the former serve no table says; of the latter the recipe has cards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor import versions
from gpudoctor.derive.integrated import coverage
from gpudoctor.derive.view import as_records
from gpudoctor.model import Row, Tables, row_of, rows_of

_OWN_INDEX = {"paddle": ("paddle_builds", "paddlepaddle-gpu")}
_KEPT = ("version", "platform", "cuda", "cudnn", "index", "source")


def on_own_index(framework: str, tables: Tables) -> Sequence[Row]:
    """Return the builds with CUDA on an index of the framework's own, for every platform."""
    table, distribution = _OWN_INDEX.get(framework, ("", ""))
    return [{"distribution": distribution, "build": "cuda",
             **{column: row[column] for column in _KEPT if column in row}}
            for row in rows_of(tables, table) if "index" in row]


def newest_on_own_index(framework: str, platform: str, ceiling: str, cards: Sequence[str], tables: Tables
                        ) -> Row | None:
    """Return the newest final build there that a driver with this ceiling may run.

    Its CUDA must compile for the cards; whether it did is not known.
    """
    final = [row for row in on_own_index(framework, tables) if row["platform"] == platform
             and not versions.parse(str(row["version"])).is_prerelease and _may_run(row, ceiling)
             and all(_may_compile(str(row["cuda"]), card, tables) for card in cards)]
    return max(final, default=None,
               key=lambda row: (versions.parse(str(row["version"])), versions.parse(str(row["cuda"]))))


def of_conda(framework: str, platform: str, ceiling: str, cards: Sequence[str], tables: Tables
             ) -> Iterator[Row]:
    """Yield conda-forge's builds whose recipe has code for all cards, where the driver may run their CUDA."""
    for row in rows_of(tables, "conda_builds"):
        if (row["framework"], row["platform"]) == (framework, platform) and _may_run(row, ceiling) and all(
                coverage(as_records(row["code"]), card, str(row["cuda"]), tables).kind != "none"
                for card in cards):
            yield row


def in_words(framework: str, platform: str, ceiling: str, card: str, tables: Tables) -> Iterator[str]:
    """Yield what there is for a card that nothing which was read serves."""
    for row in of_conda(framework, platform, ceiling, (card,), tables):
        yield (f"conda-forge's {row['package']} (CUDA {row['cuda']}) has some by its recipe, which was not "
               "tried")
    unread = newest_on_own_index(framework, platform, ceiling, (card,), tables)
    if unread is not None:
        yield (f"{unread['distribution']} {unread['version']} for CUDA {unread['cuda']} was not read, and is "
               f"on {unread['index']}")


def _may_compile(cuda: str, card: str, tables: Tables) -> bool:
    """Return whether a CUDA compiles for a card, as far as the tables know."""
    known = row_of(tables, "architectures", compute_capability=card) or {}
    first, own, last = (versions.parse(str(one)) for one in (
        known.get("first_cuda", cuda), cuda, known.get("last_cuda", cuda)))
    return first <= own and own.release[:2] <= last.release[:2]


def _may_run(row: Row, ceiling: str) -> bool:
    """Return whether a driver that runs CUDA up to `ceiling` may run a build: its major release decides."""
    return versions.parse(str(row["cuda"])).major <= versions.parse(ceiling).major
