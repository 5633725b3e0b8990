"""The benchmarks' own reckoning; what they measure is nobody's test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import logs, page, questions, results, timing
from benchmarks.comparisons import COMPARISONS, Unavailable
from benchmarks.environments import Environments
from benchmarks.results import Result
from benchmarks.timing import Command, Failed, Pair

ROOT = Path(__file__).parents[2]


def result(name: str = "own-libraries", ratio: float = 1.5) -> Result:
    """Return a result."""
    return Result(name=name, ratio=ratio, processor_ratio=2.0, seconds=(0.3, 0.2), pairs=5)


def test_the_median_of_the_ratios_counts() -> None:
    """One disturbed run moves nothing, on whichever side it was."""
    pairs = [Pair(seconds=(s, 1.0), processor_seconds=(s, 2.0)) for s in (1.9, 2.0, 50.0)]
    assert timing.median_ratio(pairs) == 2.0
    assert timing.median_processor_ratio(pairs) == 1.0
    assert timing.median_seconds(pairs, 1) == 1.0


def test_pairs_are_whole_processes(tmp_path: Path) -> None:
    """Real ones: what the first did, in what order, and that both have seconds."""
    log = tmp_path / "log"
    code = "import sys; print(sys.argv[1], end='', file=open('log', 'a'))"
    first, second = (Command(argv=[sys.executable, "-c", code, name], folder=tmp_path) for name in "AB")
    pairs = timing.in_pairs(first, second, 3)
    assert log.read_text() == "AB" + "AB" + "BA" + "AB"
    assert all(seconds > 0 for pair in pairs for seconds in pair.seconds)


def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    """Its last words are given."""
    command = Command(argv=[sys.executable, "-c", "import sys; sys.exit('out of order')"], folder=tmp_path)
    with pytest.raises(Failed, match="ended with 1: out of order"):
        timing.once(command)


@pytest.mark.parametrize(("ratio", "worse"), [(1.0, False), (1.79, False), (1.81, True)])
def test_more_than_a_fifth_is_worse(ratio: float, worse: bool) -> None:
    """Against the committed 1.5."""
    assert results.is_worse(result(ratio=ratio), {"own-libraries": result()}) is worse


def test_what_was_never_committed_cannot_be_worse() -> None:
    """A new comparison comes before its first ratio."""
    assert not results.is_worse(result("new", 99.0), {"own-libraries": result()})


@pytest.mark.parametrize(("ratio", "at_most", "words"), [
    (1.5, 2.0, ""),
    (1.5, 1.4, "own-libraries: 1.500, promised is 1.4"),
    (1.9, 2.0, "own-libraries: 1.900, committed is 1.500"),
])
def test_what_was_promised_holds_whatever_was_committed(ratio: float, at_most: float, words: str) -> None:
    """A ratio beyond its promise is a fault, also where it was as bad when it was committed."""
    assert results.fault(result(ratio=ratio), {"own-libraries": result()}, at_most) == words


def run_benchmarks(*arguments: str, path: str, scratch: Path) -> subprocess.CompletedProcess[str]:
    """Run `python -m benchmarks` for the comparison with ripgrep."""
    command = [sys.executable, "-m", "benchmarks", "--scratch", str(scratch), *arguments]
    return subprocess.run(command, cwd=ROOT, env={"PATH": path, "HOME": str(scratch)}, capture_output=True,
                          text=True, check=False)


@pytest.mark.parametrize(("check", "code"), [(["--check"], 1), ([], 0)])
def test_what_cannot_be_measured_is_no_pass(tmp_path: Path, check: list[str], code: int) -> None:
    """Without ripgrep, the comparison with it is a failure of --check, by its own line."""
    done = run_benchmarks("log", *check, path=str(tmp_path), scratch=tmp_path)
    assert done.returncode == code, done.stderr
    assert "not measured: ripgrep" in done.stdout
    assert ("--check: log: not measured" in done.stderr) == bool(check)


def test_results_are_read_as_they_were_written() -> None:
    """Through JSON."""
    text = json.dumps(results.document([result()], 31.5))
    assert results.read(text) == {"own-libraries": result()}


def test_the_table_says_what_was_promised_and_what_was_missed() -> None:
    """A ratio beyond its promise stands out; the text around the marks stays."""
    document = results.document([result(ratio=1.5), result("cuda-doctor", 0.9)], 31.5)
    text = page.with_table(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n", json.dumps(document), document)
    assert text.startswith(f"before\n{page.BEGIN}\n")
    assert text.endswith(f"{page.END}\nafter\n")
    assert "| 1.5 | 2 |" in text
    assert "| **0.9** | 0.7 |" in text
    assert "32 MB" in text
    assert "old" not in text


def test_the_committed_ratios_and_the_page_agree() -> None:
    """docs/performance.md is written from benchmarks/committed.json, and has a row for each comparison."""
    text = results.COMMITTED.read_text("utf-8")
    assert results.read(text).keys() == {comparison.name for comparison in COMPARISONS}
    shown = page.PAGE.read_text("utf-8")
    assert page.with_table(shown, text, json.loads(text)) == shown


def test_what_is_not_on_the_machine_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ripgrep that comparison is refused, with what to install; nothing is made for it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    comparison = next(each for each in COMPARISONS if each.name == "log")
    with pytest.raises(Unavailable, match="ripgrep"):
        comparison.commands(Environments(tmp_path / "scratch"))
    assert not (tmp_path / "scratch").exists()


def test_the_short_log_has_forty_lines_and_a_fault(tmp_path: Path) -> None:
    """What is explained is a real message."""
    logs.write_short(tmp_path / "short.log")
    lines = (tmp_path / "short.log").read_text("utf-8").splitlines()
    assert len(lines) == logs.SHORT_LINES
    assert "Could not load dynamic library 'libcudnn.so.8'" in lines[-2]


def test_both_peaks_stand_under_the_table() -> None:
    """That of a check, and that of a long log."""
    document = results.document([result()], 31.5, 59.0)
    assert "59 MB; promised are 200 MB" in page.table(results.read(json.dumps(document)), document)


def test_a_seed_draws_the_same_questions_again() -> None:
    """Else the answers of two versions of the program could not be compared one by one."""
    drawn = questions.drawn(20)
    assert drawn == questions.drawn(20)
    assert drawn != questions.drawn(20, seed=1)
    assert questions.drawn(150)[:20] == drawn
    assert len(set(questions.drawn(150))) == 150
