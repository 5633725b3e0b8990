"""What stated versions are to one another: computed from the tables of the shipped rules."""

from __future__ import annotations

from functools import cache

import pytest

from gpudoctor import ruledb
from gpudoctor.explanation.relations import relations
from gpudoctor.explanation.shown import family
from gpudoctor.model import Known, Tables, Value


@cache
def tables() -> Tables:
    """Return the shipped tables."""
    return ruledb.load_shipped().tables


def related(**stated: Value) -> dict[str, Value | None]:
    """Return the relations of stated facts, None for one that nothing can be said of."""
    facts = {f"text.{name}": Known(value=value, source="a test") for name, value in stated.items()}
    found = relations(facts, tables())
    return {name.removeprefix("text."): fact.value if isinstance(fact, Known) else None
            for name, fact in found.items()}


@pytest.mark.parametrize(("number", "version"), [
    ("5105", "5.1.5"), ("6021", "6.0.21"), ("90102", "9.1.2"), ("8.9.7", "8.9.7"), ("8", "8"),
])
def test_the_number_of_a_cudnn_is_its_version(number: str, version: str) -> None:
    """TensorFlow 1 prints what cuDNN calls itself."""
    assert related(cudnn_compiled=number)["build_cudnn"] == version


@pytest.mark.parametrize(("framework", "version", "cuda", "cudnn"), [
    ("tensorflow", "1.15.0", "10.0", "7"),  # older than the table of wheels
    ("tensorflow", "2.3.0", "10.1", "7"),
    ("tensorflow", "2.3", "10.1", "7"),  # no patch release is stated
    ("tensorflow", "2.12.0", "11.8", "8"),
    ("pytorch", "2.0.1+cu117", "11.7", "8"),
    ("pytorch", "1.7.1+cu92", "9.2", None),
    ("jax", "0.4.7+cuda12.cudnn88", "12", None),  # it was 1.2
    ("crane", "1.0", None, None),
])
def test_a_release_tells_what_it_was_built_for(
        framework: str, version: str, cuda: str | None, cudnn: str | None) -> None:
    """From the table's row, or from the local part of the version."""
    found = related(framework=framework, framework_version=version)
    built = found["build_cudnn"]
    assert (found["build_cuda"], None if built is None else str(built).split(".")[0]) == (cuda, cudnn)


@pytest.mark.parametrize(("framework", "version"), [("tensorflow", "2.13.0"), ("pytorch", "2.4.0")])
def test_a_release_on_a_jetson_is_not_the_one_for_x86_64(framework: str, version: str) -> None:
    """NVIDIA builds one for each JetPack; the index's for that processor has no CUDA at all."""
    stated: dict[str, Value] = {"framework": framework, "framework_version": version,
                                "capabilities": ("5.3",)}
    elsewhere, board = related(**stated), related(**stated, places=("linux", "jetson"))
    assert (elsewhere["card_fit"], board["card_fit"]) == ("too-old", None)
    assert board["build_cuda"] is None


@pytest.mark.parametrize(("version", "cuda", "fits"), [
    ("2.3.0", "10.1", True), ("2.3.0", "10.2", False), ("2.3.0", "11.0", False),
    ("2.12.0", "11.2", True), ("2.12.0", "12.1", False),
])
def test_a_cuda_fits_by_its_major_version_from_eleven_on(version: str, cuda: str, fits: bool) -> None:
    """Before, each minor release was another one."""
    assert related(framework="tensorflow", framework_version=version, cuda=cuda)["cuda_fits_build"] is fits


def test_a_cudnn_fits_by_its_major_version() -> None:
    """8.0 with TensorFlow 2.3, which was built for 7."""
    stated = {"framework": "tensorflow", "framework_version": "2.3.0"}
    assert related(**stated, cudnn="8.0.2")["cudnn_fits_build"] is False
    assert related(**stated, cudnn="7.6.5")["cudnn_fits_build"] is True
    assert related(**stated)["cudnn_fits_build"] is None


