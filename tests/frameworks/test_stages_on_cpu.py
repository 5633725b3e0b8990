"""The stages' payload as a child in real environments: right, wrong, lying, hanging and crashing frameworks.

No GPU takes part, so that no stage may ever say "passed". What is broken is broken from outside: by a signal,
or by a sitecustomize.py that lies on the environment's path, as a user's may.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import gpudoctor
from gpudoctor.courses import STAGES
from tests.harness.patient import Patient
from tests.shim import build
from tests.unit.driver_answers import TWO_CARDS, machine

PAYLOAD = Path(gpudoctor.__file__).parent / "payloads" / "__main__.py"
BUILDS = {"tensorflow": "cpu", "jax": "cpu", "torch": "torch-cpu", "paddle": "paddle-cpu"}
# What a framework's CPU build cannot do, and the beginning of the reason that it must give.
SKIPPED = {
    ("torch", "compiled"): "PyTorch lists no GPU",
    ("paddle", "compiled"): "this Paddle was built without CINN",
    **{(name, "all-reduce"): "it takes two GPUs, and the framework lists none" for name in BUILDS},
}
Environment = Callable[[str], Patient]

# Makes PyTorch say that it has a GPU, and put on the CPU what it is told to put there.
CLAIMING = """
import types, torch
on_cpu = torch.device("cpu")
torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: 1
torch.cuda.get_device_properties = lambda index: types.SimpleNamespace(total_memory=1 << 34)
torch.cuda.set_per_process_memory_fraction = lambda share, index: None
torch.device = lambda name: on_cpu
"""


@dataclass(frozen=True, kw_only=True)
class Journal:
    """What a child left: its events, the plain text after them, and how it ended."""

    events: Sequence[dict[str, Any]]
    text: str
    stderr: str
    code: int

    def only(self, event: str) -> list[dict[str, Any]]:
        """Return the events of a kind."""
        return [entry for entry in self.events if entry["event"] == event]

    def outcomes(self) -> dict[str, str]:
        """Return the outcome of each stage that ended."""
        return {entry["stage"]: entry["outcome"] for entry in self.only("ended")}


class Child:
    """A child that keeps a journal in a folder."""

    def __init__(self, patient: Patient, folder: Path, request: dict[str, Any], **environment: str) -> None:
        self.journal, self.stderr = folder / "journal", folder / "stderr"
        (folder / "home").mkdir()
        (folder / "temporary").mkdir()
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"),
                            "TMPDIR": str(folder / "temporary"), **environment}
        with self.journal.open("wb") as journal, self.stderr.open("wb") as stderr:
            self.process = subprocess.Popen(
                [str(patient.python), str(PAYLOAD), "stages", str(journal.fileno()), json.dumps(request)],
                pass_fds=[journal.fileno()], env=self.environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=stderr, cwd=folder)

    def begun(self, stage: str) -> None:
        """Wait until a stage has begun."""
        until = time.monotonic() + 200
        while f'"stage": "{stage}"' not in self.journal.read_text():
            assert self.process.poll() is None, self.journal.read_text()
            assert time.monotonic() < until
            time.sleep(0.01)

    def end(self) -> Journal:
        """Wait for the end and read what there is."""
        try:
            code = self.process.wait(timeout=280)
        finally:
            self.process.kill()
        lines = self.journal.read_text().splitlines()
        events = [json.loads(line) for line in lines if line.startswith("{")]
        text = "\n".join(line for line in lines if not line.startswith("{"))
        return Journal(events=events, text=text, stderr=self.stderr.read_text(), code=code)


def with_custom(folder: Path, text: str) -> dict[str, str]:
    """Return the variables under which an interpreter runs `text` when it starts."""
    (folder / "custom").mkdir()
    (folder / "custom" / "sitecustomize.py").write_text(text)
    return {"PYTHONPATH": str(folder / "custom")}


@pytest.mark.parametrize("framework", BUILDS)
def test_every_stage_of_a_cpu_build_runs_on_the_cpu(
    framework: str, environment: Environment, tmp_path: Path
) -> None:
    """Right within the tolerance, or skipped for the reason that is true; nothing is left on disk."""
    patient = environment(BUILDS[framework])
    journal = Child(patient, tmp_path, {"framework": framework, "stages": list(STAGES)}).end()
    assert (journal.code, journal.text) == (0, "")
    assert [entry["gpus"] for entry in journal.only("imported")] == [0]
    assert [entry["stage"] for entry in journal.only("begun")] == list(STAGES)
    for entry in journal.only("ended"):
        reason = SKIPPED.get((framework, entry["stage"]))
        assert entry["outcome"] == ("skipped" if reason else "ran-on-cpu"), entry
        assert entry["reason"].startswith(reason or "the framework lists no GPU")
        if not reason:
            assert "cpu" in entry["device"].lower()
            assert 0 <= entry["largest_error"] <= entry["tolerance"]
    assert [f"gpudoctor: stage {stage}" in journal.stderr for stage in STAGES] == [True] * len(STAGES)
    assert len(journal.only("libraries")) == 2
    assert list((tmp_path / "temporary").iterdir()) == []


def test_import_only_runs_no_stage(environment: Environment, tmp_path: Path) -> None:
    """It ends after the libraries."""
    request = {"framework": "jax", "import_only": True}
    journal = Child(environment("cpu"), tmp_path, request).end()
    assert [entry["event"] for entry in journal.events] == ["importing", "imported", "libraries"]


def test_a_result_that_is_off_in_one_number_is_wrong(environment: Environment, tmp_path: Path) -> None:
    """One is added to one number of what torch.matmul gives: the stages that use it say so."""
    custom = with_custom(tmp_path, """
