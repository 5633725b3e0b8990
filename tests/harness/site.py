"""The documentation site, built as `make site` builds it, in a folder of a test's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.harness.pages import ROOT


def gather(folder: Path) -> None:
    """Write the texts that the site is made of."""
    subprocess.run([sys.executable, "-m", "tools.site_pages", str(folder)], cwd=ROOT, check=True, timeout=120)


def build(texts: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Let MkDocs make a site of texts, and end it with a failure where a link leads nowhere."""
    configuration = texts.with_suffix(".yml")
    configuration.write_text(json.dumps({
        "INHERIT": str(ROOT / "mkdocs.yml"), "docs_dir": str(texts), "site_dir": str(site),
        "theme": {"custom_dir": str(ROOT / "docs" / "theme")}}))  # paths count from the file that is read
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(configuration)],
        capture_output=True, text=True, check=False, timeout=240)
