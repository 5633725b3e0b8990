"""What `--require` asks for, held against a machine."""

from __future__ import annotations

import pytest

from gpudoctor import derive, ruledb
from gpudoctor.assume import assumed, lay
from gpudoctor.derive.requirements import RequirementError, parse, parse_all
from gpudoctor.model import Fact, Known, Snapshot, Unknown


def unmet(*wanted: str, gpus: tuple[dict[str, Fact], ...] | Unknown | None = None,
          image: dict[str, Fact] | None = None) -> Fact:
    """Return what two cards of 80 GiB and torch 2.10 do not meet of what is wanted.

    `image` are facts of a container that was examined there.
    """
    database = ruledb.load()
    facts = assumed([("cc", "9.0"), ("cc", "9.0"), ("driver", "580.95.05"), ("release", "torch==2.10.0")])
    facts["gpu.memory_total_bytes"] = Known(value=80 << 30, source="a test")
    facts["require.wanted"] = Known(value=wanted, source="a test")
    facts.update(image or {})
    machine = lay(database.base, facts, database.tables, source="a test")
    if gpus is not None:
        machine = Snapshot(host=machine.host, gpus=gpus, frameworks=machine.frameworks)
    return derive.complete(machine, database).host["require.unmet"]


@pytest.mark.parametrize(
    "text",
    [
        "gpu",
        "gpu>=2",
        "gpu<3",
        "gpu.memory>=80GiB",
        "gpu.memory>79 GiB",
        "gpu.memory>=85GB",
        "torch",
        "torch>=2.9",
        "torch>=2.9,<3",
        "torch==2.10.0",
        "Torch>=2.9",
        "GPU>=2",
    ],
)
def test_met(text: str) -> None:
    """What is there is not asked for again."""
    assert unmet(text) == Known(value=(), source="--require")


@pytest.mark.parametrize(
    "text", ["gpu>=3", "gpu.memory>=81GiB", "gpu.memory>=86GB", "torch>=2.11", "torch<2.10", "jax"]
)
def test_not_met(text: str) -> None:
    """What is not there is named as it was asked for."""
    assert unmet("gpu>=1", text) == Known(value=(text,), source="--require")


@pytest.mark.parametrize(("text", "end"), [
    ("tensorflw>=2", "paddle); did you mean tensorflow?"), ("gpu.memory>=40", "paddle)"),
    ("gpu>=x", "paddle)"), ("pytorch", "paddle); did you mean torch?"), ("", "paddle)"),
    pytest.param(f"gpu>={'9' * 400}", "paddle)", id="cards"),
    pytest.param(f"torch>=2.{'9' * 5000}", "paddle)", id="digits")])
def test_the_nearest_name_is_that_of_another(text: str, end: str) -> None:
    """Where the name is right and the bound is not, none was meant instead."""
    with pytest.raises(RequirementError) as caught:
        parse(text)
    assert str(caught.value).endswith(end)


def test_nobody_could_look() -> None:
    """Memory of cards that could not be listed is unknown, which is not unmet."""
    assert isinstance(unmet("gpu.memory>=1GiB", gpus=Unknown(reason="NVML hangs")), Unknown)


REFUSED = Known(value=("--gpus all: no",), source="a test")
SHOWS_HOST = Known(value=True, source="a test")


@pytest.mark.parametrize("text", ["gpu", "gpu>=1", "gpu.memory>=40GiB", "gpu.memory<90GiB"])
@pytest.mark.parametrize("shown", [{"image.shows_host": SHOWS_HOST}, {}], ids=["here", "on another machine"])
def test_a_container_that_was_refused_a_gpu_has_none(text: str, shown: dict[str, Fact]) -> None:
    """Whatever cards the machine has; they were counted as the container's."""
    found = unmet("torch", text, image={"image.gpu_refusals": REFUSED, **shown})
    assert found == Known(value=(text,), source="--require")


def test_no_card_at_all_is_what_a_refused_container_gets() -> None:
    assert unmet("gpu==0", image={"image.gpu_refusals": REFUSED}) == Known(value=(), source="--require")


@pytest.mark.parametrize("text", ["gpu>=1", "gpu>=8", "gpu.memory>=40GiB"])
def test_a_container_that_nobody_could_look_into(text: str) -> None:
    """The machine's cards stand in its report, and are not known to be what it gets."""
    found = unmet(text, image={"image.shows_host": SHOWS_HOST})
    assert isinstance(found, Unknown)
    assert "nothing in the container could look" in found.reason


@pytest.mark.parametrize(
    "text", ["", "gpu>>2", "gpu>=two", "gpu.colour>=1", "numpy>=1", "torch>=new", ">=2", "gpu>=2KiB"]
)
def test_what_cannot_be_required(text: str) -> None:
    """Wrong usage says what can be asked for."""
    with pytest.raises(RequirementError, match="tensorflow"):
        parse(text)


def card(**facts: int | bool | str) -> dict[str, Fact]:
    """Return what is known of a card."""
    return {f"gpu.{name}": Known(value=value, source="a test") for name, value in facts.items()}


def test_a_card_in_mig_mode_is_not_measured_as_a_whole() -> None:
    """A slice of an 80 GiB card may be one of 10 GiB: too little is certain, enough is not."""
    gpus = (card(memory_total_bytes=80 << 30, mig_mode=True, mig_instances=7),)
    assert isinstance(unmet("gpu.memory>=40GiB", gpus=gpus), Unknown)
    assert unmet("gpu.memory>=90GiB", gpus=gpus) == Known(value=("gpu.memory>=90GiB",), source="--require")