import torch
real = torch.matmul
def broken(*arguments):
    result = real(*arguments)
    result[3, 4] += 1
    return result
torch.matmul = broken
""")
    journal = Child(environment("torch-cpu"), tmp_path, {"framework": "torch"}, **custom).end()
    assert journal.outcomes() == {
        "matmul": "wrong-result", "convolution": "ran-on-cpu", "compiled": "skipped",
        "reduced-precision": "wrong-result", "all-reduce": "skipped",
    }
    assert "1 of 16384 values are wrong; number 388 is" in journal.only("ended")[0]["reason"]


@pytest.mark.parametrize("driver", [False, True], ids=["no driver", "scripted driver"])
def test_a_framework_that_claims_a_gpu_is_not_believed(
    driver: bool, environment: Environment, tmp_path: Path
) -> None:
    """Right results in host memory are no proof, whatever the framework says."""
    custom = with_custom(tmp_path, CLAIMING)
    if driver:
        library = build.cuda(driver_version="570.86.15")
        custom["LD_PRELOAD"] = str(machine(tmp_path / "driver", TWO_CARDS, cuda=library) / "libcuda.so.1")
    request = {"framework": "torch", "stages": ["matmul", "convolution", "reduced-precision"]}
    journal = Child(environment("torch-cpu"), tmp_path, request, **custom).end()
    assert [entry["gpus"] for entry in journal.only("imported")] == [1]
    assert journal.outcomes() == dict.fromkeys(request["stages"], "no-proof")
    assert all(entry["reason"] for entry in journal.only("ended"))


# Makes Paddle say that it has two GPUs and a compiler, and writes down how that and TF32 are asked for.
PADDLE_CLAIMING = """
import json, paddle
real_static, real_device = paddle.jit.to_static, paddle.set_device
real_switch = paddle.base.core.set_cublas_switch
def told(*what):
    with open({path!r}, "a") as file:
        file.write(json.dumps(what) + chr(10))
def to_static(function, **options):
    told("to_static", options)
    return real_static(function, **options)
def set_cublas_switch(value):
    told("set_cublas_switch", value)
    real_switch(value)
paddle.is_compiled_with_cuda = paddle.is_compiled_with_cinn = lambda: True
paddle.device.cuda.device_count = lambda: 2
paddle.set_device = lambda name: real_device("cpu")
paddle.jit.to_static, paddle.base.core.set_cublas_switch = to_static, set_cublas_switch
"""


def test_paddle_is_asked_for_its_compiler_and_for_tf32(environment: Environment, tmp_path: Path) -> None:
    """Where a card is listed."""
    path = tmp_path / "told"
    custom = with_custom(tmp_path, PADDLE_CLAIMING.format(path=str(path)))
    request = {"framework": "paddle", "stages": ["compiled", "reduced-precision"], "precisions": ["tf32"]}
    journal = Child(environment("paddle-cpu"), tmp_path, request, **custom).end()
    assert journal.outcomes() == {"compiled": "no-proof", "reduced-precision": "no-proof"}
    before = [json.loads(line) for line in path.read_text().splitlines()]
    assert before[:2] == [["to_static", {"backend": "CINN", "full_graph": True}], ["set_cublas_switch", True]]
    assert [call for call, _ in before[2:]] == ["set_cublas_switch"], "as it was"


# What befalls Paddle's sum in the second of its two processes, what the stage came to, and its words.
BEFALLING = {
    "nothing": ("", "no-proof", "no libcuda.so.1"),
    "a wrong number": ("""
