"""Machines for which the builds of the indexes are not made: a board with its own, a system without glibc."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path

import pytest

from gpudoctor import derive
from gpudoctor.assume import AssumptionError, blank, parse_assumption, supposed
from gpudoctor.candidates import WishError
from gpudoctor.engine import evaluate
from gpudoctor.model import Recommendation, RuleDatabase, Scope, Value
from gpudoctor.remedy import diagnose
from gpudoctor.render import recommendation
from gpudoctor.ruledb import load_compiled
from tests.unit.asked_candidates import asked, host

RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return load_compiled(RULES)


def test_a_jetson_is_told_by_its_own_reason(database: RuleDatabase) -> None:
    """It was told of a driver for CUDA 13 first, and to take the last torch with code for its card."""
    board = {"system__architecture": "aarch64", "system__jetson": "36.4.3"}
    said = asked(host(database, "cc=8.7", "driver=540.4.0", **board), database, "torch")
    assert said.exit_code == 1
    assert said.ground.board.startswith("Jetson board (L4T 36.4.3, JetPack 6.2")
    assert "NVIDIA builds for its JetPack" in said.ground.board
    assert [hint.command for hint in said.hints] == ["gpudoctor explain jetson-wrong-wheel"]
    assert said.last == ()
    of_jax = asked(host(database, "cc=8.7", "driver=540.4.0", **board), database, "jax")
    assert of_jax.unserved == ()  # it was told that the first release for its card is newer than these rules
    page = recommendation.render(said, width=100, colour=False)
    assert page.count("GPD6025") == 1
    assert "GPD2010" not in page
    thor = {**board, "system__jetson": "38.4.0"}
    newer = asked(host(database, "cc=11.0", "driver=580.95.05", **thor), database, "torch")
    assert newer.exit_code == 0
    assert "it takes wheels built for servers" in newer.ground.board
    assert newer.ground.board.endswith("--runtime nvidia, not with --gpus")
    unknown = {**board, "system__jetson": "45.1.0"}
    assert "not known" in asked(host(database, "cc=8.7", "driver=540.4.0", **unknown), database).ground.board


@pytest.mark.parametrize(("card", "board"), [("Jetson Orin Nano", "=39.1.0"), ("Jetson Nano", "=32.7.6"),
                                            ("Orin", "=39.1.0"), ("Jetson TK1", r"\Z")])
def test_a_card_of_a_jetson_asks_for_its_board(card: str, board: str, database: RuleDatabase) -> None:
    """Regression: it was taken for a card in a server, and offered images and drivers of servers.

    For a board of which no release is known, a TK1 was told 36.4.0.
    """
    with pytest.raises(AssumptionError, match=f"is a Jetson, .*--assume system.jetson{board}"):
        supposed(blank(), [("card", card)], database.tables)


def test_an_assumed_board_has_its_own_architecture(database: RuleDatabase) -> None:
    pairs: list[tuple[str, Value]] = [("card", "Jetson Orin Nano"), ("system.jetson", "36.4.0")]
    said = asked(supposed(host(database, "cc=8.9", "driver=none"), pairs, database.tables), database, "torch")
    assert (said.ground.platform, said.ground.board[:24]) == ("linux_aarch64", "Jetson board (L4T 36.4.0")


@pytest.mark.parametrize("other", ["system.architecture=arm64", "system.distribution=debian"])
def test_no_python_of_this_machine_is_called_on_another(other: str, database: RuleDatabase) -> None:
    """Regression: the commands for an ARM server called the interpreter of the laptop by its path."""
    pairs = [parse_assumption(text) for text in (other, "glibc=2.36", "cc=9.0", "driver=580.95.05")]
    here = host(database, python__chosen_because="gpudoctor runs under it")
    said = asked(supposed(here, pairs, database.tables), database, "torch")
    [command] = {one.commands[0] for one in said.candidates[:1]}
    assert command.startswith("python3.")


def test_what_does_not_fit_names_the_parts_that_refuse(database: RuleDatabase) -> None:
    """Regression: "torch and such a machine (linux_x86_64)", where a newer driver would do."""
    old = asked(host(database, "cc=8.9", "driver=535.104.05"), database, "torch==2.15.0")
    assert old.conflict[1].startswith("this machine (driver 535.104.05, compute capability 8.9, glibc ")
    none = asked(host(database, "cc=8.9", "driver=535.104.05", system__architecture="riscv64"), database,
                 "torch==2.15.0")
    assert none.conflict == ("torch==2.15.0", "this machine (linux_riscv64)")


def on_windows(database: RuleDatabase, *frameworks: str, python: str, system: str = "windows"
               ) -> Recommendation:
    pairs = [parse_assumption(text) for text in (f"system.os={system}", "cc=8.6", "driver=581.29")]
    here = host(database, python__chosen_because="gpudoctor runs under it")
    return asked(supposed(here, pairs, database.tables), database, *frameworks, python=python)


@pytest.mark.parametrize("system", ["windows", "Windows", "WINDOWS"])
def test_windows_has_commands_of_its_own(system: str, database: RuleDatabase) -> None:
    """Regression: in small letters it got the layout and LD_LIBRARY_PATH of Unix, and "Windows" nothing."""
    said = on_windows(database, "torch", python="3.12", system=system)
    [newest, *_] = said.candidates
    assert (said.ground.platform, newest.offered, newest.environment) == ("windows_x86_64", True, {})
    index = f"https://download.pytorch.org/whl/cu{str(newest.cuda).replace('.', '')}"
    python, build = r"gpu-environment\Scripts\python.exe", f"torch=={newest.version} --index-url {index}"
    assert newest.commands == (
        f"py -3.12 -m venv gpu-environment; {python} -m pip install {build}",
        f"uv venv --python 3.12 gpu-environment; uv pip install --python {python} {build}")
    assert not any("brings no CUDA libraries" in note for note in newest.notes)  # torch's wheels hold them
    assert "glibc" not in recommendation.render(said, width=200, colour=False)


def test_tensorflow_on_windows_ends_with_2_10_and_goes_on_in_wsl(database: RuleDatabase) -> None:
    said = on_windows(database, "tensorflow", python="3.10")
    offered = [one for one in said.candidates if one.offered]
    assert offered[0].version == "2.10.1"
    assert any("name their folders in PATH" in note for note in offered[0].notes)
    assert offered[0].commands[0].endswith(" tensorflow==2.10.1 'numpy<2'")
    later = on_windows(database, "tensorflow==2.20", python="3.12")
    assert [one.rejected_by[0].message for one in later.candidates if one.kind == "pip"] == [
        "no build of tensorflow==2.20 with CUDA is known for windows_x86_64"]
    words = shlex.split(later.hints[0].command)
    pairs = [parse_assumption(value) for name, value in itertools.pairwise(words) if name == "--assume"]
    wsl = supposed(database.base, pairs, database.tables)
    inside = asked(wsl, database, "tensorflow==2.20", python="3.12")
    assert (inside.ground.platform, inside.exit_code) == ("linux_x86_64", 0)


@pytest.mark.parametrize(("said", "meant"), [
    ("system.os=linux", "Linux"), ("system.os=macOS", "Darwin"), ("system.architecture=AMD64", "x86_64"),
    ("system.architecture=arm64", "aarch64"), ("system.architecture=riscv64", "riscv64"),
    ("container.runtime=none", None), ("python.site_packages=none", ()), ("cuda.device_count=none", None),
    ("cuda.visibility=none", "none")])
def test_an_assumption_is_read_as_it_is_meant(said: str, meant: Value | None) -> None:
    """Regression: `container.runtime=none` made a container that is called "none"."""
    assert parse_assumption(said)[1] == meant


def test_a_system_that_there_is_not_is_refused() -> None:
    with pytest.raises(AssumptionError, match="'banana' is none of Linux, Windows, Darwin"):
        parse_assumption("system.os=banana")


def test_under_wsl_the_driver_in_windows_is_held_against_the_card(database: RuleDatabase) -> None:
    """Regression: an RTX 5090 under 535 in Windows was offered torch 2.11."""
    old = asked(host(database, "cc=12.0", "driver=537.58", system__wsl=2), database, "torch",
                may_change=("driver",))
    assert old.exit_code == 1
    assert [one.rule for one in old.candidates[0].rejected_by][:1] == ["GPD2065"]
    assert old.changes[0].change == "the driver in Windows 537.58 -> 580.88"
    assert asked(host(database, "cc=12.0", "driver=572.16", system__wsl=2), database, "torch").exit_code == 0


@pytest.mark.parametrize(("words", "laid", "fault"), [
    (("driver=580.95.05", "cuda.init_code=34"), {}, "GPD2006"),
    (("driver=580.95.05", "cuda.init_code=802"), {}, "GPD2040"),
    (("driver=580.95.05", "cuda.init_code=999"), {}, "GPD2080"),
    (("driver=none",), {"container__runtime": "docker"}, "GPD3001"),
])
def test_no_driver_is_told_to_cure_what_none_cures(words: tuple[str, ...], laid: dict[str, Value], fault: str,
                                                   database: RuleDatabase) -> None:
    """Regression: "driver 580.95.05 -> 595.45.04 makes torch 2.15.0 possible" behind a stub of libcuda."""
    said = asked(host(database, "cc=9.0", *words, **laid), database, "torch",
                 may_change=("driver",))
    assert [one.rule for one in said.ground.faults] == [fault]
    assert (said.exit_code, said.changes) == (1, ())


@pytest.mark.parametrize(("distribution", "driver"), [("ubuntu", "580.65.06"), ("arch", "590.48.01")])
def test_a_driver_is_told_to_cure_that_there_is_none(distribution: str, driver: str,
                                                     database: RuleDatabase) -> None:
    """It is the one that a fix installs there: Arch Linux has one branch, whatever it is at the time."""
    bare = host(database, "cc=9.0", "driver=none", system__distribution=distribution)
    said = asked(bare, database, "torch", may_change=("driver",))
    assert [one.rule for one in said.ground.faults] == ["GPD2001"]
    assert said.changes[0].change == f"driver none -> {driver}"


def test_one_driver_is_named_for_a_card_by_the_change_and_by_the_fix(database: RuleDatabase) -> None:
    """Regression: for a K80 `recommend` said 470.42.01 and `fix` 470.256.02, the last that can be had."""
    machine = host(database, "cc=3.7", "driver=580.95.05", system__distribution="ubuntu",
                   system__distribution_version="22.04")
    [change] = asked(machine, database, "torch", python="3.11", may_change=("driver",)).changes
    [finding] = [one for one in diagnose(machine, database).findings if one.rule == "GPD2064"]
    assert change.change == "driver 580.95.05 -> 470.256.02"
    assert finding.fixes[0].title.startswith("Go back to driver 470.256.02 or newer of branch 470")


@pytest.mark.parametrize(("cards", "said"), [
    (("cc=3.7", "cc=12.0"), "(compute capability 3.7) has none after branch 470 and Blackwell (compute"),
    (("cc=6.1", "cc=9.0"), None)])
def test_that_no_driver_serves_all_cards_is_told(cards: tuple[str, str], said: str | None,
                                                 database: RuleDatabase) -> None:
    """Regression: a K80 beside an RTX 5090 was told that one lies idle, and not that it must."""
    found = asked(host(database, *cards, "driver=595.45.04"), database, "torch")
    [fault] = [one for one in found.ground.faults if one.rule == "GPD2066"]
    assert ("No driver serves all" in fault.message) is (said is not None)
    assert (said or "") in fault.message


def test_what_follows_from_another_fault_is_no_fault_of_its_own(database: RuleDatabase) -> None:
    """Regression: a container was said to have no GPU, as its host's driver has dropped the card."""
    said = asked(host(database, "cc=3.7", "driver=580.95.05", container__runtime="docker"), database, "torch",
                 python="3.11", may_change=("driver",))
    assert [one.rule for one in said.ground.faults] == ["GPD2064"]
    assert [one.change for one in said.changes] == ["the host's driver 580.95.05 -> 470.256.02"]


