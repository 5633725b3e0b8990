"""The whole board on a real card, and the same card with five things broken on purpose: `pytest -m gpu`.

GPUDOCTOR_GPU_PYTHON names interpreters with frameworks in them, separated by colons; without it the first on
PATH that has one is taken. What was seen is kept in the folder that GPUDOCTOR_GPU_RECORD names.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gpudoctor import codec, share
from tests.machines.examination import SCHEMA, every

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
FRAMEWORKS = ("tensorflow", "torch", "jax", "paddle")
CHECK_SECONDS = 900
GIVEN_BACK_SECONDS = 10.0  # the driver gives back what an ended process had a moment after its end
SEARCHED = os.environ.get("LD_LIBRARY_PATH", "")
NAMED = [path for path in os.environ.get("GPUDOCTOR_GPU_PYTHON", "").split(":") if path]


def _has_framework(python: str) -> bool:
    code = f"import importlib.util as u, sys; sys.exit(not any(u.find_spec(n) for n in {FRAMEWORKS!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, timeout=120, check=False).returncode == 0


@pytest.fixture(params=NAMED or [""])
def python(request: pytest.FixtureRequest) -> str:
    """Return each interpreter that was named, else the first on PATH with a framework."""
    if request.param:
        return str(request.param)
    on_path = [path for name in ("python3", "python") if (path := shutil.which(name))]
    for found in (*on_path, sys.executable):
        if _has_framework(found):
            return found
    pytest.skip("no interpreter here has a framework; name one in GPUDOCTOR_GPU_PYTHON")


def check(python: str, *options: str, **variables: str | None) -> tuple[int, Mapping[str, Any]]:
    """Run the real command with variables set (None: unset); return the exit code and the report."""
    environment = {**os.environ, **{name: value for name, value in variables.items() if value is not None}}
    for name, value in variables.items():
        if value is None:
            environment.pop(name, None)
    command = [sys.executable, "-m", "gpudoctor", "check", "--format", "json", "--python", python, *options]
    result = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True,
                            timeout=CHECK_SECONDS, check=False)
    assert result.stdout, result.stderr
    report = json.loads(result.stdout)
    jsonschema.validate(report, SCHEMA)
    assert "Traceback" not in result.stderr
    return result.returncode, report


@cache
def plain(python: str) -> tuple[int, Mapping[str, Any]]:
    """Return what the command says of the machine as it is; once, for each check takes a minute or more."""
    return check(python)


def frameworks(report: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the known facts of each framework."""
    for facts in report["snapshot"]["frameworks"]:
        yield {name: said["value"] for name, said in facts.items() if "value" in said}


def causes(report: Mapping[str, Any]) -> set[str]:
    return {finding["cause"] for finding in every(report["findings"])}


def record(name: str, report: Mapping[str, Any]) -> None:
    """Keep what was seen where somebody wants it, without what is private; `check --from` judges it again."""
    folder = os.environ.get("GPUDOCTOR_GPU_RECORD")
    if folder:
        seen = share.share(codec.decode_snapshot(report["snapshot"], name))
        installed = [str(facts["framework.name"]) for facts in frameworks(report)]
        path = Path(folder, "-".join([name, *installed]) + ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(codec.encode_snapshot(seen), indent=1) + "\n", "utf-8")


def test_a_healthy_machine_passes_on_the_card(python: str) -> None:
    code, report = plain(python)
    record("healthy", report)
    cards = report["snapshot"]["gpus"]
    assert cards
    assert {card["gpu.driver_kernel"]["value"] for card in cards} == {"passed"}
    for facts in frameworks(report):
        if facts.get("framework.build") != "cuda":
            continue
        stages = facts["framework.stages"]
        passed = {stage["stage"] for stage in stages if stage["outcome"] == "passed"}
        assert {"matmul", "convolution"} <= passed, stages
        assert {stage["outcome"] for stage in stages} <= {"passed", "skipped"}, stages
        assert facts["framework.trace_differs"] == []
    assert code == 0, [finding["message"] for finding in report["findings"]]


