"""Whatever lines come together: a report that renders, no broken command, and repetition changes nothing."""

from __future__ import annotations

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor import ruledb, texts
from gpudoctor.examine import Policy, every_finding
from gpudoctor.explanation import explain, report
from gpudoctor.model import RuleDatabase
from gpudoctor.render import json, text
from gpudoctor.words import placeholders

STATED = (
    "framework: tensorflow 2.10", "framework: pytorch 2.1.0+cu118", "framework: jax", "cuda: 11.2",
    "cuda: none", "cudnn: 8", "driver: 470.57.02", "driver: unknown", "python: 3.11", "gpu: RTX 3090",
    "gpu: none", "gpu: AMD RX 580", "gpu: 2x Tesla K80", "os: Windows 10", "os: Ubuntu 22.04",
    "platform: docker", "platform: wsl2", "platform: jetson", "tensorflow==2.12.0",
    "nvidia-cudnn-cu12==8.9.2.26", "tensorflow-gpu==2.0",
)


@cache
def database() -> RuleDatabase:
    """Return the shipped rules with all that symptoms prove."""
    return ruledb.load_shipped("whole")


@cache
def lines() -> tuple[str, ...]:
    """Return every example of every symptom."""
    return tuple(example.line for symptom in database().symptoms for example in symptom.examples)


# int() takes the second, a version neither, and str.isdigit() all three
OTHER_DIGITS = [{}, *(dict(zip(range(ord("0"), ord("9") + 1), digits, strict=True)) for digits in (
    "\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669",
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"))]
some_lines = st.lists(st.builds(str.translate, st.one_of(
    st.integers(0, len(lines()) - 1).map(lambda number: lines()[number]), st.sampled_from(STATED), st.text()),
    st.sampled_from(OTHER_DIGITS)), max_size=12)


@settings(max_examples=60)
@given(some_lines, st.sampled_from([20, 80, 200]))
def test_any_lines_give_a_report(said: list[str], width: int) -> None:
    """Every candidate has its lines or facts, and what decides; commands have no holes."""
    found = report(explain(texts.read_text("\n".join(said), database()), database()), database(), Policy())
    assert text.render(found, width=width, colour=False)
    assert json.render(found)
    assert bool(found.findings) or bool(found.undecided)
    for finding in found.findings:
        assert finding.evidence
        assert finding.certainty.value == "certain" or finding.asks
    commands = [part for finding in every_finding(found.findings) for fix in finding.fixes
                for part in (*fix.commands, *fix.env.values(), fix.image or "", fix.title)]
    assert [part for part in commands if placeholders(part)] == []


@settings(max_examples=30)
@given(some_lines)
def test_what_is_said_twice_is_said_once(said: list[str]) -> None:
    """The causes, their order and their certainty stay."""
    once, twice = (explain(texts.read_text("\n".join(text), database()), database()).findings
                   for text in (said, said * 2))
    assert [(f.cause, f.certainty) for f in once] == [(f.cause, f.certainty) for f in twice]
