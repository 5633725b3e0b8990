"""What in an image gets no updates any more: its system, or the series of images that its tag is of."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.derive.view import as_texts
from gpudoctor.model import Row, Tables, rows_of

HOLE = re.compile(r"\{([a-z]+)\}")
_HOLES = {"version": r"[0-9]+\.[0-9]+\.[0-9]+(?:rc[0-9]+)?", "month": r"[0-9][0-9]\.[0-9][0-9]",
          "cuda": r"[0-9]+\.[0-9]+", "cudnn": r"[0-9]+"}


def pattern(form: str) -> re.Pattern[str]:
    """Return the pattern of a form of tags, with a group for each hole."""
    parts = HOLE.split(form)
    return re.compile("".join(f"(?P<{part}>{_HOLES[part]})" if number % 2 else re.escape(part)
                              for number, part in enumerate(parts)) + r"\Z")


def series(image: str, tag: str, tables: Tables) -> Row | None:
    """Return the form of a tag of which no more are published, None where it goes on."""
    return next((row for row in rows_of(tables, "image_tags") if row["image"] == image and "ended" in row
                 and pattern(str(row["form"])).match(tag)), None)


def system_row(system: str, version: str, tables: Tables) -> Row | None:
    """Return what the tables know of the release of a distribution, by its number or its code name."""
    return next((row for row in rows_of(tables, "image_systems")
                 if row["system"] == system and version in as_texts(row["names"])), None)


def of_series(image: str, tag: str, tables: Tables) -> Iterator[tuple[str, str]]:
    """Yield whose builds have ended, and since when."""
    row = series(image, tag, tables)
    if row is not None:
        yield str(row["ended"]), f"20{row['last']}".replace(".", "-")


def of_system(row: Row | None) -> Iterator[tuple[str, str]]:
    """Yield the distribution of a row that has ended, and since when."""
    if row is not None and "ended" in row:
        yield f"{str(row['system']).capitalize()} {row['version']}", str(row["ended"])
