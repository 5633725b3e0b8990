"""Make files and try them until the time is over; print each that does not hold, and the count."""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from gpudoctor import ruledb
from gpudoctor.model import RuleDatabase
from tests.fuzz.made import maker
from tests.fuzz.trial import growth, problems

ROOT = Path(__file__).resolve().parents[2]
GROWTH_EVERY = 20
SLOW_SECONDS_PER_MEGABYTE, SLOW_SECONDS = 20.0, 2.0


def found_in(data: bytes, size: int, database: RuleDatabase, *, with_growth: bool) -> Iterator[str]:
    """Yield what does not hold, exceptions among them."""
    begun = time.process_time()
    try:
        yield from problems(data, size, database)
        seconds = time.process_time() - begun
        if seconds > SLOW_SECONDS + SLOW_SECONDS_PER_MEGABYTE * len(data) / 1e6:
            yield f"{len(data)} bytes took {seconds:.1f} seconds of processor time"
        if with_growth:
            yield from growth(data, database)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
        yield f"{type(error).__name__}: {str(error)[:200]}"


def main() -> int:
    """Return 1 when something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reports", type=Path, help="a folder of real reports to make files of")
    parser.add_argument("--rules", type=Path, default=ROOT / "rules", help="a folder of rule pages")
    parser.add_argument("--keep", type=Path, help="a folder for the files that do not hold")
    options = parser.parse_args()
    texts = [path.read_text("utf-8", "replace")[:20_000] for path in sorted(options.reports.rglob("*"))
             if path.is_file()] if options.reports else []
    database = ruledb.load_pages(options.rules)
    making = maker(options.seed, database, texts)
    end = time.monotonic() + options.minutes * 60
    cases = size_in_all = findings = 0
    while time.monotonic() < end:
        data, size = making.file(), making.chance.choice((1, 7, 100, 4096))
        cases, size_in_all = cases + 1, size_in_all + len(data)
        for problem in found_in(data, size, database, with_growth=cases % GROWTH_EVERY == 0):
            findings += 1
            name = hashlib.sha256(data).hexdigest()[:12]
            print(f"case {cases} ({name}): {problem}", flush=True)
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / name).write_bytes(data)
    print(f"seed {options.seed}: {cases} files of {size_in_all / 1e6:.1f} MB in all, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