def test_the_smoke_leaves_the_card_as_it_was(python: str) -> None:
    pynvml = pytest.importorskip("pynvml")
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    before = pynvml.nvmlDeviceGetMemoryInfo(handle).used
    check(python)
    until = time.monotonic() + GIVEN_BACK_SECONDS
    while (more := pynvml.nvmlDeviceGetMemoryInfo(handle).used - before) >= 64 << 20:
        assert time.monotonic() < until, f"{more >> 20} MiB are still taken"
        time.sleep(0.2)


def test_masked_devices(python: str) -> None:
    code, report = check(python, CUDA_VISIBLE_DEVICES="")
    record("masked", report)
    assert code == 1
    assert report["findings"][0]["cause"] == "cuda-visible-devices"
    for facts in frameworks(report):
        assert "passed" not in {stage["outcome"] for stage in facts["framework.stages"]}


def test_no_library_path_is_needed(python: str) -> None:
    """Only where it alone leads to the driver (on some clouds) is it missed, and then the doctor says so."""
    _, before = plain(python)
    code, report = check(python, LD_LIBRARY_PATH="")
    record("no-library-path", report)
    driver = Path(before["snapshot"]["host"]["cuda.library"]["value"]).parent
    leads_there = any(Path(folder).resolve() == driver for folder in SEARCHED.split(":") if folder)
    assert causes(report) == causes(before) or (leads_there and code == 1)


def test_a_broken_library_in_front(python: str, tmp_path: Path) -> None:
    """An empty libcudnn on LD_LIBRARY_PATH: the loader does not pass over it."""
    for soname in ("libcudnn.so.8", "libcudnn.so.9"):
        (tmp_path / soname).touch()
    code, report = check(python, LD_LIBRARY_PATH=":".join(filter(None, [str(tmp_path), SEARCHED])))
    record("broken-library", report)
    needed = [name for facts in frameworks(report) for name in facts.get("framework.loader_needed", ())]
    if "libcudnn.so.9" not in needed:
        pytest.skip("no framework here looks for cuDNN by name")
    if code:
        assert "ld-library-path-shadows" in causes(report)
    else:  # its own folders come first (an RPATH): then the stages must have passed
        assert all(stage["outcome"] in ("passed", "skipped") for facts in frameworks(report)
                   for stage in facts["framework.stages"])


def test_machine_code_is_ignored(python: str) -> None:
    code, report = check(python, CUDA_FORCE_PTX_JIT="1")
    record("force-ptx-jit", report)
    assert code == 1
    assert "ptx-jit-environment" in causes(report)
    assert report["findings"][0]["cause"] == "ptx-jit-environment"


def test_compiling_is_forbidden(python: str) -> None:
    """Without the driver's cache, for what it compiled before it still runs."""
    _, report = check(python, CUDA_DISABLE_PTX_JIT="1", CUDA_CACHE_DISABLE="1")
    record("disable-ptx-jit", report)
    assert "driver-bug-regression" not in causes(report), "our own kernel is text and was not run"
    kernels = {card["gpu.driver_kernel"]["value"] for card in report["snapshot"]["gpus"]}
    assert kernels == {"skipped"}


FILLING = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, free, total, pointer = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(free.value - (200 << 20))) == 0
print("full", flush=True)
sys.stdin.read()
"""


def test_a_full_card_is_left_alone(python: str) -> None:
    with subprocess.Popen([sys.executable, "-c", FILLING], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as neighbour:
        assert neighbour.stdout is not None
        assert neighbour.stdin is not None
        assert neighbour.stdout.readline() == "full\n"
        _, report = check(python)
        assert neighbour.poll() is None, "the neighbour is still at work"
        neighbour.stdin.close()
    record("full", report)
    assert report["verdict"] != "healthy"
    one_card = len(report["snapshot"]["gpus"]) == 1
    for facts in frameworks(report):
        if one_card:
            assert {stage["outcome"] for stage in facts["framework.stages"]} == {"skipped"}
