"""Joining what PCI, NVML, libcuda and the kernel say of cards: pure cases, laws, whole scripted machines."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.facts import CATALOGUE
from gpudoctor.model import Absent, Fact, Facts, Known, Scope, Unknown, Value
from gpudoctor.probes import cuda, nvml, smoke
from gpudoctor.probes.calls import Cards, bus_id
from gpudoctor.probes.gpus import join
from tests.unit.driver_answers import TWO_CARDS, ask, machine

PROMISED = {spec.name for spec in CATALOGUE.values() if spec.scope is Scope.GPU and not spec.derived}
HUNG = Unknown(reason="the probe ended with timeout")
NO_LIBRARY = Absent(source="libcuda.so.1: cannot open shared object file")
NO_BUS = Absent(source="/sys/bus/pci/devices")
NOT_ASKED = Unknown(reason="not asked at this depth", asked=False)


def said(source: str, **values: Value | None) -> Facts:
    """Return facts of one card: in_nvml=True stands for gpu.in_nvml, None for one that could not be had."""
    facts: dict[str, Fact] = {}
    for name, value in values.items():
        failed = Unknown(reason="failed")
        facts[f"gpu.{name}"] = failed if value is None else Known(value=value, source=source)
    return facts


def names(number: int) -> dict[str, Value | None]:
    return {"uuid": f"GPU-{number}", "bus_id": f"0000:0{number}:00.0"}


def by_nvml(number: int, **values: Value | None) -> Facts:
    own: dict[str, Value | None] = {"in_nvml": True, "index": number, "name": "from NVML"}
    return said("NVML", **(own | names(number) | values))


def by_cuda(number: int, **values: Value | None) -> Facts:
    own: dict[str, Value | None] = {"in_cuda": True, "name": "from libcuda", "compute_capability": "8.0"}
    return said("libcuda", **(own | names(number) | values))


def by_pci(number: int, driver: str = "nvidia") -> Facts:
    return said("PCI", bus_id=f"0000:0{number}:00.0", pci_device_id="20b2", pci_driver=driver)


def by_smoke(number: int, outcome: str) -> Facts:
    return said("kernel", driver_kernel=outcome, **names(number))


def joined(
    pci: Cards = (), nvml: Cards = (), cuda: Cards = (), smoke: Cards = NOT_ASKED
) -> tuple[Facts, ...]:
    cards = join(pci, nvml, cuda, smoke)
    assert isinstance(cards, tuple)
    assert all(set(card) == PROMISED for card in cards)
    return cards


def value(card: Facts, name: str) -> object:
    fact = card[name]
    return fact.value if isinstance(fact, Known) else type(fact).__name__


def test_libcudas_order_is_not_nvmls() -> None:
    """CUDA lists the fastest card first; the kernel that failed on it belongs to NVML's second card."""
    first, second = joined(
        pci=(by_pci(1), by_pci(2)), nvml=(by_nvml(1), by_nvml(2)), cuda=(by_cuda(2), by_cuda(1)),
        smoke=(by_smoke(2, "failed"), by_smoke(1, "passed")))
    assert [value(first, name) for name in ("gpu.uuid", "gpu.driver_kernel")] == ["GPU-1", "passed"]
    assert [value(second, name) for name in ("gpu.uuid", "gpu.driver_kernel")] == ["GPU-2", "failed"]
    assert value(second, "gpu.name") == "from NVML"


def test_one_of_the_two_names_is_enough() -> None:
    """A card that fails the call for one of UUID and bus id is joined by the other."""
    (card,) = joined(nvml=(by_nvml(1, uuid=None),), cuda=(by_cuda(1),))
    assert (value(card, "gpu.in_nvml"), value(card, "gpu.in_cuda")) == (True, True)
    (card,) = joined(nvml=(by_nvml(1, bus_id=None),), cuda=(by_cuda(1),))
    assert value(card, "gpu.bus_id") == "0000:01:00.0"


def test_mig_instances_belong_to_one_card_and_the_worst_kernel_counts() -> None:
    """Several CUDA devices with one bus id."""
    instances = tuple(by_cuda(1, uuid=None) for _ in range(3))
    outcomes = ("passed", "wrong-result", "failed")
    trials = tuple(said("kernel", bus_id="0000:01:00.0", driver_kernel=outcome, driver_kernel_answer=code)
                   for outcome, code in zip(outcomes, ("0", "0", "719"), strict=True))
    (card,) = joined(nvml=(by_nvml(1),), cuda=instances, smoke=trials)
    kernel = ("gpu.driver_kernel", "gpu.driver_kernel_answer")
    assert [value(card, name) for name in kernel] == ["wrong-result", "0"]
    (card,) = joined(nvml=(by_nvml(1),), cuda=instances[1:], smoke=trials[::2])
    assert [value(card, name) for name in kernel] == ["failed", "719"]


