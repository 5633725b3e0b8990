"""`python -m tests.faults`: try every fault, print the count, and write it into docs/reliability.md."""

from __future__ import annotations

import sys

import pytest

from tests.faults.fault import Fault
from tests.faults.scene import Stage
from tests.faults.table import BROKEN, MODULES, PAGE, SKIPPED, SURVIVED, counted, rendered, written


def outcome_of(fault: Fault, stage: Stage) -> str:
    """Try one fault; what is broken is said at once."""
    try:
        fault.survive(stage)
    except pytest.skip.Exception as skipped:
        print(f"not tried: {fault.group}: {fault.name}: {skipped}", file=sys.stderr)
        return SKIPPED
    except Exception as error:  # noqa: BLE001 - whatever a fault leads to is its outcome
        what = f"{type(error).__name__}: {str(error)[:300]}"
        print(f"broken: {fault.group}: {fault.name}: {what}", file=sys.stderr)
        return BROKEN
    return SURVIVED


def main() -> int:
    """Try all, in the order of the table; return the exit status."""
    outcomes = []
    for module in MODULES:
        stage, faults = Stage(), list(module.faults())
        for fault in faults:
            stage.announce(fault.scenes)
        outcomes += [(fault, outcome_of(fault, stage)) for fault in faults]
        stage.close()
    part = rendered(counted(outcomes))
    PAGE.write_text(written(PAGE.read_text("utf-8"), part), encoding="utf-8")
    print(part.partition("###")[0])
    return 1 if any(outcome == BROKEN for _, outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