@pytest.mark.parametrize(("library", "stated", "other"), [
    ("libcudnn.so.7", {"cudnn": "8.0.2"}, True), ("libcudnn.so.8", {"cudnn": "8.0.2"}, False),
    ("libcudart.so.11.0", {"cuda": "11.2"}, False), ("libcudart.so.11.0", {"cuda": "10.1"}, True),
    ("libcudart.so.10.1", {"cuda": "10.2"}, True), ("libcudart.so.12", {"cuda": "12.4"}, False),
    ("cudart64_101.dll", {"cuda": "10.1"}, False), ("cudart64_101.dll", {"cuda": "10.2"}, True),
    ("cudart64_110.dll", {"cuda": "11.8"}, False), ("cudart64_110.dll", {"cuda": "12.1"}, True),
    ("cudnn64_8.dll", {"cudnn": "9.1"}, True), ("libcublas.so.10", {"cuda": "10.1"}, False),
    ("libcufft.so.10", {"cuda": "11.2"}, False),  # it has a version of its own
    ("libcudnn.so.8", {"cuda": "11.2"}, None), ("libcuda.so.1", {"cuda": "11.2"}, None),
])
def test_a_missing_library_is_held_against_the_stated_version_of_its_family(
        library: str, stated: dict[str, str], other: bool | None) -> None:
    """Sonames and the names of DLLs, which write versions in two ways."""
    assert related(libraries=(library,), **stated)["library_other_version_stated"] is other


@pytest.mark.parametrize(("stated", "runs"), [
    ({"framework": "tensorflow", "framework_version": "2.12.0", "driver": "450.80.02"}, True),
    ({"framework": "tensorflow", "framework_version": "2.12.0", "driver": "440.33"}, False),
    ({"cuda": "12.1", "driver": "520.61.05"}, False), ({"cuda": "12.8", "driver": "525.60.13"}, True),
    ({"cuda": "10.2", "driver": "440.33"}, True), ({"cuda": "10.2", "driver": "418.87"}, False),
    ({"cuda": "12.4", "driver_ceiling": "12.0"}, True), ({"cuda": "12.4", "driver_ceiling": "11.8"}, False),
    ({"cuda": "12.1", "driver": "527.41", "places": ("windows",)}, True),
    ({"cuda": "12.1", "driver": "527.00", "places": ("windows",)}, False),
    ({"cuda": "13.2", "driver": "580.88", "places": ("windows",)}, True),
    ({"cuda": "13.0", "driver": "577.00", "places": ("windows",)}, False),
    ({"driver": "535.54.03"}, None),
])
def test_a_driver_runs_a_cuda_minor_versions_counted_in(stated: dict[str, Value], runs: bool | None) -> None:
    """By NVIDIA's table; drivers for Windows are counted otherwise."""
    assert related(**stated)["driver_runs_cuda"] is runs


@pytest.mark.parametrize(("library", "driver", "fits"), [
    ("367.57.0", "367.48", False), ("470.182.3", "470.182.03", True), ("535.104.5", "535", True),
    ("520.61.5", "470.182.03", False), ("NOT_FOUND", "535.104.05", None), ("535.104.5", None, None),
])
def test_a_libcuda_is_of_the_driver_or_not(library: str, driver: str | None, fits: bool | None) -> None:
    """As far as both are stated; TensorFlow writes 470.182.03 as 470.182.3."""
    stated = {"driver_library": library} | ({"driver": driver} if driver else {})
    assert related(**stated)["driver_library_fits"] is fits


@pytest.mark.parametrize(("python", "has"), [("3.8.2", True), ("3.9", False), ("2.7", False)])
def test_a_python_has_a_wheel_or_not(python: str, has: bool) -> None:
    """TensorFlow 2.3 had wheels for 3.5 to 3.8."""
    stated = {"framework": "tensorflow", "framework_version": "2.3.0"}
    assert related(**stated, python=python)["python_has_wheel"] is has


@pytest.mark.parametrize(("framework", "version", "capability", "fit"), [
    ("tensorflow", "2.12.0", "8.6", "fits"), ("tensorflow", "2.12.0", "3.0", "too-old"),
    ("tensorflow", "1.15.0", "8.6", "too-new"), ("tensorflow", "2.12.0", "12.0", "too-new"),
    ("tensorflow", "2.3.0", "8.6", "too-new"), ("tensorflow", "2.3.0", "7.5", "fits"),
    ("pytorch", "2.0.1+cu118", "12.0", "too-new"), ("pytorch", "2.0.1+cu118", "8.6", "fits"),
    ("pytorch", "1.9.1+cu111", "8.6", None),
])
def test_a_card_fits_the_code_of_the_build(framework: str, version: str, capability: str,
                                           fit: str | None) -> None:
    """By the code of the wheel; where that is not known, by what its CUDA can compile for."""
    stated = {"framework": framework, "framework_version": version}
    assert related(**stated, capabilities=(capability,))["card_fit"] == fit