@pytest.mark.parametrize("words", [[("python.abi", "cp313t"), ("python", "3.13")],
                                   [("python", "3.13"), ("python.abi", "cp313t")],
                                   [("python.abi", "cp313t")]])
def test_a_free_threaded_python_that_is_assumed_stays_one(words: list[tuple[str, Value]],
                                                          database: RuleDatabase) -> None:
    """Regression: --python 3.13 made an ordinary Python of it, and offered wheels that are not for it."""
    machine = supposed(host(database, "cc=8.9", "driver=580.95.05"), words, database.tables)
    said = asked(machine, database, "torch==2.15.0", python="3.13")
    [wheel] = [one for one in said.candidates if one.kind == "pip"]
    assert wheel.is_open
    assert "free-threaded Python (cp313t)" in wheel.rejected_by[0].message


def test_a_python_of_two_versions_is_refused(database: RuleDatabase) -> None:
    machine = supposed(host(database, "cc=8.9", "driver=580.95.05"), [("python.abi", "cp313t")],
                       database.tables)
    with pytest.raises(WishError, match=r"python.abi=cp313t and Python 3\.12 contradict one another"):
        asked(machine, database, "torch", python="3.12")


def test_a_mac_is_not_sent_to_windows_and_its_next_step_leads_somewhere(database: RuleDatabase) -> None:
    """It was told of WSL, and the command for "a machine that has a card" asked about a Mac with one."""
    mac = host(database, "cc=none", system__os="Darwin", system__architecture="arm64", system__glibc=None)
    said = asked(mac, database, "torch")
    assert [one.rejected_by[0].message for one in said.candidates if one.kind == "pip"] == [
        "no build of torch with CUDA is known for darwin_arm64: CUDA is made for macOS no more"]
    words = shlex.split(said.hints[0].command)
    pairs = [parse_assumption(value) for name, value in itertools.pairwise(words) if name == "--assume"]
    there = asked(supposed(mac, pairs, database.tables), database, "torch")
    assert (there.ground.platform, there.exit_code) == ("linux_x86_64", 0)


