"""A fix whose values the text does not state: what a message says of them, or words that find them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from gpudoctor.derive.view import as_texts
from gpudoctor.explanation import asked_packages
from gpudoctor.model import Fact, Known, Remedy, Value
from tests.explain.shipped import database, findings

_CUDNN = "Loaded runtime CuDNN library: {} but source was compiled with: {}.\nframework: tensorflow\n"
_NUMPY = "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.0.1 as it may crash.\n"
_MISSING = "Could not load dynamic library '{0}'; dlerror: {0}: cannot open shared object file\n"
_NO_WHEEL = "ERROR: Could not find a version that satisfies the requirement {} (from versions: 2.12.0)\n"


def fixes(text: str, cause: str) -> tuple[Remedy, ...]:
    """Return the fixes of a cause."""
    return next(finding.fixes for finding in findings(text) if finding.cause == cause)


def commands(text: str, cause: str) -> str:
    """Return the commands of the first fix of a cause."""
    return "\n".join(fixes(text, cause)[0].commands)


def told(stated: dict[str, Value]) -> dict[str, Fact]:
    """Return what pip is told by what is stated of a machine with Linux on x86-64."""
    facts = {"system.os": "Linux", "system.architecture": "x86_64", **stated}
    known = {name: Known(value=value, source="test") for name, value in facts.items()}
    return asked_packages.asked_packages(known, database().tables)


def named(found: dict[str, Fact], name: str) -> tuple[str, ...] | None:
    """Return the names of what is asked for, None where nothing is."""
    fact = found.get(name)
    texts = as_texts(fact.value) or (str(fact.value),) if isinstance(fact, Known) else ()
    return tuple(re.split("[<>=]", text)[0] for text in texts) or None


@pytest.mark.parametrize(("text", "cause", "command"), [
    (_CUDNN.format("9.1.0", "9.3.0") + "platform: linux\n", "cudnn-runtime-older-than-compiled",
     "nvidia-cudnn-cu12>=9.3,"),
    (_CUDNN.format("8.5.0", "8.6.0") + "platform: linux\n", "cudnn-runtime-older-than-compiled",
     "nvidia-cudnn-cu11>=8.6,"),
    (_NUMPY + "platform: windows\n", "python-deps-abi", "pip install 'numpy<2'"),
    ("TypeError: Descriptors cannot not be created directly\n", "python-deps-abi", "'protobuf<3.21'"),
    (_MISSING.format("libcublas.so.11") + "platform: linux\n", "cuda-version-mismatch",
     "pip install nvidia-cublas-cu11\n"),
    (_NO_WHEEL.format("tensorflow==2.9.1") + "framework: tensorflow 2.9.1\npython: 3.11\nplatform: linux\n",
     "python-version-unsupported", "uv venv --python 3.10 "),
])
def test_what_a_message_says_is_what_pip_is_told(text: str, cause: str, command: str) -> None:
    """Regression: the fix had the title of the page alone."""
    assert command in commands(text, cause)


@pytest.mark.parametrize(("stated", "cuda", "cudnn"), [
    ({"text.libraries": ("libcublas.so.11",)}, ("nvidia-cublas-cu11",), None),
    ({"text.libraries": ("libcublas.so.11",), "system.architecture": "aarch64"}, None, None),
    ({"text.libraries": ("libcublas.so.12", "libcudnn.so.9")},
     ("nvidia-cublas-cu12", "nvidia-cudnn-cu12"), ("nvidia-cudnn-cu12",)),
    ({"text.libraries": ("libcublas.so.12", "libcudnn.so.6")}, None, None),  # no package has one of them
    ({"text.libraries": ("libcublas.so.11", "libcublas.so.12")}, None, None),  # of which CUDA is not said
    ({"text.libraries": ("libcudnn.so.8",)}, None, None),
    ({"text.libraries": ("libcudnn.so.8",), "text.cuda": "11.8"},
     ("nvidia-cudnn-cu11",), ("nvidia-cudnn-cu11",)),
    ({"text.libraries": ("libcudnn.so.8",), "text.cuda": "12.1", "text.build_cuda": "11.8"},
     ("nvidia-cudnn-cu11",), ("nvidia-cudnn-cu11",)),
    ({"text.libraries": ("libcuda.so.1",), "text.cuda": "12.1"}, None, None),  # the driver's
    ({"text.build_cudnn": "9.3.0", "text.framework": "tensorflow"}, None, None),
    ({"text.build_cudnn": "9.3.0", "text.framework": "tensorflow", "text.cudnn_compiled": "9.3.0"},
     None, ("nvidia-cudnn-cu12",))])
def test_each_library_leads_to_its_package(stated: dict[str, Value], cuda: tuple[str, ...] | None,
                                           cudnn: tuple[str, ...] | None) -> None:
    """Of one CUDA, for the processor that has these packages, and all of them or none."""
    found = told(stated)
    assert (named(found, "framework.cuda_requirement"), named(found, "framework.cudnn_requirement")) == (
        cuda, cudnn)


@pytest.mark.parametrize(("python", "newest"), [
    ("3.11", "3.10"), ("2.7", "3.10"), ("3.10", None), ("3", None)])
def test_another_python_is_named_where_the_stated_one_has_no_wheel(python: str, newest: str | None) -> None:
    """Regression: of "Python 3" nobody knows which it is, and 3.10 was advised."""
    found = told({"framework.name": "tensorflow", "framework.version": "2.9.1", "text.python": python})
    assert named(found, "require.newest_python") == ((newest,) if newest else None)


@pytest.mark.parametrize(("text", "cause", "packages"), [
    (_CUDNN.format("9.1.0", "9.3.0") + "platform: windows\n", "cudnn-runtime-older-than-compiled", "nvidia-"),
    (_CUDNN.format("7.4.1", "7.6.0") + "platform: linux\n", "cudnn-runtime-older-than-compiled", "nvidia-"),
    (_MISSING.format("libcublas.so.10") + "platform: linux\n", "cuda-version-mismatch", "nvidia-"),
    (_NO_WHEEL.format("tensorflow==2.9.1") + "framework: tensorflow 2.9.1\npython: 3.10\nplatform: linux\n",
     "python-version-unsupported", "uv venv"),
])
def test_where_no_package_serves_none_is_named(text: str, cause: str, packages: str) -> None:
    """TensorFlow for Windows takes none of NVIDIA's; none has cuDNN 7; a Python that has a wheel stays."""
    found = [one for finding in findings(text) if finding.cause == cause for one in finding.fixes]
    assert not any(packages in command for fix in found for command in fix.commands)


