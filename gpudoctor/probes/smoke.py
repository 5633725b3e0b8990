"""Read how the checked kernel went on each CUDA device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.facts import promised
from gpudoctor.model import Fact, Facts, Known, Scope, Unknown
from gpudoctor.probes import calls, cuda
from gpudoctor.probes.calls import Cards, Library
from gpudoctor.probes.raw import Answer

KERNEL, ANSWER = "gpu.driver_kernel", "gpu.driver_kernel_answer"
OUTCOMES = ("wrong-result", "failed", "no-proof", "skipped", "passed")  # worst first


def read(answer: Answer) -> dict[str, Fact]:
    """Return the host facts that this probe promises."""
    return dict.fromkeys(promised("smoke", Scope.HOST), calls.refused(answer))


def read_gpus(answer: Answer) -> Cards:
    """Return each device's identity and how the kernel went on it."""
    data = calls.data_of(answer)
    if data is None:
        return calls.refused(answer)
    return cuda.cards(data, _device)


def _device(library: Library, entry: Mapping[str, Any]) -> Facts:
    return cuda.identity(library, entry) | _kernel(library, calls.mapping(entry.get("trial")))


def _kernel(library: Library, trial: Mapping[str, Any]) -> dict[str, Fact]:
    outcome = calls.text(trial.get("outcome"))
    if outcome not in OUTCOMES:
        return dict.fromkeys((KERNEL, ANSWER), Unknown(reason=library.silence("the checked kernel")))
    source = f"the checked kernel: {_detail(outcome, trial)}"
    return {KERNEL: Known(value=outcome, source=source), ANSWER: Known(value=_code(trial), source=source)}


def _code(trial: Mapping[str, Any]) -> str:
    """Return the code of the call that the trial ended with, "none" where that gave no code."""
    if not calls.text(trial.get("call")):
        return "0"
    code = calls.integer(calls.mapping(trial.get("answer")).get("code"))
    return "none" if code is None else str(code)


def _detail(outcome: str, trial: Mapping[str, Any]) -> str:
    reason, call = calls.text(trial.get("reason")), calls.text(trial.get("call"))
    if outcome == "wrong-result":
        wrong, values = calls.count(trial.get("wrong_values")), calls.count(trial.get("values"))
        return f"{wrong} of {values} values are wrong, by at most {trial.get('largest_error')}"
    if outcome == "passed":
        return f"{calls.count(trial.get('values'))} values are right and lie in the card's memory"
    said = calls.failure(call, trial.get("answer")) if call else ""
    return ": ".join(part for part in (reason, said) if part) or outcome
