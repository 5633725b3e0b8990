"""Many machines at once: how they are counted, which of their facts are compared, and who is called odd."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gpudoctor import codec
from gpudoctor.examine import Policy
from gpudoctor.facts import CATALOGUE
from gpudoctor.fleet.compared import COMPARED, bounded, held
from gpudoctor.fleet.machine import CARDS_UNKNOWN, NO_CARD, Machine, taken
from gpudoctor.fleet.odd import against, compared
from gpudoctor.fleet.summary import Summary
from gpudoctor.fleet.tally import MOST_NAMES, Tally
from gpudoctor.model import Absent, Facts, Known, Severity, Snapshot, Unknown, Verdict
from gpudoctor.render import fleet
from tests.harness.fleet import OTHER, USUAL, machine, report, with_host

POLICY = Policy()


def document(**changes: Any) -> dict[str, Any]:
    """Return the report on a sound machine with parts of it changed."""
    return {**json.loads(report()), **changes}


def finding(**changes: Any) -> dict[str, Any]:
    """Return a finding as a report holds it."""
    return {"rule": "GPD1010", "cause": "driver-too-old", "severity": "error", "consequences": [], **changes}


def seen(name: str, facts: Mapping[str, tuple[str, ...]], peers: str = "H100") -> Machine:
    """Return a sound machine of which these facts are known."""
    return Machine(name=name, verdict=Verdict.HEALTHY, exit_code=0, causes=(), open=(), edition="x",
                   peers=peers, cards="H100", facts=facts)


def summed(*machines: Machine) -> Summary:
    """Return the sums over machines."""
    summary = Summary()
    for one in machines:
        summary.add(one)
    return summary


# -- counting ----------------------------------------------------------------------------------------------


def test_a_tally_keeps_the_first_names() -> None:
    """However they come, the smallest are kept, and all are counted."""
    tally: Tally[str] = Tally(4)
    for number in reversed(range(100)):
        tally.add("x", f"{number:02}", 1)
    assert (tally.counts["x"].number, tally.counts["x"].names) == (
        100, [f"{number:02}" for number in range(MOST_NAMES)])


def test_a_tally_tells_so_many_kinds_apart() -> None:
    """What is beyond them is counted too, and never again told apart."""
    tally: Tally[str] = Tally(2)
    for key in "dcbabcd":
        tally.add(key, "name", 1)
    assert ({key: count.number for key, count in tally.counts.items()}, tally.beyond) == ({"a": 1, "b": 2}, 4)


# -- what is compared --------------------------------------------------------------------------------------


def test_nothing_private_is_compared_but_the_environment() -> None:
    """No path of a user, no id of a card, nothing that a program said; the environment as it may be shown."""
    private = {name for names in COMPARED.values() for name in names if CATALOGUE[name].private}
    assert {name for name in private if not name.startswith("environment.")} == set()
    shown = held(with_host(machine(), {"environment.LD_LIBRARY_PATH": "/home/ana/secret/lib",
                                       "environment.XLA_FLAGS": "--token=hunter2"}))
    assert shown["environment.LD_LIBRARY_PATH"] == ("/home/name/name/lib",)
    assert shown["environment.XLA_FLAGS"] == ("[redacted]",)


def test_a_redacted_machine_is_as_before() -> None:
    """Stand-ins are the same on each machine, so that sharing makes nobody different."""
    path = {"environment.LD_LIBRARY_PATH": "/home/ana/a:/home/ana/b"}
    from gpudoctor.share import share

    plain = with_host(machine(), path)
    assert held(share(plain)) == held(plain)


@pytest.mark.parametrize("name", ["driver.kernel_version", "driver.kernel_flavour", "cuda.library_version",
                                  "python.nvidia_distributions", "environment.CUDA_VISIBLE_DEVICES"])
def test_what_sets_machines_apart_is_compared(name: str) -> None:
    """Driver, library, packages and environment are among it; readings that never rest are not."""
    names = {name for names in COMPARED.values() for name in names}
    assert name in names
    assert names & {"gpu.memory_used_bytes", "gpu.uuid", "gpu.index", "framework.import_seconds",
                    "environment.SLURM_JOB_ID", "require.wanted"} == set()


def test_what_is_not_known_of_one_card_is_not_known_of_the_cards() -> None:
    """A value of seven cards says nothing of eight."""
    card: Facts = {"gpu.name": Known(value="A", source="x"), "gpu.ecc_mode": Known(value=True, source="x")}
    blind: Facts = {**card, "gpu.ecc_mode": Unknown(reason="x")}
    both = held(Snapshot(host={}, gpus=(card, card)))
    one = held(Snapshot(host={}, gpus=(card, blind)))
    assert (both["gpu.ecc_mode"], both["cards"], "gpu.ecc_mode" in one) == (("yes",), ("2",), False)


@pytest.mark.parametrize(("generation", "odd"), [(5, [["n2"]]), (1, [])])
def test_a_link_with_half_its_lanes_is_odd(generation: int, odd: list[list[str]]) -> None:
    """What it could have is the same everywhere. One that rests is no odd one: it may have fewer for now."""
    def rack(number: int) -> Machine:
        facts: Facts = {
            f"gpu.pcie_{name}": Known(value=value, source="x") for name, value in (
                ("generation", generation if number == 2 else 5), ("generation_max", 5),
                ("width", 8 if number == 2 else 16), ("width_max", 16))}
        return seen(f"n{number}", held(Snapshot(host={}, gpus=(facts,))))

    found = compared("H100", summed(*map(rack, range(4))).peers["H100"])
    assert [[*one.names] for one in found.apart] == odd
    assert [d.fact for one in found.apart for d in one.differences] == ["gpu.pcie_width"] * len(odd)


def test_absent_is_a_value_and_unknown_is_none() -> None:
    """Where somebody looked and found nothing, that is compared."""
    name = "container.runtime"
    assert held(Snapshot(host={name: Absent(source="x")}))[name] == ("not there",)
    assert name not in held(Snapshot(host={name: Unknown(reason="x")}))


def test_a_long_value_keeps_its_identity() -> None:
    """Two long lists that differ stay different, and take little room."""
    first, second = bounded(("x" * 99,) * 99), bounded(("x" * 99,) * 98 + ("y",))
    assert first != second
    assert max(len(first[0]), len(second[0])) < 100


# -- who is odd --------------------------------------------------------------------------------------------


def test_most_agree_and_the_others_are_named() -> None:
    """Two facts of the same machine are one thing told; the rarer comes first."""
    usual = {"driver": ("580",), "libcuda": ("580",), "flags": ("a",)}
    rack = [seen(f"n{number}", usual) for number in range(6)]
    rack += [seen("odd", {**usual, "driver": ("535",), "libcuda": ("535",)}),
             seen("x1", {**usual, "flags": ("b",)}), seen("x2", {**usual, "flags": ("b",)})]
    found = compared("H100", summed(*rack).peers["H100"])
    assert [(one.number, [*one.names], [d.fact for d in one.differences]) for one in found.apart] == [
        (1, ["odd"], ["driver", "libcuda"]), (2, ["x1", "x2"], ["flags"])]
    assert (found.apart[0].typical, found.apart[0].differences[0].usual_number) == ("n0", 8)


def test_unknown_is_not_different() -> None:
    """A machine of which a fact is not known is no odd one, and does not count among those that agree."""
    rack = [seen(f"n{number}", {"driver": ("580",)}) for number in range(3)] + [seen("blind", {})]
    assert compared("H100", summed(*rack).peers["H100"]).apart == []


@pytest.mark.parametrize("values", ["ab", "aabb", "abc"])
def test_without_a_majority_nobody_is_odd(values: str) -> None:
    """Two machines, two camps of the same size, three of three minds: none of them is usual."""
    rack = [seen(f"n{number}", {"driver": (value,)}) for number, value in enumerate(values)]
    found = compared("H100", summed(*rack).peers["H100"])
    assert found.apart == []
    assert [fact for fact, _ in found.divided] == ([] if len(values) < 3 else ["driver"])


def test_of_each_its_own_is_not_compared() -> None:
    """A fact with more values than are kept is named, and nobody is called odd for it."""
    rack = [seen(f"n{number:02}", {"serial": (f"{number % 40:02}",)}) for number in range(200)]
    found = compared("H100", summed(*rack).peers["H100"])
    assert ([*found.varied], found.apart, found.divided) == (["serial"], [], [])


def test_machines_with_other_cards_are_no_peers() -> None:
    """Each kind of card has its own usual values; without a driver the bus says which card it is."""
    card: Facts = {"gpu.name": Known(value="NVIDIA L4", source="x"),
                   "gpu.pci_device_id": Known(value="27b8", source="x")}
    lost: Facts = {**card, "gpu.name": Unknown(reason="no driver")}
    raw = {"schema": codec.SNAPSHOT_SCHEMA, "host": {}, "frameworks": []}
    nameless: Facts = {"gpu.name": Unknown(reason="x")}
    found = []
    racks: tuple[tuple[Facts, ...], ...] = ((card,), (lost,), (card, card), (), (nameless,))
    for gpus in racks:
        shown = {**raw, "gpus": [codec.encode_facts(one) for one in gpus]}
        found.append(taken(document(snapshot=shown), "x", POLICY).peers)
    assert found == ["PCI device 27b8"] * 3 + [NO_CARD, CARDS_UNKNOWN]


def test_where_cards_are_not_known_nobody_is_compared() -> None:
    """Not to have been seen is nothing that machines have in common."""
    rack = [seen(f"n{number}", {"driver": (value,)}, CARDS_UNKNOWN) for number, value in enumerate("aaab")]
    found = compared(CARDS_UNKNOWN, summed(*rack).peers[CARDS_UNKNOWN])
    assert (found.apart, found.divided) == ([], [])


@pytest.mark.parametrize(("value", "usual", "said"), [
    (("a", "b"), ("a", "c"), ("b", "c")), (("a",), ("a", "c"), ("without", "c")),
    (("b", "a"), ("a", "b"), ("the same in another order", "a, b")),
    (("not there",), ("a", "b"), ("not there", "a, b")), (("",), ("not there",), ("(empty)", "not there"))])
def test_lists_are_told_by_what_differs(value: tuple[str, ...], usual: tuple[str, ...],
                                        said: tuple[str, str]) -> None:
    """Of two long lists nobody wants to read what both hold."""
    assert against(value, usual) == said


# -- reports -----------------------------------------------------------------------------------------------


def test_a_report_is_taken_at_its_word() -> None:
    """Causes are those of the top; consequences count for the exit code alone."""
    below = finding(cause="follows", rule="GPD2010", consequences=[finding(cause="deeper")])
    found = taken(document(verdict="findings", findings=[finding(severity="info", consequences=[below])]),
                  "x", POLICY)
    assert ([cause.cause for cause in found.causes], found.exit_code) == (["driver-too-old"], 1)


@pytest.mark.parametrize(("fail_on", "code"), [(Severity.ERROR, 0), (Severity.WARNING, 1)])
def test_the_policy_is_that_of_who_sums_up(fail_on: Severity, code: int) -> None:
    """What a report called a failure does not matter."""
    raw = document(verdict="findings", exit_code=1, findings=[finding(severity="warning")])
    assert taken(raw, "x", Policy(fail_on=fail_on)).exit_code == code


@pytest.mark.parametrize("changes", [
    {"verdict": "healthy", "findings": [finding()]}, {"verdict": "findings"}, {"verdict": "undecided"},
    {"verdict": "splendid"}, {"verdict": ["healthy"]}, {"findings": None}, {"findings": [3]},
    {"findings": [finding(cause="x; rm -rf ~")], "verdict": "findings"},
    {"findings": [finding(rule="GPD1\n")], "verdict": "findings"},
    {"findings": [finding(severity="bad")], "verdict": "findings"}, {"undecided": {}}, {"snapshot": None},
    {"snapshot": {"schema": "gpudoctor.snapshot/9"}}])
def test_a_report_that_cannot_be_right_is_refused(changes: dict[str, Any]) -> None:
    """A verdict that is not what was found, names that are none, and what is no report at all."""
    with pytest.raises(codec.CodecError):
        taken(document(**changes), "x", POLICY)


def test_consequences_without_end_are_refused() -> None:
    """Depth has a bound, and no stack is used for it."""
    below = finding()
    for _ in range(500):
        below = finding(consequences=[below])
    with pytest.raises(codec.CodecError, match="nested too deeply"):
        taken(document(verdict="findings", findings=[below]), "x", POLICY)


def test_machines_with_the_same_causes_are_one_line() -> None:
    """They are counted together, whatever else differs."""
    raw = document(verdict="findings", findings=[finding(), finding(), finding(cause="other", rule="GPD2")])
    summary = summed(*(taken(raw, f"n{number}", POLICY) for number in range(3)))
    assert [(len(causes), count.number) for causes, count in summary.alike.ranked()] == [(2, 3)]
    assert [count.number for _, count in summary.causes.ranked()] == [3, 3]


def test_what_is_only_likely_is_called_so() -> None:
    """Regression: three causes of which a report said that one may hold were counted as three that do.

    What is certain of one card and likely of another is certain, and likely causes are none together.
    """
    likely = finding(certainty="likely")
    one = taken(document(verdict="findings", findings=[likely, finding(
        cause="other", rule="GPD2", certainty="likely")]), "n1", POLICY)
    two = taken(document(verdict="findings", findings=[likely, finding(certainty="certain")]), "n2", POLICY)
    summary = summed(one, two)
    assert [(cause.cause, cause.is_likely, count.number) for cause, count in summary.causes.ranked()] == [
        ("driver-too-old", False, 1), ("driver-too-old", True, 1), ("other", True, 1)]
    assert [([cause.cause for cause in causes], count.names)
            for causes, count in summary.alike.ranked()] == [(["driver-too-old"], ["n2"])]
    causes = next(section for section in fleet.sections(summary) if section.title == "CAUSES")
    assert [line.what for line in causes.lines] == [
        "ERROR driver-too-old [GPD1010]", "ERROR (likely) driver-too-old [GPD1010]",
        "ERROR (likely) other [GPD2]"]
    assert fleet.steps(summary) == ("gpudoctor explain driver-too-old",)


def test_an_old_driver_is_found_in_whole_reports() -> None:
    """What the rules say of made-up machines: the odd driver is named beside the usual one."""
    rack = [taken(json.loads(report(OTHER if number == 2 else USUAL)), f"n{number}", POLICY)
            for number in range(5)]
    (peers,) = (compared(key, some) for key, some in summed(*rack).peers.items())
    told = {d.fact: (d.value, d.usual) for one in peers.apart for d in one.differences}
    assert told["driver.kernel_version"] == ((OTHER,), (USUAL,))
    assert [[*one.names] for one in peers.apart] == [["n2"]]