real_sum = paddle.distributed.all_reduce
def all_reduce(tensor):
    real_sum(tensor)
    tensor[3] += 1
paddle.distributed.all_reduce = all_reduce
""", "wrong-result", "1 of 1024 values are wrong; number 3 is"),
    "an exception": ("""
def all_reduce(tensor):
    raise RuntimeError("NCCL error 2")
paddle.distributed.all_reduce = all_reduce
""", "failed", "in the process for GPU 1 of the sum: RuntimeError: NCCL error 2"),
    "no import": (
        "sys.modules['paddle'] = None", "failed", "in the process for GPU 1 of the sum: ModuleNotFoundError"),
    "an early end": (
        "os.kill(os.getpid(), 9)", "failed", "the process for GPU 1 of the sum ended with code -9"),
}


@pytest.mark.parametrize("befallen", BEFALLING)
def test_paddle_adds_up_in_a_process_for_each_card(
    befallen: str, environment: Environment, tmp_path: Path
) -> None:
    """Both sums are judged, and what befell the other process is said; it outlives nobody.

    The user's own job has variables that would lead the processes astray.
    """
    text, outcome, words = BEFALLING[befallen]
    lines = ["print('second', os.getpid(), file=sys.stderr)", *text.splitlines()]
    second = "import os, sys\nif 'stage_peer' in sys.orig_argv:\n    " + "\n    ".join(lines)
    custom = with_custom(tmp_path, PADDLE_CLAIMING.format(path=str(tmp_path / "told")) + second)
    journal = Child(environment("paddle-cpu"), tmp_path, {"framework": "paddle", "stages": ["all-reduce"]},
                    PADDLE_DISTRI_BACKEND="gloo", MASTER_ADDR="192.0.2.1", MASTER_PORT="9",
                    PADDLE_TRAINER_ID="7", **custom).end()
    ended, = journal.only("ended")
    assert ended["outcome"] == outcome
    assert words in ended["reason"] + ended["words"]
    number, = [line.split()[1] for line in journal.stderr.splitlines() if line.startswith("second ")]
    assert not Path("/proc", number).exists()


def test_a_process_of_paddles_sum_that_hangs_is_told_as_a_stage_that_does(
    environment: Environment, tmp_path: Path
) -> None:
    """The first waits for it until its limit, which ends both."""
    custom = with_custom(tmp_path, PADDLE_CLAIMING.format(path=str(tmp_path / "told")) + """
import os, sys, time
if "stage_peer" in sys.orig_argv:
    print("second", os.getpid(), file=sys.stderr)
    paddle.distributed.all_reduce = lambda tensor: time.sleep(600)
""")
    request = {"framework": "paddle", "stages": ["all-reduce"], "limit_seconds": 30.0}
    patient = environment("paddle-cpu")
    journal = Child(patient, tmp_path, request, PADDLE_DISTRI_BACKEND="gloo", **custom).end()
    assert (journal.code, journal.events[-1]["event"]) == (1, "begun")
    assert journal.text.startswith("Timeout (")
    number, = [line.split()[1] for line in journal.stderr.splitlines() if line.startswith("second ")]
    until = time.monotonic() + 60
    while Path("/proc", number).exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert not Path("/proc", number).exists()


def test_a_stage_that_hangs_is_ended_and_says_where(environment: Environment, tmp_path: Path) -> None:
    """The stages before it keep their outcomes; the traceback comes after the last event."""
    custom = with_custom(tmp_path, """
import time, torch
def stuck(*arguments):
    time.sleep(600)
torch.nn.functional.conv2d = stuck
""")
    request = {"framework": "torch", "limit_seconds": 8.0}
    journal = Child(environment("torch-cpu"), tmp_path, request, **custom).end()
    assert journal.code == 1
    assert journal.outcomes() == {"matmul": "ran-on-cpu"}
    assert (journal.events[-1]["event"], journal.events[-1]["stage"]) == ("begun", "convolution")
    assert journal.text.startswith("Timeout (")
    assert "in stuck" in journal.text
    assert "in convolution" in journal.text


def test_an_import_that_hangs_is_ended_and_says_where(environment: Environment, tmp_path: Path) -> None:
    """A module of the user's own that stands before the framework sleeps."""
    (tmp_path / "jax.py").write_text("import time\ntime.sleep(600)\n")
    request = {"framework": "jax", "limit_seconds": 1.0}
    journal = Child(environment("cpu"), tmp_path, request, PYTHONPATH=str(tmp_path)).end()
    assert journal.code == 1
    assert [entry["event"] for entry in journal.events] == ["importing"]
    assert journal.text.startswith("Timeout (0:00:01)!")
    assert f'"{tmp_path / "jax.py"}", line 2 in <module>' in journal.text


