"""Where the machines of `report` may come from: files, lines, lists, standard input, the payload."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.checkout import run_gpudoctor
from tests.contract.test_report_command import SECONDS, summary
from tests.harness.fleet import report, write_rack


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of machines."""
    return write_rack(tmp_path_factory.mktemp("many") / "rack")


def test_packed_and_listed_machines_count_the_same(tmp_path: Path, rack: Path) -> None:
    """A folder, its files in one file a line, that packed, and all in a list, come to the same but for the
    names."""
    documents = [json.loads(path.read_text()) for path in sorted(rack.iterdir())]
    lines = [json.dumps(document) for document in documents]
    (tmp_path / "all.ndjson").write_text("\n".join(lines))
    (tmp_path / "all.ndjson.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    (tmp_path / "slurped.json").write_text(json.dumps(documents))
    folder, listed, packed, slurped = (summary(what)[1] for what in (
        rack, tmp_path / "all.ndjson", tmp_path / "all.ndjson.gz", tmp_path / "slurped.json"))
    for one in (listed, packed, slurped):
        assert [(c["cause"], c["machines"]) for c in one["causes"]] == [
            (c["cause"], c["machines"]) for c in folder["causes"]]
        assert one["verdicts"] == folder["verdicts"]
    for name, of_many in (("all.ndjson", "all.ndjson:10"), ("slurped.json", "slurped.json[9]")):
        done = run_gpudoctor("report", str(tmp_path / name))
        assert "gpudoctor diff" not in done.stdout  # which takes no line of a file
        assert of_many in done.stdout


def test_files_that_cat_put_behind_one_another_count_the_same(rack: Path) -> None:
    """`cat DIR/*.json | gpudoctor report -`, of files as `check -o` writes them.

    Regression: it ended with 4, "not valid JSON (Extra data)".
    """
    written = [json.dumps(json.loads(path.read_text()), indent=2) + "\n" for path in sorted(rack.iterdir())]
    done = subprocess.run([sys.executable, "-m", "gpudoctor", "report", "-", "--format", "json"], text=True,
                          input="".join(written), capture_output=True, timeout=SECONDS, check=False)
    found, folder = json.loads(done.stdout), summary(rack)[1]
    assert (done.returncode, found["verdicts"]) == (folder["exit_code"], folder["verdicts"])
    assert [one["machines"] for one in found["causes"]] == [one["machines"] for one in folder["causes"]]


def test_a_raw_document_is_judged(tmp_path: Path) -> None:
    """What the stand-alone payload prints is taken as it is."""
    run_gpudoctor("payload", "-o", str(tmp_path / "probe.pyz"))
    done = subprocess.run([sys.executable, str(tmp_path / "probe.pyz")], capture_output=True, check=True,
                          timeout=SECONDS)
    (tmp_path / "raw.json").write_bytes(done.stdout)
    _, found = summary(tmp_path / "raw.json")
    assert (found["machines"], found["judged"]) == (1, 1)


@pytest.mark.parametrize("options", [[], ["--judge"]])
def test_rules_that_are_not_there_are_no_fault_of_a_machine(tmp_path: Path, options: list[str]) -> None:
    """Regression: without --judge a folder that is not there was passed over, with it each machine was called
    one that could not be judged."""
    (tmp_path / "a.json").write_text(report())
    done = run_gpudoctor("report", str(tmp_path), "--rules", str(tmp_path / "nowhere"), *options)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith(f"gpudoctor: {tmp_path}/nowhere: no such folder")