def test_no_driver_helps_a_card_in_mig_mode_without_an_instance(database: RuleDatabase) -> None:
    """A newer driver was said to make all of them possible, and so it would have been for nothing."""
    machine = supposed(database.base, [
        ("driver", "570.86.15"), ("cc", "9.0"), ("gpu.mig_mode", True), ("gpu.mig_instances", 0)],
        database.tables)
    said = asked(machine, database, "torch", may_change=("driver",))
    assert {fault.rule for fault in said.ground.faults} >= {"GPD1050"}
    assert (said.exit_code, said.changes) == (1, ())


def test_without_glibc_no_wheel_is_offered_but_images_are(database: RuleDatabase) -> None:
    """Alpine: a container brings its own C library."""
    said = asked(host(database, "cc=8.9", "driver=580.95.05", system__glibc=None), database, "torch")
    assert not any(one.offered for one in said.candidates if one.kind == "pip")
    [first, *_] = [one for one in said.candidates if one.version == "2.9.1" and one.kind == "pip"]
    assert "GPD6082" in [one.rule for one in first.rejected_by]
    assert any(one.offered for one in said.candidates if one.kind == "image")
    assert said.ground.glibc == "none"


@pytest.mark.parametrize(("dropped", "driver"), [("3.7", "580.95.05"), ("6.1", "595.71.05")])
def test_a_card_that_the_driver_leaves_out_keeps_nothing_away_from_the_others(
        dropped: str, driver: str, database: RuleDatabase) -> None:
    """Releases without code for it were refused, where the page says that programs never use this card."""
    alone = asked(host(database, "cc=8.9", f"driver={driver}"), database, "torch", may_change=("python",))
    beside = asked(host(database, f"cc={dropped}", "cc=8.9", f"driver={driver}"), database, "torch",
                   may_change=("python",))
    assert [one.name for one in beside.candidates] == [one.name for one in alone.candidates]
    assert [one.verdict for one in beside.candidates] == [one.verdict for one in alone.candidates]
    assert beside.changes == alone.changes
    assert [fault.rule for fault in beside.ground.faults] == ["GPD2066"]
    assert [card.compute_capability for card in beside.ground.cards] == [dropped, "8.9"]