@pytest.mark.parametrize(("version", "capability", "fit"), [
    ("1", "8.6", "too-new"), ("1", "7.5", None), ("1", "6.1", None), ("2", "8.6", None), ("2", "12.0", None),
])
def test_a_card_that_is_newer_than_each_release_of_a_series_is_too_new(
        version: str, capability: str, fit: str | None) -> None:
    """ "TensorFlow 1.x" with an RTX 3090: whichever release it is."""
    found = related(framework="tensorflow", framework_version=version, capabilities=(capability,))
    assert found["card_fit"] == fit


@pytest.mark.parametrize(("version", "cudnn", "fits"), [
    ("1.12.1+cu113", "8.3.2.44", "fits"),  # of its own index: with code for 8.6, which an 8.9 runs
    ("1.12.1", "7.6.5", "too-new"),  # the default index has it for CUDA 10.2
    ("1.12.1+cu102", "7.6.5", "too-new"),
    ("1.8.1+cu111", None, "newer"),  # its code is in no table; CUDA 11.1 knows cards of that generation
    ("1.7.1+cu101", None, "too-new"),  # what no table has can have no code that its CUDA does not know
])
def test_a_build_of_another_index_is_not_taken_for_the_default_ones(
        version: str, cudnn: str | None, fits: str | None) -> None:
    """An RTX 4090 with 1.12.1+cu113 was too new beyond doubt: it was held against the build for CUDA 10.2."""
    found = related(framework="pytorch", framework_version=version, capabilities=("8.9",))
    built = found["build_cudnn"]
    assert (built, found["card_fit"]) == (cudnn, fits)


def test_what_is_no_version_relates_to_nothing() -> None:
    """A stranger's words never raise."""
    found = related(framework="tensorflow", framework_version="latest", cuda="eleven", cudnn="?",
                    driver="new", capabilities=("big",), libraries=("libcudnn.so.99999999999999999999",))
    assert set(found.values()) <= {None, True, False}


@pytest.mark.parametrize(("library", "expected"), [
    ("libcudnn_ops_infer.so.8", "cudnn"), ("cudnn_cnn_infer64_8.dll", "cudnn"), ("nvcuda.dll", "cuda"),
    ("libcublasLt.so.12", "cublas"), ("cublasLt64_12.dll", "cublas"), ("libcudart.so.12", "cudart"),
    ("libcuda.so.1", "cuda"), ("libnvidia-ml.so.1", "nvml"), ("zlibwapi.dll", "zlib"),
    ("MSVCP140_1.dll", "msvc"), ("libhook.so", None),
])
def test_a_file_name_tells_the_family_of_a_library(library: str, expected: str | None) -> None:
    """Linux and Windows."""
    assert family(library, tables()) == expected


@pytest.mark.parametrize(("cuda", "library", "differs"), [
    ("11.2", "libnvrtc.so.11.1", True),
    ("11.8", "libnvrtc.so.11.2", False),  # it bears the same name from 11.2 to 11.8
    ("11.1", "libnvrtc.so.11.1", False),
])
def test_nvrtc_bears_its_minor_version_until_11_2(cuda: str, library: str, differs: bool) -> None:
    """Unlike the other libraries of CUDA 11."""
    found = related(cuda=cuda, libraries=(library,))
    assert found["library_other_version_stated"] == differs


def test_the_exact_cuda_of_a_release_is_taken_where_one_of_its_wheels_names_it() -> None:
    """The wheel for Linux of 2.2.0 says 10, that for Windows 10.1."""
    found = related(framework="tensorflow", framework_version="2.2.0", cuda="10.1")
    assert (found["build_cuda"], found["cuda_fits_build"]) == ("10.1", True)


def test_a_card_that_no_release_has_code_for_is_too_old_for_whichever_runs() -> None:
    """The release need not be stated for that; for a later card it must be."""
    assert related(framework="tensorflow", capabilities=("1.2",))["card_fit"] == "too-old"
    assert related(framework="tensorflow", capabilities=("7.0",))["card_fit"] is None
    # releases before all that were measured had code for it
    assert related(framework="tensorflow", capabilities=("3.0",))["card_fit"] is None
    assert related(framework="tensorflow", framework_version="2.4.0", capabilities=("3.0",)
                   )["card_fit"] == "too-old"


