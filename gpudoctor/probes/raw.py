"""The raw document: what the payloads answered, before anybody read meaning into it.

It is what `--record` saves and what a replay starts from. Payload answers are plain JSON, so `Any` is at home
here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.frozen import frozen
from gpudoctor.model import Absent, Fact, Known, Unknown, Value

_LINE_CHARACTERS = 300
RAW_SCHEMA = "gpudoctor.raw/1"


@frozen
class Answer:
    """One collector's end: `outcome` ("ok", "timeout", ...) and, when ok, its `data`."""

    outcome: str
    seconds: float
    detail: str = ""
    data: Any = None

    @property
    def unknown(self) -> Unknown:
        """Return why nothing is known when the collector did not answer."""
        if self.outcome == "not-asked":
            return Unknown(reason=self.detail or "not asked at this depth", asked=False)
        detail = f": {self.detail}" if self.detail else ""
        return Unknown(reason=f"the probe ended with {self.outcome}{detail}")


def ended(outcome: str, seconds: float, detail: str = "", data: Any = None) -> Answer:
    """Return a collector's end as an answer; a call that never returned makes it a timeout."""
    stuck = data.get("stuck_in") if isinstance(data, dict) else None
    if stuck is not None:
        outcome, detail = "timeout", f"{stuck} did not return"
    error = data.get("error") if isinstance(data, dict) else None
    if not detail and isinstance(error, str):  # it answered, and says what it could not do
        detail = "".join(c if c.isprintable() else " " for c in error[:_LINE_CHARACTERS]).strip()
    return Answer(outcome=outcome, seconds=seconds, detail=detail, data=data)


RawDocument = Mapping[str, Answer]
NOT_COLLECTED = Answer(outcome="not-started", seconds=0.0, detail="nothing was collected")


def known(value: Value | None, source: str) -> Fact:
    """Return `Known`, or `Absent` for None."""
    return Absent(source=source) if value is None else Known(value=value, source=source)


def text_of(answer: Any, path: str) -> Fact:
    """Turn a `files.read_text` answer into a text fact, white space stripped."""
    if not isinstance(answer, Mapping):
        return Unknown(reason=f"{path} was not collected")
    if "text" in answer:
        return Known(value=str(answer["text"]).strip(), source=path)
    if answer.get("missing"):
        return Absent(source=path)
    return Unknown(reason=f"{path}: {answer.get('error', 'no answer')}")