@pytest.mark.parametrize(("capability", "types"), [
    ("7.5", ("float16",)), ("12.0", ("float16", "bfloat16", "tf32", "float8")), ("13.0", ()), ("8.8", ()),
])
def test_of_a_card_that_no_table_has_no_data_type_is_said(
        capability: str, types: tuple[str, ...], database: RuleDatabase) -> None:
    """A regression: those of older cards were said of 13.0 as well, which no source does."""
    said = asked(host(database, f"cc={capability}", "driver=580.95.05"), database, "torch")
    card, = said.ground.cards
    assert (card.data_types, card.is_listed) == (types, types != ())
    page = " ".join(recommendation.render(said, width=200, colour=False).split())
    assert ("which data types it computes in is in no table" in page) == (types == ())


def test_cards_that_the_driver_serves_count_all(database: RuleDatabase) -> None:
    """Also the older one: programs may be started on either."""
    both = asked(host(database, "cc=6.1", "cc=8.9", "driver=580.95.05"), database, "torch")
    newest = both.candidates[0]
    assert (newest.offered, newest.cuda) == (True, "12.6")
    assert any(one.version == "2.15.0" and not one.offered for one in both.candidates)


def test_where_the_driver_serves_no_card_the_last_release_for_all_is_named(database: RuleDatabase) -> None:
    """No card counts less than another then."""
    said = asked(host(database, "cc=3.7", "cc=6.1", "driver=595.71.05"), database, "torch")
    assert (said.exit_code, {fault.rule for fault in said.ground.faults}) == (1, {"GPD2064"})
    assert [one.version for one in said.last] == [
        one.version for one in asked(host(database, "cc=3.7", "driver=595.71.05"), database, "torch").last]


