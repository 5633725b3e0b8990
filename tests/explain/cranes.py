"""The rules of a crane: a small world in which every candidate can be counted by hand."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gpudoctor import ruledb, texts
from gpudoctor.explanation import Told, explain
from gpudoctor.model import RuleDatabase

CRANE_RULES = Path(__file__).parent / "rules"
HOOK = "crane: cannot load libhook.so.7: not found"
CUDNN = "crane: cannot load libcudnn.so.8: not found"
STILL = "crane: skipping the lift"
TORN = "crane: the rope is torn at 12 m"
SQUEAK = "crane: squeak, which is harmless"
MYSTERY = "crane: error of an unclear kind"


@cache
def database() -> RuleDatabase:
    """Return the crane's pages and symptoms, with the tables of the shipped rules."""
    crane = ruledb.load_pages(CRANE_RULES)
    return RuleDatabase(version=crane.version, sha256=crane.sha256, rules=crane.rules, base=crane.base,
                        tables=ruledb.load_shipped().tables, symptoms=crane.symptoms)


def told(*lines: str) -> Told:
    """Return what is told of a text."""
    return explain(texts.read_text("\n".join(lines) + "\n", database()), database())


def causes(*lines: str) -> list[str]:
    """Return the causes that are told of a text, in order."""
    return [finding.cause for finding in told(*lines).findings]
