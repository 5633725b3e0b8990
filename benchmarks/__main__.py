"""Measure, print, and hold against what was committed: `python -m benchmarks --help`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import page, results, timing
from benchmarks.comparisons import COMPARISONS, Comparison
from benchmarks.environments import Environments
from benchmarks.memory import AT_MOST_MEGABYTES, peak_megabytes
from benchmarks.results import Result

PAIRS, SLOW_PAIRS, ATTEMPTS = 25, 7, 3
EXIT_WORSE = 1


def measured(comparison: Comparison, environments: Environments, pairs: int | None) -> Result:
    """Return the medians of one comparison."""
    first, second = comparison.commands(environments)
    found = timing.in_pairs(first, second, pairs or (SLOW_PAIRS if comparison.slow else PAIRS))
    return Result(
        name=comparison.name, ratio=timing.median_ratio(found), pairs=len(found),
        processor_ratio=timing.median_processor_ratio(found),
        seconds=(timing.median_seconds(found, 0), timing.median_seconds(found, 1)))


def measured_again(comparison: Comparison, environments: Environments, pairs: int | None,
                   committed: Mapping[str, Result]) -> Result:
    """Return the result, and where it is worse than the committed one the best of three."""
    result = measured(comparison, environments, pairs)
    for _ in range(ATTEMPTS - 1):
        if not results.is_worse(result, committed):
            break
        print(f"{comparison.name}: {result.ratio:.3f}, worse than was committed; again", file=sys.stderr)
        result = results.better(result, measured(comparison, environments, pairs))
    return result


def main() -> int:
    """Measure what was asked for; with --check, 1 when something has become slower than was committed."""
    options = _options()
    committed = results.read(results.COMMITTED.read_text("utf-8")) if results.COMMITTED.exists() else {}
    environments = Environments(options.scratch.resolve(), options.frameworks)
    found: list[Result] = []
    for comparison in COMPARISONS:
        if options.names and comparison.name not in options.names:
            continue
        held_against = committed if options.check else {}
        found.append(measured_again(comparison, environments, options.pairs, held_against))
        print(page.line(comparison, found[-1]), flush=True)
    peak = peak_megabytes(environments) if not options.names or page.MEMORY in options.names else None
    if peak is not None:
        print(f"peak memory of its own process: {peak:.1f} MB (at most {AT_MOST_MEGABYTES})")
    document = json.dumps(results.document(found, peak), indent=1) + "\n"
    if options.json:
        options.json.write_text(document, encoding="utf-8")
    if options.commit:
        _commit(document)
    too_large = peak is not None and peak > AT_MOST_MEGABYTES
    worse = [result.name for result in found if results.is_worse(result, committed)]
    if options.check and (worse or too_large):
        print(f"worse than was committed: {', '.join(worse) or 'peak memory'}", file=sys.stderr)
        return EXIT_WORSE
    return 0


def _options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these of {', '.join(page.names())}")
    parser.add_argument("--pairs", type=int,
                        help=f"pairs of each (default: {PAIRS}, of slow ones {SLOW_PAIRS})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument("--check", action="store_true", help="fail where a ratio is worse than was committed")
    parser.add_argument("--commit", action="store_true", help="write committed.json and docs/performance.md")
    parser.add_argument("--frameworks", type=Path, metavar="PYTHON",
                        help="an interpreter with TensorFlow and torch, instead of installing both")
    parser.add_argument("--scratch", type=Path, default=cache / "gpudoctor-benchmarks", metavar="DIR",
                        help="where environments are made and kept (default: %(default)s)")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(page.names())
    if unknown:
        parser.error(f"no such comparison: {', '.join(sorted(unknown))}")
    return options


def _commit(document: str) -> None:
    """Keep what was measured, beside what was not measured this time."""
    about = json.loads(document)
    if results.COMMITTED.exists():
        before = json.loads(results.COMMITTED.read_text("utf-8"))
        about["results"] = {**before["results"], **about["results"]}
        about["peak_megabytes"] = about["peak_megabytes"] or before["peak_megabytes"]
    text = json.dumps(about, indent=1) + "\n"
    results.COMMITTED.write_text(text, encoding="utf-8")
    page.PAGE.write_text(page.with_table(page.PAGE.read_text("utf-8"), text, about), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
