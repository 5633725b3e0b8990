"""What lines mean becomes a line of its own: a command, a variable, a number, code, a list of a node."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.explanation.answers import Answered
from gpudoctor.explanation.containers import ALWAYS, started
from gpudoctor.explanation.hidden import hidden
from gpudoctor.explanation.nodes import without_gpus
from gpudoctor.explanation.numbered import named
from gpudoctor.explanation.scripts import unused_devices

_WITH, _WITHOUT = "container started with a GPU: ", "container started without a GPU: "


def _said(found: list[Answered]) -> list[str]:
    return [one.text for one in found]


@pytest.mark.parametrize(("command", "said"), [
    ("docker run -it --rm own/image:1 bash", f"{_WITHOUT}own/image:1"),
    ("$ sudo docker run --rm -v /data:/data --name one -p 80:80 own/image", f"{_WITHOUT}own/image"),
    ("2. run it: `docker run -it test`", f"{_WITHOUT}test"),
    ("podman run --rm --device nvidia.com/gpu=all ubuntu nvidia-smi", f"{_WITH}ubuntu"),
    ("docker run --gpus all own/image", f"{_WITH}own/image"),
    ("docker run --runtime=nvidia own/image", f"{_WITH}own/image"),
    ("docker container run --runtime nvidia own/image", f"{_WITH}own/image"),
    ("NV_GPU=0 nvidia-docker run -it own/image", f"{_WITH}own/image"),
    ("docker run -e NVIDIA_VISIBLE_DEVICES=void own/image", f"{_WITHOUT}own/image"),
    ("docker run \\\n  -it \\\n  --gpus all \\\n  own/image", f"{_WITH}own/image"),
    ("docker run own/image && docker run --gpus all other", f"{_WITHOUT}own/image"),
])
def test_a_command_is_read_as_the_engine_reads_it(command: str, said: str) -> None:
    """Options have values, and a backslash goes on."""
    assert _said(list(started(command.split("\n"))))[:1] == [said]


@pytest.mark.parametrize("command", [
    "docker run hello-world", "docker run --privileged own/image",
    "docker run -e NVIDIA_VISIBLE_DEVICES=all own/image",
    "docker run --help", "we run docker every day", "/usr/libexec/docker run own/image",
])
def test_where_nobody_can_tell_nothing_is_said(command: str) -> None:
    """An engine's default runtime may hand the cards in."""
    assert list(started([command])) == []


def test_each_command_counts_by_itself_and_an_image_that_has_the_gpu_once_is_not_blamed() -> None:
    """NVIDIA's image is tried with a GPU first, and the own one started without."""
    lines = ["docker run --gpus all nvidia/cuda nvidia-smi", "docker run -it own/image",
             "docker run nvidia/cuda ls"]
    assert _said(list(started(lines))) == [f"{_WITH}nvidia/cuda", f"{_WITHOUT}own/image"]
    text = "\n".join([*lines, "RuntimeError: No CUDA GPUs are available"])
    assert texts.told_causes(text, ruledb.load_shipped("told"))[0] == "docker-no-gpu-flag"


@pytest.mark.parametrize(("reservation", "said"), [
    (("    deploy:", "      devices:", "        - driver: nvidia"), f"{_WITH}services of Compose"),
    (("    runtime: nvidia",), f"{_WITH}services of Compose"),
    (("    ports:", "      - 80:80"), f"{_WITHOUT}services of Compose"),
])
def test_a_file_of_compose_asks_for_a_gpu_or_not(reservation: tuple[str, ...], said: str) -> None:
    """By a reservation, or by the runtime."""
    lines = ["services:", "  app:", "    image: own/image", *reservation, "volumes:", "  runtime: nvidia"]
    assert _said(list(started(lines)))[:1] == [said]


def test_where_every_container_is_given_a_gpu_the_request_is_not_what_is_missing() -> None:
    """NVIDIA's own image is only a trial, and says nothing of the others."""
    given = "docker run --gpus all own/image python train.py"
    assert ALWAYS in _said(list(started([given])))
    assert ALWAYS not in _said(list(started([given, "docker run other/image"])))
    assert ALWAYS not in _said(list(started(["docker run --gpus all nvidia/cuda nvidia-smi"])))
    text = f"{given}\nFound no NVIDIA driver on your system"
    assert texts.told_causes(text, ruledb.load_shipped("told"))[0] != "docker-no-gpu-flag"


