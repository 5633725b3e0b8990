"""Snapshots, options and output files that cannot be used: exit 4 or 2, and one line that says why."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.in_process import Gpudoctor
from tests.hosts.looking import COMMAND, ROOT


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
    "nothing": (lambda _: b"", "not valid JSON"),
    "no JSON": (lambda _: b'{\n  "schema": oh', ":2: not valid JSON"),
    "no text": (lambda _: bytes(range(256)) * 100, "not valid JSON"),
    "half a report": (lambda report: json.dumps(report, indent=1).encode()[:-2000], "not valid JSON"),
    "a list": (lambda _: b"[1, 2]", "no gpudoctor snapshot"),
    "a number": (lambda _: b"1e999", "no gpudoctor snapshot"),
    "a huge number": (lambda _: b"1" * 100000, "not "),
    "null": (lambda _: b"null", "no gpudoctor snapshot"),
    "another document": (lambda _: b'{"schema": "cyclonedx/1"}', "cyclonedx"),
    "deep nesting": (lambda _: b"[" * 1_000_000, "nested too deeply"),
    "deep nesting of objects": (lambda _: b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "nested too deeply"),
    "a newer report": (broken_report(lambda r: r.update(schema="gpudoctor.report/2")), "newer"),
    "a newer snapshot": (
        broken_report(lambda r: r["snapshot"].update(schema="gpudoctor.snapshot/2")),
        "newer",
    ),
    "a newer raw document": (lambda _: b'{"schema": "gpudoctor.raw/2", "probes": {}}', "newer"),
    "a raw document without probes": (lambda _: b'{"schema": "gpudoctor.raw/1"}', "probes"),
    "a raw document of other things": (
        lambda _: b'{"schema": "gpudoctor.raw/1", "probes": {"nvml": 1}}',
        "nvml",
    ),
    "a report without a snapshot": (broken_report(lambda r: r.pop("snapshot")), "no snapshot"),
    "a host that is a list": (broken_report(lambda r: r["snapshot"].update(host=[])), "host"),
    "cards that are a text": (broken_report(lambda r: r["snapshot"].update(gpus="two")), "gpus"),
    "a card that is null": (broken_report(lambda r: r["snapshot"].update(gpus=[None])), "gpus[0]"),
    "probes that are a number": (broken_report(lambda r: r["snapshot"].update(probes=7)), "probes"),
    "a probe without an end": (
        broken_report(lambda r: r["snapshot"].update(probes=[{"probe": "nvml"}])),
        "probes",
    ),
    "a text in place of a number": (
        fact("cuda.init_code", {"value": "zero", "source": "x"}),
        "cuda.init_code",
    ),
    "a flag in place of a number": (fact("cuda.init_code", {"value": True, "source": "x"}), "cuda.init_code"),
    "a number in place of a text": (
        fact("driver.kernel_version", {"value": 570, "source": "x"}),
        "driver.kernel_version",
    ),
    "records that are texts": (fact("loader.files", {"value": ["a"], "source": "x"}), "loader.files"),
    "a record in a record": (
        fact("loader.files", {"value": [{"path": {"a": 1}}], "source": "x"}),
        "loader.files",
    ),
    "a null in a record": (fact("loader.files", {"value": [{"path": None}], "source": "x"}), "loader.files"),
    "no fact": (fact("cuda.init_code", 7), "cuda.init_code"),
    "a fact of a card": (fact("gpu.name", {"value": "x", "source": "x"}), "gpu.name"),
}


@pytest.mark.parametrize("kind", JUNK)
def test_snapshot_that_is_junk(kind: str, tmp_path: Path, recorded: Path, gpudoctor: Gpudoctor) -> None:
    """Exit 4 and one line with the file's name and its fault, from a file and from standard input."""
    make, words = JUNK[kind]
    data = make(json.loads(recorded.read_text()))
    path = tmp_path / "snapshot.json"
    path.write_bytes(data)
    for run, name in (
        (gpudoctor("check", "--from", str(path)), str(path)),
        (gpudoctor("check", "--from", "-", stdin=data), "standard input"),
    ):
        assert (run.returncode, run.stdout) == (4, ""), run.stderr
        assert len(run.stderr.splitlines()) == 1
        assert len(run.stderr) < 1000
        assert [word for word in (name, words) if word not in run.stderr] == []


@pytest.mark.parametrize(
    "value", ["not a version", "", "9" * 5000, "1.2.3.4.5-\u4e8c", "[bold]", "\u0000\u001b[2J"]
)
def test_values_of_a_right_type_that_make_no_sense(
    value: str, tmp_path: Path, recorded: Path, gpudoctor: Gpudoctor
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
        piped = subprocess.run(
            [*COMMAND, "check", "--from", "-"],
            stdin=endless,
            capture_output=True,
            cwd=ROOT,
            timeout=60,
            check=False,
        )
    assert piped.returncode == 4
    assert b"larger than" in piped.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--nonsense"],
        ["check", "--depth", "deep"],
        ["check", "--timeout", "soon"],
        ["check", "--timeout", "0"],
        ["check", "--timeout", "nan"],
        ["check", "--format", "xml"],
        ["check", "extra"],
        ["nonsense"],
        ["rules", "show"],
        ["check", "--require", "gpu>>2"],
        ["check", "--require", "numpy>=1"],
        ["check", "--assume", "driver"],
        ["check", "--assume", "no.such.fact=1"],
        ["check", "--assume", "driver=soon"],
        ["diff", "one"],
        ["check", "--from"],
        ["check", "--assume", "cuda.init_code=\u00b2"],
        ["check", "--assume", "cc=many"],
    ],
)
def test_wrong_usage(arguments: list[str], recorded: Path, gpudoctor: Gpudoctor) -> None:
    """Exit 2 and a word of help, before anything is looked at."""
    given = ["--from", str(recorded)] if arguments[0] == "check" and "--from" not in arguments else []
    run = gpudoctor(*arguments, *given)
    assert (run.returncode, run.stdout) == (2, ""), run.stderr
    assert run.stderr


@pytest.mark.parametrize("output", ["/nowhere/report.json", "/proc/report.json", "/", "/dev/full", ""])
@pytest.mark.parametrize("command", [["check", "--from", "{recorded}", "-o"], ["payload", "-o"]])
def test_output_that_cannot_be_written(
    output: str, command: list[str], recorded: Path, gpudoctor: Gpudoctor
) -> None:
    """Exit 4, one line with the name and the reason."""
    run = gpudoctor(*(part.format(recorded=recorded) for part in command), output)
    assert (run.returncode, run.stdout) == (4, "")
    assert run.stderr.startswith(f"gpudoctor: {output}: cannot be written: "), run.stderr


def test_output_that_cannot_be_replaced_stays(tmp_path: Path, recorded: Path) -> None:
    """The old report is whole when the disk is full for the new one, and no temporary file stays."""
    folder = tmp_path / "small"
    folder.mkdir()
    script = (
        f"mount -t tmpfs -o size=8k none {folder} && echo old > {folder}/report.json && "
        f"{shlex.join(COMMAND)} check --format json --from {recorded} -o {folder}/report.json; "
        f"echo $?; cat {folder}/report.json; ls -A {folder}"
    )
    run = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    if "unshare" in run.stderr or "mount:" in run.stderr:
        pytest.skip(f"no small file system can be made here: {run.stderr.strip()}")
    assert run.stdout.split() == ["4", "old", "report.json"], run.stderr
    assert "No space left" in run.stderr
