"""The measured table, in docs/performance.md and on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.comparisons import COMPARISONS, Comparison
from benchmarks.memory import AT_MOST_MEGABYTES, LOG_AT_MOST_MEGABYTES
from benchmarks.results import Result, read

MEMORY, LOG_MEMORY = "memory", "log-memory"
PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN, END = (f"<!-- written by python -m benchmarks: {which} -->" for which in ("begin", "end"))


def line(comparison: Comparison, result: Result) -> str:
    """Return a comparison's line for the screen."""
    kept = "" if result.ratio <= comparison.at_most else f"   MORE than {comparison.at_most:g}"
    return (f"{comparison.name:14} {result.ratio:6.3f} x {comparison.against} "
            f"({result.seconds[0]:.2f} s / {result.seconds[1]:.2f} s, {result.pairs} pairs; "
            f"processor time {result.processor_ratio:.2f} x){kept}")


def table(results: Mapping[str, Result], about: Mapping[str, Any]) -> str:
    """Return the table in Markdown, and under it what it was measured on."""
    rows = ["| gpudoctor | beside | ratio | promised | processor time | seconds | pairs |",
            "|---|---|---|---|---|---|---|"]
    rows += [_row(comparison, results[comparison.name])
             for comparison in COMPARISONS if comparison.name in results]
    peak = about.get("peak_megabytes")
    rows += ["", f"Measured on {about['machine']}."]
    if peak is not None:
        rows.append(f"Peak memory of gpudoctor's own process (with TensorFlow and torch): {peak:.0f} MB; "
                    f"promised are {AT_MOST_MEGABYTES} MB.")
    peak = about.get("log_peak_megabytes")
    if peak is not None:
        rows.append(f"Peak memory of `gpudoctor explain` with a log of 1 GB: {peak:.0f} MB; "
                    f"promised are {LOG_AT_MOST_MEGABYTES} MB.")
    return "\n".join(rows) + "\n"


def _row(comparison: Comparison, result: Result) -> str:
    ratio = f"{result.ratio:.3g}" if result.ratio <= comparison.at_most else f"**{result.ratio:.3g}**"
    return (f"| {comparison.about} | {comparison.against} | {ratio} | {comparison.at_most:g} "
            f"| {result.processor_ratio:.3g} | {result.seconds[0]:.2f} / {result.seconds[1]:.2f} "
            f"| {result.pairs} |")


def with_table(page: str, document: str, about: Mapping[str, Any]) -> str:
    """Return the page with the table of a document of results between its two marks."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    if not tail:
        raise ValueError(f"{PAGE.name} has lost the marks between which its table stands")
    return f"{head}{BEGIN}\n\n{table(read(document), about)}\n{END}{tail}"


def names() -> Sequence[str]:
    """Return the names of all that can be measured."""
    return [*(comparison.name for comparison in COMPARISONS), MEMORY, LOG_MEMORY]