@pytest.mark.parametrize("line", [
    "      CUDA_VISIBLE_DEVICES: all", "export CUDA_VISIBLE_DEVICES=cuda:0", "-e CUDA_VISIBLE_DEVICES=void",
    'os.environ["CUDA_VISIBLE_DEVICES"] = "-1"', "os.environ['CUDA_VISIBLE_DEVICES']='cpu'",
    'os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")', 'CUDA_VISIBLE_DEVICES="" python train.py',
    "$env:CUDA_VISIBLE_DEVICES = 'GPU0'", "set CUDA_VISIBLE_DEVICES=-1,0",
])
def test_a_value_that_names_no_card_hides_them_all(line: str) -> None:
    """In whatever language it is given."""
    assert len(list(hidden([line]))) == 1


@pytest.mark.parametrize("line", [
    "CUDA_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES: 0,1", "CUDA_VISIBLE_DEVICES=GPU-8932f937",
    "CUDA_VISIBLE_DEVICES=1,-1", "CUDA_VISIBLE_DEVICES=$GPU", "CUDA_VISIBLE_DEVICES: None",
    "CUDA_VISIBLE_DEVICES: not set", "echo $CUDA_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES=MIG-377e0049", "set CUDA_VISIBLE_DEVICES to all cards", "CUDA_VISIBLE_DEVICES:",
    'os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(cards)',
])
def test_a_value_that_shows_a_card_or_is_none_hides_nothing(line: str) -> None:
    """Sentences and placeholders are no values."""
    assert list(hidden([line])) == []


@pytest.mark.parametrize(("line", "name"), [
    ("Warp CUDA error: Failed to get driver entry point 'cuInit' (CUDA error 34)", "CUDA_ERROR_STUB_LIBRARY"),
    ("cuInit says: status=802", "CUDA_ERROR_SYSTEM_NOT_READY"),
    ("[cuda] failed with code 804", "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"),
    ("RuntimeError: CUDA error 2", "CUDA_ERROR_OUT_OF_MEMORY"),
    ("CUDA error: 3", "CUDA_ERROR_NOT_INITIALIZED"),
    ("the CUDA runtime returned 98", "cudaErrorInvalidDeviceFunction"),
])
def test_a_number_of_cuda_is_its_error(line: str, name: str) -> None:
    """Whatever words stand around it; what is quoted has the number as it stands there."""
    said, = _said(list(named([line], ruledb.load_shipped().tables)))
    number, what = said.split(" is ")
    assert number in line
    assert what == name


@pytest.mark.parametrize("line", [
    "cuda job: exit code 100", "error 100 of the database", "CUDA error 100 MiB",
    "CUDA 12.4 failed (128 GiB)",
    "CUDA failed 100.5 % of it", "cuda: returned 1000 rows", "CUDA error 1 of 3", "CUDA error 3/4",
    "CUDA error 8",  # of the driver it is one of profiling, and of an older runtime another
])
def test_other_numbers_are_no_errors_of_cuda(line: str) -> None:
    """Exit codes, sizes and versions."""
    assert list(named([line], ruledb.load_shipped().tables)) == []


