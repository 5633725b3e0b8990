"""Strategies: facts of every catalogued type, whole snapshots, and JSON of any shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from gpudoctor.facts import CATALOGUE, LISTS, FactSpec, FactType
from gpudoctor.model import Absent, Fact, Facts, Known, ProbeRun, Scope, Snapshot, Unknown, Value

words = st.text(max_size=12)
versions = st.one_of(
    st.lists(st.integers(0, 700), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts))),
    st.sampled_from(["12.8", "570.86.15", "9.0", "3.12", "", "no version", "1.0rc1", "1.0+cpu"]),
)
scalars = st.one_of(
    words, st.booleans(), st.integers(-(2**53), 2**53), st.lists(words, max_size=3).map(tuple)
)
json_documents = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(words, inner, max_size=4)),
    max_leaves=25,
)


def refusal(function: Callable[[], object], kind: type[Exception]) -> str:
    """Return what a function says when it refuses in its own words, "" when it does not refuse."""
    try:
        function()
    except kind as error:
        return str(error)
    return ""


def values(spec: FactSpec) -> st.SearchStrategy[Value]:
    """Return values of a fact's type."""
    if spec.type is FactType.RECORDS:
        return st.lists(st.dictionaries(words, scalars, max_size=3), max_size=3).map(tuple)
    if spec.type in LISTS:
        return st.lists(versions, max_size=3).map(tuple)
    if spec.type is FactType.FLAG:
        return st.booleans()
    if spec.type in (FactType.INTEGER, FactType.NUMBER):
        return st.integers(-5, 2**40)
    return st.one_of(versions, words)


def known(spec: FactSpec) -> st.SearchStrategy[Fact]:
    """Return facts that are known or known to be absent."""
    return st.one_of(
        st.builds(lambda value: Known(value=value, source="made up"), values(spec)),
        st.just(Absent(source="made up")),
    )


def facts_of(spec: FactSpec) -> st.SearchStrategy[Fact]:
    """Return facts of every kind."""
    unknown = st.builds(lambda asked: Unknown(reason="made up", asked=asked), st.booleans())
    return st.one_of(known(spec), unknown)


def probed(scope: Scope) -> list[FactSpec]:
    """Return the catalogue's probed facts of a scope, but what the command line alone writes (--require)."""
    return [
        spec
        for spec in CATALOGUE.values()
        if spec.scope is scope and not spec.derived and not spec.name.startswith("require.")
    ]


def holders(scope: Scope) -> st.SearchStrategy[Facts]:
    """Return the facts of one subject: a few of those that its scope has."""
    specs = probed(scope)
    return st.lists(st.sampled_from(specs), max_size=8, unique_by=lambda spec: spec.name).flatmap(
        lambda chosen: st.fixed_dictionaries({spec.name: facts_of(spec) for spec in chosen})
    )


def scopes(scope: Scope) -> st.SearchStrategy[tuple[Facts, ...] | Unknown]:
    """Return lists of subjects, or that they could not be listed."""
    return st.one_of(st.lists(holders(scope), max_size=2).map(tuple), st.just(Unknown(reason="made up")))


def snapshots() -> st.SearchStrategy[Snapshot]:
    """Return whole snapshots."""
    runs = st.lists(
        st.builds(ProbeRun, probe=words, outcome=words, seconds=st.just(0.5), detail=words), max_size=2
    )
    return st.builds(
        Snapshot,
        host=holders(Scope.HOST),
        gpus=scopes(Scope.GPU),
        frameworks=scopes(Scope.FRAMEWORK),
        probes=runs.map(tuple),
    )


def any_json() -> st.SearchStrategy[Any]:
    """Return JSON of any shape."""
    return json_documents
