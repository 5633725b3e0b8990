"""What is said beside a library that cannot be opened: which others are there, where, and what cured it."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.explanation import cures, explain, libraries, unreached
from gpudoctor.explanation.answers import Answered


def _said(found: list[Answered]) -> list[str]:
    return [one.text for one in found]


@pytest.mark.parametrize(("text", "said"), [
    ("OSError: libcudnn.so.8: cannot open shared object file\n$ ls /opt/lib\nthere is libcudnn.so.9 only",
     "another version of cuDNN is there: libcudnn.so.8 is asked for, libcudnn.so.9 is found"),
    ("cudnn64_7.dll not found\nii  libcudnn8  8.2.4.15-1+cuda11.4",
     "another version of cuDNN is there: cudnn64_7.dll is asked for, libcudnn8 is found"),
    ("we have cuDNN 9.1, but the wheel requires cuDNN 8",
     "another version of cuDNN is there: cuDNN 8 is asked for, cuDNN 9.1 is found"),
    ("libcublas.so.10.0: cannot open shared object file\n/usr/local/cuda/lib64/libcublas.so.10.2",
     "another version of CUDA is there: libcublas.so.10.0 is asked for, libcublas.so.10.2 is found"),
    ("libcufft.so.10 => not found\n$ locate libcufft.so.10\n/opt/cuda-11.4/lib64/libcufft.so.10",
     "libcufft.so.10 is asked for, and lies in a folder: /opt/cuda-11.4/lib64/"),
    ("libcudnn.so.9 could not be loaded\nit exists: /srv/lib/site-packages/nvidia/cudnn/lib/libcudnn.so.9",
     "libcudnn.so.9 is asked for, and lies among the packages of pip"),
    ("ImportError: libcudart.so.12: cannot open shared object file\nnvidia-cuda-runtime-cu12==12.6.77",
     "libcudart.so.12 is asked for, and lies among the packages of pip"),
    ("Could not load library libcudnn_ops.so.9\n/usr/lib/x86_64-linux-gnu/libcudnn.so.9 exists",
     "a part of cuDNN is missing while another is there: libcudnn_ops.so.9, libcudnn.so.9"),
    ("node1: NCCL version 2.18.5+cuda12.2\nnode2: NCCL version 2.21.5+cuda12.4",
     "two versions of NCCL speak to one another"),
])
def test_what_is_there_is_held_against_what_is_asked_for(text: str, said: str) -> None:
    """One line or package says which library is missing, another which is there."""
    assert said in _said(list(libraries.libraries(text.split("\n"))))


def test_a_library_that_lies_in_two_places_is_told_of_both() -> None:
    """Regression: that another environment's packages hold it made that the cause beyond doubt."""
    text = ("ImportError: libcudnn.so.8: cannot open shared object file\n$ find / -name 'libcudnn.so*'\n"
            "/envs/other/lib/python3.9/site-packages/nvidia/cudnn/lib/libcudnn.so.8\n"
            "/envs/own/lib/libcudnn.so.8\n")
    assert _said(list(libraries.libraries(text.split("\n"))))[1:] == [
        "libcudnn.so.8 is asked for, and lies among the packages of pip",
        "libcudnn.so.8 is asked for, and lies in a folder: /envs/own/lib/"]


@pytest.mark.parametrize("text", [
    "Successfully opened dynamic library libcudnn.so.8",
    "/opt/lib/libcudnn_cnn.so.9: undefined symbol: x, version libcudnn_graph.so.9\n/opt/lib/libcudnn.so.9",
    "torch 2.6.0 requires nvidia-cudnn-cu12==9.1.0.70, but you have nvidia-cudnn-cu12 8.9.7.29",
    "NCCL version 2.21.5+cuda12.4\nNCCL version 2.21.5+cuda12.4",
    "cuDNN 8 and cuDNN 9 are both supported",
    "I have cudnn 8.9 and libcudnn.so.8 works",
])
def test_a_library_that_nobody_misses_says_nothing(text: str) -> None:
    """What is there is no fault, and a package's requirement no missing file."""
    assert _said(list(libraries.libraries(text.split("\n")))) == []


@pytest.mark.parametrize(("text", "said"), [
    ("libcusolver.so.11: cannot open shared object file\nwe never installed the CUDA toolkit here",
     unreached.NO_TOOLKIT),
    ("libcublas.so.11 not found\n$ ls /usr/local | grep cuda\n$", unreached.NO_TOOLKIT),
    ("Cannot load libcurand.so.10, there is only the driver on that node", unreached.NO_TOOLKIT),
    ("Cannot dlopen some GPU libraries\nnvidia-cufft-cu12 11.2.1.3", unreached.OF_PIP),
    ("libcudnn.so.8: cannot open\nexport LD_LIBRARY_PATH=$VENV/site-packages/nvidia/cudnn/lib fixed it",
     unreached.CURED),
    ("cudnn not found from cron, from a terminal the same script works", unreached.ELSEWHERE),
])
def test_why_a_library_is_not_reached_is_heard(text: str, said: str) -> None:
    """No toolkit, the packages of pip, another kind of process."""
    assert said in _said(list(unreached.unreached(text.split("\n"))))


