# /// script
# requires-python = ">=3.10"
# dependencies = ["cattrs>=23.2", "packaging>=22", "scikit-learn>=1.5", "tomli>=2; python_version < '3.11'"]
# ///
"""Write the table of what words say of each cause, learnt from the texts that were written for the causes.

`python -m tools.cause_words` reads benchmarks/written: texts of causes, and lines that speak of GPUs and of
no fault of theirs. One linear support vector machine for each cause tells its texts from all others.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gpudoctor.explanation.undecided import NO_FAULT
from gpudoctor.unfamiliar.reports import telling
from tools.framework_tables import TABLES_FOLDER
from tools.table_file import Row, Table, write_table

WRITTEN = Path(__file__).resolve().parents[1] / "benchmarks" / "written"
TARGET = TABLES_FOLDER / "cause_words.toml"
LEAST_TEXTS = 2  # that have a word; of one that a single text has, nobody knows what it tells
LEAST_WEIGHT = 15  # hundredths; lesser ones change no answer and are nine of ten
TABLE = Table(
    summary="How much words, and pairs of words, speak for a cause (hundredths), learnt from texts that were "
    "written for each cause: the last reading of a text that nothing else explains",
    key=("cause",),
    columns={"cause": "text", "bias": "number", "words": "texts", "weights": "text"},
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
    import numpy as np
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.svm import LinearSVC

    causes, lines = zip(*((cause, text.splitlines()) for cause, text in texts), strict=True)
    words = [sorted(telling(one)) for one in lines]
    counter = CountVectorizer(analyzer=_as_they_are, binary=True, min_df=LEAST_TEXTS, dtype=np.float64)
    shown = counter.fit_transform(words)
    # Of a long text each word says less, as `Reports.guesses` has it.
    shown = shown.multiply(1 / np.sqrt([[max(len(one), 1)] for one in words])).tocsr()
    learnt = LinearSVC(C=0.5, random_state=0).fit(shown, causes)
    names = counter.get_feature_names_out()
    return [_row(str(cause), bias, dict(zip(names, np.rint(own * 100).astype(int).tolist(), strict=True)))
            for cause, bias, own in zip(learnt.classes_, learnt.intercept_, learnt.coef_, strict=True)]


def _row(cause: str, bias: float, weights: Mapping[str, int]) -> Row:
    told = {name: weight for name, weight in weights.items() if abs(weight) >= LEAST_WEIGHT}
    return {"cause": cause, "bias": round(bias * 100), "words": list(told),
            "weights": " ".join(map(str, told.values()))}


def _as_they_are(words: Sequence[str]) -> Sequence[str]:
    return words


def main() -> int:
    """Write the table."""
    write_table(TARGET, TABLE, rows(written()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
