"""What all tests share: golden files, and the same hypothesis settings everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

GOLDEN = Path(__file__).parent / "golden"

# A busy machine is no failure; the same examples each time, so that a red run can be repeated.
settings.register_profile("gpudoctor", deadline=None, derandomize=True)
settings.load_profile("gpudoctor")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --update-golden."""
    parser.addoption("--update-golden", action="store_true", help="write tests/golden again")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return `check(name, text)`: the text equals tests/golden/NAME, which --update-golden writes."""
    update = bool(request.config.getoption("--update-golden"))

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path} is missing: run the test with --update-golden, and read what it wrote"
        assert text == path.read_text(encoding="utf-8")

    return check


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many of the faults that were tried (tests/faults) were survived."""
    def number(outcome: str) -> int:
        reports = terminalreporter.stats.get(outcome, [])
        return sum("::test_fault[" in getattr(report, "nodeid", "") for report in reports)

    survived, broken = number("passed"), number("failed") + number("error")
    if survived or broken:
        left_out = f", {number('skipped')} not tried here" if number("skipped") else ""
        terminalreporter.write_line(f"faults: {survived} of {survived + broken} survived{left_out}")