def test_what_only_the_machine_knows_the_machine_is_asked_for() -> None:
    """A fix that needs what no text says ends with the command that prints it, but for Windows."""
    told = "/usr/lib/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by libtensorflow.so.2)\n"
    assert commands(told + "platform: linux\n", "glibc-too-old").startswith("gpudoctor fix ")
    windows = [one for finding in findings(_CUDNN.format("9.1.0", "9.3.0") + "platform: windows\n")
               for one in finding.fixes]
    assert not any("gpudoctor fix" in command for fix in windows for command in fix.commands)


def test_a_value_that_is_stated_is_not_looked_for() -> None:
    """The card is numbered in one text and not in the other."""
    text = "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable\n"
    (blank, *_) = fixes(text + "Compute Mode: Exclusive_Process\n", "compute-mode-exclusive")
    assert blank.commands == ("sudo nvidia-smi -i NUMBER -c DEFAULT",)
    assert "nvidia-smi -L" in blank.title
    assert blank.by_hand
    (stated, *_) = fixes(text + "0, NVIDIA L4, Exclusive_Process\n$ nvidia-smi -L\n"
                         "GPU 0: NVIDIA L4 (UUID: GPU-8c2f1b9e-1111-2222-3333-444455556666)\n",
                         "compute-mode-exclusive")
    assert stated.commands == ("sudo nvidia-smi -i 0 -c DEFAULT",)


@pytest.mark.parametrize(("fact", "cause", "expected"), [
    ("framework.library_path_planned", "", "{site}/nvidia/cublas/lib:{other}:{compat}"),
    ("cuda.library_path_clean", "", "{other}"),
])
def test_the_words_of_a_shell_find_the_folders(fact: str, cause: str, expected: str, tmp_path: Path) -> None:
    """They are run, by a shell, in an environment with NVIDIA's packages and with a libcuda of its own."""
    site, other, compat = (tmp_path / name for name in ("site", "other", "compat"))
    for folder in (site / "nvidia" / "cublas" / "lib", other, compat):
        folder.mkdir(parents=True)
    (compat / "libcuda.so.1").touch()
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nshift\nexec python3 -c \"import sysconfig\n"
                      f"sysconfig.get_path = lambda name: '{site}'\n$1\"\n", encoding="utf-8")
    python.chmod(0o755)
    rows = database().tables["stand_ins"].rows
    row = next(one for one in rows if (one["fact"], one["cause"]) == (fact, cause))
    done = subprocess.run(
        ["sh", "-c", f'printf %s "{row["words"]}"'], check=True, capture_output=True, text=True,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "LD_LIBRARY_PATH": f"{other}:{compat}"})
    assert done.stdout == expected.format(site=site, other=other, compat=compat)
