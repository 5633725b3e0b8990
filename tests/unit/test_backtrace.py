"""What the interpreter writes of a crash or a hang is cut down to where that was, in every Python."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.probes.backtrace import before_addresses, gist

CRASHES_BELOW = """
import ctypes, faulthandler, threading, time
faulthandler.enable()
def deepest():
    ctypes.string_at(0)
def above():
    deepest()
threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
above()
"""
HANGS = """
import faulthandler, threading, time
faulthandler.dump_traceback_later(0.3, exit=True)
def waits():
    time.sleep(30)
threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
waits()
"""
PYTHONS = sorted(Path("~/.pyenv/versions").expanduser().glob("3.*/bin/python")) or [Path("/usr/bin/python3")]


def said(python: Path, program: str) -> list[str]:
    done = subprocess.run([str(python), "-c", program], capture_output=True, text=True, timeout=60,
                          check=False, env={"PATH": os.environ["PATH"]})
    assert done.returncode != 0
    return [line for line in done.stderr.splitlines() if line.strip()]


@pytest.mark.parametrize("python", PYTHONS, ids=lambda python: python.parts[-3])
def test_the_frames_of_the_thread_that_crashed_come_innermost_first(python: Path) -> None:
    """A regression: the outermost frames were kept, which are the doctor's own."""
    headline, *frames = gist(said(python, CRASHES_BELOW))
    assert headline == "Fatal Python error: Segmentation fault"
    assert [frame.rpartition(" in ")[2] for frame in frames][-3:] == ["deepest", "above", "<module>"]


@pytest.mark.parametrize("python", PYTHONS, ids=lambda python: python.parts[-3])
def test_of_a_hang_the_main_thread_is_what_counts(python: Path) -> None:
    headline, *frames = gist(said(python, HANGS))
    assert headline.startswith("Timeout (0:00:00")
    assert [frame.rpartition(" in ")[2] for frame in frames] == ["waits", "<module>"]


def test_frames_of_the_doctor_and_what_follows_them_are_left_out() -> None:
    lines = [
        "Fatal Python error: Segmentation fault",
        "Thread 0x00007f1 (most recent call first):",
        '  File "/usr/lib/python3.11/threading.py", line 1 in wait',
        "Current thread 0x00007f2 (most recent call first):",
        '  File "/venv/lib/python3.11/site-packages/torch/nn/functional.py", line 7 in conv2d',
        '  File "/opt/gpudoctor/payloads/stage_torch.py", line 90 in convolution',
        '  File "/opt/gpudoctor/payloads/__main__.py", line 57 in <module>',
        "Current thread's C stack trace (most recent call first):", '  Binary file "/usr/bin/python", at x',
        "Extension modules: numpy.core._multiarray_umath (total: 1)"]
    assert gist(lines) == [
        "Fatal Python error: Segmentation fault",
        'File "/venv/lib/python3.11/site-packages/torch/nn/functional.py", line 7 in conv2d']


@given(st.lists(st.text(max_size=40) | st.sampled_from(["Timeout (", "Thread 0x (most recent call first)"])))
def test_anything_else_is_left_as_it_is_or_shortened(lines: list[str]) -> None:
    assert len(gist(lines)) <= len(lines)


def test_what_native_code_says_ends_with_the_fatal_line() -> None:
    """As jaxlib 0.11.2 wrote it on an H200 (CUDA_FORCE_PTX_JIT)."""
    lines = [
        "E1120 17:16:03.601304    1801 cuda_blas.cc:197] failed to create cublas handle",
        "F1120 17:16:03.716684    1875 stream_executor_util.cc:504] Could not load RepeatBufferKernel",
        "=== Source Location Trace: === ", "external/xla+/xla/stream_executor/cuda/cuda_status.cc:68",
        "*** Check failure stack trace: ***", "    @     0x7f045bbaa9c4  absl::log_internal::LogMessage()"]
    assert before_addresses(lines) == lines[:2]
    assert before_addresses(lines[2:]) == lines[2:]
