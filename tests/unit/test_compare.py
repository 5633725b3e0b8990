"""What changed between two looks at a machine, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudoctor.compare import Change, differences
from gpudoctor.model import Absent, Fact, Facts, Known, Snapshot, Unknown
from gpudoctor.share import share


def known(value: object) -> Known:
    """Return a fact."""
    assert isinstance(value, str | int | bool | tuple)
    return Known(value=value, source="x")


def card(bus_id: str, **facts: Fact) -> Facts:
    """Return a card at a place on the bus."""
    return {"gpu.bus_id": known(bus_id), **{f"gpu.{name}": fact for name, fact in facts.items()}}


def test_nothing_changed() -> None:
    """Another source for the same value is no change, and neither is a restless reading."""
    before = Snapshot(
        host={"driver.kernel_version": Known(value="1", source="a")},
        gpus=(card("0000:01:00.0", memory_used_bytes=known(1)),),
    )
    after = Snapshot(
        host={"driver.kernel_version": Known(value="1", source="b")},
        gpus=(card("0000:01:00.0", memory_used_bytes=known(2)),),
    )
    assert differences(before, after) == ()


@pytest.mark.parametrize(("generations", "changes"), [
    ((4, 4), [("gpu.pcie_width", "16", "8")]), ((4, 1), []), ((1, 4), [])])
def test_the_width_of_a_link_counts_where_it_does_not_rest(
        generations: tuple[int, int], changes: list[tuple[str, str, str]]) -> None:
    """It was never compared; at rest it may be reduced, as the generation is."""
    before, after = (Snapshot(host={}, gpus=(card(
        "0000:01:00.0", pcie_generation=known(now), pcie_generation_max=known(4), pcie_width=known(width)),))
        for now, width in zip(generations, (16, 8), strict=True))
    assert [(one.name, one.before, one.after) for one in differences(before, after)] == changes


def test_stand_ins_are_no_change() -> None:
    """One that was made to be shared beside the plain one: each private folder was listed as changed."""
    plain = Snapshot(host={"python.executable": known("/home/ana/venv/bin/python"),
                           "driver.kernel_version": known("570.86.15")})
    assert share(plain).host != plain.host
    assert differences(share(plain), plain) == differences(plain, share(plain)) == ()
    newer = replace(plain, host={**plain.host, "driver.kernel_version": known("575.51.03")})
    assert [one.name for one in differences(share(plain), newer)] == ["driver.kernel_version"]


def test_a_fact_that_changed() -> None:
    """Old and new value stand side by side; what is gone or unknown is said to be."""
    before = Snapshot(host={"driver.kernel_version": known("570.86.15"), "cuda.init_code": known(0)})
    after = Snapshot(
        host={"driver.kernel_version": known("575.51.03"), "cuda.init_code": Unknown(reason="x")}
    )
    assert set(differences(before, after)) == {
        Change(subject="host", name="driver.kernel_version", before="570.86.15", after="575.51.03"),
        Change(subject="host", name="cuda.init_code", before="0", after="unknown"),
    }


def test_cards_are_matched_by_their_place() -> None:
    """A new card before an old one does not make the old one look changed."""
    before = Snapshot(host={}, gpus=(card("0000:02:00.0", index=known(0)),))
    after = Snapshot(
        host={}, gpus=(card("0000:01:00.0", index=known(0)), card("0000:02:00.0", index=known(1)))
    )
    assert set(differences(before, after)) == {
        Change(subject="GPU 0000:01:00.0", name="", before="not there", after="new"),
        Change(subject="GPU 0000:02:00.0", name="gpu.index", before="0", after="1"),
    }


def test_framework_that_is_gone() -> None:
    """A framework is a subject of its own."""
    facts: Facts = {"framework.name": known("torch"), "framework.cuda": Absent(source="x")}
    before, after = Snapshot(host={}, frameworks=(facts,)), Snapshot(host={})
    assert differences(before, after) == (Change(subject="torch", name="", before="there", after="gone"),)


def test_scope_that_could_not_be_listed() -> None:
    """Not being able to look is a change of its own, and no card is called gone."""
    before = Snapshot(host={}, gpus=(card("0000:01:00.0"),))
    after = Snapshot(host={}, gpus=Unknown(reason="NVML hangs"))
    assert [change.subject for change in differences(before, after)] == ["every GPU"]
    assert "NVML hangs" in differences(before, after)[0].after
