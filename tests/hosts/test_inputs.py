"""Rules, snapshots and options that cannot be used: exit 4 or 2, one line that names the file and what to do."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.cli import main
from tests.hosts.looking import COMMAND, ROOT, RULES


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True, kw_only=True)
class Gpudoctor:
    """Runs the command's own entry within this process: a start costs more than most of what is tested here."""

    patch: pytest.MonkeyPatch
    output: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str, stdin: bytes = b"", **environment: str) -> Ended:
        """Run one command line; an exception that escapes fails the test."""
        self.patch.setattr("sys.argv", ["gpudoctor", *arguments])
        self.patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self.output.readouterr()
        with self.patch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main()
        said = self.output.readouterr()
        code = ended.value.code
        return Ended(returncode=code if isinstance(code, int) else 0, stdout=said.out, stderr=said.err)


@pytest.fixture
def gpudoctor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Gpudoctor:
    """Return what runs a command line."""
    return Gpudoctor(patch=monkeypatch, output=capsys)


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Return a folder of rules that a test may break."""
    folder = tmp_path / "rules"
    shutil.copytree(RULES, folder)
    (folder / "tables").mkdir()
    return folder


PAGE = "driver/GPD9990-cuda-does-not-start.md"


def changed_page(old: str, new: str) -> Callable[[Path], None]:
    """Return a way to break the page: one text for another."""
    def change(folder: Path) -> None:
        page = folder / PAGE
        assert old in page.read_text()
        page.write_text(page.read_text().replace(old, new))

    return change


def written(name: str, content: bytes) -> Callable[[Path], None]:
    """Return a way to break the folder: a file with this content."""
    def write(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return write


TABLE = b'[table]\nsummary = "A"\nkey = ["version"]\n[columns]\nversion = "package_version"\n[[row]]\nversion = "1"\n'
BROKEN: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "no front matter": (written(PAGE, b"# Only a title\n"), (PAGE + ":1:", "```toml")),
    "an empty page": (written(PAGE, b""), (PAGE + ":1:", "```toml")),
    "TOML that is none": (changed_page('severity = "error"', "severity = error"), (PAGE, "line 4")),
    "an unknown key": (changed_page("since", "hence"), (PAGE, "hence")),
    "an unknown severity": (changed_page('"error"', '"terrible"'), (PAGE, "severity")),
    "a condition without a fact": (changed_page('fact = "cuda.init_code", ', ""), (PAGE, "fact")),
    "a wrong type": (changed_page('"2026.11.0"', "7"), (PAGE, "since")),
    "no title": (changed_page("# cuInit fails", "cuInit fails"), (PAGE, "title")),
    "not UTF-8": (written(PAGE, b"```toml\n\xff\xfe\n```\n"), (PAGE, "not UTF-8")),
    "a table that is no TOML": (written("tables/one.toml", b"[table\n"), ("tables/one.toml", "line 1")),
    "a table without sources": (written("tables/one.toml", TABLE), ("tables/one.toml", "source")),
    "a table that is not UTF-8": (written("tables/one.toml", b"\xff"), ("tables/one.toml", "not UTF-8")),
    "a table of something else": (written("tables/one.toml", b"table = 1\nrow = 2\n"), ("tables/one.toml", "[[row]]")),
    "a table with a date": (written("tables/one.toml", TABLE + b"source = 2026-11-20\n"), ("tables/one.toml", "row 1")),
    "a version that is none": (written("db.toml", b"version = 7\n"), ("db.toml", "version")),
    "a head that is no TOML": (written("db.toml", b"version\n"), ("db.toml", "line 1")),
    "a base of unknown facts": (written("base.toml", b'"driver.colour" = "red"\n'), ("base.toml", "driver.colour")),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_rules_that_are_broken(kind: str, pages: Path, recorded: Path, gpudoctor: Gpudoctor) -> None:
    """Exit 4; the message names the file and what is wrong in it; the shipped rules do not step in."""
    break_it, words = BROKEN[kind]
    break_it(pages)
    run = gpudoctor("check", "--from", str(recorded), "--rules", str(pages))
    assert (run.returncode, run.stdout) == (4, ""), run.stderr
    assert [word for word in (str(pages), *words) if word not in run.stderr] == []


@pytest.mark.parametrize(("make", "words"), [
    (lambda folder: None, "no such folder"), (lambda folder: folder.mkdir(), "no rule page"),
    (lambda folder: folder.write_text("a file"), "no such folder"),
    (lambda folder: folder.symlink_to(folder), "no such folder"),
], ids=["missing", "empty", "a file", "a loop"])
def test_rules_folder_that_holds_none(
    make: Callable[[Path], Any], words: str, tmp_path: Path, recorded: Path, gpudoctor: Gpudoctor,
) -> None:
    """Named by option or by variable, a folder without rules is an error that says what such a folder holds."""
    folder = tmp_path / "rules"
    make(folder)
    for arguments, environment in ((["--rules", str(folder)], {}), ([], {"GPUDOCTOR_RULES": str(folder)}),
                                   ([], {"GPUDOCTOR_RULES_EXTRA": str(folder)})):
        run = gpudoctor("check", "--from", str(recorded), *arguments, **environment)
        assert (run.returncode, run.stdout) == (4, "")
        assert words in run.stderr
        assert str(folder) in run.stderr


def test_every_broken_page_is_named_at_once(pages: Path, gpudoctor: Gpudoctor) -> None:
    """Two broken pages are two lines, not two runs."""
    for page in (pages / "driver").iterdir():
        page.write_text("nothing")
    run = gpudoctor("rules", "list", "--rules", str(pages))
    assert run.returncode == 4
    assert [name for name in ("GPD9990", "GPD9991") if name not in run.stderr] == []


def broken_report(change: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], bytes]:
    """Return a way to break a report."""
    def broken(report: dict[str, Any]) -> bytes:
        change(report)
        return json.dumps(report).encode()

    return broken


def fact(name: str, value: Any) -> Callable[[dict[str, Any]], bytes]:
    """Return a way to give a fact of the host another value."""
    return broken_report(lambda report: report["snapshot"]["host"].update({name: value}))


JUNK: dict[str, tuple[Callable[[dict[str, Any]], bytes], str]] = {
    "nothing": (lambda report: b"", "not valid JSON"),
    "no JSON": (lambda report: b"{\n  \"schema\": oh", ":2: not valid JSON"),
    "no text": (lambda report: bytes(range(256)) * 100, "not valid JSON"),
    "half a report": (lambda report: json.dumps(report, indent=1).encode()[:-2000], "not valid JSON"),
    "a list": (lambda report: b"[1, 2]", "no gpudoctor snapshot"),
    "a number": (lambda report: b"1e999", "no gpudoctor snapshot"),
    "a huge number": (lambda report: b"1" * 100000, "not "),
    "null": (lambda report: b"null", "no gpudoctor snapshot"),
    "another document": (lambda report: b'{"schema": "cyclonedx/1"}', "cyclonedx"),
    "deep nesting": (lambda report: b"[" * 1_000_000, "nested too deeply"),
    "deep nesting of objects": (lambda report: b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "nested too deeply"),
    "a newer report": (broken_report(lambda r: r.update(schema="gpudoctor.report/2")), "newer"),
    "a newer snapshot": (broken_report(lambda r: r["snapshot"].update(schema="gpudoctor.snapshot/2")), "newer"),
    "a newer raw document": (lambda r: b'{"schema": "gpudoctor.raw/2", "probes": {}}', "newer"),
    "a raw document without probes": (lambda r: b'{"schema": "gpudoctor.raw/1"}', "probes"),
    "a raw document of other things": (lambda r: b'{"schema": "gpudoctor.raw/1", "probes": {"nvml": 1}}', "nvml"),
    "a report without a snapshot": (broken_report(lambda r: r.pop("snapshot")), "no snapshot"),
    "a host that is a list": (broken_report(lambda r: r["snapshot"].update(host=[])), "host"),
    "cards that are a text": (broken_report(lambda r: r["snapshot"].update(gpus="two")), "gpus"),
    "a card that is null": (broken_report(lambda r: r["snapshot"].update(gpus=[None])), "gpus[0]"),
    "probes that are a number": (broken_report(lambda r: r["snapshot"].update(probes=7)), "probes"),
    "a probe without an end": (broken_report(lambda r: r["snapshot"].update(probes=[{"probe": "nvml"}])), "probes"),
    "a text in place of a number": (fact("cuda.init_code", {"value": "zero", "source": "x"}), "cuda.init_code"),
    "a flag in place of a number": (fact("cuda.init_code", {"value": True, "source": "x"}), "cuda.init_code"),
    "a number in place of a text": (fact("driver.kernel_version", {"value": 570, "source": "x"}),
                                    "driver.kernel_version"),
    "records that are texts": (fact("loader.files", {"value": ["a"], "source": "x"}), "loader.files"),
    "a record in a record": (fact("loader.files", {"value": [{"path": {"a": 1}}], "source": "x"}), "loader.files"),
    "a null in a record": (fact("loader.files", {"value": [{"path": None}], "source": "x"}), "loader.files"),
    "no fact": (fact("cuda.init_code", 7), "cuda.init_code"),
    "a fact of a card": (fact("gpu.name", {"value": "x", "source": "x"}), "gpu.name"),
}


@pytest.mark.parametrize("kind", JUNK)
def test_snapshot_that_is_junk(kind: str, tmp_path: Path, recorded: Path, gpudoctor: Gpudoctor) -> None:
    """Exit 4 and one line with the file's name and what is wrong with it, from a file and from standard input."""
    make, words = JUNK[kind]
    data = make(json.loads(recorded.read_text()))
    path = tmp_path / "snapshot.json"
    path.write_bytes(data)
    for run, name in ((gpudoctor("check", "--from", str(path)), str(path)),
                      (gpudoctor("check", "--from", "-", stdin=data), "standard input")):
        assert (run.returncode, run.stdout) == (4, ""), run.stderr
        assert len(run.stderr.splitlines()) == 1
        assert len(run.stderr) < 1000
        assert [word for word in (name, words) if word not in run.stderr] == []


