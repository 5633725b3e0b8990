"""What chooses among causes where no card is to be seen, and what tells of the host's engines."""

from __future__ import annotations

import pytest

from gpudoctor import assume, derive, ruledb
from gpudoctor.model import Absent, Fact, Known, Scope, Unknown, Value

NOT_READ = Unknown(reason="test")


def host(name: str, **changes: Value | Fact) -> Fact:
    """Return a derived fact of the healthy machine with these changes."""
    database = ruledb.load()
    facts = {key.replace("__", "."): change if isinstance(change, Known | Absent | Unknown)
             else Known(value=change, source="test") for key, change in changes.items()}
    snapshot = assume.lay(database.base, facts, database.tables, source="test")
    return derive.subjects(snapshot, database)[Scope.HOST][0].fact(name)


@pytest.mark.parametrize(("changes", "expected"), [
    ({}, None),
    ({"environment__COLAB_RELEASE_TAG": "x"}, "colab"),
    ({"environment__KAGGLE_KERNEL_RUN_TYPE": "Batch"}, "kaggle"),
    ({"system__gpu_switched_off": "/proc/acpi/bbswitch"}, "switched-off"),
    ({"system__gpu_switched_off": "/proc/acpi/bbswitch", "container__runtime": "docker"}, None),
    ({"system__slurm": True}, "slurm"),
    ({"environment__SLURM_JOB_ID": "7"}, "slurm"),
    ({"environment__SLURM_JOB_ID": "7", "environment__SLURM_GPUS_ON_NODE": "1"}, None),
    ({"environment__SLURM_JOB_ID": "7", "environment__SLURM_GPUS_ON_NODE": NOT_READ}, None),
    ({"system__slurm": NOT_READ, "environment__SLURM_JOB_ID": NOT_READ}, None),
])
def test_what_says_that_a_card_is_to_be_asked_for(
        changes: dict[str, Value | Fact], expected: str | None) -> None:
    """It only chooses among causes, so what nobody could read says nothing."""
    fact = host("system.card_elsewhere", **changes)
    assert (fact.value if isinstance(fact, Known) else None) == expected


def test_what_an_older_snapshot_never_asked_is_no_question_of_it() -> None:
    """Else a machine without a card was undecided, which is healthy or not by other facts."""
    assert isinstance(host("system.card_elsewhere", system__slurm=NOT_READ), Unknown)
    never = Unknown(reason="test", asked=False)
    assert isinstance(host("system.card_elsewhere", system__slurm=never), Absent)


@pytest.mark.parametrize(("label", "expected"), [
    ("system_u:system_r:container_t:s0:c1,c2", True), ("system_u:system_r:container_init_t:s0", True),
    ("unconfined_u:system_r:spc_t:s0", False), ("docker-default (enforce)", False),
    (Absent(source="test"), False)])
def test_selinux_confines_what_it_labels_as_a_container(label: Value | Fact, expected: bool) -> None:
    """Other labels, and AppArmor's, do not."""
    fact = host("container.selinux_confined", container__security_label=label)
    assert isinstance(fact, Known)
    assert fact.value is expected


@pytest.mark.parametrize(("release", "expected"), [
    ("5.10.16.3-microsoft-standard-WSL2", "5.10.16.3"), ("6.8.0-45-generic", "6.8.0"), ("custom", None)])
def test_the_numbers_of_a_kernel(release: str, expected: str | None) -> None:
    """What is compared with the release that a page names."""
    fact = host("system.kernel_version", system__kernel=release)
    assert (fact.value if isinstance(fact, Known) else None) == expected


def test_a_module_that_refused_the_card_said_so() -> None:
    """A log that may not be read says nothing, and is no refusal."""
    line = "NVRM: installed in this system is not supported by open"
    assert host("driver.module_refusal", system__gpu_kernel_log=(line,)) == Known(
        value="needs-proprietary-module", source=line)
    assert isinstance(host("driver.module_refusal", system__gpu_kernel_log=NOT_READ), Absent)


@pytest.mark.parametrize(("changes", "expected"), [
    ({}, "docker run --gpus all"),
    ({"image__gpu_request": "nvidia"}, "docker run --gpus all"),
    ({"image__gpu_request": "cdi"}, "docker run --device nvidia.com/gpu=all"),
    ({"image__gpu_request": "runtime"}, "docker run --runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all"),
    ({"image__engine": "podman"}, "podman run --device nvidia.com/gpu=all"),
    ({"image__gpu_refusals": ("--gpus all: no",)}, "docker run --gpus all"),
    ({"image__gpu_refusals": ("--gpus all: no", "--device nvidia.com/gpu=all: no")},
     "docker run --device nvidia.com/gpu=all"),
    ({"image__gpu_refusals": ("--gpus all: no", "--runtime=nvidia: no")},
     "docker run --runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all"),
])
def test_a_container_is_started_as_its_engine_takes_it(
        changes: dict[str, Value | Fact], expected: str) -> None:
    """Where it refused every request, as it was asked last, which is what it knows best."""
    fact = host("container.run_command", **changes)
    assert isinstance(fact, Known)
    assert fact.value == expected


@pytest.mark.parametrize(("changes", "again", "base"), [
    ({}, "gpudoctor check", None),
    ({"image__reference": "app:1", "image__is_running": False}, "gpudoctor check --image app:1", "app:1"),
    ({"image__reference": "3f2a", "image__is_running": True, "image__engine": "podman"},
     "gpudoctor check --container 3f2a", "$(podman inspect --format '{{.Config.Image}}' 3f2a)"),
    ({"image__reference": "a b", "image__is_running": False}, "gpudoctor check --image 'a b'", "'a b'"),
])
def test_who_looks_again_looks_at_the_same_place(
        changes: dict[str, Value | Fact], again: str, base: str | None) -> None:
    """An image is looked into again, and one is built on it to try another variable."""
    facts = [host(name, **changes) for name in ("container.check_command", "container.image_base")]
    assert [fact.value if isinstance(fact, Known) else None for fact in facts] == [again, base]
