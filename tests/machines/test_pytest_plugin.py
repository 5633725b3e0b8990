"""The pytest plugin on machines: tests run where a GPU serves them, and say why not where none does."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.harness.machine import Machine
from tests.harness.nvidia import H100, driverless_machine
from tests.hosts.looking import ROOT
from tests.machines.catalogue import r580

pytest_plugins = ["pytester"]

SUITE = """
import pytest

@pytest.fixture(scope="session")
def model():
    raise RuntimeError("a fixture touched the GPU")

@pytest.mark.requires_gpu
def test_one(): pass

@pytest.mark.requires_gpu(count=2)
def test_two(): pass

@pytest.mark.requires_gpu(memory="40GiB", capability="8.0")
def test_large(): pass

@pytest.mark.requires_gpu(memory="500GiB")
def test_huge(): pass

@pytest.mark.requires_gpu(capability=12)
def test_new(): pass

@pytest.mark.requires_gpu(framework="torch>=2")
def test_torch(model): pass

def test_plain(): pass
"""
# a plugin that prints how each test ended, in one line that no other output looks like
OUTCOMES = """
import json

def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        where, line, why = report.longrepr if report.skipped else ("", 0, str(report.longrepr or ""))
        assert not report.skipped or where.endswith("test_suite.py"), where
        print("\\nOUTCOME " + json.dumps([report.nodeid.split("::")[-1], report.outcome + " " + why]))
"""


def outcomes(machine: Machine, folder: Path, *options: str) -> dict[str, str]:
    """Return how each test of the suite ended on a machine: passed, failed or skipped, and why."""
    (folder / "test_suite.py").write_text(SUITE, encoding="utf-8")
    (folder / "outcomes.py").write_text(OUTCOMES, encoding="utf-8")
    done = machine.adding(environment={"PYTHONPATH": f"{ROOT}:{folder}"}).run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "outcomes", "-p", "no:cacheprovider", *options,
         "test_suite.py"], timeout=120, cwd=str(folder))
    lines = [line for line in done.stdout.splitlines() if line.startswith("OUTCOME ")]
    assert lines, done.stdout + done.stderr
    return dict(json.loads(line.removeprefix("OUTCOME ")) for line in lines)


def test_on_a_machine_that_works_what_fits_is_run(tmp_path: Path) -> None:
    """One H100: what asks for less runs, what asks for more says what is lacking."""
    found = outcomes(r580(H100), tmp_path)
    assert [found[name] for name in ("test_one", "test_large", "test_plain")] == ["passed "] * 3
    assert found["test_two"] == "skipped Skipped: needs a GPU: of 2 wanted 1 would do"
    assert "GPU 0: its memory is not >=500GiB" in found["test_huge"]
    assert "GPU 0: compute capability 9.0 is below 12" in found["test_new"]
    assert found["test_torch"].startswith("skipped")
    assert "requirement-not-met" in found["test_torch"]


def test_a_card_that_is_hidden_does_not_count(tmp_path: Path) -> None:
    """CUDA_VISIBLE_DEVICES leaves one of two."""
    machine = r580(H100, H100).adding(environment={"CUDA_VISIBLE_DEVICES": "1"})
    found = outcomes(machine, tmp_path)
    assert found["test_one"] == "passed "
    assert found["test_two"] == (
        "skipped Skipped: needs a GPU: of 2 wanted 1 would do; GPU 0: CUDA_VISIBLE_DEVICES hides it")


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_without_a_driver_the_cause_is_the_reason(tmp_path: Path, options: tuple[str, ...]) -> None:
    """It is told before a fixture touches the GPU; workers say the same."""
    found = outcomes(driverless_machine([H100]), tmp_path, *options)
    of_gpu = [said for name, said in found.items() if name != "test_plain"]
    assert len(of_gpu) == 6
    assert [said for said in of_gpu if "driver-not-installed" not in said or "skipped" not in said] == []
    assert found["test_plain"] == "passed "


def test_a_gate_fails_in_place_of_skipping(tmp_path: Path) -> None:
    """With --require-gpu a run that tried nothing is not green."""
    found = outcomes(driverless_machine([H100]), tmp_path, "--require-gpu")
    assert {said.split()[0] for name, said in found.items() if name != "test_plain"} == {"failed"}


@pytest.mark.parametrize(("written", "said"), [
    ("count=0", "count=0: a number of GPUs, 1 or more"),
    ("memory='much'", "memory='much': a size with its unit, such as \"40GiB\""),
    ("memory=40", "memory=40: a size with its unit, such as \"40GiB\""),
    ("capability='new'", "capability='new': a compute capability, such as \"8.0\""),
    ("memory=['40GiB']", "memory=['40GiB']: a size with its unit, such as \"40GiB\""),
    ("framework='numpy'", "framework='numpy': a framework with its version, as in \"torch>=2.6\"; one of"),
    ("framework='pytorch>=2'", "framework='pytorch>=2': *paddle; did you mean torch?"),
    ("framework=['torch', 'jax']", "framework=['torch', 'jax']: a framework with its version"),
    ("cards=2", "cards: it takes one of count, memory, capability, framework"),
    ("memroy='1GiB'", "memroy: it takes one of count, *; did you mean memory?"),
    ("2, '40GiB'", "only the count can stand without its name"),
])
def test_a_marker_that_means_nothing_fails(pytester: pytest.Pytester, written: str, said: str) -> None:
    """Whatever the machine is: a test that can never be run is no skip.

    Regression: a list of frameworks was a traceback.
    """
    pytester.makepyfile(f"import pytest\n@pytest.mark.requires_gpu({written})\ndef test_it(): pass\n")
    done = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    done.assert_outcomes(errors=1)
    pattern = said.replace("[", "[[]")
    done.stdout.fnmatch_lines([f"*requires_gpu is written wrong: {pattern}*"])


def test_a_depth_that_there_is_not_is_refused_before_any_test(pytester: pytest.Pytester) -> None:
    """Regression: it was taken without a word, and nothing was run."""
    pytester.makeini("[pytest]\ngpudoctor_depth = statik\n")
    pytester.makepyfile("def test_it(): pass\n")
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([
        "ERROR: gpudoctor_depth='statik': one of static, import, smoke; did you mean static[?]"])


def test_rules_that_cannot_be_used_fail_in_one_line(pytester: pytest.Pytester,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was judged, so nothing is skipped; a traceback through gpudoctor would hide why."""
    monkeypatch.setenv("GPUDOCTOR_RULES_EXTRA", "/nowhere")
    pytester.makepyfile("import pytest\n@pytest.mark.requires_gpu\ndef test_it(): pass\n")
    ended = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-o", "gpudoctor_depth=static")
    ended.assert_outcomes(errors=1)
    ended.stdout.fnmatch_lines(["requires_gpu could not be judged: /nowhere: no such folder*"])
    ended.stdout.no_fnmatch_line("*page_folder.py*")