@pytest.mark.parametrize(("text", "kind", "words"), [
    ("raise ImportError('libcudnn.so.9: cannot open shared object file')", "ImportError", "libcudnn.so.9"),
    ("raise SystemExit(3)", "SystemExit", "SystemExit: 3"),
    ("import numpy.no_such_module", "ModuleNotFoundError", "numpy.no_such_module"),
])
def test_an_import_that_fails_says_why(
    text: str, kind: str, words: str, environment: Environment, tmp_path: Path
) -> None:
    """And no stage begins."""
    (tmp_path / "jax.py").write_text(text)
    journal = Child(environment("cpu"), tmp_path, {"framework": "jax"}, PYTHONPATH=str(tmp_path)).end()
    assert (journal.code, [entry["event"] for entry in journal.events]) == (0, ["importing", "import-failed"])
    assert journal.events[-1]["kind"] == kind
    assert words in journal.events[-1]["words"]


@pytest.mark.parametrize(("number", "name"), [
    (signal.SIGSEGV, "Segmentation fault"),
    (signal.SIGABRT, "Aborted"),
    (signal.SIGILL, "Illegal instruction"),
])
def test_a_crash_in_a_stage_leaves_the_journal_and_a_traceback(
    number: signal.Signals, name: str, environment: Environment, tmp_path: Path
) -> None:
    """What ended before stays; the signal is the child's end."""
    custom = with_custom(tmp_path, """
import time, torch
torch.nn.functional.conv2d = lambda *arguments: time.sleep(600)
""")
    child = Child(environment("torch-cpu"), tmp_path, {"framework": "torch"}, **custom)
    child.begun("convolution")
    child.process.send_signal(number)
    journal = child.end()
    assert journal.code == -number
    assert journal.outcomes() == {"matmul": "ran-on-cpu"}
    assert journal.events[-1]["stage"] == "convolution"
    assert journal.text.startswith(f"Fatal Python error: {name}")


def test_paddle_does_not_take_the_crash_for_itself(environment: Environment, tmp_path: Path) -> None:
    """Its import installs handlers for fatal signals; ours are put back before the stages."""
    custom = with_custom(tmp_path, """
import time, paddle
paddle.nn.functional.conv2d = lambda *arguments: time.sleep(600)
""")
    child = Child(environment("paddle-cpu"), tmp_path, {"framework": "paddle"}, **custom)
    child.begun("convolution")
    child.process.send_signal(signal.SIGSEGV)
    journal = child.end()
    assert journal.code == -signal.SIGSEGV
    assert journal.text.startswith("Fatal Python error: Segmentation fault")


@pytest.mark.parametrize("request_", [
    {}, {"framework": "cobol"}, {"framework": ["torch"]}, [], "torch",
    {"framework": "jax", "stages": 7, "precisions": "x", "limit_seconds": "soon", "memory_limit_bytes": None},
    {"framework": "jax", "stages": ["matmul", 3, "weather"], "precisions": ["float3"], "limit_seconds": -1},
])
def test_a_strange_request_is_answered_too(request_: Any, environment: Environment, tmp_path: Path) -> None:
    """Nothing is raised, and a stage that nobody knows is skipped."""
    journal = Child(environment("cpu"), tmp_path, request_).end()
    assert (journal.code, journal.text) == (0, "")
    assert journal.events[-1]["event"] in {"import-failed", "libraries"}
    assert "weather" not in journal.outcomes() or journal.outcomes()["weather"] == "skipped"


def test_two_devices_add_up(environment: Environment, tmp_path: Path) -> None:
    """JAX's all-reduce, on two CPU devices in place of cards: each holds the sum, in memory of its own."""
    script = f"""
import sys
sys.path.insert(0, {str(PAYLOAD.parents[2])!r})
from gpudoctor.payloads import stage_work
from gpudoctor.payloads.stage_jax import Jax
adapter = Jax()
adapter.load({{}})
adapter.cards = adapter.jax.devices("cpu")
case = stage_work.all_reduce(2)
results = adapter.all_reduce(*case.inputs)
print([stage_work.compared(adapter.listed(result), case.expected, 0.0) for result in results],
      sorted(adapter.device(result) for result in results),
      len({{adapter.pointer(result) for result in results}}))
"""
    variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path),
                 "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    ran = subprocess.run([str(environment("cpu").python), "-c", script], env=variables, capture_output=True,
                         text=True, check=True)
    assert ran.stdout.split() == "[(0.0, None), (0.0, None)] ['cpu:0', 'cpu:1'] 2".split()
