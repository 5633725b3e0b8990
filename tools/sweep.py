"""Judge every release of every framework on every card with every driver; write docs/matrix/.

The engine that judges is the one of `gpudoctor check --assume`: nothing is worked out here. Run by
`make matrix`; `--check` writes nothing and says whether the pages are what the rules give today.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpudoctor.model import RuleDatabase
from gpudoctor.ruledb import load_compiled
from tools import sweep_pages
from tools.sweep_states import FRAMEWORKS, PLATFORMS, Card, Release, Verdict, cards, releases, verdict
from tools.wheel_cache import write_atomically

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "matrix"
NOT_RUNNING = ("stopped", "open")


class Sweep:
    """What was judged, each state once: many releases differ in nothing that the engine reads."""

    def __init__(self, database: RuleDatabase) -> None:
        self.database = database
        self.judged = 0
        self.asked = 0
        self._known: dict[tuple[object, ...], Verdict] = {}

    def on(self, release: Release, card: Card) -> Verdict:
        """Return the verdict with the newest driver of the card, or that of the oldest one that runs it."""
        found = self._verdict(release, card, card.drivers[-1])
        if found.kind in NOT_RUNNING:
            return found
        for driver in reversed(card.drivers[:-1]):
            older = self._verdict(release, card, driver)
            if older.kind in NOT_RUNNING:
                break
            found = older
        return found

    def _verdict(self, release: Release, card: Card, driver: str) -> Verdict:
        self.asked += 1
        key = (release.alike, card, driver)
        if key not in self._known:
            self.judged += 1
            self._known[key] = verdict(release, card, driver, self.database)
        return self._known[key]


def grid(framework: str, platform: str, sweep: Sweep) -> Iterator[tuple[Release, dict[Card, Verdict]]]:
    """Yield each release of a framework with its verdict on every card, the newest release first."""
    listed = cards(sweep.database, platform)
    for release in releases(framework, platform, sweep.database):
        yield release, {card: sweep.on(release, card) for card in listed}


def pages(database: RuleDatabase, frameworks: Sequence[str] = FRAMEWORKS) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of the pages of these frameworks; progress goes to stderr."""
    sweep, begun = Sweep(database), time.monotonic()
    for framework in frameworks:
        parts = {platform: list(grid(framework, platform, sweep)) for platform in PLATFORMS}
        parts = {platform: rows for platform, rows in parts.items() if rows}
        yield f"{framework}.md", sweep_pages.page(framework, parts, database)
        seconds = time.monotonic() - begun
        print(f"{framework}: {sweep.judged} states judged ({sweep.asked} asked for) in {seconds:.0f} s",
              file=sys.stderr)
    yield "README.md", sweep_pages.index(cards(database, PLATFORMS[0]), database)


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where a page is stale")
    parser.add_argument("--only", choices=FRAMEWORKS, help="the page of one framework (seconds)")
    parser.add_argument("--output", type=Path, default=PAGES, help="the folder of the pages")
    options = parser.parse_args(arguments)
    stale = []
    frameworks = (options.only,) if options.only else FRAMEWORKS
    for name, text in pages(load_compiled(ROOT / "rules"), frameworks):
        path = options.output / name
        if options.check:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text)
    for name in stale:
        print(f"{name} is not up to date: run `make matrix`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
