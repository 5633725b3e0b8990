"""What other programs call: a check of this machine, and the explanation of a text, each as a `Report`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import BytesIO

from gpudoctor import explanation, texts
from gpudoctor.cli import checking, sources
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.stopwatch import Stopwatch
from gpudoctor.examine import Policy
from gpudoctor.model import Report, Severity
from gpudoctor.sources.scan import Input


def check(python: str | None, depth: str, require: Sequence[str], gpu: Sequence[str], stages: Sequence[str],
          fail_on: str, timeout_seconds: float, stage_seconds: float) -> Report:
    """Look at this machine and one Python, this one unless another is named, and judge them."""
    asked = Asked(python=python or sys.executable, depth=depth, require=tuple(require), gpu=tuple(gpu),
                  stages=tuple(stages), fail_on=fail_on, timeout=timeout_seconds, smoke_timeout=stage_seconds)
    return checking.look_here(asked, Stopwatch())[1]


def explain(text: str | bytes, fail_on: str) -> Report:
    """Name the causes of what stands in a text; ValueError if none stands there."""
    policy = Policy(fail_on=Severity(fail_on))
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    database = sources.database(None, "told")
    reading = texts.read([Input(name="the text", stream=BytesIO(data))], database)
    if not reading.has_text:
        raise ValueError("; ".join(reading.notes))
    return explanation.report(explanation.explain(reading, database), database, policy)
