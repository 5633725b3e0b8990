"""Run the file-reading collectors for real, and spoil their answers one place at a time."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from hypothesis import strategies as st

import gpudoctor
from gpudoctor import child
from gpudoctor.facts import CATALOGUE, LISTS, FactType, promised
from gpudoctor.model import Absent, Fact, Known, Scope, Unknown
from gpudoctor.probes.raw import Answer
from tests.harness.interpreters import need_python

PAYLOADS = Path(gpudoctor.__file__).parent / "payloads" / "__main__.py"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("\udcff"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
OUTCOMES = st.sampled_from(["ok", "timeout", "garbled", "not-asked"])
_TEXTUAL = {kind for kind in FactType if kind not in LISTS and kind not in (
    FactType.FLAG, FactType.INTEGER, FactType.NUMBER, FactType.RECORDS)}


def ask(
    collector: str, *, interpreter: str = sys.executable, request: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Answer:
    """Run a collector in a child, as `gpudoctor check` does."""
    argv = [interpreter, str(PAYLOADS), collector, child.ANSWER, json.dumps(request or {})]
    run = child.run(argv, timeout_seconds=30.0, environment={**os.environ, **(environment or {})})
    return Answer(outcome=run.outcome.value, seconds=run.seconds, detail=run.detail, data=run.answer)


def interpreter(version: str) -> str:
    """Return the path of an interpreter of that version, or skip."""
    return str(need_python(version))


def good(data: Any) -> Answer:
    """Return an answer that came back in order."""
    return Answer(outcome="ok", seconds=0.1, data=data)


def value(fact: Fact) -> object:
    """Return a known value; fail with the fact when it is not known."""
    assert isinstance(fact, Known), fact
    return fact.value


def spoiled(sample: Any) -> st.SearchStrategy[Any]:
    """Return copies of a good answer in which one place, anywhere, holds some other JSON."""
    return st.tuples(st.sampled_from(list(_places(sample))), JSON).map(lambda pair: _put(sample, *pair))


def _places(sample: Any, here: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield here
    if isinstance(sample, dict | list):
        for key, part in sample.items() if isinstance(sample, dict) else enumerate(sample):
            yield from _places(part, (*here, key))


def _put(sample: Any, place: tuple[str | int, ...], new: Any) -> Any:
    if not place:
        return new
    copy: Any = dict(sample) if isinstance(sample, dict) else list(sample)
    copy[place[0]] = _put(sample[place[0]], place[1:], new)
    return copy


def assert_total(probe: ModuleType, name: str, answer: Answer) -> None:
    """Every promised name has a fact whose value is of the catalogued type and can be written as UTF-8."""
    facts = probe.read(answer)
    assert set(facts) == set(promised(name, Scope.HOST))
    for key, fact in facts.items():
        assert isinstance(fact, Known | Absent | Unknown)
        if answer.outcome != "ok":
            assert fact == answer.unknown
        if isinstance(fact, Known):
            assert _fits(CATALOGUE[key].type, fact.value), (key, fact)
        str(fact).encode("utf-8")


def _fits(kind: FactType, value: object) -> bool:
    if kind in LISTS:
        return isinstance(value, tuple) and all(isinstance(item, str) for item in value)
    if kind is FactType.RECORDS:
        return isinstance(value, tuple) and all(isinstance(item, Mapping) for item in value)
    if kind in _TEXTUAL:
        return isinstance(value, str)
    if kind is FactType.FLAG:
        return isinstance(value, bool)
    return isinstance(value, int | float) and not isinstance(value, bool)
