"""The examples in README.md: each stands between two markers, and is what a command prints today."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def assert_shows(marker: str, block: str, request: pytest.FixtureRequest) -> None:
    """Hold a block of README.md between its markers to what is printed; --update-golden writes it anew."""
    readme = ROOT / "README.md"
    page = readme.read_text("utf-8")
    begin, end = f"<!-- {marker}: begin -->\n", f"<!-- {marker}: end -->"
    assert begin in page, f"README.md shows no {marker} between its markers"
    before, _, rest = page.partition(begin)
    shown, _, after = rest.partition(end)
    if request.config.getoption("--update-golden"):
        readme.write_text(before + begin + block + end + after, "utf-8")
        return
    assert shown == block
