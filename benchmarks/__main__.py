"""Measure, print, and hold against what was committed: `python -m benchmarks --help`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import page, results, timing
from benchmarks.comparisons import COMPARISONS, Comparison, Unavailable
from benchmarks.environments import Environments
from benchmarks.memory import AT_MOST_MEGABYTES, LOG_AT_MOST_MEGABYTES, log_peak_megabytes, peak_megabytes
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
                   committed: Mapping[str, Result] | None) -> Result:
    """Return the result, and where --check would fail for it the best of three."""
    result = measured(comparison, environments, pairs)
    for _ in range(ATTEMPTS - 1 if committed is not None else 0):
        fault = results.fault(result, committed or {}, comparison.at_most)
        if not fault:
            break
        print(f"{fault}; again", file=sys.stderr)
        result = results.better(result, measured(comparison, environments, pairs))
    return result


def main() -> int:
    """Measure what was asked for; with --check, 1 when something is slower than committed or promised."""
    options = _options()
    committed = results.read(results.COMMITTED.read_text("utf-8")) if results.COMMITTED.exists() else {}
    environments = Environments(options.scratch.resolve(), options.frameworks)
    found: list[Result] = []
    faults: list[str] = []
    for comparison in COMPARISONS:
        if options.names and comparison.name not in options.names:
            continue
        held_against = committed if options.check else None
        try:
            found.append(measured_again(comparison, environments, options.pairs, held_against))
        except Unavailable as error:
            faults.append(f"{comparison.name}: not measured: {error}")
            print(f"{comparison.name:14} not measured: {error}", flush=True)
            continue
        faults.append(results.fault(found[-1], committed, comparison.at_most))
        print(page.line(comparison, found[-1]), flush=True)
    peaks = _peaks(environments, options.names)
    document = json.dumps(results.document(found, *(peak for peak, _ in peaks)), indent=1) + "\n"
    if options.json:
        options.json.write_text(document, encoding="utf-8")
    if options.commit:
        _commit(document)
    faults += [f"peak memory: {peak:.1f} MB, promised are {at_most} MB"
               for peak, at_most in peaks if peak is not None and peak > at_most]
    return failed(faults) if options.check else 0


def failed(faults: Sequence[str]) -> int:
    """Say what --check fails for, if anything; return the exit status."""
    said = [fault for fault in faults if fault]
    for fault in said:
        print(f"--check: {fault}", file=sys.stderr)
    return EXIT_WORSE if said else 0


def _peaks(environments: Environments, names: Sequence[str]) -> list[tuple[float | None, int]]:
    """Measure and print the peaks of memory, each with its bound; None was not asked for."""
    wanted = [name in names or not names for name in (page.MEMORY, page.LOG_MEMORY)]
    peaks = [(peak_megabytes(environments) if wanted[0] else None, AT_MOST_MEGABYTES),
             (log_peak_megabytes(environments) if wanted[1] else None, LOG_AT_MOST_MEGABYTES)]
    for of, (peak, at_most) in zip(("a check", "a log of 1 GB"), peaks, strict=True):
        if peak is not None:
            print(f"peak memory of its own process, {of}: {peak:.1f} MB (at most {at_most})")
    return peaks


def _options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these of {', '.join(page.names())}")
    parser.add_argument("--pairs", type=int,
                        help=f"pairs of each (default: {PAIRS}, of slow ones {SLOW_PAIRS})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument("--check", action="store_true", help=(
        "fail where a ratio is worse than was committed or promised, and for what cannot be measured here"))
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
        for peak in ("peak_megabytes", "log_peak_megabytes"):
            about[peak] = about[peak] or before.get(peak)
    text = json.dumps(about, indent=1) + "\n"
    results.COMMITTED.write_text(text, encoding="utf-8")
    page.PAGE.write_text(page.with_table(page.PAGE.read_text("utf-8"), text, about), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