@pytest.mark.parametrize("text", [
    "no CUDA toolkit is needed, the driver is enough",
    "libcudnn.so.8: cannot open\nNo CUDA runtime is found, using CUDA_HOME='/usr/local/cuda'",
    "libcudnn.so.8: cannot open\nThere is no CUDA-capable device",
    "libcudnn.so.8: cannot open\nCUDNN_PATH does not help, nvidia wheels or not",
    "from cron and from the terminal the script works, libcudart.so.12 is found",
])
def test_other_words_are_not_heard_as_a_reason(text: str) -> None:
    """The same words say other things: a build for extensions, a card, an attempt that failed."""
    assert _said(list(unreached.unreached(text.split("\n")))) == []


@pytest.mark.parametrize(("text", "said"), [
    ("after unset LD_LIBRARY_PATH the import works", cures.WITHOUT_PATH),
    ("$ env -u LD_LIBRARY_PATH python -c 'import torch; print(torch.cuda.is_available())'\nTrue",
     cures.WITHOUT_PATH),
    ("putting zlibwapi.dll beside cudnn64_8.dll fixed the crash", cures.ZLIB),
    ("XLA_FLAGS=--xla_gpu_cuda_data_dir=/opt/cuda solves it", cures.CUDA_FOLDER),
    ("export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas fixed it for me", cures.PTXAS),
])
def test_a_cure_is_heard(text: str, said: str) -> None:
    """Whoever tells the cure tells the cause."""
    assert _said(list(cures.cures(text.split("\n")))) == [said]


@pytest.mark.parametrize("text", [
    "unset LD_LIBRARY_PATH does not help", "I set LD_LIBRARY_PATH and it works",
    "zlibwapi.dll is missing, what works?", "TRITON_PTXAS_PATH is set and nothing works",
])
def test_what_did_not_help_is_no_cure(text: str) -> None:
    """A denial before the word, or the variable set instead of taken away."""
    assert _said(list(cures.cures(text.split("\n")))) in ([], [cures.ZLIB])


@pytest.mark.parametrize(("text", "cause"), [
    ("ImportError: libcudnn.so.7: cannot open shared object file\nI have libcudnn.so.8 in /usr/lib",
     "cudnn-wrong-major"),
    ("ImportError: libcublas.so.12: cannot open\n/srv/site-packages/nvidia/cublas/lib/libcublas.so.12 exists",
     "pip-nvidia-libs-not-found"),
    ("libcurand.so.10: cannot open shared object file\n$ locate libcurand\n/opt/cuda/lib64/libcurand.so.10",
     "ld-library-path-not-set"),
    ("OSError: libcudart.so.11.0: cannot open shared object file\nthe box has no CUDA, only the driver",
     "cudart-missing"),
])
def test_the_cause_is_the_one_that_both_halves_tell(text: str, cause: str) -> None:
    """A library that is there is not missing."""
    assert texts.told_causes(text, ruledb.load_shipped("told"))[0] == cause


# How loaders and programs say that a library is not there; the program ends with each of them.
ENDINGS = (
    "ImportError: {}: cannot open shared object file: No such file or directory",
    "Could not load library {0}. Error: {0}: cannot open shared object file: No such file or directory",
    "\t{} => not found",
    "/app/main: error while loading shared libraries: {}: cannot open shared object file: No such file",
)
# Library -> causes one of which is to come first; none of them is of another maker's, or of the system's.
MISSED = {
    "libcudart.so.12": {"cuda-version-mismatch", "ld-library-path-not-set", "cudart-missing"},
    "libcublasLt.so.12": {"cuda-version-mismatch", "ld-library-path-not-set", "cudart-missing"},
    "libcusolver.so.11": {"cuda-version-mismatch", "ld-library-path-not-set", "cudart-missing"},
    "libcufft.so.11": {"cuda-version-mismatch", "ld-library-path-not-set", "cudart-missing"},
    "libnvrtc.so.12": {"cuda-version-mismatch", "ld-library-path-not-set", "cudart-missing"},
    "libcudnn.so.9": {"cudnn-missing"},
    "libcudnn_graph.so.9": {"cudnn-missing"},
    "libcudnn_ops_infer.so.8": {"cudnn-missing"},
    "libnccl.so.2": {"pip-nvidia-libs-not-installed"},
    "libcupti.so.12": {"cupti-missing"},
    "libcusparseLt.so.0": {"pip-nvidia-libs-not-installed"},
    "libcutensor.so.2": {"pip-nvidia-libs-not-installed"},
    "libnvinfer.so.10": {"tensorrt-missing-fatal"},
    "libcuda.so.1": {"driver-not-installed"},
    "libnvidia-ml.so.1": {"driver-not-installed"},
    "libnvidia-ptxjitcompiler.so.1": {"driver-kernel-userspace-mismatch"},
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("library", MISSED)
def test_a_library_is_known_however_its_loader_says_that_it_is_missing(library: str, ending: str) -> None:
    """Regression: parts of cuDNN, and those that ldd lists, were missed by one wording or the other."""
    database = ruledb.load_shipped("told")
    findings = explain(texts.read_text(ending.format(library) + "\n", database), database).findings
    assert findings[0].cause in MISSED[library]


@pytest.mark.parametrize("library", ["libGL.so.1", "libstdc++.so.6", "libmpi.so.40"])
def test_a_library_of_the_system_is_no_part_of_cudnn(library: str) -> None:
    """Regression: whatever could not be loaded in cuDNN's words was taken for a part of it."""
    database = ruledb.load_shipped("told")
    findings = explain(texts.read_text(ENDINGS[1].format(library) + "\n", database), database).findings
    assert not [finding.cause for finding in findings if "cudnn" in finding.cause]