def test_what_nvml_cannot_say_libcuda_says() -> None:
    """An old NVML has no compute capability."""
    facts = {**by_nvml(1), "gpu.compute_capability": Absent(source="old library")}
    (card,) = joined(nvml=(facts,), cuda=(by_cuda(1),))
    assert card["gpu.compute_capability"] == Known(value="8.0", source="libcuda")
    (card,) = joined(nvml=(facts,), cuda=NO_LIBRARY)
    assert card["gpu.compute_capability"] == Absent(source="old library")


def test_a_card_without_drivers_answers_is_known_from_pci() -> None:
    """Nobody else could be asked; what they would have said is Unknown, not False."""
    no_nvml = Absent(source="no libnvidia-ml.so.1")
    (card,) = joined(pci=(by_pci(1, "nouveau"),), nvml=no_nvml, cuda=HUNG, smoke=HUNG)
    assert value(card, "gpu.pci_driver") == "nouveau"
    assert card["gpu.in_nvml"] == Unknown(reason="NVML cannot be asked: no libnvidia-ml.so.1")
    assert card["gpu.in_cuda"] == card["gpu.driver_kernel"] == HUNG
    assert value(card, "gpu.memory_total_bytes") == "Unknown"


def test_a_card_that_working_libraries_do_not_list_is_not_in_them() -> None:
    """One card for the host, one handed to a virtual machine."""
    _, other = joined(pci=(by_pci(1), by_pci(2, "vfio-pci")), nvml=(by_nvml(1),), cuda=(by_cuda(1),),
                      smoke=(by_smoke(1, "passed"),))
    assert (value(other, "gpu.in_nvml"), value(other, "gpu.in_cuda")) == (False, False)
    assert value(other, "gpu.memory_total_bytes") == value(other, "gpu.driver_kernel") == "Absent"


def test_nvmls_card_outweighs_an_empty_pci_list() -> None:
    """As in WSL2."""
    (card,) = joined(pci=(), nvml=(by_nvml(1),), cuda=(by_cuda(1),))
    assert value(card, "gpu.in_cuda") is True
    assert value(card, "gpu.pci_driver") == "Absent"


def test_a_kernel_that_nobody_wanted_is_not_asked() -> None:
    """So that it never counts as undecided."""
    (card,) = joined(nvml=(by_nvml(1),), cuda=(by_cuda(1),), smoke=NOT_ASKED)
    assert card["gpu.driver_kernel"] == NOT_ASKED


def lost(number: int) -> Facts:
    return by_nvml(number, uuid=None, bus_id=None, name=None, lost=True)


def test_a_lost_card_is_the_pci_card_that_is_left_over() -> None:
    """NVML counts it but gives no handle, so it has no name; one card is left over."""
    cards = joined(pci=(by_pci(1), by_pci(2)), nvml=(by_nvml(1), lost(2)))
    assert [(value(c, "gpu.bus_id"), value(c, "gpu.lost")) for c in cards] == [
        ("0000:01:00.0", "Unknown"), ("0000:02:00.0", True)]
    assert value(cards[1], "gpu.index") == 2


def test_of_several_lost_cards_nobody_knows_which_is_which() -> None:
    """Their number is right all the same, and no index is guessed."""
    cards = joined(pci=tuple(map(by_pci, (1, 2, 3))), nvml=(by_nvml(1), lost(2), lost(3)))
    assert [value(card, "gpu.index") for card in cards] == [1, "Unknown", "Unknown"]
    assert [value(card, "gpu.lost") for card in cards] == ["Unknown", True, True]


def test_a_lost_card_is_not_the_one_of_another_driver() -> None:
    """The card left over is nouveau's; it was never NVML's."""
    cards = joined(pci=(by_pci(1), by_pci(2, "nouveau")), nvml=(by_nvml(1), lost(2)))
    assert len(cards) == 3


def test_two_cards_of_nvml_stay_two() -> None:
    """Even with one UUID for both, which no real driver gives."""
    assert len(joined(nvml=(by_nvml(1), by_nvml(1, index=2)))) == 2


@pytest.mark.parametrize(("pci", "nvml", "cuda", "empty"), [
    ((), NO_LIBRARY, NO_LIBRARY, True),  # no card, no driver
    ((), NO_LIBRARY, HUNG, True),  # a bad libcuda on a machine whose bus shows no card
    ((), HUNG, NO_LIBRARY, False),  # as in WSL2: the bus shows nothing and NVML did not answer
    (HUNG, (), NO_LIBRARY, True),  # NVML counted none
    (HUNG, NO_LIBRARY, (), True),  # so did libcuda
    (NO_BUS, NO_LIBRARY, NO_LIBRARY, True),
    (NO_BUS, NO_LIBRARY, HUNG, False),  # a board without a PCI bus, whose libcuda did not answer
    (HUNG, NO_LIBRARY, NO_LIBRARY, False),
    (HUNG, HUNG, HUNG, False),
])
def test_nothing_seen_is_empty_only_when_somebody_looked(
    pci: Cards, nvml: Cards, cuda: Cards, empty: bool
) -> None:
    """Unknown must never look like a machine without cards."""
    cards = join(pci, nvml, cuda, NOT_ASKED)
    assert cards == () if empty else isinstance(cards, Unknown)


