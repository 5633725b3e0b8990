"""What all tests share: golden files, and the same hypothesis settings everywhere."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator
from pathlib import Path

import pluggy
import pytest
from hypothesis import settings

from tests.frameworks import untried

GOLDEN = Path(__file__).parent / "golden"

# What continuous integration may skip; every reason begins with one of these. All else must be tried there.
ALLOWED_SKIPS = (
    "beside the checkout",  # what lies in ../shared, which not every machine has
    "this machine has",  # a driver of its own, where the test is of a machine without one
    "no file system of our own can be made here",  # without /dev/fuse, which nothing that is installed brings
    "no cgroup can be made here",  # where the container's are not ours to write
    # programs of clusters that no index here carries built; integrations/kubernetes tells of the run by hand
    "kubelet is not on PATH", "node-problem-detector is not on PATH",
    "gpudoctor itself lies in",  # the folder that a test would fill or lock
)

# A busy machine is no failure; the same examples each time, so that a red run can be repeated.
settings.register_profile("gpudoctor", deadline=None, derandomize=True)
settings.load_profile("gpudoctor")


# Started in the background, a run ignores Ctrl-C, and so would every program that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --update-golden."""
    parser.addoption("--update-golden", action="store_true",
                     help="write tests/golden and what the guide shows again, and run no other tests")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a path that is not there: parallel workers find no tests in it, and do not say why."""
    for named in config.args:
        if not (config.invocation_params.dir / named.partition("::")[0]).exists():
            raise pytest.UsageError(f"file or directory not found: {named}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what writes nothing, where all is to be written."""
    if config.getoption("--update-golden"):
        items[:] = [item for item in items if "updating" in getattr(item, "fixturenames", ())]


@pytest.fixture
def updating(request: pytest.FixtureRequest) -> bool:
    """Return whether what a test holds against a file is written there instead."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture
def golden(updating: bool) -> Callable[[str, str], None]:
    """Return `check(name, text)`: the text equals tests/golden/NAME, which --update-golden writes."""
    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if updating:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path} is missing: run the test with --update-golden, and read what it wrote"
        assert text == path.read_text(encoding="utf-8")

    return check


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many of the faults that were tried (tests/faults) were survived, and what was not installed.
    """
    def number(outcome: str) -> int:
        reports = terminalreporter.stats.get(outcome, [])
        return sum("::test_fault[" in getattr(report, "nodeid", "") for report in reports)

    survived, broken = number("passed"), number("failed") + number("error")
    if survived or broken:
        left_out = f", {number('skipped')} not tried here" if number("skipped") else ""
        terminalreporter.write_line(f"faults: {survived} of {survived + broken} survived{left_out}")
    reports = (report for some in terminalreporter.stats.values() for report in some)
    for line in untried.lines(pair for report in reports for pair in getattr(report, "user_properties", ())):
        terminalreporter.write_line(line)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Generator[None, pluggy.Result[pytest.TestReport], None]:
    """Make a skip a failure in continuous integration, unless its reason is allowed there."""
    report = (yield).get_result()
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if not reason.removeprefix("Skipped: ").startswith(ALLOWED_SKIPS):
            report.outcome, report.longrepr = "failed", f"skipped in continuous integration: {reason}"
