"""Candidates laid over machines: which fit, what is typed, which rule speaks against the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.assume import assumed, lay, parse_assumption
from gpudoctor.candidates.commands import exports
from gpudoctor.derive.lazy import ASSUMED
from gpudoctor.model import Absent, Candidate, Fit, Known, Recommendation, RuleDatabase, Value
from gpudoctor.ruledb import load_compiled
from tests.unit.asked_candidates import asked, host

RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return load_compiled(RULES)


def of_version(said: Recommendation, version: str, cuda: str | None = None) -> Candidate:
    """Return the candidate for pip of a version, the one for a CUDA if there are several."""
    [found, *_] = [one for one in said.candidates if one.version == version and one.kind == "pip"
                   and cuda in (None, one.cuda)]
    return found


def offered(said: Recommendation) -> list[str]:
    return [one.version for one in said.candidates if one.offered and one.kind == "pip"]


# -- one framework -------------------------------------------------------------------------------------------


def test_what_fits_comes_first_and_the_newest_before_all(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=8.9", "driver=550.54.14"), database, "torch")
    verdicts = [one.offered for one in said.candidates]
    assert verdicts == sorted(verdicts, reverse=True)
    assert offered(said)[0] == "2.14.1"
    assert (said.exit_code, said.last) == (0, ())
    rejected = of_version(said, "2.15.0")
    assert [one.rule for one in rejected.rejected_by] == ["GPD2010"]
    assert (rejected.verdict, rejected.commands) == (Fit.REJECTED, ())


def test_another_index_is_named_and_its_builds_are_said_to_be_unread(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=8.9", "driver=550.54.14"), database, "torch==2.14.1")
    [build] = [one for one in said.candidates if one.offered and one.kind == "pip"]
    assert build.commands[0].endswith("pip install torch==2.14.1 --index-url https://download.pytorch.org/whl/cu126")
    assert (build.version, build.cuda, build.verdict) == ("2.14.1", "12.6", Fit.WITH_NOTES)
    assert any("was not read" in note for note in build.notes)


def test_pascal_is_served_by_the_index_for_cuda_12_6_alone(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=6.1", "driver=580.65.06"), database, "torch==2.12.1")
    assert {one.cuda: one.offered for one in said.candidates if one.kind == "pip"} == {
        "12.6": True, "13.0": False, "13.2": False}


def test_cusolver_of_tensorflow_2_21_becomes_a_variable(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=8.9", "driver=550.54.14"), database, "tensorflow")
    candidate = of_version(said, "2.21.0")
    folder = "/home/user/venv/lib/python3.12/site-packages/nvidia/cusolver/lib"
    assert candidate.environment == {"LD_LIBRARY_PATH": folder}
    assert candidate.commands == (
        "/home/user/venv/bin/python -m pip install 'tensorflow[and-cuda]==2.21.0'",
        "uv pip install --python /home/user/venv/bin/python 'tensorflow[and-cuda]==2.21.0'",
        f"export LD_LIBRARY_PATH={folder}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}")
    assert (candidate.verdict, of_version(said, "2.20.0").verdict) == (Fit.WITH_NOTES, Fit.FITS)


@pytest.mark.parametrize(("value", "here", "line"), [
    ("/a:/b", (), "/a:/b${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"),
    ("/here:/a", ("/here",), "${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/a"),
    ("/a:/here", ("/here",), "/a${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"),
    ("/a", ("/here", "/a"), "/a"),  # one is taken out of it
])
def test_what_a_shell_has_in_ld_library_path_stays(value: str, here: tuple[str, ...], line: str) -> None:
    """Regression: the line of another shell was lost, or the page's order of the folders turned round."""
    assert exports({"LD_LIBRARY_PATH": value}, here) == (f"export LD_LIBRARY_PATH={line}",)


def test_a_kepler_card_gets_the_last_cudnn_that_serves_it(database: RuleDatabase) -> None:
    """Regression: a K80 was told that no package has CUDA libraries for TensorFlow 2.13, a T4 which ones."""
    said = asked(host(database, "cc=3.7", "driver=470.223.02"), database, "tensorflow==2.13.1", python="3.11")
    candidate = of_version(said, "2.13.1")
    assert "nvidia-cudnn-cu11==8.7.0.84" in candidate.commands[0]
    assert not [note for note in candidate.notes if "no package has them" in note]


