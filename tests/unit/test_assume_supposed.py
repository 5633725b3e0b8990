"""What follows from an assumption: cards that a driver leaves out, MIG without instances, names of cards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpudoctor import examine, ruledb
from gpudoctor.assume import AssumptionError, assumed, lay, parse_assumption, supposed
from gpudoctor.derive.view import as_texts
from gpudoctor.model import Absent, Fact, Known, RuleDatabase, Snapshot, Unknown, Value, value_of

RULES = Path(__file__).parents[2] / "rules"
JETSON = ("system.architecture=aarch64", "cc=8.7", "driver=540.4.0")


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Read the pages and tables of this checkout."""
    return ruledb.load_pages(RULES)


def machine(database: RuleDatabase, *texts: str, on: Snapshot | None = None) -> Snapshot:
    """Return the healthy machine of the cases with these assumptions."""
    return supposed(on or database.base, [parse_assumption(text) for text in texts], database.tables)


def rules_of(database: RuleDatabase, *texts: str) -> set[str]:
    """Return the rules that find an error or a warning on such a machine, without mere consequences."""
    report = examine.examine(machine(database, *texts), database, examine.Policy())
    return {finding.rule for finding in report.findings if finding.severity.value in ("error", "warning")}


@pytest.mark.parametrize(("driver", "cards", "rules"), [
    ("450.80.02", "12.0", {"GPD2065"}), ("550.54.14", "12.0", {"GPD2065"}), ("610.11", "6.1", {"GPD2064"}),
    ("590.44.01", "5.2,7.0", {"GPD2064"}), ("590.44.01", "6.1,9.0", {"GPD2066"}),
    ("580.95.05", "6.1", set()), ("580.95.05", "12.0", set()), ("455.45.01", "8.6", set()),
    ("410.48", "7.5", set()), ("610.11", "12.3", set()), ("450.80.02", "12.3", set()),
])
def test_a_driver_and_a_card_that_do_not_go_together(
    database: RuleDatabase, driver: str, cards: str, rules: set[str],
) -> None:
    """Driver 450 with an RTX 5090 was called healthy; of a card newer than the tables nobody can tell."""
    assert rules_of(database, f"driver={driver}", f"cc={cards}") == rules


def test_drivers_of_windows_and_of_boards_are_numbered_otherwise(database: RuleDatabase) -> None:
    """581.29 of Windows is no branch after 580, and 540.4.0 is that of a board's own system."""
    assert rules_of(database, "driver=581.29", "cc=6.1", "system.wsl=2") & {"GPD2064", "GPD2065"} == set()
    assert rules_of(database, *JETSON, "system.jetson=36.4.3") & {"GPD2064", "GPD2065"} == set()


@pytest.mark.parametrize(("release", "cuda"), [("36.4.3", "12.6"), ("36.4.9", "12.6"), ("36.3.0", "12.4")])
def test_the_cuda_of_a_board_is_that_of_its_jetpack(database: RuleDatabase, release: str, cuda: str) -> None:
    """Whichever was written first; the driver's number alone said 12.2."""
    for words in ((*JETSON, f"system.jetson={release}"), (f"system.jetson={release}", *JETSON)):
        fact = machine(database, *words).host["cuda.ceiling"]
        assert isinstance(fact, Known)
        assert fact.value == cuda


def test_the_cuda_of_an_unknown_jetpack_is_unknown(database: RuleDatabase) -> None:
    """Jetson Linux 35 has rows without a CUDA, 45 has none."""
    for release in ("35.4.1", "45.1.0"):
        fact = machine(database, *JETSON, f"system.jetson={release}").host["cuda.ceiling"]
        assert isinstance(fact, Unknown)


@pytest.mark.parametrize(("board", "rule"), [
    (("system.jetson=36.4.3", "cc=8.7", "driver=540.4.0"), True),
    (("system.jetson=38.4.0", "cc=11.0", "driver=580.95.05"), False)])
def test_wheels_for_servers_on_a_board(database: RuleDatabase, board: tuple[str, ...], rule: bool) -> None:
    """JetPack 6 needs NVIDIA's own, JetPack 7 does not."""
    found = rules_of(database, *board, "system.architecture=aarch64", "release=torch==2.14.1+cu126")
    assert ("GPD6025" in found) is rule


def test_mig_mode_without_instances_leaves_no_device(database: RuleDatabase) -> None:
    """It was a warning that spoke of other cards, where there is none."""
    card = ("cc=9.0", "driver=550.54.14")
    assert rules_of(database, "gpu.mig_mode=yes", *card) == {"GPD1050"}
    assert rules_of(database, "gpu.mig_mode=yes", "gpu.mig_instances=2", *card) == set()
    assert rules_of(database, "gpu.mig_mode=no", *card) == set()