@pytest.mark.parametrize(("driver", "capabilities", "fit"), [
    ("595.58.03", ["6.1"], "too-new"), ("580.65.06", ["6.1"], "serves"), ("495.44", ["3.5"], "too-new"),
    ("535.104.05", ["12.0"], "too-old"), ("367.57", ["7.0"], "too-old"), ("450.80.02", ["8.6"], "too-old"),
    ("595.58.03", ["6.1", "8.6"], None),  # it serves one of them
    ("595.58.03", ["6.1", "5.0"], "too-new"), ("595.58.03", ["99.0"], None), ("595.58.03", [], None),
])
def test_a_branch_of_the_driver_serves_a_card_or_not(
        driver: str, capabilities: list[str], fit: str | None) -> None:
    """By the tables of branches, and by the CUDA that a branch runs where they name no first one."""
    assert related(driver=driver, capabilities=tuple(capabilities))["driver_fit"] == fit


@pytest.mark.parametrize(("driver", "place", "fit"), [
    ("581.29", "windows", "serves"), ("581.29", "wsl2", "serves"), ("591.44", "wsl2", "too-new"),
    ("591.44", "jetson", None),
])
def test_a_driver_of_windows_is_of_the_branch_before_its_number(
        driver: str, place: str, fit: str | None) -> None:
    """Under WSL, too. A Jetson's comes with its board."""
    assert related(driver=driver, capabilities=("6.1",), places=(place,))["driver_fit"] == fit


@pytest.mark.parametrize(("cudnn", "capabilities", "serves"), [
    ("9.12", ["6.1"], False), ("9.10.2", ["6.1"], True), ("9.12", ["8.6", "7.0"], False),
    ("9.12", ["7.5"], True), ("9", ["6.1"], None), ("9.12", [], None),
    ("8.8.0.121", ["3.7"], False), ("8.8.1.3", ["3.7"], False),
])
def test_a_cudnn_has_code_for_the_oldest_card_or_not(
        cudnn: str, capabilities: list[str], serves: bool | None) -> None:
    """A major version alone may be any release."""
    assert related(cudnn=cudnn, capabilities=tuple(capabilities))["cudnn_serves_card"] is serves


@pytest.mark.parametrize(("cuda", "serves"), [("11.8", False), ("10.2", None), ("", None)])
def test_of_a_cudnn_for_cuda_10_nobody_read_its_code(cuda: str, serves: bool | None) -> None:
    """Those of 8.5 to 8.7 for CUDA 11 were read out of their wheels; there are no wheels of the others."""
    stated = {"cuda": cuda} if cuda else {}
    assert related(cudnn="8.7.0.84", capabilities=("3.0",), **stated)["cudnn_serves_card"] is serves


@pytest.mark.parametrize(("library", "brought"), [
    ("libcudart.so.10.0", False),  # before CUDA 11 there were no wheels of NVIDIA's
    ("libcudnn.so", False), ("libcudnn.so.9", True), ("libcublas.so.12", True),
    ("libcudart.so.12.4.127", True),
    ("cudart64_12.dll", None),  # the table is of Linux
])
def test_nvidias_wheels_are_asked_for_a_missing_library(library: str, brought: bool | None) -> None:
    """What no wheel brings under that name was not forgotten to be installed by pip."""
    assert related(libraries=(library,))["libraries_in_wheels"] is brought


@pytest.mark.parametrize(("runtime", "capability", "fit"), [
    ("10.1", "8.6", "too-new"), ("12", "10.0", None), ("11.0", "12.0", "too-new"),
    ("9.0", "7.5", None),  # code for the first cards of a generation runs on the later ones
    ("11.0", "8.9", None), ("10.1", "7.5", None), ("13", "12.0", None),
])
def test_a_generation_newer_than_the_runtime_that_was_opened(
        runtime: str, capability: str, fit: str | None) -> None:
    """No release is stated: the library's name alone tells which CUDA it is of."""
    assert related(runtime=runtime, capabilities=(capability,))["card_fit"] == fit


@pytest.mark.parametrize(("flavour", "capabilities", "serves"), [
    ("open", ["6.1"], False), ("open", ["7.5"], True), ("open", ["7.5", "6.1"], False),
    ("proprietary", ["6.1"], True), ("proprietary", ["12.0"], False),
])
def test_the_flavour_of_the_kernel_modules_serves_the_cards_or_not(
        flavour: str, capabilities: list[str], serves: bool) -> None:
    """The open one has no code for cards before Turing, the proprietary one none for Blackwell."""
    facts = {"driver.kernel_flavour": Known(value=flavour, source="a test"),
             "text.capabilities": Known(value=tuple(capabilities), source="a test")}
    found = relations(facts, tables())["text.flavour_serves_cards"]
    assert isinstance(found, Known)
    assert found.value is serves


