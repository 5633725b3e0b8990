"""Gather what the documentation site is built from: `make site`, or python -m tools.site_pages FOLDER.

The folder gets the texts of the checkout at their own places, a page for each cause, and the catalogue of
facts; `mkdocs.yml` says how they become a site.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from gpudoctor import ruledb
from tools.site_links import DeadLink, Links
from tools.site_rules import FACTS, causes_page, facts_page, rule_page

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "site-pages"  # as mkdocs.yml names it
TEXTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/README.md", "tests/gpu/README.md")
FOLDERS = ("docs", "integrations")


def pages(root: Path = ROOT) -> dict[str, str]:
    """Return the text of every page by its path in the checkout."""
    database = ruledb.load_shipped("whole")
    rules = sorted(database.rules, key=lambda rule: rule.id)
    found = {**{path: (root / path).read_text("utf-8") for path in TEXTS},
             **{path.relative_to(root).as_posix(): path.read_text("utf-8")
                for folder in FOLDERS for path in sorted((root / folder).rglob("*.md"))},
             **{f"rules/{rule.path}": rule_page(rule, database) for rule in rules},
             "rules/README.md": causes_page(rules), FACTS: facts_page()}
    found["docs/decisions/README.md"] = _decisions(found)
    links = Links(root=root, pages=frozenset(found), rules={rule.id: f"rules/{rule.path}" for rule in rules})
    return {path: links.in_page(text, path) for path, text in found.items()}


def _decisions(found: dict[str, str]) -> str:
    """Return the list of decisions: each is called by its first line."""
    rows = [f"- [{text.partition(chr(10))[0].removeprefix('# ')}]({Path(path).name})"
            for path, text in found.items() if path.startswith("docs/decisions/")]
    return "\n".join(("# Decisions\n", "Half a page for each that had alternatives.\n", *rows, ""))


def write(folder: Path) -> None:
    """Write all pages into a folder, which holds nothing else afterwards."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in pages().items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
    except DeadLink as error:
        sys.exit(f"tools/site_pages.py: {error}")