@pytest.mark.parametrize("value", ["not a version", "", "9" * 5000, "1.2.3.4.5-\u4e8c", "[bold]", "\u0000\u001b[2J"])
def test_values_of_a_right_type_that_make_no_sense(
    value: str, tmp_path: Path, recorded: Path, gpudoctor: Gpudoctor,
) -> None:
    """A version that is none is not comparable, which is undecided and never a crash."""
    report = json.loads(recorded.read_text())
    for holder in (report["snapshot"]["host"], *report["snapshot"]["gpus"]):
        for name in holder:
            if isinstance(holder[name].get("value"), str):
                holder[name]["value"] = value
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(report))
    for form in ("text", "json"):
        run = gpudoctor("check", "--from", str(path), "--format", form)
        assert run.returncode in (0, 1, 3), run.stderr
        assert "\x1b" not in run.stdout


@pytest.mark.parametrize("name", ["/nowhere/snapshot.json", "/", "/dev/zero", "/proc/self/mem", ""])
def test_snapshot_that_cannot_be_read(name: str, gpudoctor: Gpudoctor) -> None:
    """A name that leads to no regular file is exit 4; nothing endless is read."""
    run = gpudoctor("check", "--from", name)
    assert (run.returncode, run.stdout) == (4, "")
    assert len(run.stderr.splitlines()) == 1


