"""Reports that systems and tools print: what they state, and that a list of what is there is no fault."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO

import pytest

from gpudoctor import texts
from gpudoctor.assume import lay
from gpudoctor.cli import explaining
from gpudoctor.codec import encode_snapshot
from gpudoctor.explanation import explain
from gpudoctor.explanation.reading import Reading
from gpudoctor.model import Absent, Known, Snapshot, Value
from gpudoctor.sources.scan import Input
from tests.explain.shipped import database, told

ROW = 'openat(AT_FDCWD, "{path}", O_RDONLY|O_CLOEXEC) = {result}\n'
LACKS = "-1 ENOENT (No such file or directory)"
TRACE = ("      1234:\ttrying file=/opt/conda/lib/libcudart.so.12\n"
         "      1234:\ttrying file=/usr/local/cuda-11.8/lib64/libcudnn.so.8\n")
ROCM = ("PyTorch version: 2.4.1+rocm6.1\nCUDA used to build PyTorch: N/A\n"
        "ROCM used to build PyTorch: 6.1.40091\n"
        "OS: Ubuntu 22.04.4 LTS (x86_64)\nIs CUDA available: True\n")


def read(text: str) -> Reading:
    """Return the reading of a text."""
    return texts.read_text(text, database())


def stated(text: str, fact: str) -> Value | None:
    """Return a value that a text states."""
    found = read(text).text.get(fact, Absent(source="test"))
    return found.value if isinstance(found, Known) else None


def test_rows_of_pacman_state_versions_without_the_release_of_the_package() -> None:
    """Regression: CUDA was "12.9.1-2", and the driver of nvidia-utils was not heard."""
    text = "nvidia-utils 595.10-1\ncuda 12.9.1-2\ncudnn 9.8.0.87-1\npython-pytorch-cuda 2.9.0-3\n"
    assert stated(text, "text.driver") == "595.10"
    assert stated(text, "text.cuda") == "12.9.1"
    assert stated(text, "text.cudnn") == "9.8.0.87"
    assert stated(text, "text.framework_version") == "2.9.0"


def test_a_row_of_a_query_without_its_heading_has_the_driver() -> None:
    """Watts look like a version of two parts, so only three count."""
    assert stated("NVIDIA GeForce RTX 3090, 535.183.01, 24576 MiB\n", "text.driver") == "535.183.01"
    assert stated("NVIDIA A100, 300.00, 40536\n", "text.driver") is None


@pytest.mark.parametrize(("own", "driver", "is_wsl"), [
    ("495.53", "497.29", True), ("550.54.14", "551.61", True), ("550.54.14", "550.54.14", False)])
def test_a_table_with_the_driver_of_windows_is_one_of_wsl(own: str, driver: str, is_wsl: bool) -> None:
    """Elsewhere nvidia-smi and the driver are of one package."""
    places = stated(f"| NVIDIA-SMI {own}       Driver Version: {driver}       CUDA Version: 12.4     |\n",
                    "text.places")
    assert (isinstance(places, tuple) and "wsl2" in places) is is_wsl


def test_a_build_for_rocm_has_no_cuda() -> None:
    """Regression: the CUDA and cuDNN of the build for NVIDIA's cards stood in the header."""
    found = told(f"{ROCM}GPU models and configuration: AMD Radeon RX 7900 XTX\n")
    assert [question.cause for question in found.undecided] == ["no-fault-spoken-of"]
    host = found.snapshot.host
    assert not isinstance(host["text.build_cuda"], Known)
    assert not isinstance(host["text.build_cudnn"], Known)


def test_a_traceback_of_jaxlib_is_of_jax() -> None:
    """Regression: XLA's message was TensorFlow's."""
    text = "jaxlib.xla_extension.XlaRuntimeError: FAILED_PRECONDITION: DNN library initialization failed.\n"
    assert stated(text, "text.framework") == "jax"
    assert told(text).findings


@pytest.mark.parametrize("text", [
    TRACE,
    ROW.format(path="/usr/lib/libcuda.so.1", result=LACKS) + ROW.format(path="/lib/libcuda.so.1", result=3),
    "<process_name>/opt/edge --type=gpu-process --lost-gpu --crashpad-handler-pid=1 error</process_name>\n",
    "<product_name>Tesla T4</product_name>\n<virtualization_mode>Pass-Through</virtualization_mode>\n",
])
def test_what_is_only_tried_or_listed_is_no_fault(text: str) -> None:
    """Regression: a card was lost in the command line of a browser, and a Jetson was to be flashed."""
    found = told(text)
    assert found.findings == ()
    assert [question.cause for question in found.undecided] == ["no-fault-spoken-of"]


@pytest.mark.parametrize("text", [
    "Package Version\n------- -------\nonnxruntime 1.17.0\nonnxruntime-gpu 1.17.0\n",
    '[{"name": "onnxruntime", "version": "1.17.0"}, {"name": "onnxruntime-gpu", "version": "1.17.0"}]\n',
])
def test_two_packages_of_onnx_runtime_in_a_list_collide(text: str) -> None:
    """Regression: nothing in such a list spoke of a fault."""
    assert told(text).findings[0].cause == "wheel-file-collision"


@pytest.mark.parametrize("text", [
    "onnxruntime-gpu 1.17.0\n", "onnxruntime-gpu 1.17.0\nonnxruntime_extensions 0.10.0\n",
    "pip uninstall onnxruntime; pip install onnxruntime-gpu==1.17.0\n"])
def test_one_package_of_onnx_runtime_is_enough(text: str) -> None:
    """A name without a version is no row."""
    assert not told(text).findings


def test_a_library_that_no_place_has_is_missing() -> None:
    """What strace shows is then what the loader says."""
    text = "".join(ROW.format(path=f"{folder}/libcuda.so.1", result=LACKS) for folder in ("/usr/lib", "/lib"))
    assert told(text).findings[0].cause == "driver-not-installed"


def _recorded() -> Snapshot:
    """Return a machine without a card and without a driver, as gpudoctor records it."""
    absent = Absent(source="libcuda.so.1: cannot open shared object file: No such file or directory")
    nothing = Snapshot(host={}, gpus=(), frameworks=(), probes=())
    return lay(nothing, {"system.pci_nvidia": Known(value=(), source="/sys/bus/pci/devices"),
                         "cuda.library": absent}, {}, source="here")


def test_a_recorded_machine_is_judged_by_the_rules_and_its_rows_are_no_messages() -> None:
    """Regression: what the loader had said in it was explained, in the places that its keys name."""
    document = json.dumps(encode_snapshot(_recorded()), indent=1).encode()
    given = Input(name="snapshot.json", stream=BytesIO(document))
    report = explaining.told([given], database(), explaining.Wish())
    assert [finding.subject for finding in report.findings if finding.subject == "text"] == []
    places = report.snapshot.host["text.places"]
    assert isinstance(places, Known)
    assert places.value == ()
    without = replace(read(document.decode()), recorded=None)
    assert explain(without, database()).findings  # the rows are there to be mistaken
