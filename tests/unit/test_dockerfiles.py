"""What a container on a machine is, which image is taken for it, and what the files say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudoctor import ruledb
from gpudoctor.assume import assumed, lay, parse_assumption
from gpudoctor.candidates import WishError
from gpudoctor.derive import requirements
from gpudoctor.dockerfiles import Chosen, Nothing, Options, Wanted, checked, choose, dockerfile, kubernetes
from gpudoctor.dockerfiles.beside import number_of_cards
from gpudoctor.dockerfiles.inside import System, inside
from gpudoctor.model import Fact, Known, RuleDatabase, Snapshot, Value

L4 = ("cc=8.9", "driver=535.104.05")


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return ruledb.load(extent="told")


def host(database: RuleDatabase, *words: str, **facts: Value) -> Snapshot:
    """Return the healthy machine of the cases with what `--assume` is told, and with facts."""
    snapshot = lay(database.base, assumed([parse_assumption(word) for word in words]), database.tables,
                   source="the test")
    laid: dict[str, Fact] = {name.replace("__", "."): Known(value=value, source="the test")
                             for name, value in facts.items()}
    return lay(snapshot, laid, database.tables, source="the test")


def found(snapshot: Snapshot, database: RuleDatabase, **wanted: object) -> Chosen:
    chosen = choose(snapshot, database, Wanted(**wanted))  # type: ignore[arg-type]  # by the names of its fields
    assert isinstance(chosen, Chosen)
    return chosen


def test_what_is_installed_on_the_host_counts_for_nothing_in_a_container(database: RuleDatabase) -> None:
    """An old C library, another Python, a folder in LD_LIBRARY_PATH, a hidden card, a framework."""
    plain = host(database, *L4)
    odd = host(database, *L4, "glibc=2.17", "release=torch==1.13.1", python__executable="/usr/bin/python3",
               python__abi="cp312t", loader__library_path=("/opt/old",), python__environment="system",
               environment__CUDA_VISIBLE_DEVICES="-1",
               loader__files=({"path": "/opt/old/libcudnn.so.8"},))
    system = System(python="3.12.14", glibc="2.36")
    assert inside(odd, system, database).host == inside(plain, system, database).host
    one, other = (found(machine, database, frameworks=("tensorflow",)) for machine in (plain, odd))
    assert (one.candidate, one.image) == (other.candidate, other.image)


def test_asked_in_a_container_the_driver_is_that_of_its_host(database: RuleDatabase) -> None:
    """Regression: a driver was named to be installed, also where it is the GPU that was not handed in."""
    wanted = Wanted(frameworks=("torch==2.15.0",))
    old = choose(host(database, *L4, container__runtime="docker"), database, wanted)
    assert isinstance(old, Nothing)
    assert old.said is not None
    assert [one.change for one in old.said.changes] == ["the host's driver 535.104.05 -> 580.65.06"]
    without = choose(host(database, "cc=8.9", "driver=none", container__runtime="docker"), database, wanted)
    assert isinstance(without, Nothing)
    assert without.said is not None
    assert [fault.rule for fault in without.said.ground.faults] == ["GPD3001"]
    assert without.said.changes == ()


def test_without_a_card_the_next_step_is_a_dockerfile_too(database: RuleDatabase) -> None:
    """Regression: whoever writes a Dockerfile on a laptop was sent to `recommend`."""
    bare = host(database, "cc=none", "driver=none")
    wanted = Wanted(frameworks=("tensorflow",))
    for one, begins in ((wanted, "dockerfile"), (replace(wanted, base="ngc"), "dockerfile --base ngc")):
        nothing = choose(bare, database, one)
        assert isinstance(nothing, Nothing)
        assert nothing.said is not None
        command = nothing.said.hints[0].command
        assert command.startswith(f"gpudoctor {begins} --framework tensorflow --assume card=")
        assert "--image" not in command


def test_a_container_on_windows_is_a_linux_in_wsl(database: RuleDatabase) -> None:
    """Regression: wheels for Windows were written into an image of Linux."""
    windows = host(database, "cc=8.9", "driver=581.29", "system.os=windows")
    assert found(windows, database, frameworks=("torch",)).said.ground.platform == "linux_x86_64"


def test_driver_and_cards_cross_the_border(database: RuleDatabase) -> None:
    seen = inside(host(database, *L4), System(python="3.12.14", glibc="2.36"), database)
    assert seen.host["nvml.driver_version"] == Known(value="535.104.05", source="the test")
    assert seen.gpus == host(database, *L4).gpus


def test_the_python_of_the_host_is_taken_where_there_is_an_image(database: RuleDatabase) -> None:
    """Else the newest for which something fits; what is named is taken or refused."""
    assert found(host(database, *L4, python__version="3.11.2"), database).python == "3.11.16"
    old = found(host(database, *L4, python__version="3.6.8"), database, frameworks=("tensorflow",))
    assert old.python == "3.13.14"  # TensorFlow has no wheel for 3.14
    assert found(host(database, *L4), database, python="3.10").python == "3.10.21"
    with pytest.raises(WishError, match=r"no image python:.* with it \(it gets no updates since 2025"):
        choose(host(database, *L4), database, Wanted(python="3.9"))
    with pytest.raises(WishError, match=r"no image python:\.\.\.-slim with it; there are 3.14"):
        choose(host(database, *L4), database, Wanted(python="3.99"))


def test_what_is_there_is_taken_where_nothing_is_named(database: RuleDatabase) -> None:
    assert found(host(database, *L4, "release=torch==2.10.0"), database).candidate.framework == "torch"
    assert found(host(database, *L4), database).candidate.framework == "tensorflow"


def test_a_release_without_libraries_is_for_a_base_that_has_them(database: RuleDatabase) -> None:
    """Paddle 2.6 brings none: on python-slim it would compute on the CPU."""
    wanted = Wanted(frameworks=("paddle==2.6.2",), python="3.10")
    refused = choose(host(database, *L4), database, wanted)
    assert isinstance(refused, Nothing)
    assert refused.said is not None
    assert {one.rejected_by[0].rule for one in refused.said.candidates} == {"GPD3047"}
    chosen = found(host(database, *L4), database, frameworks=("paddle==2.6.2",), base="cuda")
    assert chosen.image == "nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04"


def test_an_image_without_a_toolkit_names_no_folder_of_one(database: RuleDatabase) -> None:
    """TensorFlow 2.13 on Kepler was written with /usr/local/cuda-11.0 in LD_LIBRARY_PATH."""
    old = host(database, "cc=3.7", "driver=470.256.02", python__version="3.11.2")
    chosen = found(old, database, frameworks=("tensorflow",))
    assert (chosen.candidate.version, chosen.python) == ("2.13.1", "3.11.16")
    assert "nvidia-cudnn-cu11==8.7.0.84" in chosen.candidate.pins  # the last with code for the card
    assert "/usr/local" not in chosen.candidate.environment["LD_LIBRARY_PATH"]
    newer = found(old, database, frameworks=("tensorflow",), python="3.10")
    assert newer.candidate.version == "2.14.1"  # whose extra pip can resolve for Python 3.10, not for 3.11
    assert newer.candidate.environment == {}


@pytest.mark.parametrize("base", ["python-slim", "tensorflow", "ngc", "cuda"])
def test_for_a_jetson_board_nothing_is_written(base: str, database: RuleDatabase) -> None:
    """It was given the wheels of ARM servers, which are not for its card."""
    board = host(database, "cc=8.7", "driver=540.4.0", system__jetson="36.4.3",
                 system__architecture="aarch64")
    nothing = choose(board, database, Wanted(frameworks=("torch",), base=base))  # type: ignore[arg-type]
    assert isinstance(nothing, Nothing)
    assert [one.rule for one in nothing.unmet] == ["GPD6025"]
    assert nothing.unmet[0].message.startswith("this is a Jetson board (L4T 36.4.3, JetPack 6.2")


def test_for_jetpack_7_recommend_and_dockerfile_do_not_contradict_one_another(database: RuleDatabase) -> None:
    """It was refused as having no image, while recommend offered the wheels of servers."""
    thor = host(database, "cc=11.0", "driver=580.95.05", system__jetson="38.4.0",
                system__architecture="aarch64")
    nothing = choose(thor, database, Wanted(frameworks=("torch",)))
    assert isinstance(nothing, Nothing)
    [why] = [one.message for one in nothing.unmet]
    assert "it takes wheels built for servers; a container is started there with --runtime nvidia" in why
    assert why.endswith("next: gpudoctor recommend, which names what to install on it")
    assert "no image" not in why


@pytest.mark.parametrize("base", ["python-slim", "cuda"])
def test_why_nothing_is_for_another_architecture(base: str, database: RuleDatabase) -> None:
    """On an ARM server; --base cuda gave no reason at all."""
    arm = host(database, "cc=9.0", "driver=580.95.05", system__architecture="aarch64")
    nothing = choose(arm, database, Wanted(frameworks=("tensorflow",), base=base))  # type: ignore[arg-type]
    assert isinstance(nothing, Nothing)
    assert nothing.said is not None
    assert "GPD6020" in {one.rule for some in nothing.said.candidates for one in some.rejected_by}


@pytest.mark.parametrize(("release", "base", "brought"), [
    ("tensorflow==2.15.1", "cuda", "nvidia-cuda-nvcc-cu12==12.2.140"),
    ("tensorflow==2.13.1", "cuda", "nvidia-cuda-nvcc-cu11==11.8.89"),
    ("tensorflow==2.13.1", "python-slim", "nvidia-cuda-nvcc-cu11==11.8.89"),
    ("tensorflow==2.9.3", "cuda", "nvidia-cuda-nvcc-cu11==11.8.89"),
    ("tensorflow==2.15.1", "python-slim", None),
    ("tensorflow==2.17.0", "tensorflow", None), ("paddle==2.6.2", "cuda", None)])
def test_what_xla_compiles_with_is_brought(release: str, base: str, brought: str | None,
                                           database: RuleDatabase) -> None:
    """Runtime images have no libdevice: the image for TensorFlow on one stopped at its own look."""
    chosen = found(host(database, *L4, python__version="3.10.1"), database, frameworks=(release,), base=base)
    text = dockerfile(chosen, (), Options(), database)
    assert "which nothing here brings" not in text
    calls = [line for line in text.splitlines() if "-m pip install" in line and release in line]
    assert [line for line in calls if brought is not None and brought in line] == (calls if brought else [])
    needs_folder = brought is not None and "cu11" in brought
    minor = ".".join((chosen.python or "").split(".")[:2])
    told = f'XLA_FLAGS="--xla_gpu_cuda_data_dir=/opt/venv/lib/python{minor}/site-packages/nvidia'
    assert (told in text) == needs_folder


def test_without_a_package_for_its_cuda_the_file_says_what_is_missing(database: RuleDatabase) -> None:
    """Rules without the table: nothing is pinned that they do not know."""
    tables = {name: table for name, table in database.tables.items() if name != "cuda_compilers"}
    bare = replace(database, tables=tables)
    chosen = found(host(bare, *L4, python__version="3.10.1"), bare, frameworks=("tensorflow==2.13.1",),
                   base="cuda")
    assert "needs ptxas and libdevice, which nothing here brings" in dockerfile(chosen, (), Options(), bare)


def test_an_image_of_cuda_is_taken_that_the_toolkit_will_start(database: RuleDatabase) -> None:
    """NVIDIA_REQUIRE_CUDA of nvidia/cuda is stricter than minor-version compatibility."""
    older, newer = (found(host(database, "cc=8.9", f"driver={driver}"), database, base="cuda")
                    for driver in ("535.104.05", "580.95.05"))
    assert older.image == "nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04"
    assert older.candidate.version == "2.15.1"
    assert older.candidate.commands[0].endswith(" tensorflow==2.15.1 nvidia-cuda-nvcc-cu12==12.2.140")
    assert newer.image.startswith("nvidia/cuda:12.")
    assert newer.candidate.version > older.candidate.version
    exact = choose(host(database, *L4), database, Wanted(frameworks=("tensorflow==2.20.0",), base="cuda"))
    assert isinstance(exact, Nothing)
    assert exact.said is not None
    assert exact.said.candidates[0].rejected_by[0].rule == "GPD3045"


def test_the_cudnn_of_an_image_is_not_older_than_the_one_a_release_was_built_with(
        database: RuleDatabase) -> None:
    """nvidia/cuda:12.5.1 has cuDNN 9.2, TensorFlow 2.21 was built with CUDA 12.5.1 and cuDNN 9.3."""
    chosen = found(host(database, "cc=9.0", "driver=570.86.15"), database, frameworks=("tensorflow==2.21.0",),
                   base="cuda")
    assert chosen.image == "nvidia/cuda:12.6.0-cudnn-runtime-ubuntu22.04"


def test_a_release_that_needs_a_toolkit_of_the_system_is_not_for_a_base_without_one(
        database: RuleDatabase) -> None:
    chosen = choose(host(database, "cc=8.0", "driver=450.80.02"), database,
                    Wanted(frameworks=("tensorflow==2.12.1", "torch==2.0.1")))
    assert isinstance(chosen, Nothing)


@pytest.mark.parametrize(("required", "count"), [
    (("gpu>=2",), 2), (("gpu>=2", "gpu>=4"), 4), (("gpu > 2",), 3), (("gpu==8",), 8), (("gpu<4",), None),
    ((), None), (("gpu.memory>=40GiB",), None),
])
def test_how_many_cards_are_asked_for(required: tuple[str, ...], count: int | None) -> None:
    assert number_of_cards(required) == count


@pytest.mark.parametrize(("texts", "words"), [
    (("gpu>=2", "gpu>=3", "gpu<=8"), ""), (("gpu", "gpu==1"), ""), (("gpu.memory>=40GiB", "gpu<2"), ""),
    (("gpu>=2", "gpu>=1", "gpu<2"), "'gpu>=2' and"), (("gpu>4", "gpu<5"), "'gpu>4' and"),
    (("gpu<0",), "'gpu<0': no machine"), (("gpu.memory>=40GiB", "gpu.memory<40000MB"), "contradict"),
    (("gpu.memory>=40GiB", "gpu.memory<=43GB"), ""),
    (("tensorflow>=2.15", "tensorflow<2.10"), ""),  # of frameworks the wishes themselves are asked
])
def test_requirements_of_cards_that_contradict_one_another(texts: tuple[str, ...], words: str) -> None:
    parsed = [requirements.parse(text) for text in texts]
    if not words:
        assert requirements.together(parsed) == tuple(parsed)
        return
    with pytest.raises(requirements.RequirementError, match=words):
        requirements.together(parsed)


def test_an_image_holds_one_framework(database: RuleDatabase) -> None:
    with pytest.raises(WishError, match="torch and jax are two"):
        checked(Wanted(frameworks=("torch", "jax"), base="ngc"), database)


def test_shared_memory_is_for_those_who_share(database: RuleDatabase) -> None:
    """Workers of torch, and NCCL between two cards, in the look of a pod as well."""
    images = [found(host(database, *words, "driver=580.95.05"), database, frameworks=(name,))
              for name, words in (("torch", ["cc=8.9"]), ("jax", ["cc=8.9"]), ("jax", ["cc=8.9", "cc=9.0"]))]
    texts = [dockerfile(one, (), Options(), database) for one in images]
    assert ["--shm-size" in text for text in texts] == [True, False, True]
    pods = [kubernetes(one, (), Options(), database) for one in images]
    assert [pod.count('mountPath: "/dev/shm"') for pod in pods] == [2, 0, 2]
    assert ["emptyDir:" in pod for pod in pods] == [True, False, True]


def test_without_a_python_for_gpudoctor_there_is_no_look_and_it_is_said(database: RuleDatabase) -> None:
    """NVIDIA's entry script stays as it is; the pod takes gpudoctor's own image for the look."""
    chosen = replace(found(host(database, *L4), database, base="ngc"), python=None)
    text = dockerfile(chosen, (), Options(), database)
    assert "No pre-flight" in text
    assert "ENTRYPOINT" not in text
    assert "pip install" not in text
    assert 'image: "gpudoctor:' in kubernetes(chosen, (), Options(), database)
    told = dockerfile(replace(chosen, python="3.12"), (), Options(), database)
    assert "NVIDIA's own entry stays" in told
    assert "ENTRYPOINT" not in told


@pytest.mark.parametrize(("words", "wish", "base", "installed"), [
    (("cc=7.0", "driver=535.104.05"), "jax==0.10.2", "python-slim", "nvidia-cudnn-cu12==9.10.2.21"),
    (("cc=7.0", "driver=535.104.05", "system.architecture=aarch64"), "jax==0.10.2", "python-slim",
     "nvidia-cudnn-cu12==9.10.2.21"),
    (("cc=8.9", "driver=580.95.05"), "tensorflow==2.21.0", "cuda", "nvidia-cuda-nvcc-cu12==12.9.86"),
    (("cc=8.9", "driver=535.104.05"), "tensorflow==2.13.1", "python-slim", "nvidia-cublas-cu11==11.11.3.6"),
    (("cc=8.9", "driver=535.104.05"), "tensorflow==2.13.1", "python-slim", "nvidia-cudnn-cu11==8.9.6.50")])
def test_what_is_installed_beside_a_framework_is_named_by_its_release(
    words: tuple[str, ...], wish: str, base: str, installed: str, database: RuleDatabase,
) -> None:
    """Regression: a bound was written, of which a build next year would take another release."""
    chosen = found(host(database, *words), database, frameworks=(wish,), base=base)
    text = dockerfile(chosen, (), Options(), database)
    line = next(line for line in text.splitlines() if "/opt/venv/bin/python -m pip install" in line)
    assert installed in line.split()
    assert "nvidia-" not in "".join(word for word in line.split() if "==" not in word)


@pytest.mark.parametrize(("words", "wish", "base", "reason"), [
    (("cc=5.2", "driver=580.95.05"), "tensorflow", "python-slim", "# not tensorflow 2.21.0: "),
    (("cc=7.0", "driver=535.104.05"), "torch", "python-slim", "# not torch 2.15.0: "),
    (("cc=8.9", "driver=535.104.05"), "tensorflow", "cuda", "# not tensorflow 2.21.0: "),
    (("cc=8.9", "driver=580.95.05"), "tensorflow", "tensorflow", "# not tensorflow/tensorflow:2.21.0-gpu: ")])
def test_it_says_by_which_rule_no_newer_release_is_taken(
    words: tuple[str, ...], wish: str, base: str, reason: str, database: RuleDatabase,
) -> None:
    chosen = found(host(database, *words), database, frameworks=(wish,), base=base)
    [line] = [line for line in dockerfile(chosen, (), Options(), database).splitlines()
              if line.startswith(reason)]
    assert line.rpartition("(GPD")[2].removesuffix(")").isdecimal()


def test_of_the_newest_release_nothing_is_to_be_said(database: RuleDatabase) -> None:
    chosen = found(host(database, "cc=8.9", "driver=580.95.05"), database, frameworks=("tensorflow",))
    assert "# not " not in dockerfile(chosen, (), Options(), database)


def test_where_nothing_fits_the_environment_is_the_image_s(database: RuleDatabase) -> None:
    """It spoke of an environment of /opt/venv/bin/python, which is on no machine."""
    nothing = choose(host(database, "cc=3.0", "driver=470.256.02"), database, Wanted())
    assert isinstance(nothing, Nothing)
    assert nothing.said is not None
    assert nothing.said.ground.environment == "/opt/venv, an environment in the image"


def test_a_change_for_another_base_is_no_advice_for_cuda(database: RuleDatabase) -> None:
    """Another Python was said to help, which an image of nvidia/cuda does not take."""
    nothing = choose(host(database, "cc=3.7", "driver=470.256.02"), database,
                     Wanted(frameworks=("tensorflow",), base="cuda"))
    assert isinstance(nothing, Nothing)
    assert (nothing.other_base, nothing.exit_code) == ("python-slim", 1)
    assert nothing.said is not None
    assert (nothing.said.changes, nothing.said.conflict) == ((), ())