@pytest.mark.parametrize(("version", "python", "cuda", "cudnn"), [
    ("2.3.4", "3.8", "10.1", "7 (7.6 or newer)"), ("2.2.3", "3.7", "10.1", "7 (7.6 or newer)"),
    ("2.4.4", "3.8", "11.0", "8 (8.0 or newer)"),
])
def test_a_release_whose_libraries_no_package_has_asks_for_its_toolkit(
        version: str, python: str, cuda: str, cudnn: str, database: RuleDatabase) -> None:
    """TensorFlow before 2.5 was not offered at all: there are no packages with the CUDA that it opens."""
    machine = host(database, "cc=7.0", "driver=470.256.02")
    candidate = of_version(asked(machine, database, f"tensorflow=={version}", python=python), version)
    assert candidate.verdict is Fit.WITH_NOTES
    assert candidate.environment == {"LD_LIBRARY_PATH": f"/usr/local/cuda-{cuda}/lib64"}
    assert candidate.commands[-1] == (
        f"export LD_LIBRARY_PATH=/usr/local/cuda-{cuda}/lib64${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}")
    [note] = [note for note in candidate.notes if "no package has them" in note]
    assert f"install CUDA {cuda} and cuDNN {cudnn} so that" in note
    assert "libcudart.so" in note


def test_a_cudnn_that_is_chosen_for_a_release_is_not_older_than_the_one_it_was_built_with(
        database: RuleDatabase) -> None:
    """8.5 has the right name for TensorFlow 2.12 and 2.13, and is refused by them (tensorflow#60913)."""
    said = asked(host(database, "cc=8.0", "driver=525.147.05"), database, "tensorflow==2.12.1", python="3.11")
    assert " nvidia-cudnn-cu11==8.9.6.50" in of_version(said, "2.12.1").commands[0]


def test_what_a_fix_brings_to_one_framework_is_held_against_the_others(database: RuleDatabase) -> None:
    """TensorFlow 2.13 needs packages for CUDA 11 whose files are written by JAX's for CUDA 12 too."""
    said = asked(host(database, "cc=9.0", "driver=550.54.14"), database, "tensorflow==2.13.1",
                 "jax==0.4.29", python="3.11")
    (refused,) = [one for one in said.candidates if one.version == "2.13.1"]
    assert refused.verdict is Fit.REJECTED
    assert "both write nvidia/cudnn/lib/" in refused.rejected_by[0].message


def test_a_platform_without_a_build_is_told(database: RuleDatabase) -> None:
    """TensorFlow on ARM was only said not to go together with the machine."""
    said = asked(host(database, "cc=9.0", "driver=580.95.05", system__architecture="aarch64"), database,
                 "tensorflow==2.20.*")
    told = of_version(said, "2.20.0")
    assert [(one.rule, one.message) for one in told.rejected_by] == [
        ("GPD6020", "no build of tensorflow with CUDA is known for linux_aarch64")]
    assert said.exit_code == 1


def test_a_toolkit_gives_no_code_to_a_card(database: RuleDatabase) -> None:
    """What else is wrong with the release still rejects it."""
    said = asked(host(database, "cc=3.0", "driver=470.256.02"), database, "tensorflow==2.3.4", python="3.8")
    assert said.exit_code == 1
    assert "no package has them" not in str(of_version(said, "2.3.4").notes)


