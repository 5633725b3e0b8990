"""The examples in README.md and the guide: each stands between two markers, and is what is printed today."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md")))


def assert_shows(marker: str, block: str, *, updating: bool) -> None:
    """Hold the block between the markers, on the one page that has them, to what is printed.

    It is written anew while `updating`.
    """
    begin, end = f"<!-- {marker}: begin -->\n", f"<!-- {marker}: end -->"
    [page] = [page for page in PAGES if begin in page.read_text("utf-8")]
    before, _, rest = page.read_text("utf-8").partition(begin)
    shown, _, after = rest.partition(end)
    if updating:
        page.write_text(before + begin + block + end + after, "utf-8")
        return
    assert shown == block
