"""What other programs import: it says what the command says, and importing it costs nothing."""

from __future__ import annotations

import copy
import doctest
import gzip
import json
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gpudoctor
from gpudoctor import codec, ruledb
from gpudoctor.examine import Policy, examine
from gpudoctor.model import Report
from tests.contract.checkout import run_python

ROOT = Path(__file__).parents[2]


def test_it_finds_what_the_command_finds() -> None:
    """The same causes, with the same exit code, of the same interpreter."""
    report = gpudoctor.check(depth="static", require=["gpu>=1"])
    done = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "check", "--depth", "static", "--require", "gpu>=1", "--python",
         sys.executable, "--format", "json"],
        capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)
    said = json.loads(done.stdout)
    assert [(one.cause, one.subject) for one in report.findings] == [
        (one["cause"], one["subject"]) for one in said["findings"]]
    assert report.exit_code == done.returncode


def test_it_works_in_a_thread() -> None:
    """Notebooks and servers do not call from the main thread."""
    found: list[Report] = []
    thread = threading.Thread(target=lambda: found.append(gpudoctor.check(depth="static")))
    thread.start()
    thread.join(60)
    assert len(found) == 1


@pytest.mark.parametrize(("wrong", "said"), [
    ({"require": ["nonsense"]}, "require=['nonsense']: write gpu>=2, "),
    ({"require": ["gpu>=4", "gpu<2"]}, "require=['gpu>=4', 'gpu<2'] contradict one another: no machine"),
    ({"require": ["torch>=2.6,<2.5"]}, "require=['torch>=2.6,<2.5']: no release meets it"),
    ({"require": ["tensorflw>=2"]}, "; did you mean tensorflow?"),
    ({"depth": "static", "stages": ["matmul"]}, "stages=['matmul']: is for depth=\"smoke\"; at depth "),
    ({"require": "gpu>=1"}, "require='gpu>=1': a list of texts, such as require=['gpu>=1']"),
    ({"require": [b"gpu"]}, "require=[b'gpu']: a list of texts"), ({"require": None}, "require=None: a list"),
    ({"gpu": ["no card"]}, "--gpu no card: no card is called so"), ({"gpu": 0}, "gpu=0: a list of texts"),
    ({"gpu": [0]}, "gpu=[0]: a list of texts, such as gpu=['0']"),
    ({"stages": ["matmull"]}, "--stages matmull: no such stage; one of matmul, convolution, "),
    ({"stages": ["matmull"]}, "; did you mean matmul?"), ({"stages": "matmul"}, "stages='matmul': a list"),
    ({"python": "/nowhere/python"}, "there is no /nowhere/python"), ({"python": ""}, "it names nothing"),
    ({"python": 3.12}, "python=3.12: a path"), ({"fail_on": "never"}, "fail_on='never': one of error, "),
    ({"depth": "deep"}, "depth='deep': one of static, import, smoke"),
    ({"depth": "imports"}, "depth='imports': one of static, import, smoke; did you mean import?"),
    ({"depth": None}, "depth=None: one of static, import, smoke"),
    ({"timeout_seconds": -1}, "timeout_seconds=-1: a number from 0.1 to 3600"),
    ({"timeout_seconds": "20"}, "timeout_seconds='20': a number from 0.1 to 3600"),
    ({"timeout_seconds": True}, "timeout_seconds=True: a number"),
    ({"timeout_seconds": float("nan")}, "timeout_seconds=nan: a number"),
    ({"stage_seconds": 0}, "stage_seconds=0: a number from 1 to 86400"),
])
def test_what_cannot_be_followed_is_a_value_error(wrong: dict[str, object], said: str) -> None:
    """In one line: which argument, what it may be, and the nearest of the names that there are.

    Regression: a depth that does not exist and a negative limit were taken without a word, and of a text in
    place of a list each letter was a requirement.
    """
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z") as caught:
        gpudoctor.check(**wrong)  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_a_path_is_an_interpreter_as_well() -> None:
    """As pathlib makes it."""
    by_path, by_text = (gpudoctor.check(written, depth="static").snapshot.host["python.executable"]
                        for written in (Path(sys.executable), sys.executable))
    assert by_path == by_text