def test_check_finds_nothing_of_a_release_on_a_card_that_is_left_out(database: RuleDatabase) -> None:
    """It was an error that torch has no code for the card, beside the warning that nothing uses that card."""
    machine = host(database, "cc=3.7", "cc=8.9", "driver=580.95.05", "release=torch==2.15.0")
    found = evaluate(derive.subjects(machine, database), database.rules, database.tables).findings
    assert {finding.rule for finding in found if finding.subject.startswith("GPU 0")} == {"GPD2066"}


@pytest.mark.parametrize("name", ["framework.cuda_distributions", "framework.gpu_release",
                                  "framework.fitting_release", "framework.sufficient_driver"])
def test_what_a_fix_installs_is_for_the_cards_that_programs_use(name: str, database: RuleDatabase) -> None:
    """cuDNN was held back for the card that the driver leaves out, and no release was new enough for both."""
    release = "release=tensorflow==2.20.0"
    beside, alone = (
        derive.subjects(host(database, *cards, "driver=595.71.05", release), database)[Scope.FRAMEWORK][0]
        for cards in (("cc=6.1", "cc=8.9"), ("cc=8.9",)))
    served = derive.subjects(host(database, "cc=6.1", "cc=8.9", "driver=580.95.05", release), database)
    assert beside.fact(name) == alone.fact(name)
    if name == "framework.cuda_distributions":
        assert served[Scope.FRAMEWORK][0].fact(name) != alone.fact(name)


def test_an_environment_without_pip_gets_one_before_it_is_used(database: RuleDatabase) -> None:
    """The line with pip ended with `No module named pip` in each environment that uv made."""
    empty: dict[str, Value] = {"python__environment": "venv", "python__nvidia_distributions": ()}
    without = asked(host(database, "cc=8.9", python__pip_version=None, **empty), database, "torch")
    pip, uv = without.candidates[0].commands
    python = pip.split()[0]
    assert pip.startswith(f"{python} -m ensurepip && {python} -m pip install torch==")
    assert "ensurepip" not in uv
    usual = asked(host(database, "cc=8.9", python__pip_version="24.0", **empty), database, "torch")
    assert "ensurepip" not in "".join(usual.candidates[0].commands)


def test_without_a_card_the_next_commands_ask_for_the_same(database: RuleDatabase) -> None:
    """The version, the Python and --pre were lost, and the machine was said not to go with the release."""
    bare = host(database, "cc=none", "driver=none")
    said = asked(bare, database, "torch==2.10.*", "jax", python="3.12", pre=True)
    assert said.conflict == ()
    elsewhere, on_cpu = (hint.command for hint in said.hints)
    assert elsewhere == ("gpudoctor recommend --framework 'torch==2.10.*' --framework jax --python 3.12 "
                         '--pre --assume card="RTX 5090" --assume driver=620.70.06')
    assert on_cpu == "pip install 'torch==2.10.*' jax"
    assert "--image" in asked(bare, database, "torch", image=True).hints[0].command


def test_that_no_change_helps_is_said(database: RuleDatabase) -> None:
    """Who asked what a change would buy got no answer."""
    newest = host(database, "cc=8.9", "driver=620.70.06")
    said = asked(newest, database, "torch", may_change=("driver",))
    assert render(said).endswith("\nNo other driver makes anything newer possible, as far as these rules "
                                 "know.\n")
    assert "No other" not in render(asked(newest, database, "torch"))
    lost = render(asked(newest, database, "tensorflow==2.15.0", may_change=("driver", "python"),
                        python="3.13"))
    assert "\nNo other driver or Python makes anything possible, as far as these rules know.\n" in lost


def test_a_release_and_a_machine_go_together_where_only_a_driver_is_missing(database: RuleDatabase) -> None:
    """Of jax some releases have no wheel for this Python, and the others wanted a driver alone."""
    assert asked(host(database, "cc=8.9", "driver=none"), database, "jax", python="3.11").conflict == ()


def test_a_board_of_nvidia_s_is_not_sent_to_another_card(database: RuleDatabase) -> None:
    """A Jetson without its driver was told what fits a machine that has a card."""
    board = host(database, "cc=none", "driver=none", system__jetson="36.4.0", system__architecture="aarch64")
    assert [hint.command for hint in asked(board, database, "torch").hints] == [
        "gpudoctor explain jetson-wrong-wheel"]


def render(said: Recommendation) -> str:
    return recommendation.render(said, width=200, colour=False)