@pytest.mark.parametrize(("line", "name"), [
    ("cuFFT error at fft.cu:42: 5", "CUFFT_INTERNAL_ERROR"),
    ("cufftExecC2C failed with error code 5", "CUFFT_INTERNAL_ERROR"),
    ("failed to create cuFFT batched plan:2", "CUFFT_ALLOC_FAILED"),
    ("Check failed: (cufftPlanMany(&plan, 1, &n)) == CUFFT_SUCCESS (2 vs. 0)", "CUFFT_ALLOC_FAILED"),
    ("CUDA: cuRAND error: 201", "CURAND_STATUS_LAUNCH_FAILURE"),
    ("cuSOLVER error 7", "CUSOLVER_STATUS_INTERNAL_ERROR"),
    ("cuSPARSE error 10 at spmv.cu:3", "CUSPARSE_STATUS_NOT_SUPPORTED"),
    ("nvrtc error 7", "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"),
    ("cuBLAS error 13", "CUBLAS_STATUS_EXECUTION_FAILED"),
    ("CUBLAS error: 1", "CUBLAS_STATUS_NOT_INITIALIZED"),
    ("cublas: CUDA error 35", "cudaErrorInsufficientDriver"),
    ("error 13 was returned by cuBLAS", "CUBLAS_STATUS_EXECUTION_FAILED"),
])
def test_a_number_is_that_of_the_library_named_last_before_it(line: str, name: str) -> None:
    """cuBLAS's 13, cuSPARSE's 10 and cuRAND's 201 were taken for CUDA's errors of these numbers."""
    said, = _said(list(named([line], ruledb.load_shipped().tables)))
    assert said.rpartition(" is ")[2] == name
    assert said.rpartition(" is ")[0] in line


@pytest.mark.parametrize("line", [
    "make: *** [cusolver_test] Error 1", "Could not load library cublas64_11.dll. Error code 126",
    "cufft tests: exit status 1", "cublas test failed: 1", "cusparse build: error 2 of 3",
    "nvrtc: error: 5 errors detected", "cuDNN error 11", "NCCL error 5", "cufft error 3.5", "custom error 42",
    "cuFFT error: 0",
])
def test_other_numbers_beside_a_library_are_no_errors_of_its(line: str) -> None:
    """Of make, of the loader, of a compiler that counts, and of interfaces that number otherwise."""
    assert list(named([line], ruledb.load_shipped().tables)) == []


def test_every_code_of_cuda_has_a_symptom_by_its_name_and_by_its_number() -> None:
    """None is taken for a wording that nobody knows, and likened to another code."""
    database = ruledb.load_shipped("told")
    names = {int(str(row["code"])): str(row["name"])
             for table in ("cuda_runtime_errors", "cuda_errors") for row in database.tables[table].rows}
    unsaid = ("CUDA_SUCCESS", "cudaErrorApiFailureBase")
    known = {code: name for code, name in names.items() if name not in unsaid}
    assert [name for name in known.values() if not texts.read_text(f"CUDA: {name}", database).said] == []
    assert [code for code, name in known.items() if code > 9
            and not texts.read_text(f"CUDA error {code}", database).said] == []
    assert len(known) > 130


@pytest.mark.parametrize("library", ["cufft", "curand", "cusolver", "cusparse", "nvrtc"])
def test_every_code_of_a_library_has_a_symptom_by_its_name_and_by_its_number(library: str) -> None:
    """CURAND_STATUS_LAUNCH_FAILURE was likened to a card too old, NVRTC's 7 taken for one of CUDA's."""
    database = ruledb.load_shipped("told")
    names = [str(row["name"]) for row in database.tables[f"{library}_errors"].rows if row["code"] != 0]
    assert len(names) > 10
    assert [name for name in names if not texts.read_text(f"error: {name}", database).said] == []
    codes = [row["code"] for row in database.tables[f"{library}_errors"].rows if row["code"] != 0]
    assert [code for code in codes if not texts.read_text(f"{library} error {code}", database).said] == []


_TRAINING = ["device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')", "model = Net()",
             "loss = criterion(model(x), y)", "loss.backward()"]


def test_code_that_makes_a_device_and_moves_nothing_stays_on_the_cpu() -> None:
    """A reader of the code sees what no message says."""
    assert [(one.text, one.line) for one in unused_devices(_TRAINING)] == [
        ("code makes a torch.device and moves nothing to it", 1)]
    text = "\n".join(["My GPU is not used", *_TRAINING])
    assert texts.told_causes(text, ruledb.load_shipped("told"))[0] == "api-misuse"


@pytest.mark.parametrize("line", [
    "model = model.to(device)", "model.cuda()", "x = torch.zeros(3, device=device)",
    "torch.set_default_device(device)",
    "model = load(path, map_location=device)",
])
def test_code_that_moves_something_is_not_blamed(line: str) -> None:
    """In any of PyTorch's ways."""
    assert list(unused_devices([*_TRAINING, line])) == []