def test_importing_it_imports_nothing_else() -> None:
    """A program that may never ask pays nothing."""
    program = "import sys; before = set(sys.modules); import gpudoctor; print(*set(sys.modules) - before)"
    place = f"import sys; sys.path.insert(0, {str(ROOT)!r})"
    done = subprocess.run([sys.executable, "-S", "-c", f"{place}; {program}"],
                          capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["gpudoctor"]


def test_a_text_is_explained_as_the_command_explains_it() -> None:
    """The same findings in the same order, with the same exit code; bytes as well, and packed."""
    text = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    done = subprocess.run([sys.executable, "-m", "gpudoctor", "explain", "--format", "json", "-"], input=text,
                          capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)
    said = json.loads(done.stdout)
    for given in (text, text.encode("utf-16"), gzip.compress(text.encode())):
        report = gpudoctor.explain(given)
        assert [(one.cause, one.certainty.value) for one in report.findings] == [
            (one["cause"], one["certainty"]) for one in said["findings"]]
        assert report.exit_code == done.returncode == 1


def test_what_a_text_leaves_open_is_not_called_healthy() -> None:
    """No known message is no proof that there is no fault."""
    assert gpudoctor.explain("hello").exit_code == 3


@pytest.mark.parametrize(("text", "fail_on", "said"), [
    ("", "error", "is empty"), (" \n", "error", "only blanks"), (b"\0\1\2" * 99, "error", ""),
    ("x", "waring", "fail_on='waring': one of error, warning, info; did you mean warning?"),
    (Path("a.log"), "error", "a.log'): the text itself, or its bytes"),
    (None, "error", "text=None: the text")])
def test_no_text_to_explain_is_a_value_error(text: Any, fail_on: Any, said: str) -> None:
    """In one line, as the command says it."""
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z") as caught:
        gpudoctor.explain(text, fail_on=fail_on)
    assert said in str(caught.value)


def test_the_command_that_explains_does_not_hide_the_function() -> None:
    """Regression: the package that explains was called gpudoctor.explain, and hid it once it was imported."""
    program = "import gpudoctor.cli.explaining, gpudoctor.texts; print(gpudoctor.explain('x').exit_code)"
    assert run_python(program).stdout == "3\n"


def _recorded() -> Report:
    """Return the report on a machine with a card and frameworks."""
    recorded = next(iter(sorted((ROOT / "tests" / "gpu" / "recorded").glob("*masked*.json"))))
    snapshot = codec.decode_snapshot(json.loads(recorded.read_bytes()), recorded.name)
    return examine(snapshot, ruledb.load(), Policy())


@pytest.mark.parametrize("made", [
    lambda: gpudoctor.check(depth="static"), lambda: gpudoctor.explain("CUDA error: out of memory"),
    _recorded])
def test_a_report_goes_to_another_process(made: Callable[[], Report]) -> None:
    """As pools of processes, Ray and Dask send it: it holds no function, and is the same over there."""
    report = made()
    arrived = pickle.loads(pickle.dumps(report))
    assert arrived == report
    assert report == copy.deepcopy(report)
    assert arrived.verdict is report.verdict


def test_the_examples_of_the_guide_work() -> None:
    """They are run as they are printed, have three lines each, and name what they found."""
    page = (ROOT / "docs" / "guide" / "python.md").read_text("utf-8")
    examples = re.findall(r"```python\n(import gpudoctor\n.*?)```", page, re.DOTALL)
    assert [len(example.splitlines()) for example in examples] == [3, 3]
    checked, explained = map(run_python, examples)
    assert checked.stdout.startswith("Verdict.")
    assert explained.stdout.startswith("Verdict.FINDINGS [('driver-too-old', ")


def test_the_example_of_the_package_works() -> None:
    """What `help(gpudoctor)` shows is run as well."""
    lines = [one.source for one in doctest.DocTestParser().get_examples(gpudoctor.__doc__ or "")]
    done = run_python("".join(lines))
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"Verdict\.\w+ \[.*\]\n\[\('driver-too-old', .*\)\]\n", done.stdout)


def test_what_a_report_is_made_of_has_a_public_name() -> None:
    """Regression: `gpudoctor.Report` could be returned, and not be named by who received it."""
    assert [name for name in gpudoctor.__all__ if not hasattr(gpudoctor, name)] == []
    assert gpudoctor.Report is Report
    assert set(gpudoctor.__all__) <= set(dir(gpudoctor))
    with pytest.raises(AttributeError, match="no attribute 'Rapport'"):
        gpudoctor.Rapport  # type: ignore[attr-defined]  # noqa: B018


def test_a_type_checker_knows_the_public_names(tmp_path: Path) -> None:
    """In strict mode, in which what is not named as public is not there."""
    program = tmp_path / "program.py"
    program.write_text("import gpudoctor\n\nreport: gpudoctor.Report = gpudoctor.check(depth=\"static\")\n"
                       "first: gpudoctor.Finding = report.findings[0]\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(program)],
                          capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)
    assert (done.stdout, done.returncode) == ("", 0)