@pytest.mark.parametrize(("written", "read"), [
    ("00000000:1B:00.0", "0000:1b:00.0"),
    ("0000:1b:00.0", "0000:1b:00.0"),
    ("0001:00:1E.0", "0001:00:1e.0"),
    ("00010000:01:00.0", "10000:01:00.0"),
    ("0000:00:00", "0000:00:00.0"),
    ("[N/A]", None),
    (7, None),
])
def test_bus_ids_are_written_as_the_kernel_does(written: object, read: str | None) -> None:
    """NVML writes eight digits and capitals."""
    assert bus_id(written) == read


NUMBERS = st.lists(st.integers(min_value=1, max_value=6), unique=True, max_size=5)


@given(pci=NUMBERS, nvml=NUMBERS, cuda=NUMBERS, order=st.randoms())
def test_the_order_of_the_lists_does_not_matter(
    pci: list[int], nvml: list[int], cuda: list[int], order: Random
) -> None:
    """The same cards with the same facts, whoever comes first."""
    lists = [list(map(by_pci, pci)), list(map(by_nvml, nvml)), list(map(by_cuda, cuda))]
    cards = joined(*map(tuple, lists))
    assert len(cards) == len({*pci, *nvml, *cuda})
    for shuffled in lists:
        order.shuffle(shuffled)
    assert sorted(map(repr, joined(*map(tuple, lists)))) == sorted(map(repr, cards))


@given(data=st.data())
def test_every_fact_is_there_whoever_fails(data: st.DataObject) -> None:
    """Totality, for every mixture of sources that answered and sources that did not."""
    def drawn(make: Callable[[int], Facts]) -> Cards:
        cards: list[Cards] = [(), (make(1),), (make(1), make(2)), HUNG, NO_LIBRARY, NOT_ASKED, ({},)]
        return data.draw(st.sampled_from(cards))

    smoke = drawn(lambda number: by_smoke(number, "failed"))
    cards = join(drawn(by_pci), drawn(by_nvml), drawn(by_cuda), smoke)
    for card in cards if isinstance(cards, tuple) else ():
        assert set(card) == PROMISED


def machine_cards(folder: Path) -> tuple[Facts, ...]:
    answers = [reader(ask(name, folder)) for name, reader in
               (("nvml", nvml.read_gpus), ("cuda", cuda.read_gpus), ("smoke", smoke.read_gpus))]
    return joined((), *answers)


def test_a_whole_machine_is_joined_by_name(tmp_path: Path) -> None:
    """Real binding, real ctypes: libcuda lists the second card first."""
    first, second = machine_cards(machine(tmp_path, TWO_CARDS + "cuda_order=1,0\n"))
    assert [value(card, "gpu.name") for card in (first, second)] == ["NVIDIA A100-SXM4-80GB", "NVIDIA L4"]
    assert [value(card, "gpu.compute_capability") for card in (first, second)] == ["8.0", "8.9"]
    for card, name in itertools.product((first, second), ("gpu.in_nvml", "gpu.in_cuda")):
        assert value(card, name) is True


def test_a_whole_machine_with_mig(tmp_path: Path) -> None:
    """The instance that libcuda shows is part of NVML's card."""
    script = TWO_CARDS.replace("gpu.0.mig=0\n", "gpu.0.mig=1\ngpu.0.mig_instances=2\n")
    first, second = machine_cards(machine(tmp_path, script))
    assert value(first, "gpu.uuid") == "GPU-00000000-1111-2222-3333-444444444440"
    assert value(first, "gpu.memory_total_bytes") == 85899345920
    assert (value(first, "gpu.in_cuda"), value(second, "gpu.in_cuda")) == (True, True)


def test_a_machine_without_nvml_is_described_by_libcuda(tmp_path: Path) -> None:
    """A container that was given compute but not utility."""
    folder = machine(tmp_path, TWO_CARDS)
    cards = joined((), Absent(source="no libnvidia-ml.so.1"), cuda.read_gpus(ask("cuda", folder)))
    assert [value(card, "gpu.memory_total_bytes") for card in cards] == [85899345920, 24152899584]
    assert value(cards[0], "gpu.mig_mode") == "Unknown"
