"""The guide to a site's own causes: what it says is run, and its page judges as it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.checkout import ROOT, run_gpudoctor

INPUT, FINDINGS = 4, 1
GUIDE = (ROOT / "docs/guide/rules.md").read_text(encoding="utf-8")
OLDER = ("--depth", "static", "--assume", "driver=550.54.14", "--assume", "card=H100")


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Return the page that the guide shows, begun and filled in as it says."""
    folder = tmp_path / "site-rules"
    folder.mkdir()
    run = run_gpudoctor("rules", "new", "driver", "driver-below-site", "--rules", str(folder))
    begun = Path(run.stdout.splitlines()[0])
    assert begun == folder / "driver" / "GPDX0001-driver-below-site.md"
    shown = re.search(r"^````markdown\n(.*?)^````$", GUIDE, re.DOTALL | re.MULTILINE)
    assert shown is not None
    begun.write_text(shown[1], encoding="utf-8")
    return begun


def site(page: Path) -> dict[str, str]:
    """Return the environment that adds the page to the published ones."""
    return {"GPUDOCTOR_RULES_EXTRA": str(page.parent.parent)}


def test_the_page_of_the_guide_is_proven(page: Path) -> None:
    """By the command that the guide names, and that `rules new` prints."""
    run = run_gpudoctor("rules", "lint", environment=site(page))
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.endswith(", 0 problems\n")
    assert "GPUDOCTOR_RULES_EXTRA=site-rules gpudoctor rules lint" in GUIDE


def test_the_folder_by_itself_is_proven_beside_the_published_pages(page: Path) -> None:
    """Regression: `rules lint DIR` left the tables out, and found five faults with the guide's own page."""
    for named in ((str(page.parent.parent),), ("--rules", str(page.parent.parent))):
        run = run_gpudoctor("rules", "lint", *named)
        assert (run.returncode, run.stderr) == (0, "")
        assert run.stdout.endswith(", 0 problems\n")
    page.write_text(page.read_text(encoding="utf-8").replace('cc = "9.0", driver = "550.54.14"',
                                                             'cc = "9.0", driver = "580.95.05"'))
    run = run_gpudoctor("rules", "lint", str(page.parent.parent))
    assert run.returncode == FINDINGS
    assert "driver/GPDX0001-driver-below-site.md: case 'a node that missed the update'" in run.stdout


def test_a_schema_that_is_not_read_is_named_with_its_line(page: Path) -> None:
    (page.parent.parent / "db.toml").write_text('version = "2026.11.7"\nschema = 99\n')
    run = run_gpudoctor("check", *OLDER, environment=site(page))
    assert run.returncode == INPUT
    assert "db.toml:2: these rules are of schema 99, and this gpudoctor reads 1: pip install" in run.stderr


def test_a_version_that_is_no_date_is_refused_with_its_line(page: Path) -> None:
    """Rules "banana" judged, and lint found no fault with them."""
    (page.parent.parent / "db.toml").write_text('schema = 1\nversion = "banana"\n')
    run = run_gpudoctor("check", *OLDER, environment=site(page))
    assert run.returncode == INPUT
    assert 'db.toml:2: its version is no date: version = "YYYY.MM.N": write that' in run.stderr


@pytest.mark.parametrize("made", ["folder", "link"])
def test_a_page_that_is_no_file_is_refused(page: Path, made: str) -> None:
    """A link that leads nowhere was passed over, and a driver that is too old was healthy."""
    other = page.with_name("GPDX0002-other.md")
    other.mkdir() if made == "folder" else other.symlink_to("/nonexistent/page.md")
    run = run_gpudoctor("check", *OLDER, environment=site(page))
    assert run.returncode == INPUT
    assert f"{other.name}: is no file, or leads to none; mend it or take it away" in run.stderr


def test_a_folder_of_pages_that_is_not_there_is_refused(page: Path) -> None:
    """A link to a disk that was not mounted was passed over, with all pages on it."""
    (page.parent.parent / "network").symlink_to("/nonexistent/pages")
    run = run_gpudoctor("check", *OLDER, environment=site(page))
    assert run.returncode == INPUT
    assert "network: cannot be read: No such file or directory" in run.stderr


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="without setpriv root may enter any folder")
def test_a_folder_of_pages_that_may_not_be_entered_is_refused(page: Path) -> None:
    """What lies there can be listed and not read: it ended on its own account."""
    page.parent.chmod(0o444)
    command = [sys.executable, "-m", "gpudoctor", "rules", "lint"]
    own = [] if os.geteuid() else ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    run = subprocess.run([*own, *command], env={**os.environ, **site(page)}, cwd=ROOT, capture_output=True,
                         text=True, check=False)
    page.parent.chmod(0o755)
    assert (run.returncode, run.stderr) == (INPUT, f"gpudoctor: {page}: Permission denied\n")


def test_the_page_of_the_guide_judges_beside_the_published_ones(page: Path) -> None:
    """The cause, the fix for this node, and which rules judged."""
    assert " ".join(("gpudoctor check", *OLDER)) in GUIDE
    run = run_gpudoctor("check", *OLDER, "--fail-on", "warning", environment=site(page))
    assert run.returncode == FINDINGS, run.stderr
    assert "WARNING  driver-below-site  [host]" in run.stdout
    assert re.search(r"rules \d+\.\d+\.\d+\+site\n", run.stdout)
    shown = run_gpudoctor("rules", "show", "GPDX0001", environment=site(page))
    assert shown.stdout.startswith("# Hand the node back for its update\n")


def test_a_version_of_the_sites_own_stands_in_the_report(page: Path) -> None:
    """And the digest tells its pages from the published ones alone."""
    (page.parent.parent / "db.toml").write_text('version = "2026.11.7"\n')
    with_site, without = (
        json.loads(run_gpudoctor("check", *OLDER, "--format", "json", environment=rules).stdout)["rules"]
        for rules in (site(page), {}))
    assert with_site["version"] == f"{without['version']}+2026.11.7"
    assert with_site["sha256"] != without["sha256"]


@pytest.mark.parametrize(("old", "new", "said"), [
    ('op = "below"', 'op = "under"', ":11: under is none of 'below'"),
    ("{driver.version} is older", "{driver.age} is older", ":6: there is no fact driver.age"),
    ("GPDX0001", "GPD2010", ":2: the id GPD2010 is not a site's own"),
    ('severity = "warning"', "severity = warning", ":4: "),
])
def test_what_is_broken_is_proven_by_the_command_that_is_named(
        old: str, new: str, said: str, page: Path) -> None:
    """It named `rules lint --rules`, which leaves the tables out and finds fault with a right page."""
    page.write_text(page.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    run = run_gpudoctor("check", *OLDER, environment=site(page))
    assert (run.returncode, run.stdout) == (INPUT, "")
    assert f"{page}{said}" in run.stderr
    assert f"prove it: GPUDOCTOR_RULES_EXTRA={page.parent.parent} gpudoctor rules lint\n" in run.stderr


def test_a_page_in_another_encoding_is_named_with_its_line(page: Path) -> None:
    page.write_bytes(page.read_bytes().replace(b"missed its update\"", b"verpa\xdft\"", 1))
    run = run_gpudoctor("check", *OLDER, environment=site(page))
    assert run.returncode == INPUT
    assert f"{page}:6: not UTF-8 (byte " in run.stderr
    assert "save it as UTF-8" in run.stderr