def test_cudnn_is_held_back_for_a_card_that_newer_ones_dropped(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=6.1", "driver=550.54.14"), database, "tensorflow==2.20.0")
    [candidate] = [one for one in said.candidates if one.offered and one.kind == "pip"]
    assert candidate.pins == ("nvidia-cudnn-cu12==9.10.2.21",)
    assert " nvidia-cudnn-cu12==9.10.2.21" in candidate.commands[0]
    assert "(GPD5050)" in candidate.notes[0]


def test_before_the_extra_nvidias_packages_and_a_variable_are_given(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=8.6", "driver=550.54.14"), database, "tensorflow==2.12.1", python="3.11")
    [candidate] = [one for one in said.candidates if one.offered and one.kind == "pip"]
    assert "nvidia-cublas-cu11==11.11.3.6" in candidate.pins
    assert candidate.verdict is Fit.WITH_NOTES
    assert candidate.environment["LD_LIBRARY_PATH"].startswith("$PWD/gpu-environment/lib/python3.11/")
    made, installed = candidate.commands[0].split(" && ")
    assert made == "python3.11 -m venv gpu-environment"
    assert installed.startswith("gpu-environment/bin/python -m pip install tensorflow==2.12.1 nvidia-")
    assert candidate.commands[1].startswith("uv venv --python python3.11 gpu-environment && uv pip install ")
    assert candidate.commands[2].startswith('export LD_LIBRARY_PATH="$PWD"/gpu-environment/lib/python3.11/')


def test_a_toolkit_that_is_there_serves_as_well(database: RuleDatabase) -> None:
    """Then nothing needs to be added."""
    names = ("libcudart.so.11.0", "libcublas.so.11", "libcublasLt.so.11", "libcufft.so.10", "libcurand.so.10",
             "libcusolver.so.11", "libcusparse.so.11", "libcudnn.so.8")
    cache = tuple({"soname": name, "path": f"/opt/cuda/lib/{name}"} for name in names)
    snapshot = host(database, "cc=8.6", "driver=550.54.14", loader__cache=cache)
    [candidate] = [one for one in asked(snapshot, database, "tensorflow==2.12.1", python="3.11").candidates
                   if one.offered and one.kind == "pip"]
    assert (candidate.pins, candidate.environment) == ((), {})


def test_a_later_numpy_is_kept_away_from_what_was_built_before_it(database: RuleDatabase) -> None:
    snapshot = host(database, "cc=8.6", "driver=550.54.14")
    with_it = asked(snapshot, database, "tensorflow==2.10.1", python="3.10")
    [candidate] = [one for one in with_it.candidates if one.offered and one.kind == "pip"]
    assert "numpy<2" in candidate.pins
    too_old = asked(snapshot, database, "tensorflow==2.10.1", python="3.8")  # no NumPy 2 exists for it
    [candidate] = [one for one in too_old.candidates if one.offered and one.kind == "pip"]
    assert "numpy<2" not in candidate.pins


def test_ptx_alone_is_a_note_and_newer_ptx_than_the_driver_a_rejection(database: RuleDatabase) -> None:
    slow = asked(host(database, "cc=12.0", "driver=580.65.06"), database, "jax[cuda12]==0.5.3")
    [candidate] = [one for one in slow.candidates if one.kind == "pip"]
    assert candidate.verdict is Fit.WITH_NOTES
    assert any("(GPD5040)" in note for note in candidate.notes)
    old = host(database, "cc=9.0", "driver=535.104.05")
    refused = asked(old, database, "tensorflow==2.21.0", python="3.12")
    [candidate] = [one for one in refused.candidates if one.kind == "pip"]
    assert "GPD5030" in [one.rule for one in candidate.rejected_by]


def test_a_python_without_a_wheel_and_a_refused_extra_reject(database: RuleDatabase) -> None:
    snapshot = host(database, "cc=8.9", "driver=550.54.14")
    none = asked(snapshot, database, "tensorflow==2.20.0", python="3.14")
    assert none.conflict == ("tensorflow==2.20.0", "Python 3.14")
    assert [one.rule for one in of_version(none, "2.20.0").rejected_by] == ["GPD6090"]
    assert "tensorrt" in of_version(asked(snapshot, database, "tensorflow==2.14.1", python="3.11"),
                                    "2.14.1").rejected_by[0].message


def test_an_old_glibc_rejects(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=8.9", "driver=580.65.06", "glibc=2.17"), database, "torch")
    assert offered(said)[0] == "2.6.0"
    assert "GPD6080" in [one.rule for one in of_version(said, "2.9.1").rejected_by]


def test_prereleases_only_when_wanted(database: RuleDatabase) -> None:
    snapshot = host(database, "cc=8.9", "driver=550.54.14")
    assert "2.22.0rc0" not in offered(asked(snapshot, database, "tensorflow"))
    assert offered(asked(snapshot, database, "tensorflow", pre=True))[0] == "2.22.0rc0"


def test_under_wsl_a_driver_is_changed_in_windows(database: RuleDatabase) -> None:
    """It read as if one were to be installed in Linux."""
    machine = host(database, "cc=8.9", "driver=535.104.05", system__wsl=2)
    said = asked(machine, database, "torch", may_change=("driver",))
    assert [one.change for one in said.changes] == ["the driver in Windows 535.104.05 -> 580.88"]


def test_a_build_that_brings_no_libraries_is_not_said_to_find_them(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=8.6", "driver=550.54.14"), database, "paddle==2.6.2", python="3.10")
    [candidate] = [one for one in said.candidates if one.kind == "pip"]
    assert candidate.verdict is Fit.WITH_NOTES
    assert "brings no CUDA libraries" in candidate.notes[0]


# -- the machine ---------------------------------------------------------------------------------------------


def test_what_is_installed_already_does_not_count(database: RuleDatabase) -> None:
    """A candidate goes into an environment of its own, beside a broken one."""
    broken = lay(host(database, "cc=8.9", "driver=550.54.14"),
                 {"release": Known(value="torch==2.15.0", source="the test")}, database.tables, source="x")
    said = asked(broken, database, "torch")
    assert offered(said)[0] == "2.14.1"
    assert "gpu-environment" in said.ground.environment


@pytest.mark.parametrize(("words", "facts", "rule"), [
    (("driver=none",), {}, "GPD2001"),
    (("driver=none", "cc=none"), {}, "GPD1010"),
    ((), {"cuda__init_code": 999}, "GPD2080"),
])
def test_a_machine_that_runs_nothing_is_offered_nothing(
        words: tuple[str, ...], facts: dict[str, Value], rule: str, database: RuleDatabase) -> None:
    said = asked(host(database, *words, **facts), database)
    assert (said.exit_code, offered(said)) == (1, [])
    judged = [one for one in said.candidates if one.rejected_by[0].rule != "GPD6090"]
    assert {one.rejected_by[0].rule for one in judged} == {rule}


def test_a_card_of_unknown_capability_is_not_taken_for_one_that_fits(database: RuleDatabase) -> None:
    snapshot = lay(host(database), {"gpu.compute_capability": Absent(source="the test")}, database.tables,
                   source="x")
    said = asked(snapshot, database, "torch")
    assert (said.exit_code, offered(said)) == (1, [])
    assert "could not be judged" in of_version(said, "2.15.0").rejected_by[0].message


def test_hidden_devices_are_a_fault_and_judged_as_if_they_were_not(database: RuleDatabase) -> None:
    said = asked(host(database, environment__CUDA_VISIBLE_DEVICES="-1"), database, "torch")
    assert [one.rule for one in said.ground.faults] == ["GPD1080"]
    assert offered(said)[0] == "2.15.0"


def test_every_card_has_to_be_served(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=6.1", "cc=12.0", "driver=580.65.06"), database, "torch")
    assert (said.exit_code, offered(said)) == (1, [])


def test_free_threaded_python_is_not_guessed_at(database: RuleDatabase) -> None:
    said = asked(host(database, "python=3.13", python__abi="cp313t"), database, "torch")
    stacks = [one for one in said.candidates if one.kind != "image"]  # which bring a Python of their own
    assert not any(one.offered for one in stacks)
    assert "could not be judged" in stacks[0].rejected_by[0].message


# -- sets, changes, reasons, images --------------------------------------------------------------------------


def test_a_set_is_one_environment(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=8.9", "driver=580.65.06"), database, "tensorflow", "torch")
    best = said.candidates[0]
    assert best.name == "tensorflow 2.21.0 with torch 2.14.1"
    assert best.commands[0].count(" && ") == 1  # the other index holds for torch alone
    assert all(one.beside for one in said.candidates)


def test_packages_that_own_the_same_files_do_not_go_together(database: RuleDatabase) -> None:
    wanted = ("tensorflow==2.20.0", "torch==2.15.0")
    said = asked(host(database, "cc=8.9", "driver=580.65.06"), database, *wanted)
    assert (said.exit_code, said.conflict) == (1, wanted)
    [rejection] = said.candidates[0].rejected_by
    assert (rejection.rule, "libcudnn.so.9" in rejection.message) == ("GPD6060", True)


def test_the_smallest_conflicting_set_leaves_out_who_is_innocent(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=8.9", "driver=580.65.06"), database, "jax", "tensorflow==2.20.0",
                 "torch==2.15.0")
    assert said.conflict == ("tensorflow==2.20.0", "torch==2.15.0")


def test_a_newer_driver_and_what_it_buys(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=8.9", "driver=535.104.05"), database, "torch", may_change=("driver",))
    assert [(one.change, one.gains) for one in said.changes] == [
        ("driver 535.104.05 -> 580.65.06", ("torch 2.15.0",))]


def test_driver_and_python_together_where_one_is_not_enough(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=9.0", "driver=450.80.02"), database, "torch", python="3.9",
                 may_change=("driver", "python"))
    assert [one.change for one in said.changes] == [
        "driver 450.80.02 -> 580.65.06",
        "driver 450.80.02 -> 580.65.06 and Python 3.9 -> 3.10",
        "driver 450.80.02 -> 580.65.06 and Python 3.9 -> 3.11"]
    assert [one.gains for one in said.changes] == [("torch 2.8.0",), ("torch 2.14.1",), ("torch 2.15.0",)]


def test_no_driver_is_named_that_does_not_serve_the_card(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=3.5", "driver=440.33.01"), database, python="3.8", may_change=("driver",))
    assert {one.change.partition(" -> ")[2] for one in said.changes} == {"470.256.02"}


def test_the_chain_of_reasons(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=8.9", "driver=535.104.05"), database, why=("torch==2.15.0",))
    why = "\n".join(of_version(said, "2.15.0").why)
    for words in ("has a wheel for Python 3.12", "GPD2010", "driver.cuda_ceiling = 12.2", "not offered"):
        assert words in why


def test_images_are_overlays_too(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=8.9", "driver=550.54.14"), database, "tensorflow", image=True)
    found = {one.image: one for one in said.candidates}
    fits = found["tensorflow/tensorflow:2.17.0-gpu"]
    assert fits.commands == ("docker run --rm -it --gpus all tensorflow/tensorflow:2.17.0-gpu",)
    assert fits.verdict is Fit.FITS
    wrong_cudnn = found["tensorflow/tensorflow:2.21.0-gpu"]
    assert [one.rule for one in wrong_cudnn.rejected_by] == ["GPD4060"]
    assert found["nvcr.io/nvidia/tensorflow:23.01-tf2-py3"].verdict is Fit.WITH_NOTES
    assert not found["nvcr.io/nvidia/tensorflow:21.06-tf2-py3"].offered  # the tables say too little


def test_an_image_asks_for_its_driver(database: RuleDatabase) -> None:
    said = asked(host(database, "cc=8.0", "driver=470.256.02"), database, "tensorflow", image=True)
    [one] = [one for one in said.candidates if one.image == "nvcr.io/nvidia/tensorflow:23.01-tf2-py3"]
    assert (one.rejected_by[0].rule, "525" in one.rejected_by[0].message) == ("GPD2010", True)


def test_what_speaks_against_an_image_is_said_whatever_is_not_known_of_it(database: RuleDatabase) -> None:
    """Of 26.04 nobody says for which cards it is; that it asks for driver 595 is enough."""
    said = asked(host(database, "cc=8.6", "driver=550.54.14"), database, "torch", image=True)
    [one] = [one for one in said.candidates if one.image == "nvcr.io/nvidia/pytorch:26.04-py3"]
    assert [reason.message for reason in one.rejected_by] == [
        "it asks for driver 595 or newer, here is 550.54.14"]


def test_what_no_table_says_of_an_image_is_told_by_the_rule_that_would_judge_it(
        database: RuleDatabase) -> None:
    """And not by the rule about old drivers, whatever it is that is not known."""
    arm = asked(host(database, "cc=9.0", "driver=580.65.06", "system.architecture=aarch64"), database,
                "tensorflow", image=True)
    assert {one.kind for one in arm.candidates} == {"image"}
    assert {one.rejected_by[0].rule for one in arm.candidates} == {"GPD6020"}
    unread = asked(host(database, "cc=9.0", "driver=580.65.06"), database, "jax", image=True)
    [one] = [one for one in unread.candidates if one.image == "nvcr.io/nvidia/jax:23.08-py3"]
    assert {refused.rule: refused.message.partition(": ")[2] for refused in one.rejected_by} == {
        "GPD2010": "the tables do not say which driver it asks for",
        "GPD5010": "the tables do not say which cards it is for",
        "GPD5020": "the tables do not say which CUDA it has"}


def test_an_image_with_another_python_is_not_what_was_asked_for(database: RuleDatabase) -> None:
    """Where a Python was named; where none was, an image brings its own."""
    machine = host(database, "cc=8.9", "driver=580.65.06")
    other = asked(machine, database, "tensorflow", only_python="3.16", image=True)
    by_name = {str(one.image): one for one in other.candidates}
    plain = by_name["tensorflow/tensorflow:2.17.0-gpu"]
    assert [(one.rule, one.message) for one in plain.rejected_by] == [
        ("GPD6090", f"its Python is {plain.python[0]}, not 3.16")]
    assert other.exit_code == 1
    same = asked(machine, database, "tensorflow", only_python=plain.python[0], image=True)
    for said in (same, asked(machine, database, "tensorflow", image=True)):
        assert "tensorflow/tensorflow:2.17.0-gpu" in [one.image for one in said.candidates if one.offered]


def test_reasons_that_rest_on_an_assumption_say_so(database: RuleDatabase) -> None:
    """A reason read "cuInit returned 0" of a machine that has no driver."""
    pairs = assumed([parse_assumption(word) for word in ("cc=8.9", "driver=535.104.05")])
    machine = lay(database.base, pairs, database.tables, source=ASSUMED)
    [why] = [one.why for one in asked(machine, database, why=("torch==2.15.0",)).candidates if one.why]
    answered = [reason for reason in why if "cuInit" in reason or "driver.cuda_ceiling =" in reason]
    assert answered
    assert all("(assumed" in reason for reason in answered)