def test_snapshot_of_100_megabytes(tmp_path: Path, gpudoctor: Gpudoctor) -> None:
    """What is larger than any snapshot is refused before it is parsed."""
    path = tmp_path / "snapshot.json"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    run = gpudoctor("check", "--from", str(path))
    assert run.returncode == 4
    assert "larger than" in run.stderr
    with path.open("rb") as endless:
        piped = subprocess.run([*COMMAND, "check", "--from", "-"], stdin=endless, capture_output=True, cwd=ROOT,
                               timeout=60, check=False)
    assert piped.returncode == 4
    assert b"larger than" in piped.stderr


@pytest.mark.parametrize("arguments", [
    ["check", "--nonsense"], ["check", "--depth", "deep"], ["check", "--timeout", "soon"], ["check", "--timeout", "0"],
    ["check", "--timeout", "nan"], ["check", "--format", "xml"], ["check", "extra"], ["nonsense"], ["rules", "show"],
    ["check", "--require", "gpu>>2"], ["check", "--require", "numpy>=1"], ["check", "--assume", "driver"],
    ["check", "--assume", "no.such.fact=1"], ["check", "--assume", "driver=soon"], ["diff", "one"], ["check", "--from"],
    ["check", "--assume", "cuda.init_code=\u00b2"], ["check", "--assume", "cc=many"]])
def test_wrong_usage(arguments: list[str], recorded: Path, gpudoctor: Gpudoctor) -> None:
    """Exit 2 and a word of help, before anything is looked at."""
    given = ["--from", str(recorded)] if arguments[0] == "check" and "--from" not in arguments else []
    run = gpudoctor(*arguments, *given)
    assert (run.returncode, run.stdout) == (2, ""), run.stderr
    assert run.stderr


@pytest.mark.parametrize("output", ["/nowhere/report.json", "/proc/report.json", "/", "/dev/full", ""])
@pytest.mark.parametrize("command", [["check", "--from", "{recorded}", "-o"], ["payload", "-o"]])
def test_output_that_cannot_be_written(output: str, command: list[str], recorded: Path, gpudoctor: Gpudoctor) -> None:
    """Exit 4, one line with the name and the reason."""
    run = gpudoctor(*(part.format(recorded=recorded) for part in command), output)
    assert (run.returncode, run.stdout) == (4, "")
    assert run.stderr.startswith(f"gpudoctor: {output}: cannot be written: "), run.stderr


def test_output_that_cannot_be_replaced_stays(tmp_path: Path, recorded: Path) -> None:
    """The old report is whole when the disk is full for the new one, and no temporary file stays."""
    folder = tmp_path / "small"
    folder.mkdir()
    script = (f"mount -t tmpfs -o size=8k none {folder} && echo old > {folder}/report.json && "
              f"{' '.join(COMMAND)} check --format json --from {recorded} -o {folder}/report.json; "
              f"echo $?; cat {folder}/report.json; ls -A {folder}")
    run = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=60,
                         check=False)
    if "unshare" in run.stderr or "mount:" in run.stderr:
        pytest.skip(f"no small file system can be made here: {run.stderr.strip()}")
    assert run.stdout.split() == ["4", "old", "report.json"], run.stderr
    assert "No space left" in run.stderr