@pytest.mark.parametrize(("name", "capability"), [
    ("RTX 5090", "12.0"), ("NVIDIA GeForce RTX 5090", "12.0"), ("a100", "8.0"), ("Tesla T4", "7.5"),
    # as nvidia-smi prints them
    ("Tesla V100-SXM2-16GB", "7.0"), ("Tesla P100-PCIE-16GB", "6.0"), ("NVIDIA A100-SXM4-40GB", "8.0"),
    ("NVIDIA A100 80GB PCIe", "8.0"), ("NVIDIA H100 80GB HBM3", "9.0"), ("NVIDIA GH200 480GB", "9.0"),
    ("NVIDIA GeForce RTX 4090 Laptop GPU", "8.9"), ("NVIDIA TITAN X (Pascal)", "6.1"),
    ("NVIDIA GeForce RTX 2080 Super with Max-Q Design", "7.5"), ("Tesla M40", "5.2")])
def test_a_card_by_its_name(database: RuleDatabase, name: str, capability: str) -> None:
    """As people write it; the report calls it so."""
    found = machine(database, f"card={name}", "driver=580.95.05")
    assert not isinstance(found.gpus, Unknown)
    (card,) = found.gpus
    assert [fact.value for fact in (card["gpu.compute_capability"], card["gpu.name"])
            if isinstance(fact, Known)] == [capability, name]


@pytest.mark.parametrize(("texts", "said"), [
    (("card=RTX 9999999",), "the rules know no such card"), (("cc=90",), "cc=90"), (("glibc=9",), "2.31"),
    (("python=three",), "3.12"), (("drvier=5",), "did you mean driver?"),
    (("driver=570.86.15", "driver=450.80.02"), "contradict"),
    (("cc=9.0", "card=a100"), "its compute capability is 8.0"),
    (("card=MATS",), "say its compute capability beside it"), (("card=MATS", "cc=none"), "for each card"),
    (("card=MATS", "cc=9.0", "cc=9.0"), "one cc for each card"),
    (("card=MATS", "gpu=MATS", "cc=9.0"), "use one of them")])
def test_what_cannot_be_assumed_is_refused_in_one_line(
    database: RuleDatabase, texts: tuple[str, ...], said: str,
) -> None:
    """With what would do."""
    with pytest.raises(AssumptionError, match=said) as raised:
        machine(database, *texts)
    assert "\n" not in str(raised.value)


def test_the_same_said_twice_is_no_contradiction() -> None:
    """Only another value is."""
    assert len(assumed([("driver", "570.86.15"), ("driver", "570.86.15")])) == 1


def test_a_driver_alone_asks_for_a_card(database: RuleDatabase) -> None:
    """It was called a card that does not start, with a look into the kernel log."""
    bare = machine(database, "cc=none")
    with pytest.raises(AssumptionError, match=r"--assume cc=9\.0"):
        machine(database, "driver=570.86.15", on=bare)
    assert machine(database, "driver=none", on=bare).gpus == ()


@pytest.mark.parametrize(("texts", "glibc"), [
    (("system.distribution=alpine",), "absent"),
    (("system.distribution=ubuntu", "system.distribution_version=22.04"), "2.35"),
    (("system.distribution_version=13",), "2.41"),
    (("system.distribution_version=14",), "unknown"),
    (("system.distribution=rhel", "system.distribution_version=9.4"), "2.34"),
    (("system.distribution=ubuntu", "system.distribution_version=22.10"), "unknown"),
    (("system.distribution=ubuntu",), "unknown"),
    (("system.distribution=alpine", "glibc=2.31"), "2.31"),
    (("system.distribution=alpine", "system.glibc=2.31"), "2.31"),
    (("system.distribution=debian",), "2.36"), (("glibc=none",), "absent"),
])
def test_an_assumed_distribution_brings_its_own_c_library(
    database: RuleDatabase, texts: tuple[str, ...], glibc: str,
) -> None:
    """The machine of the cases is a Debian 12 with glibc 2.36: an assumed Alpine kept that."""
    fact = machine(database, *texts).host["system.glibc"]
    said = fact.value if isinstance(fact, Known) else "unknown" if isinstance(fact, Unknown) else "absent"
    assert said == glibc


@pytest.mark.parametrize(("releases", "shared"), [
    (("torch==2.15.0", "jax[cuda12]==0.12.0.1"),
     {"nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu13", "nvidia-nvshmem-cu12",
      "nvidia-nvshmem-cu13"}),
    (("torch==2.15.0", "jax[cuda13]==0.12.0.1"), set()), (("torch==2.15.0",), set())])
def test_assumed_releases_whose_packages_own_the_same_files(
        database: RuleDatabase, releases: tuple[str, ...], shared: set[str]) -> None:
    """Each has its CUDA libraries in packages of its own, and both were called healthy together."""
    texts = ("cc=9.0", "driver=590.44.01", "python=3.12", *(f"release={one}" for one in releases))
    assert set(as_texts(value_of(machine(database, *texts).host, "python.colliding_distributions"))) == shared
    assert ("GPD6065" in rules_of(database, *texts)) is bool(shared)


