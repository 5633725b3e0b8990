"""A report on a machine that is partly assumed: no evidence reads as if it had been seen."""

from __future__ import annotations

import pytest

from gpudoctor import codec, ruledb
from gpudoctor.assume import assumed, lay, parse_assumption
from gpudoctor.assume.marking import marked
from gpudoctor.derive.lazy import ASSUMED
from gpudoctor.examine import Policy, every_finding, examine
from gpudoctor.model import Known, Report


def report(*words: str) -> Report:
    """Return the report on the healthy machine of the cases with these assumptions."""
    database = ruledb.load()
    assert database.base is not None
    machine = lay(database.base, assumed([parse_assumption(word) for word in words]), database.tables,
                  source=ASSUMED)
    return marked(examine(machine, database, Policy()), machine, words, database)


def test_what_follows_from_an_assumption_says_so() -> None:
    """The evidence said "cuInit returned 0" of a driver that was only assumed."""
    found = list(every_finding(report("cc=8.9", "driver=535.104.05", "release=torch==2.15.0").findings))
    [old] = [one for one in found if one.cause == "driver-too-old"]
    said = {one.fact: one.source for one in old.evidence if one.saw != "not there"}
    assert said["system.nvidia_gpus"] == "assumed: the PCI bus"
    assert all(source.startswith(ASSUMED) for source in said.values()), said


@pytest.mark.parametrize(("name", "is_assumed"), [
    ("driver.ready", True), ("driver.works", True), ("system.oldest_card", False), ("system.kernel", False),
    ("python.pip_command", False),
])
def test_what_follows_from_none_does_not(name: str, is_assumed: bool) -> None:
    """Also in the snapshot that a program reads; the host's own facts stay as seen."""
    fact = report("driver=535.104.05").snapshot.host[name]
    assert isinstance(fact, Known)
    assert fact.source.startswith(ASSUMED) == is_assumed, fact


def test_the_verdict_is_the_same() -> None:
    """Only sources change."""
    database = ruledb.load()
    assert database.base is not None
    words = ("cc=5.2", "driver=580.95.05", "release=torch==2.15.0")
    machine = lay(database.base, assumed([parse_assumption(word) for word in words]), database.tables,
                  source=ASSUMED)
    plain, said = examine(machine, database, Policy()), report(*words)
    assert plain.findings
    assert [(one.rule, one.message, one.fixes) for one in plain.findings] == [
        (one.rule, one.message, one.fixes) for one in said.findings]
    assert (plain.verdict, plain.exit_code, plain.undecided) == (said.verdict, said.exit_code, said.undecided)


def test_a_report_that_is_read_again_is_still_one_on_assumptions() -> None:
    """`check --from` of it said that the machine is healthy, of cards and a driver that nobody saw."""
    database = ruledb.load()
    first = report("cc=8.9", "driver=580.95.05")
    machine = codec.decode_snapshot(codec.encode_report(first), "report.json")
    assert machine.assumed == first.assumptions == ("cc=8.9", "driver=580.95.05")
    assert examine(machine, database, Policy()).assumptions == first.assumptions


def test_assumptions_of_a_report_are_a_list_of_texts() -> None:
    with pytest.raises(codec.CodecError, match=r"^report\.json: assumed must be a list of texts"):
        codec.decode_snapshot({**codec.encode_report(report("cc=8.9")), "assumed": [1]}, "report.json")