def test_a_fragment_of_code_is_not_blamed_but_a_statement_that_does_nothing_is() -> None:
    """What computes may stand elsewhere."""
    assert list(unused_devices(_TRAINING[:2])) == []
    assert [one.line for one in unused_devices(["import torch", 'torch.device("cuda:0")'])] == [2]
    assert list(unused_devices(['with torch.device("cuda"):'])) == []


_HAS = ["  cpu:                12", "  memory:             16325228Ki", "  pods:               110"]
_NODE = ["Capacity:", *_HAS, "Allocatable:", *_HAS, "System Info:", "  Kubelet Version:    v1.22.3"]


def test_a_node_without_the_resource_offers_no_gpu() -> None:
    """What is left out of a whole list is not there."""
    assert _said(list(without_gpus(_NODE))) == ["the node offers no nvidia.com/gpu"]
    assert texts.told_causes("\n".join(_NODE), ruledb.load_shipped("told")) == ("k8s-device-plugin",)


@pytest.mark.parametrize("lines", [
    [*_NODE[:4], "  nvidia.com/gpu:     1", *_NODE[4:]], _NODE[:3], ["Capacity:", "  512 GB"],
])
def test_a_node_with_it_and_a_list_that_is_cut_off_say_nothing(lines: list[str]) -> None:
    """The rest of the list may have it."""
    assert list(without_gpus(lines)) == []


def test_endless_texts_give_few_lines() -> None:
    """However often a command, a variable or a number stands there."""
    tables = ruledb.load_shipped().tables
    assert len(list(started(["docker run own/image"] * 1000))) == 40
    assert len(list(hidden(["CUDA_VISIBLE_DEVICES=-1"] * 1000))) == 20
    assert len(list(named(["CUDA error 34"] * 1000, tables))) == 1


@pytest.mark.parametrize(("text", "cause"), [
    ("Cuda Configuration Error: Cannot find cuda library libcudart.so.10.1", "source-build-config"),
    ("Could not find cuda drivers on your machine, GPU will not be used.\n$ apptainer exec a.sif python",
     "singularity-no-nv"),
    (("TF-TRT Warning: Could not find TensorRT\nCannot dlopen some GPU libraries. Make sure the missing "
      "libraries mentioned above are installed properly\nSkipping registering GPU devices..."),
     "pip-nvidia-libs-not-installed"),
    (("was explicitly assigned to /device:GPU:1 but available devices are [ /job:localhost/replica:0/task:0"
      "/device:CPU:0, /job:localhost/replica:0/task:0/device:GPU:0 ]"), "api-misuse"),
    ("Could not find cuda drivers on your machine, GPU will not be used.\n\ngpu: none (a laptop)",
     "benign-no-gpu-machine"),
])
def test_what_a_program_printed_beside_is_counted(text: str, cause: str) -> None:
    """These were answered by what their libraries alone say: they name a library that is only looked for."""
    assert texts.told_causes(text, ruledb.load_shipped("told"))[:1] == (cause,)


@pytest.mark.parametrize("line", [
    ("W gpu_utils.cc:50] Failed to allocate memory for convolution redzone checking; skipping this check. "
     "This is benign and only means that we won't check cudnn for out-of-bounds reads and writes."),
    "UserWarning: expandable_segments not supported on this platform",
    "NCCL INFO TUNER/Plugin: Could not find: libnccl-tuner.so.",
    "caller _nv000649rm+0x1af/0x200 [nvidia] mapping multiple BARs",
    ("[W ProcessGroupNCCL.cpp:1569] Rank 0 using best-guess GPU 0 to perform barrier as devices used by this "
     "process are currently unknown."),
    "some.py:3: DeprecationWarning: GPU device names without a colon are not supported any more",
])
def test_a_notice_is_no_fault(line: str) -> None:
    """Each was a fault to those who read only its things and troubles."""
    causes = texts.told_causes(line, ruledb.load_shipped("told"))
    assert causes
    assert all(cause.startswith("benign-") for cause in causes)
