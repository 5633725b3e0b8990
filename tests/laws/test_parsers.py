"""Parsers of strangers' words never raise but in their own words, and readers never at all."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.assume import ALIASES, AssumptionError, parse_assumption
from gpudoctor.codec import CodecError, parse_json
from gpudoctor.derive.requirements import RequirementError, parse
from gpudoctor.facts import CATALOGUE, promised
from gpudoctor.model import Scope, Unknown
from gpudoctor.pages import PageError, parse_page, parse_table
from gpudoctor.probes import document, snapshot
from gpudoctor.probes.raw import Answer
from gpudoctor.render.plain import printable
from gpudoctor.versions import Incomparable, below, equal, within
from tests.laws.made_up import any_json, refusal, versions, words

COLLECTORS = snapshot.COLLECTORS


@given(st.dictionaries(st.sampled_from(COLLECTORS), any_json()), st.sampled_from(["ok", "timeout", "signal"]))
def test_any_answer_of_any_collector_is_read(answers: dict[str, Any], outcome: str) -> None:
    """Every promised fact is in the snapshot, whatever the payloads said; and the snapshot can be written."""
    raw = {name: Answer(outcome=outcome, seconds=0.1, data=data) for name, data in answers.items()}
    read = snapshot.read(raw)
    for probe in ("system", "driver", "nvml", "cuda", "loader", "environment", "python"):
        assert set(promised(probe, Scope.HOST)) <= set(read.host)
    for fact in read.host.values():
        if isinstance(fact, Unknown):
            assert fact.reason


def nested(path: list[str], leaf: Any) -> Any:
    """Return objects within objects, with a leaf inside."""
    for key in reversed(path):
        leaf = {key: leaf}
    return leaf


PLACES = """
calls load path error cards devices code value index python installed distributions frameworks files
collisions gone shadowing version folders cache entries text names missing node variables library_path
cgroup_self modules pci name build values loader rpath runpath nvmlInit cuInit cuDeviceGetCount
nvmlDeviceGetCount
""".split()
KEYS = st.lists(st.sampled_from(PLACES), min_size=1, max_size=4)


@given(st.sampled_from(COLLECTORS), KEYS, any_json())
def test_wrong_types_deep_in_an_answer(collector: str, path: list[str], leaf: Any) -> None:
    """A wrong type in a place that readers look at is a fact that is not known."""
    read = snapshot.read({collector: Answer(outcome="ok", seconds=0.1, data=nested(path, leaf))})
    assert read.probes


@given(any_json())
def test_raw_documents(raw: Any) -> None:
    """JSON of any shape is a raw document or refused as one."""
    whole = {"schema": "gpudoctor.raw/1", "probes": raw}
    assert "\n" not in refusal(partial(document.decode, whole, "a file"), CodecError)


@given(
    st.one_of(
        st.text(),
        st.sampled_from(["gpu>=2", "gpu.memory>=", "tensorflow>="]).flatmap(
            lambda start: st.text(max_size=8).map(lambda end: start + end)
        ),
    )
)
def test_requirements(text: str) -> None:
    """A requirement is understood or wrong usage."""
    said = refusal(partial(parse, text), RequirementError)
    assert not said or said.startswith("--require")


@given(st.sampled_from([*CATALOGUE, *ALIASES, "nonsense"]), st.one_of(words, versions))
def test_assumptions(name: str, value: str) -> None:
    """An assumption is typed as the catalogue says or wrong usage."""
    said = refusal(partial(parse_assumption, f"{name}={value}"), AssumptionError)
    assert name in said if said else parse_assumption(f"{name}={value}")[0] == name


@given(st.text())
def test_pages_and_tables(text: str) -> None:
    """A page that is none is said to be none."""
    assert "a.md" in refusal(partial(parse_page, text, "a.md"), PageError)
    assert "a.md" in refusal(partial(parse_page, f"```toml\n{text}\n```\n# T\n", "a.md"), PageError)
    assert "a.toml" in refusal(partial(parse_table, text, "a", "a.toml"), PageError)


@given(st.text())
def test_json(text: str) -> None:
    """Text is JSON or refused with its line."""
    said = refusal(partial(parse_json, text, "a file"), CodecError)
    assert not said or "a file" in said


@given(st.sampled_from([spec.type for spec in CATALOGUE.values()]), versions, versions)
def test_comparisons(kind: Any, left: str, right: str) -> None:
    """Two texts are ordered or incomparable; what is below is not equal."""
    try:
        assert not (below(kind, left, right) and equal(kind, left, right))
        within(left, f">={right}")
    except Incomparable:
        pass


@given(st.text(), st.integers(1, 500))
def test_printable_text_is_printable_and_short(text: str, limit: int) -> None:
    """No control character is left; text that is plain already stays as it is."""
    shown = printable(text, limit)
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in shown)
    assert len(shown) <= 10 * limit + 30
    assert printable(shown, len(shown)) == shown
