"""Write the table of the words of each cause, out of the texts that were written for the causes.

`python -m tools.cause_words` reads benchmarks/written: texts of causes, and lines that speak of GPUs and of
no fault of theirs. With --check it only compares.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpudoctor.explanation.undecided import NO_FAULT
from gpudoctor.unfamiliar.reports import telling
from tools.framework_tables import TABLES_FOLDER
from tools.table_file import Row, Table, render_table, write_table

WRITTEN = Path(__file__).resolve().parents[1] / "benchmarks" / "written"
TARGET = TABLES_FOLDER / "cause_words.toml"
LEAST_TEXTS = 2  # of a cause that have a word; of one that a single text has, nobody knows what it tells
TABLE = Table(
    summary="Words of texts that were written for each cause, and in how many of its texts they stand: "
    "the last reading of a text that nothing else explains",
    key=("cause",),
    columns={"cause": "text", "words": "texts"},
    generated_by="tools/cause_words.py",
    origin="benchmarks/written",
    is_vocabulary=True,
)


def written() -> Iterator[tuple[str, str]]:
    """Yield each text with its cause."""
    for line in (WRITTEN / "texts.jsonl").read_text("utf-8").splitlines():
        one = json.loads(line)
        yield one["cause"], one["text"]
    for line in (WRITTEN / "ordinary.txt").read_text("utf-8").splitlines():
        yield NO_FAULT, line


def rows(texts: Iterable[tuple[str, str]]) -> list[Row]:
    """Return a row for each cause of texts."""
    by_cause: dict[str, Counter[str]] = {}
    for cause, text in texts:
        by_cause.setdefault(cause, Counter()).update(telling(text.splitlines()))
    return [{"cause": cause, "words": [f"{word} {count}" for word, count in sorted(counts.items())
                                       if count >= LEAST_TEXTS]}
            for cause, counts in sorted(by_cause.items())]


def main() -> int:
    """Write the table, or say whether it is as the texts have it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    found = rows(written())
    if not parser.parse_args().check:
        write_table(TARGET, TABLE, found)
        return 0
    if render_table(TABLE, found) == TARGET.read_text("utf-8"):
        return 0
    sys.stderr.write("cause_words.toml is not what the texts have: python -m tools.cause_words\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
