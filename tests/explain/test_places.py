"""What a place cannot have: causes of other systems, remedies and questions that do not run there."""

from __future__ import annotations

import pytest

from gpudoctor.model import Finding, Known
from gpudoctor.render.told import lines
from tests.explain.shipped import causes, findings, told

CUDART = ("platform: {place}\nframework: tensorflow 2.6.0\ngpu: RTX 3060\n"
          "Could not load dynamic library 'cudart64_110.dll'; dlerror: cudart64_110.dll not found\n")
NO_DEVICE = "platform: {place}\nRuntimeError: No CUDA GPUs are available\n"
INITIALIZATION = "platform: {place}\nCUDA error 999: unknown error: cudaErrorUnknown\n"
OF_LINUX = ("LD_LIBRARY_PATH", "ldconfig", "modprobe", "dmesg", "apt-get", "lspci", "/dev/nvidia", "/proc/")


def to_do(finding: Finding) -> str:
    """Return all that a person is told to type."""
    fixes = (f"{fix.title} {fix.commands} {dict(fix.env)} {fix.undo}" for fix in finding.fixes)
    return " ".join([*fixes, *(ask.command for ask in finding.asks)])


@pytest.mark.parametrize("text", [CUDART, NO_DEVICE, INITIALIZATION])
@pytest.mark.parametrize("place", ["windows", "macos"])
def test_nobody_is_sent_to_the_tools_of_linux_from_another_system(text: str, place: str) -> None:
    """Regression: Windows was told to name folders in LD_LIBRARY_PATH."""
    for finding in findings(text.format(place=place)):
        assert not [word for word in OF_LINUX if word in to_do(finding)], finding.cause


@pytest.mark.parametrize("text", [CUDART, INITIALIZATION])
def test_on_linux_and_where_no_system_is_stated_they_are_told(text: str) -> None:
    """The table takes nothing away there."""
    for stated in (text.format(place="linux"), text.partition("\n")[2].replace("64_110.dll", ".so.11.0")):
        assert any(word in to_do(finding) for finding in findings(stated) for word in OF_LINUX)


def test_a_cause_of_another_system_is_none() -> None:
    """A message that a module of Linux's kernel may be behind has other causes on Windows."""
    of_linux = {"driver-module-not-loaded", "nvidia-uvm-missing", "device-permission", "nouveau-conflict"}
    assert of_linux & {finding.cause for finding in findings(NO_DEVICE.format(place="linux"))}
    assert not of_linux & {finding.cause for finding in findings(NO_DEVICE.format(place="windows"))}


def test_in_wsl_and_in_containers_linux_runs() -> None:
    """Windows is around both, and what runs there is Linux's."""
    for place in ("wsl2", "docker"):
        text = NO_DEVICE.format(place=place) + "on Windows 11\n"
        assert findings(text)
        assert {"wsl-windows-driver", "docker-no-gpu-flag"} & set(causes(text))


def test_a_build_for_a_mac_has_no_cuda() -> None:
    """Regression: the header said "built for CUDA 12.1", of the build for Linux, and conda was to blame."""
    text = "OS: macOS 14.4 (arm64)\nPyTorch version: 2.2.2\nIs CUDA available: False\n[conda] pytorch 2.2.2\n"
    found = told(text)
    assert found.findings[0].cause == "no-nvidia-gpu"
    assert "conda-resolved-cpu-build" not in {finding.cause for finding in found.findings}
    assert not isinstance(found.snapshot.host["text.build_cuda"], Known)


@pytest.mark.parametrize(("text", "first"), [
    ("JetPack 6.0 on an Orin Nano\nlibcudnn.so.8: cannot open shared object file\nimport torch\n",
     ("jetson-jetpack-mismatch", "jetson-wrong-wheel")),
    ("Jetson Orin Nano, L4T R36.3, pip install tensorflow\nW Cannot dlopen some GPU libraries.\n",
     ("jetson-wrong-wheel", "jetson-jetpack-mismatch")),
    ("Jetson Nano, JetPack 4.6\nCould not load dynamic library 'libcudart.so.11.0'; dlerror: no such file\n",
     ("jetson-jetpack-mismatch", "jetson-wrong-wheel")),
    ("  NAME    STATE           VERSION\n* Ubuntu  Running         1\nnvidia-smi: command not found\n",
     ("wsl1-not-wsl2",)),
    ("My laptop has an AMD Radeon Vega 8\nAssertionError: Torch not compiled with CUDA enabled\n",
     ("no-nvidia-gpu",)),
])
def test_a_place_has_causes_of_its_own(text: str, first: tuple[str, ...]) -> None:
    """On a Jetson NVIDIA's packages of the index stood first, and in WSL 1 a driver that is missing."""
    assert causes(text)[0] in first


def test_what_is_said_of_another_place_stays() -> None:
    """Without a Jetson the same message has its usual causes."""
    text = "W Cannot dlopen some GPU libraries.\nUbuntu 22.04, pip install tensorflow 2.17\n"
    assert causes(text)
    assert not {"jetson-wrong-wheel", "jetson-jetpack-mismatch"} & set(causes(text))


@pytest.mark.parametrize(("text", "said"), [
    ("Windows 11\nplatform: windows\n", {"where": "Windows 11"}),
    ("Ubuntu 22.04, linux\n", {"where": "Ubuntu 22.04"}),
    ("platform: linux\n", {"where": "linux"}),
    ("UserWarning: The NVIDIA driver on your system is too old (found version 11040).\n",
     {"versions": "a driver that runs CUDA up to 11.4"}),
    ("driver: 470.223.02\nThe NVIDIA driver on your system is too old (found version 11040).\n",
     {"versions": "driver 470.223.02, which runs CUDA up to 11.4"}),
])
def test_what_a_text_states_is_said_once_and_in_whole_words(text: str, said: dict[str, str]) -> None:
    """ "Windows 11, windows", and "which runs CUDA up to" without a driver."""
    found = told(text).snapshot
    assert {area: words for area, words in lines(found) if area in said} == said
