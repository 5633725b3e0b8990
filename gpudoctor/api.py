"""What other programs call: a check of this machine, and the explanation of a text, each as a `Report`.

What the options of the command line may be is what the arguments may be (`plain_words`), from one table.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import BytesIO
from os import PathLike

from gpudoctor import arguments, explanation, texts
from gpudoctor.cli import checking, sources
from gpudoctor.cli.asked import Asked
from gpudoctor.cli.plain_words import CHECK
from gpudoctor.cli.stopwatch import Stopwatch
from gpudoctor.derive import requirements
from gpudoctor.examine import Policy
from gpudoctor.model import Report, Severity
from gpudoctor.sources.scan import Input


def check(python: str | PathLike[str] | None, depth: str, require: Sequence[str], gpu: Sequence[str],
          stages: Sequence[str], fail_on: str, timeout_seconds: float, stage_seconds: float) -> Report:
    """Look at this machine and one Python, this one unless another is named, and judge them."""
    asked = Asked(
        python=sys.executable if python is None else arguments.path("python", python),
        depth=chosen("depth", "--depth", depth), fail_on=chosen("fail_on", "--fail-on", fail_on),
        require=_required(require), gpu=arguments.texts("gpu", gpu, "0"),
        stages=arguments.texts("stages", stages, "matmul"),
        timeout=_number("timeout_seconds", "--timeout", timeout_seconds),
        smoke_timeout=_number("stage_seconds", "--smoke-timeout", stage_seconds))
    for name, listed in (("gpu", asked.gpu), ("stages", asked.stages)):
        if listed and asked.depth != "smoke":
            raise arguments.refused(name, list(listed), f"is for depth=\"smoke\"; at depth {asked.depth} no "
                                                        "framework is run")
    return checking.look_here(asked, Stopwatch())[1]


def chosen(name: str, option: str, value: object) -> str:
    """Return the value of an argument that an option of `check` can have; ArgumentError for another."""
    return arguments.choice(name, value, CHECK.choices[option][1])


def _required(value: object) -> tuple[str, ...]:
    """Return the requirements; ArgumentError for those that cannot be read or met, by the argument's name."""
    texts = arguments.texts("require", value, "gpu>=1")
    try:
        requirements.parse_all(texts)
    except requirements.RequirementError as error:
        raise arguments.ArgumentError(f"require={list(error.texts)!r}{error.why}") from None
    return texts


def _number(name: str, option: str, value: object) -> float:
    return arguments.number(name, value, *CHECK.numbers[option][1:])


def explain(text: str | bytes, fail_on: str) -> Report:
    """Name the causes of what stands in a text; ValueError if none stands there."""
    if not isinstance(text, str | bytes):
        raise arguments.refused("text", text, "the text itself, or its bytes: path.read_bytes() of a file")
    policy = Policy(fail_on=Severity(chosen("fail_on", "--fail-on", fail_on)))
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    database = sources.database(None, "told")
    reading = texts.read([Input(name="the text", stream=BytesIO(data))], database)
    if not reading.has_text:
        raise ValueError("; ".join(reading.notes))
    return explanation.report(explanation.explain(reading, database), database, policy)
