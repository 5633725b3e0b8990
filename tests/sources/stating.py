"""Read texts with the tables of the checkout, and write what they state so that a reviewer can read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from gpudoctor.model import Fact, Facts, Known, Table, Unknown
from gpudoctor.pages import parse_table
from gpudoctor.sources.importers import Stated, read
from gpudoctor.words import show

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = Path(__file__).resolve().parent / "samples"


@cache
def tables() -> Mapping[str, Table]:
    """Return the tables that importers look something up in, out of their source files."""
    paths = [ROOT / "rules" / "tables" / f"{name}.toml"
             for name in ("gpu_products", "architectures", "processors", "jetpack", "container_images",
                          "ngc_images", "ngc_releases")]
    return {path.stem: parse_table(path.read_text(encoding="utf-8"), path.stem, path.name) for path in paths}


def stated(text: str, name: str = "a.txt") -> Stated:
    """Return what a text states."""
    return read(text, name, tables=tables())


def sample(name: str) -> Stated:
    """Return what one of the samples states."""
    return stated((SAMPLES / name).read_text(encoding="utf-8"), name)


def value(facts: Facts, name: str) -> object:
    """Return the value of a fact, None where the text does not say it."""
    fact = facts.get(name)
    return fact.value if isinstance(fact, Known) else None


def of_text(text: str) -> dict[str, object]:
    """Return the values of the text facts, by what follows "text."."""
    return {name.removeprefix("text."): value(stated(text).text, name) for name in stated(text).text}


def written(answer: Stated) -> str:
    """Return everything that was read, one fact a line."""
    return "\n".join(_lines(answer)) + "\n"


def _lines(answer: Stated) -> Iterator[str]:
    yield from _facts("", answer.host)
    yield from _facts("", answer.text)
    for kind, scope in (("card", answer.gpus), ("framework", answer.frameworks)):
        yield f"{kind}s: {'not listed' if scope is None else len(scope)}"
        for number, facts in enumerate(scope or ()):
            yield from _facts(f"{kind} {number} ", facts)
    for other in answer.others:
        yield f"against it: {other.fact} = {show(other.value)}  [{other.rank.name.lower()}] {other.source}"


def _facts(subject: str, facts: Facts) -> Iterator[str]:
    for name in sorted(facts):
        yield f"{subject}{name} = {_shown(facts[name])}"


def _shown(fact: Fact) -> str:
    if isinstance(fact, Unknown):
        return f"unknown: {fact.reason}"
    return f"{show(fact.value) if isinstance(fact, Known) else 'not there'}  < {fact.source}"