@pytest.mark.parametrize(("generation", "driver", "fit"), [
    ("maxwell", "595.58.03", "too-new"), ("kepler", "535.54.03", "too-new"),
    ("turing", "535.54.03", "serves"),
    ("ampere", "450.80.02", None),  # it serves the A100 and not the RTX 3090
    ("unheard-of", "595.58.03", None),
])
def test_a_generation_is_held_against_the_driver_as_far_as_its_cards_are_alike(
        generation: str, driver: str, fit: str | None) -> None:
    """Which of its cards is meant is not stated."""
    assert related(generation=generation, driver=driver)["driver_fit"] == fit


@pytest.mark.parametrize(("generation", "version", "fit"), [
    ("kepler", "2.5.0", "too-old"), ("blackwell", "2.4.0", "too-new"), ("ampere", "2.4.0", "fits"),
    ("blackwell", "2.8.0", None),  # it has code for some of them
])
def test_a_generation_is_held_against_the_build_as_far_as_its_cards_are_alike(
        generation: str, version: str, fit: str | None) -> None:
    """The same of a release."""
    found = related(framework="pytorch", framework_version=version, generation=generation)
    assert found["card_fit"] == fit


@pytest.mark.parametrize(("version", "cuda"), [
    ("2.4.2.post117", "11.7"), ("2.2.2.post112", "11.2"), ("2.6.1.post120", "12.0"),
    ("1.8.5.post107", None),  # in releases 1 the last digit is cuDNN's
    ("2.5.2", None),
])
def test_the_post_release_of_paddle_is_the_cuda_it_was_built_for(version: str, cuda: str | None) -> None:
    """Its own index has one release for each CUDA."""
    found = related(framework="paddle", framework_version=version)["build_cuda"]
    assert found == cuda or (cuda is None and found != f"{version[-3:-1]}.{version[-1]}")


def test_a_build_of_conda_forge_is_not_taken_for_one_of_paddle_or_of_the_index() -> None:
    """conda-forge's PyTorch 2.1.2.post101 is for the CPU: it was told to be built for CUDA 10.1."""
    found = related(framework="pytorch", framework_version="2.1.2.post101", capabilities=("12.0",))
    assert (found["build_cuda"], found["card_fit"]) == (None, None)


@pytest.mark.parametrize("version", [
    "2.6.0a0+ecf3bae40a.nv25.01", "2.6.0a0+git1a2b3c4", "2.6.0+git1a2b3c4", "1.13.0a0+d0d6b1f"])
def test_a_build_of_somebodys_own_is_not_the_one_of_an_index(version: str) -> None:
    """NVIDIA's image for a B200 was too old for it, and was told to be built for the CUDA of PyTorch 2.6."""
    found = related(framework="pytorch", framework_version=version, capabilities=("10.0",))
    assert (found["build_cuda"], found["build_cudnn"], found["card_fit"]) == (None, None, None)


@pytest.mark.parametrize(("capabilities", "left_out"), [
    (("5.0",), True), (("3.5", "6.1"), True), (("8.6",), False), (("6.1", "8.6"), None), ((), None),
])
def test_a_generation_that_a_cuda_left_out(capabilities: tuple[str, ...], left_out: bool | None) -> None:
    """Of two cards of both kinds nothing is said."""
    assert related(capabilities=capabilities)["card_left_out"] is left_out


def test_a_stated_cuda_that_knows_no_card_of_the_generation() -> None:
    """Where no release says what it was built for, the CUDA that is used does."""
    assert related(framework="tensorflow", cuda="9.0", capabilities=("8.6",))["card_fit"] == "too-new"
    assert related(framework="tensorflow", cuda="11.8", capabilities=("8.6",))["card_fit"] is None


@pytest.mark.parametrize(("stated", "capability", "fit"), [
    ({"framework": "jax", "framework_version": "0.4.7+cuda11.cudnn86"}, "9.0", None),
    ({"framework": "jax", "framework_version": "0.4.7+cuda11.cudnn86"}, "12.0", "too-new"),
    ({"framework": "jax", "framework_version": "0.4.7+cuda12.cudnn88"}, "3.5", "too-old"),
    ({"framework": "tensorflow", "cuda": "12"}, "12.0", None),
    ({"framework": "tensorflow", "cuda": "12.4"}, "12.0", "too-new")])
def test_a_cuda_without_its_minor_version_may_be_the_last_of_its_kind(
        stated: dict[str, Value], capability: str, fit: str | None) -> None:
    """jaxlib for CUDA 11 was built with 11.8, which knows an H100."""
    assert related(**stated, capabilities=(capability,))["card_fit"] == fit