def test_memory_that_nobody_tells_leaves_the_wheels_to_be_judged() -> None:
    database = ruledb.load()
    facts = assumed([("cc", "9.0"), ("driver", "580.95.05"), ("python", "3.13.1")])
    facts["require.wanted"] = Known(value=("gpu.memory>=40GiB", "tensorflow==2.15.1"), source="a test")
    host = derive.complete(lay(database.base, facts, database.tables, source="a test"), database).host
    found = host["require.without_wheel"]
    assert isinstance(found, Known)
    assert found.value == ("tensorflow==2.15.1",)


def test_the_memory_of_a_hidden_card_does_not_count() -> None:
    database = ruledb.load()
    facts = assumed([("cc", "9.0"), ("cc", "7.0"), ("driver", "580.95.05")])
    facts["environment.CUDA_VISIBLE_DEVICES"] = Known(value="0", source="a test")
    devices = ({"compute_capability": "9.0"}, {"compute_capability": "7.0"})
    facts["cuda.devices"] = Known(value=devices, source="a test")
    facts["require.wanted"] = Known(value=("gpu.memory>=40GiB",), source="a test")
    machine = lay(database.base, facts, database.tables, source="a test")
    assert isinstance(machine.gpus, tuple)
    gpus = tuple({**gpu, "gpu.memory_total_bytes": Known(value=size << 30, source="a test")}
                 for gpu, size in zip(machine.gpus, (80, 16), strict=True))
    machine = Snapshot(host=machine.host, gpus=gpus, frameworks=machine.frameworks)
    found = derive.complete(machine, database).host["require.unmet"]
    assert found == Known(value=(), source="--require")


@pytest.mark.parametrize(("texts", "fewest"), [
    (["gpu>=4", "tensorflow>=2.15", "gpu<2"], ["gpu>=4", "gpu<2"]),
    (["gpu>2", "gpu<3"], ["gpu>2", "gpu<3"]),
    (["gpu.memory>=40GiB", "gpu.memory<80GiB", "gpu.memory<=39GiB"],
     ["gpu.memory>=40GiB", "gpu.memory<=39GiB"]),
    (["torch>=2.0", "torch>=2.15", "torch<2.14"], ["torch>=2.15", "torch<2.14"]),
    (["torch>=2.15,<2.14"], ["torch>=2.15,<2.14"]),
    (["torch==2.9.*", "torch!=2.9.*"], ["torch==2.9.*", "torch!=2.9.*"]),
    (["jax>=1,<3", "jax==2.*", "jax>=1,!=2.*"], ["jax==2.*", "jax>=1,!=2.*"]),
])
def test_what_nothing_can_meet_is_refused_with_the_fewest_that_clash(
        texts: list[str], fewest: list[str]) -> None:
    """It was judged on the machine, and one of the two was found not to be met."""
    with pytest.raises(RequirementError) as error:
        parse_all(texts)
    named = " and ".join(f"--require {text!r}" for text in fewest)
    assert str(error.value).startswith(f"{named} contradict" if len(fewest) > 1 else f"{named}: no")


@pytest.mark.parametrize("texts", [
    [], ["gpu"], ["gpu==0"], ["gpu>1", "gpu<3"], ["gpu.memory>39.9GiB", "gpu.memory<40GiB"],
    ["torch"], ["torch", "torch>2.9", "torch<2.9.1"],
    ["torch==2.9.*", "torch!=2.9.0"], ["torch~=2.9", "torch<3"],
    ["torch==2.9.1+cu128", "torch>=2.9"], ["torch<2", "jax>3"], ["torch>=2.9", "torch<=2.9"],
])
def test_what_something_can_meet_is_not(texts: list[str]) -> None:
    assert [one.text for one in parse_all(texts)] == texts


@pytest.mark.parametrize(("python", "wanted", "without"), [
    ("3.10.12", "jax>=0.7", ("jax>=0.7",)), ("3.10.12", "jax>=0.6", ()), ("3.12.1", "jax>=0.7", ()),
    ("3.8.10", "jax==0.4.30", ("jax==0.4.30",))])
def test_jax_has_the_pythons_of_its_jaxlib(python: str, wanted: str, without: tuple[str, ...]) -> None:
    """Regression: jax itself has one wheel for any Python, so none was said to lack it."""
    database = ruledb.load()
    facts = assumed([("cc", "9.0"), ("driver", "580.95.05"), ("python", python)])
    facts["require.wanted"] = Known(value=(wanted,), source="a test")
    host = derive.complete(lay(database.base, facts, database.tables, source="a test"), database).host
    found, instead = host["require.without_wheel"], host["require.wheel_requirement"]
    assert isinstance(found, Known)
    assert found.value == without
    assert not without or (isinstance(instead, Known) and str(instead.value).startswith("jax[cuda1"))


@pytest.mark.parametrize(("card", "driver", "wanted", "extra"), [
    ("9.0", "580.95.05", "jax>=0.7", "jax[cuda13]=="), ("9.0", "535.288.01", "jax>=0.7", "jax[cuda12]=="),
    ("7.0", "580.95.05", "jax>=0.7", "jax[cuda12]=="), ("9.0", "580.95.05", "jax==0.4.30", "jax[cuda12]==")])
def test_jax_comes_with_a_cuda_that_the_release_has_and_the_machine_runs(
        card: str, driver: str, wanted: str, extra: str) -> None:
    """Its extra stood in the code, the same for each release, driver and card."""
    database = ruledb.load()
    facts = assumed([("cc", card), ("driver", driver), ("python", "3.8.10")])
    facts["require.wanted"] = Known(value=(wanted,), source="a test")
    host = derive.complete(lay(database.base, facts, database.tables, source="a test"), database).host
    instead = host["require.wheel_requirement"]
    assert isinstance(instead, Known)
    assert str(instead.value).startswith(extra)
