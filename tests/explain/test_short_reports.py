"""Short reports of strangers, each of which once was misread, or given advice that does not fit."""

from __future__ import annotations

import json

import pytest

from tests.explain.shipped import causes, findings, told

ASKED = ("C:\\Users\\ana>python -c \"import tensorflow as tf; print(tf.__version__, "
         "tf.config.list_physical_devices('GPU'))\"\n")
OLD_AND_NEW = {"numpy": "2.0.0", "tensorflow": "2.17.0", "tensorflow-gpu": "2.10.0"}
AS_TABLE = "Package Version\n------- -------\n" + "".join(
    f"{one} {own}\n" for one, own in OLD_AND_NEW.items())
AS_JSON = json.dumps([{"name": one, "version": own} for one, own in OLD_AND_NEW.items()])
NOT_THERE = ("Could not load dynamic library '{0}'; dlerror: {0}: cannot open shared object file: No such "
             "file or directory; LD_LIBRARY_PATH: /usr/local/cuda-12.1/lib64\n")
NO_CMDLET = ("nvidia-smi : The term 'nvidia-smi' is not recognized as the name of a cmdlet, function, script "
             "file, or operable program.\n")


def commands(text: str) -> list[str]:
    """Return all commands of all fixes."""
    return [step for finding in findings(text) for fix in finding.fixes for step in fix.commands]


def titles(text: str, cause: str) -> list[str]:
    """Return the titles of the fixes of a cause."""
    return [fix.title for finding in findings(text) if finding.cause == cause for fix in finding.fixes]


@pytest.mark.parametrize("text", [
    f"{ASKED}2.16.1 []\n",
    "on Windows 11 tensorflow is slow:\n2.16.1 []\n", "Windows 11\nTF 2.16.1 GPUs: []\n",
])
def test_a_release_beside_an_empty_list_has_no_gpu(text: str) -> None:
    """Regression: the line was read only below the command that printed it."""
    assert causes(text) == ["windows-native-tf-dropped"]
    assert told(text).snapshot.host["text.framework_version"].value == "2.16.1"  # type: ignore[union-attr]


def test_a_release_beside_an_empty_list_is_read_alone_and_not_of_others() -> None:
    """Regression: it was no line that is known; beside PyTorch alone nobody knows whose it is."""
    assert "cpu-only-build" in causes("2.18.0 []\n")
    assert causes("torch is fine here\n2.1.0 []\n") == []


def test_a_wheel_that_brings_no_cuda_is_not_said_to_bring_it() -> None:
    """Regression: TensorFlow 2.10.1 for Windows needs a CUDA and a cuDNN of the system."""
    text = "{}, tensorflow does not see my gpu RTX 3060\n"
    mismatch = [titles(text.format(system), "cuda-version-mismatch") for system in ("Windows 11", "Ubuntu")]
    assert ["brings its own" in "".join(one) for one in mismatch] == [False, True]


@pytest.mark.parametrize("text", [AS_TABLE, f"{AS_JSON}\n"])
def test_of_two_tensorflows_the_newer_one_is_kept(text: str) -> None:
    """Regression: the last of the list was, and of pip's JSON nothing was understood."""
    assert causes(text) == ["mixed-tf-packages"]
    assert "python -m pip install 'tensorflow[and-cuda]==2.17.0'" in commands(text)
    assert told(text).snapshot.host["text.framework_version"].value == "2.17.0"  # type: ignore[union-attr]


def test_what_a_program_says_of_itself_counts_more_than_a_list() -> None:
    """The newest package is taken only where nothing tells which one is imported."""
    text = f"{AS_TABLE}>>> tf.__version__\n'2.10.0'\n"
    assert told(text).snapshot.host["text.framework_version"].value == "2.10.0"  # type: ignore[union-attr]


def test_a_folder_of_another_cuda_is_no_other_cudnn() -> None:
    """Regression: a CUDA 12.1 was said to be "another cuDNN than the one that is asked for"."""
    log = NOT_THERE.format("libcudart.so.11.0") + NOT_THERE.format("libcudnn.so.8")
    assert causes(log)[0] == "cuda-version-mismatch"
    assert not any("another cuDNN is stated" in finding.message for finding in findings(log))
    assert causes(f"{log}cuDNN 9.1.0\n")[0] == "cudnn-wrong-major"


def test_an_ended_package_is_a_cause_only_where_it_is_named() -> None:
    """Regression: words alone told of tensorflow-gpu, which nobody had named."""
    for text in ("why does tensorflow not use my gpu? pip install tensorflow, RTX 3060, Ubuntu\n",
                 ("The guide says to install the gpu package of tensorflow, but pip calls it removed: "
                  "requirement invalid, expected end or semicolon, exception\n")):
        assert "tensorflow-gpu-package-removed" not in causes(text)


def test_a_number_is_quoted_as_the_log_has_it() -> None:
    """Regression: "error (304 is CUDA_ERROR_OPERATING_SYSTEM" stood there, with its bracket open."""
    line = "some CUDA error (304)"
    assert {one.saw for finding in findings(f"{line}\n") for one in finding.evidence
            if one.fact == "text.symptoms"} == {f"{line} (304 is CUDA_ERROR_OPERATING_SYSTEM)"}


def test_nothing_is_laid_down_again_that_nobody_calls_broken() -> None:
    """Regression: it was the advice for any TensorFlow of an unknown release."""
    text = ("Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above "
            "are installed properly if you would like to use GPU.\n")
    assert titles(text, "pip-nvidia-libs-not-installed") == [
        "Install the CUDA libraries of this very release"]


def test_powershell_is_of_windows() -> None:
    """Regression: lspci and modinfo were asked for."""
    asked = [ask.command for finding in findings(f"{NO_CMDLET}tensorflow does not find my gpu\n")
             for ask in finding.asks]
    assert asked
    assert not any("lspci" in command or "ldconfig" in command for command in asked)


@pytest.mark.parametrize("line", [
    "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
    "failed call to cuInit: UNKNOWN ERROR (34)",
])
def test_who_says_that_there_is_no_card_is_believed(line: str) -> None:
    """Regression: hidden devices, and a stub of the driver's library beyond doubt."""
    notice = f"2022-12-09 15:51:57.845894: E tensorflow/stream_executor/cuda/cuda_driver.cc:271] {line}\n"
    assert causes(f"{notice}We do not have a GPU.\n")[0] == "benign-no-gpu-machine"
    assert causes(notice)[0] != "benign-no-gpu-machine"
