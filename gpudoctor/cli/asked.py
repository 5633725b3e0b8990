"""What was asked of a check, as it was written; it is read by what judges, which is imported later."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of `gpudoctor check` that do not say where to look."""

    fail_on: str
    allow_undecided: bool
    require: tuple[str, ...]
    assume: tuple[str, ...]
    rules: str | None
    gpu: tuple[str, ...]
    stages: tuple[str, ...]
    smoke_timeout: float
