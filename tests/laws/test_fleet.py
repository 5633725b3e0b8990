"""Sums over machines: in any order, in any parts; and whatever machines are called, each format shows it."""

from __future__ import annotations

import csv
import io
from typing import Any
from unicodedata import category

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gpudoctor.fleet.document import Judging, encode
from gpudoctor.fleet.machine import Cause, Machine
from gpudoctor.fleet.summary import FOREIGN, Summary
from gpudoctor.model import Severity, Verdict
from gpudoctor.render import fleet_formats as formats
from tests.laws.test_formats import HOSTILE, Page, flat

JUDGING = Judging(fail_on=Severity.ERROR, allow_undecided=False)
_OBEYED = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
said = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=12))
values = st.lists(st.one_of(st.sampled_from("abc"), said), min_size=1, max_size=3).map(tuple)
causes = st.lists(st.builds(Cause, st.integers(0, 3), st.sampled_from(["GPD1", "GPD2"]),
                            st.sampled_from(["driver-too-old", "no-card"]), st.booleans()),
                  max_size=3, unique=True)


@st.composite
def racks(draw: st.DrawFn) -> list[Machine]:
    """Draw machines, each with a name of its own."""
    names = draw(st.lists(said, max_size=12, unique=True))
    return [Machine(
        name=name, verdict=draw(st.sampled_from(Verdict)), exit_code=draw(st.sampled_from([0, 1, 3])),
        causes=tuple(sorted(draw(causes))), open=tuple(sorted(draw(causes))),
        edition=draw(st.sampled_from("xy")), peers=draw(st.sampled_from(["A", "B", *HOSTILE[:9]])),
        cards=draw(st.one_of(st.just("A"), said)), facts=draw(st.dictionaries(
            st.one_of(st.sampled_from(["driver", "flags"]), said), values, max_size=4)),
        is_judged=draw(st.booleans()), is_assumed=draw(st.booleans())) for name in names]


def summed(machines: list[Machine], refused: int = 0) -> Summary:
    """Return the sums over machines, and over files that could not be read."""
    summary = Summary()
    for machine in machines:
        summary.add(machine)
    for number in range(refused):
        summary.refuse(f"file{number}", "broken")
        summary.skip(f"other{number}", FOREIGN)
    return summary


def shown(summary: Summary) -> dict[str, Any]:
    """Return all that is said of the sums."""
    return encode(summary, JUDGING)


@given(racks(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_order_does_not_matter(rack: list[Machine], chance: Any) -> None:
    """The same machines in another order come to the same."""
    other = [*rack]
    chance.shuffle(other)
    assert shown(summed(rack)) == shown(summed(other))


@given(racks(), st.integers(0, 12), st.integers(0, 40))
@settings(max_examples=60, deadline=None)
def test_parts_add_up(rack: list[Machine], cut: int, refused: int) -> None:
    """Two halves of a folder, each added up by itself and then both, are the folder."""
    both = summed(rack[:cut], refused)
    both.merge(summed(rack[cut:]))
    assert shown(both) == shown(summed(rack, refused))


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=90, max_size=150),
       st.integers(0, 150))
@settings(max_examples=25, deadline=None)
def test_parts_add_up_beyond_every_bound(drawn: list[tuple[int, int]], cut: int) -> None:
    """Also where there are more values and more kinds of cards than are told apart; no machine is lost."""
    rack = [Machine(name=f"n{number}", verdict=Verdict.HEALTHY, exit_code=0, causes=(), open=(), edition="x",
                    peers=f"card {card}", cards="", facts={"serial": (str(value),), f"f{value}": ("x",)})
            for number, (card, value) in enumerate(drawn)]
    both = summed(rack[cut:])
    both.merge(summed(rack[:cut]))
    assert shown(both) == shown(summed(rack)) == shown(summed(rack[::-1]))
    assert both.peers_beyond + sum(peers.all.number for peers in both.peers.values()) == len(rack)
    assert len(both.peers) <= 32


@given(racks())
@settings(max_examples=60, deadline=None)
def test_every_machine_is_counted_once(rack: list[Machine]) -> None:
    """Verdicts, editions and peers each add up to the machines; a cause never has more than there are."""
    found = shown(summed(rack))
    assert (sum(found["verdicts"].values()), sum(one["machines"] for one in found["editions"]),
            sum(one["machines"] for one in found["peers"])) == (len(rack), len(rack), len(rack))
    for one in found["causes"]:
        assert one["machines"] == sum(any(
            (cause.cause, cause.rule, cause.severity.value, cause.is_likely)
            == (one["cause"], one["rule"], one["severity"], one["likely"])
            for cause in machine.causes) for machine in rack)


@given(racks(), st.sampled_from(["", "x"]))
@settings(max_examples=60, deadline=None)
def test_nothing_of_a_machine_is_obeyed(rack: list[Machine], folder: str) -> None:
    """No escape in the text, no link or HTML in the Markdown, no foreign element in the page, no formula."""
    summary = summed(rack, refused=2)
    text = formats.text(summary, JUDGING, folder, width=80, colour=False)
    assert {character for character in text if category(character) in _OBEYED} <= {"\n"}
    said = formats.markdown(summary, JUDGING, folder)
    tokens = [*flat(MarkdownIt("commonmark").enable("table").parse(said))]
    assert {token.type for token in tokens} & {"link_open", "image"} == set()
    assert {token.content for token in tokens if token.type.startswith("html")} <= {"<!-- -->"}
    assert {token.tag for token in tokens if token.type == "heading_open"} <= {"h2", "h3"}
    page = Page()
    page.feed(formats.page(summary, JUDGING, folder))
    assert page.tags <= {"html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "h3", "main",
                         "table", "tr", "th", "td", "article", "span", "p", "pre", "footer"}
    assert page.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class"}
    rows = [*csv.reader(io.StringIO(formats.table(summary, JUDGING, folder)))]
    assert {len(row) for row in rows} == {6}
    assert [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))] == []


def test_the_text_says_the_same_at_every_width() -> None:
    """A narrow terminal gets the same words on more lines."""
    rack = [Machine(name=f"n{number}", verdict=Verdict.HEALTHY, exit_code=0, causes=(), open=(), edition="x",
                    peers="A", cards="A", facts={"driver": ("580" if number else "535",)})
            for number in range(5)]
    narrow, wide = ("".join(formats.text(summed(rack), JUDGING, "", width=width, colour=False).split())
                    for width in (40, 200))
    assert narrow == wide
