"""Run the collectors that only read files one after the other in one child.

Starting an interpreter takes longer than most of them do. Each answer is a line of the journal, which counts
as soon as it stands there: when a collector crashes or hangs, it and those after it are started again, each
in a child of its own. They are imported up here, where the standard library still stands first on `sys.path`.
"""

import json
import os
import time

from . import container, driver, environment, loader, system, toolkit

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict

COLLECTORS = {
    "system": system.collect,
    "driver": driver.collect,
    "container": container.collect,
    "toolkit": toolkit.collect,
    "loader": loader.collect,
    "environment": environment.collect,
}


def journal(request: "Dict[str, Any]", descriptor: int) -> None:
    """Write {"collector", "seconds", "answer"} for each of `request["requests"]`, in their order."""
    with os.fdopen(descriptor, "wb", closefd=False) as out:
        for name, asked in request["requests"].items():
            begun = time.monotonic()
            answer = COLLECTORS[name](asked)
            line = {"collector": name, "seconds": round(time.monotonic() - begun, 4), "answer": answer}
            out.write(json.dumps(line, default=str).encode("ascii") + b"\n")
            out.flush()
