"""The report for people: at any width, without colour, and with commands that can be copied."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from gpudoctor import planning, ruledb
from gpudoctor.assume import assumed, lay
from gpudoctor.cli import again
from gpudoctor.cli.asked import Asked
from gpudoctor.examine import Policy, examine
from gpudoctor.model import Known, Record, Report
from gpudoctor.render import json as json_renderer
from gpudoctor.render import plan as plan_text
from gpudoctor.render import text
from gpudoctor.render.plain import printable

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@cache
def report(driver: str = "450.80.02") -> Report:
    """Return the report on a card with a driver that is too old for the installed torch."""
    database = ruledb.load()
    facts = assumed([("cc", "9.0"), ("driver", driver), ("release", "torch==2.15.0")])
    return examine(lay(database.base, facts, database.tables, source="a test"), database, Policy())


def test_a_healthy_machine_without_a_framework_is_shown_the_next_step() -> None:
    """Regression: neither `check` nor `fix` said how to go on from "Nothing to fix."."""
    database = ruledb.load()
    for cards, shown in (("9.0", True), ("none", False)):
        machine = lay(database.base, assumed([("cc", cards)]), database.tables, source="a test")
        found = examine(machine, database, Policy())
        plan = planning.make(found, machine, database)
        command = again.recommending(Asked(
            given=frozenset({"--from", "--depth"}), recorded="a b.json", require=("gpu>=1",)))
        pages = (text.render(found, width=80, colour=False, recommending=command),
                 plan_text.render(plan, width=80, colour=False, again="gpudoctor fix", recommending=command))
        assert [("gpudoctor recommend --from 'a b.json'    #" in page) for page in pages] == [shown, shown]


def test_what_no_recommendation_can_be_asked_for_is_sent_to_none() -> None:
    """`recommend` has no option for a process or an image."""
    assert again.recommending(Asked(given=frozenset({"--pid"}), pid=7)) == ""


def test_there_is_something_to_print() -> None:
    """The report that these tests print has a finding, and the finding a command."""
    found = report()
    assert [finding.cause for finding in found.findings][:1] == ["driver-too-old"]
    assert found.findings[0].fixes[0].commands


@pytest.mark.parametrize("width", [40, 80, 200])
def test_prose_keeps_to_the_width(width: int) -> None:
    """Only commands, and words that are longer than a line, go beyond the edge."""
    commands = {
        printable(command, 4000)
        for finding in report().findings
        for fix in finding.fixes
        for command in (*fix.commands, *(fix.image or "",))
    }
    for line in text.render(report(), width=width, colour=False).splitlines():
        is_title = line.startswith(("ERROR", "WARNING", "INFO"))
        assert len(line) <= width or line.strip() in commands or is_title or " " not in line.strip(), line


@pytest.mark.parametrize("width", [40, 80, 200])
def test_commands_are_never_broken(width: int) -> None:
    """Each command stands whole on one line."""
    lines = [line.strip() for line in text.render(report(), width=width, colour=False).splitlines()]
    for finding in report().findings:
        for fix in finding.fixes:
            assert [command for command in fix.commands if printable(command, 4000) not in lines] == []


def test_colour_only_repeats_what_the_words_say() -> None:
    """Without its escape sequences the coloured report is the plain one."""
    coloured = text.render(report(), width=80, colour=True)
    assert ESCAPE.search(coloured)
    plain = [line.rstrip() for line in ESCAPE.sub("", coloured).splitlines()]
    assert plain == text.render(report(), width=80, colour=False).splitlines()


def test_plain_report_has_no_escape_sequence() -> None:
    """Neither a pipe nor a dumb terminal gets one, with all details on."""
    assert "\x1b" not in text.render(report(), width=80, colour=False, verbose=True)


def test_what_was_seen_stands_before_what_to_do() -> None:
    """Areas, then the cause, its evidence and its fix, then the verdict."""
    said = text.render(report(), width=80, colour=False)
    order = [
        said.index(word)
        for word in ("  driver  ", "ERROR  driver-too-old", "    seen ", "    fix ", "Not healthy")
    ]
    assert order == sorted(order)
    assert f"gpudoctor rules show {report().findings[0].rule}" in said


def test_json_is_ascii_and_ends_its_line() -> None:
    """Whatever the encoding of the terminal, the document is the same."""
    document = json_renderer.render(report())
    assert document.isascii()
    assert document.endswith("}\n")


def test_a_result_without_proof_of_a_gpu_is_not_called_more() -> None:
    """A right result that the driver cannot place on the card is said to be that, beside the verdict."""
    database = ruledb.load_shipped()
    ran = {"gpu.driver_kernel": Known(value="no-proof", source="a test")}
    healthy = examine(database.base, database, Policy())
    unproven = examine(lay(database.base, ran, database.tables, source="a test"), database, Policy())
    assert "nothing proves that a GPU computed it" not in text.render(healthy, width=200, colour=False)
    assert "nothing proves that a GPU computed it" in text.render(unproven, width=200, colour=False)


def test_stages_that_were_not_run_are_named_with_the_reason() -> None:
    """All of them together need no name, and all-reduce is not all."""
    database = ruledb.load_shipped()
    base = lay(database.base, assumed([("cc", "9.0"), ("driver", "580.95.05"), ("release", "torch==2.10.0")]),
               database.tables, source="a test")
    for stage, said in (("all", "skipped (no room)\n"), ("all-reduce", "skipped (no room): all-reduce\n")):
        left: Record = {"stage": stage, "card": "", "outcome": "skipped", "reason": "no room"}
        ran = lay(base, {"framework.import_outcome": Known(value="passed", source="a test"),
                         "framework.stages": Known(value=(left,), source="a test")}, database.tables,
                  source="a test")
        assert said in text.render(examine(ran, database, Policy()), width=200, colour=False)


def test_at_the_greatest_depth_no_greater_one_is_promised() -> None:
    """An import that failed leaves questions that no other depth would answer."""
    database = ruledb.load_shipped()
    base = lay(database.base, assumed([("cc", "9.0"), ("driver", "580.95.05"), ("release", "torch==2.10.0")]),
               database.tables, source="a test")
    unreached: Record = {"stage": "matmul", "card": "0", "outcome": "not-reached"}
    failed = {"framework.import_outcome": Known(value="failed", source="a test"),
              "framework.stages": Known(value=(unreached,), source="a test")}
    said = text.render(examine(base, database, Policy()), width=200, colour=False)
    assert "not asked at this depth" in said
    ran = lay(base, failed, database.tables, source="a test")
    said = text.render(examine(ran, database, Policy()), width=200, colour=False)
    assert "not asked at this depth" not in said
    assert "not reached" in said


def test_a_page_of_a_site_is_told_where_it_follows_from_another_one() -> None:
    """Nobody knows it by the name of its cause; what others say of themselves is in their pages."""
    first, *_ = report().findings
    own = replace(first, rule="GPDX0001", cause="crane-is-idle", message="Crane 7 has no card: call the yard")
    ours = replace(first, rule="GPD9990", cause="other", message="Not to be told here")
    shown = text.render(replace(report(), findings=(replace(first, consequences=(own, ours)),)), width=200,
                        colour=False)
    assert "GPDX0001 crane-is-idle: Crane 7 has no card: call the yard" in shown
    assert "Not to be told here" not in shown


def test_another_system_than_linux_is_named_and_has_no_distribution() -> None:
    """Regression: an assumed Windows was called "unknown system, kernel 6.18, no glibc"."""
    database = ruledb.load(extent="told")
    machine = lay(database.base, assumed([("system.os", "Windows")]), database.tables, source="a test")
    page = text.render(examine(machine, database, Policy()), width=80, colour=False)
    assert re.search(r"(?m)^  system +Windows, x86_64$", page)