def test_what_is_installed_already_shares_files_with_an_assumed_release_too(database: RuleDatabase) -> None:
    """Of a package that the release asks for in another version pip takes the place; others stay."""
    installed = [{"name": name, "version": version, "location": ""} for name, version in (
        ("nvidia-cudnn-cu13", "9.20.0.48"), ("nvidia-nccl-cu12", "2.27.5"))]
    on = lay(database.base, {"python.nvidia_distributions": Known(value=tuple(installed), source="pip")},
             database.tables, source="pip")
    found = machine(database, "python=3.12", "release=torch==2.15.0", on=on)
    assert value_of(found.host, "python.colliding_distributions") == ("nvidia-nccl-cu13", "nvidia-nccl-cu12")


def test_the_version_of_an_assumed_distribution_is_not_the_one_that_was_here(database: RuleDatabase) -> None:
    """Debian's 12 stood behind the name of an assumed Fedora."""
    host = machine(database, "system.distribution=fedora").host
    assert isinstance(host["system.distribution_version"], Unknown)
    assert isinstance(host["system.distribution_like"], Unknown)


@pytest.mark.parametrize("name", ["rtx5090", "RTX 5090", "GeForce RTX5090", "rtx  5090"])
def test_a_card_may_be_named_without_spaces(database: RuleDatabase, name: str) -> None:
    """As people type it; "did you mean rtx 5090" was all they heard."""
    cards = machine(database, f"card={name}").gpus
    assert not isinstance(cards, Unknown)
    found = cards[0]["gpu.compute_capability"]
    assert isinstance(found, Known)
    assert found.value == "12.0"


@pytest.mark.parametrize("release", ["torch==2.10.0+cu128", "torch==2.7.0+cu126"])
def test_a_label_that_names_the_cuda_of_the_default_build_is_that_build(
        database: RuleDatabase, release: str) -> None:
    """Regression: it was refused, and newer rules were advised, which would not have it either."""
    plain = release.partition("+")[0]
    assert rules_of(database, "cc=8.9", "driver=595.45.04", f"release={release}") == rules_of(
        database, "cc=8.9", "driver=595.45.04", f"release={plain}")


@pytest.mark.parametrize(("release", "python", "is_told"), [
    ("tensorflow==2.20.0", "3.7.17", True), ("tensorflow==2.20.0", "3.11.9", False),
    ("torch==2.14.1+cu126", "3.9.1", True),
    ("jax[cuda12]==0.4.30", "3.13.1", True), ("paddlepaddle-gpu==2.6.2", "3.13.1", True),
    ("paddlepaddle-gpu==2.6.2", "3.12.1", False), ("paddlepaddle-gpu==3.2.0", "3.13.1", False),
])
def test_a_release_without_a_wheel_for_the_python(
        database: RuleDatabase, release: str, python: str, is_told: bool) -> None:
    """TensorFlow 2.20 under Python 3.7 was called healthy; for which Pythons Paddle 3 is nobody read."""
    found = rules_of(database, "driver=580.95.05", "cc=8.9", f"release={release}", f"python={python}")
    assert ("GPD6090" in found) is is_told


@pytest.mark.parametrize(("texts", "told"), [
    (("card=MATS", "cc=13.0"), [("MATS", "13.0")]), (("cc=8.6", "card=MATS"), [("MATS", "8.6")]),
    (("card=RTX 5090", "card=MATS", "cc=12.0,9.0"), [("RTX 5090", "12.0"), ("MATS", "9.0")]),
])
def test_a_card_that_no_table_has_is_named_beside_its_compute_capability(
        database: RuleDatabase, texts: tuple[str, ...], told: list[tuple[str, str]]) -> None:
    """MATS was refused, alone and beside a cc; it is an unknown card, and its number says the rest."""
    found = machine(database, "driver=580.95.05", *texts)
    assert not isinstance(found.gpus, Unknown)
    assert [(value_of(card, "gpu.name"), value_of(card, "gpu.compute_capability"))
            for card in found.gpus] == told
    report = examine.examine(found, database, examine.Policy())
    assert [finding.subject for finding in report.findings if finding.rule == "GPD5005"] == [
        f"GPU {index}" for index, (name, _) in enumerate(told) if name == "MATS"]


@pytest.mark.parametrize("counted", [
    {"nvml.gpu_count": 1}, {"cuda.device_count": 1}, {"cuda.devices": ({"compute_capability": "9.0"},)}])
def test_a_list_of_cards_that_the_drivers_own_contradicts_is_not_healthy(
        database: RuleDatabase, counted: dict[str, Value]) -> None:
    """`gpus: []` beside a device of CUDA was healthy; no machine is like that."""
    facts: dict[str, Fact] = {name: Known(value=value, source="a test") for name, value in counted.items()}
    none: dict[str, Fact] = dict.fromkeys(("nvml.gpu_count", "cuda.device_count"), Absent(source="a test"))
    base = machine(database, "driver=580.95.05", "cc=9.0")
    cut = replace(base, gpus=(), host={**base.host, **none, **facts})
    report = examine.examine(cut, database, examine.Policy())
    assert report.exit_code == examine.EXIT_UNDECIDED
    assert any("contradicts itself" in str(why) for one in report.undecided for why in one.reasons)
