"""The shipped rules, as a command reads them, and what they tell of a text."""

from __future__ import annotations

from functools import cache

from gpudoctor import ruledb, texts
from gpudoctor.explanation import Told, explain
from gpudoctor.model import Finding, Report, RuleDatabase


@cache
def database() -> RuleDatabase:
    """Return the shipped rules, with those that only a text shows."""
    return ruledb.load_shipped("told")


def told(text: str, machine: Report | None = None) -> Told:
    """Return what is told of a text, perhaps beside a machine."""
    return explain(texts.read_text(text, database()), database(), machine)


def findings(text: str) -> tuple[Finding, ...]:
    """Return the findings of a text, the most probable first."""
    return told(text).findings


def causes(text: str) -> list[str]:
    """Return their causes."""
    return [finding.cause for finding in findings(text)]


def first(text: str) -> str | None:
    """Return the cause that is told first, None where none is."""
    return next(iter(causes(text)), None)
