"""What `--assume` says: typed as the catalogue has it, and names that stand for many facts at once."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb
from gpudoctor.assume import AssumptionError, assumed, blank, lay, parse_assumption
from gpudoctor.model import Known, Snapshot, Unknown

TABLES = ruledb.load().tables


def assuming(*texts: str, on: Snapshot | None = None) -> Snapshot:
    """Return a machine with nothing, with assumptions."""
    return lay(on or blank(), assumed([parse_assumption(text) for text in texts]), TABLES, source="assumed")


def value(snapshot: Snapshot, name: str) -> object:
    """Return the value of a fact of the host, None when it is not known."""
    fact = snapshot.host[name]
    return fact.value if isinstance(fact, Known) else None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cuda.init_code=802", ("cuda.init_code", 802)),
        ("cuda.init_code=100", ("cuda.init_code", 100)),
        ("framework.import_seconds=2.5", ("framework.import_seconds", 2.5)),
        ("driver.uvm_node=yes", ("driver.uvm_node", True)),
        ("driver.uvm_node=FALSE", ("driver.uvm_node", False)),
        ("system.cpu_flags=avx, avx2", ("system.cpu_flags", ("avx", "avx2"))),
        ("driver=570.86.15", ("driver", "570.86.15")),
        (" driver = 570.86.15 ", ("driver", "570.86.15")),
        ("environment.XLA_FLAGS=--a=b", ("environment.XLA_FLAGS", "--a=b")),
    ],
)
def test_assumptions_are_typed(text: str, expected: tuple[str, object]) -> None:
    """The catalogue says of what type a fact is."""
    assert parse_assumption(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "=",
        "driver",
        "no.such=1",
        "cuda.init_code=x",
        "cuda.init_code=\u00b2",
        "cuda.init_code=" + "9" * 30,
        "driver.uvm_node=maybe",
        "driver.kernel_version=soon",
        "loader.files=a",
    ],
)
def test_assumptions_that_cannot_be_made(text: str) -> None:
    """One line that says why."""
    with pytest.raises(AssumptionError) as error:
        parse_assumption(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpu.compute_capability=0.0", "two numbers like 9.0, from 1.0 to 39.9, also one"),
        ("gpu.compute_capability=99.9", "no compute capability: "),
        ("gpu.compute_capability=-9.0", "no compute capability: "),
        ("gpu.compute_capability=9", "no compute capability: "),
        ("cc=0.0", "no compute capability: "),
        ("cc=0.9", "no compute capability: "),
        ("cc=9.0,0.0", "'0.0' is no compute capability: "),
        ("cc=99.9", "no compute capability: "),
        ("driver=0", "no version of NVIDIA's driver: "),
        ("driver=99999999", "no version of NVIDIA's driver: "),
        ("driver.kernel_version=0.0", "no version of NVIDIA's driver: "),
        ("cuda.ceiling=0.0", "no version of CUDA, from 1.0"),
        ("framework.cudnn=0", "no version of cuDNN, from 1.0"),
        ("python=1.5", "no version of Python, from 2.0 on"),
        ("python.version=1", "no version of Python, from 2.0 on"),
        ("glibc=0.0", "no version of the C library, from 2.0 on"),
        ("system.glibc=1.9", "no version of the C library, from 2.0 on"),
        ("gpu.memory_total_bytes=-5", "no whole number, from 0 on"),
        ("cuda.device_count=-1", "no whole number, from 0 on"),
        ("system.jetson=R36.4.0", "no release of Jetson Linux, without R: 36.4.0"),
        ("framework.import_seconds=soon", "no number, from 0 on"),
    ],
)
def test_a_value_that_no_machine_can_have_is_refused(text: str, said: str) -> None:
    """A compute capability of 0.0 was taken for an unknown card, and negative memory for a small one."""
    with pytest.raises(AssumptionError) as error:
        parse_assumption(text)
    assert said in str(error.value)


@pytest.mark.parametrize(
    "text",
    ["cc=13.0", "gpu.compute_capability=13.0", "driver=999.1", "cuda.ceiling=20.1", "python=3.99"],
)
def test_a_value_newer_than_every_table_is_possible(text: str) -> None:
    """The tables do not bound what there can be."""
    name, _, value = text.partition("=")
    assert parse_assumption(text) == (name, value)


@pytest.mark.parametrize(
    "text", ["driver=soon", "driver=1.0", "cc=many", "python=new", "glibc=x", "release=torch"]
)
def test_names_that_stand_for_nothing(text: str) -> None:
    """A name for many facts wants a value that means something."""
    with pytest.raises(AssumptionError):
        assuming(text)


def test_how_many_cards_is_said_by_naming_them() -> None:
    """`--assume gpu=2` was asked whether a Tesla K2 was meant."""
    with pytest.raises(AssumptionError, match="a card is named, not counted: --assume card="):
        assuming("gpu=2")


def test_driver_stands_for_all_of_a_working_driver() -> None:
    """Module, libraries and their answers tell one story, whatever stood there before."""
    machine = assuming("cc=9.0", "driver=570.86.15")
    for name in ("driver.kernel_version", "nvml.driver_version", "cuda.library_version"):
        assert value(machine, name) == "570.86.15"
    assert (value(machine, "cuda.init_code"), value(machine, "cuda.ceiling")) == (0, "12.8")
    gone = assuming("driver=none", on=machine)
    assert value(gone, "driver.kernel_version") is None


def test_cards_replace_the_real_ones() -> None:
    """Each `cc` is one card."""
    machine = assuming("cc=9.0", "cc=7.5")
    assert not isinstance(machine.gpus, Unknown)
    assert [card["gpu.compute_capability"] for card in machine.gpus] == [
        Known(value=capability, source="assumed") for capability in ("9.0", "7.5")
    ]
    bare = assuming("cc=none", on=machine)
    assert bare.gpus == ()


def test_python_and_glibc() -> None:
    """The patient's tag follows its version."""
    machine = assuming("python=3.13", "glibc=2.31")
    assert [value(machine, name) for name in ("python.version", "python.abi", "system.glibc")] == [
        "3.13",
        "cp313",
        "2.31",
    ]


def test_cards_and_driver_in_either_order() -> None:
    """A driver drives the cards that are assumed with it, whichever stands first on the command line."""
    database = ruledb.load_shipped()
    bare = lay(database.base, {"cc": Known(value="none", source="a test")}, database.tables, source="a test")
    driver, card = ("driver", "570.86.15"), ("cc", "9.0")
    first = lay(bare, assumed([driver, card]), database.tables, source="assumed")
    second = lay(bare, assumed([card, driver]), database.tables, source="assumed")
    assert first == second
    assert first.host["cuda.init_code"] == Known(value=0, source="assumed")
    assert first.host["cuda.device_count"] == Known(value=1, source="assumed")


def test_a_driver_without_a_card_says_so() -> None:
    """On a machine whose bus holds no card cuInit finds none, whatever the driver."""
    database = ruledb.load_shipped()
    bare = lay(database.base, {"cc": Known(value="none", source="a test")}, database.tables, source="a test")
    found = lay(bare, assumed([("driver", "570.86.15")]), database.tables, source="assumed")
    assert found.host["cuda.init_code"] == Known(value=100, source="assumed")
