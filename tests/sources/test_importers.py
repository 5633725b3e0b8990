"""What single commands state that people paste beside their report, and what must not be read of them."""

from __future__ import annotations

import pytest

from tests.sources.stating import SAMPLES, sample, stated, value


def host(text: str, name: str) -> object:
    """Return a fact of the host as a text states it."""
    return value(stated(text).host, name)


def places(text: str) -> object:
    """Return where it happened, as a text shows it."""
    return value(stated(text).text, "text.places")


@pytest.mark.parametrize(("answer", "read"), [
    ("No", None), ("Yes", ("docker", "linux")), ("", None),
])
def test_the_heading_of_tensorflows_script_is_a_question(answer: str, read: object) -> None:
    """`== are we in docker ==` with "No" below put every machine into a container."""
    heading = "== are we in docker ============================================="
    assert places(f"{heading}\n{answer}\n\nx\n") == read


def test_what_a_module_may_be_told_says_nothing_of_the_machine() -> None:
    """modinfo nvidia names NvSwitch on any machine, which made each of them a data centre's."""
    assert places("parm:           NvSwitchRegDwords:NvSwitch regkey (charp)\n") is None


def test_condas_word_for_the_driver_is_no_toolkit() -> None:
    """`__cuda=12.3` stood for an installed CUDA 12.3 where it began a line, as micromamba writes it."""
    read = stated("       virtual packages : __unix=0=0\n                          __cuda=12.3=0\n")
    assert value(read.host, "driver.cuda_ceiling") == "12.3"
    assert value(read.text, "text.cuda") is None
    assert value(stated("__CUDA__: 11.2\n").text, "text.cuda") == "11.2"  # bold, in Markdown


def test_wsl_by_its_own_version_is_wsl() -> None:
    """Its kernel's number without "microsoft" said that there is none."""
    assert host("WSL version: 2.1.5.0\nKernel version: 5.15.146.1-2\n", "system.wsl") == 2


@pytest.mark.parametrize(("rows", "kind"), [
    ("* Ubuntu-22.04    Running         2\n  old             Stopped         1\n", 2),
    ("  Ubuntu-22.04    Stopped         1\n  docker-desktop  Running         2\n", 1),
    ("  one             Stopped         1\n  two             Running         2\n", None),
    ("* docker-desktop  Running         2\n", None),
])
def test_the_default_distribution_of_wsl_counts(rows: str, kind: object) -> None:
    """Docker Desktop's own is none that anybody works in."""
    assert host(f"  NAME            STATE           VERSION\n{rows}", "system.wsl") == kind


@pytest.mark.parametrize(("text", "fact", "expected"), [
    ("nvidia/535.183.01, 5.15.0-117-generic, x86_64: installed\n", "driver.version", "535.183.01"),
    ("nvidia/535.183.01, 5.15.0-117-generic, x86_64: added\n", "driver.version", None),
    ("SecureBoot disabled\n", "system.secure_boot", False),
    ("Is SecureBoot enabled on your machine?\n", "system.secure_boot", None),
    ("filename:       /lib/modules/6.1.0/updates/dkms/nvidia-drm.ko\nversion:        535.54.03\n",
     "driver.version", None),
    ("filename:       /lib/modules/6.1.0/nvidia.ko.zst\nversion:        535.54.03\nlicense:        NVIDIA\n",
     "driver.kernel_flavour", "proprietary"),
])
def test_modules_of_the_kernel(text: str, fact: str, expected: object) -> None:
    """What is built, and whether it must be signed; other modules and questions say nothing."""
    assert host(text, fact) == expected


def test_nodes_of_several_kinds_are_no_machine() -> None:
    """Of two nodes with other cards nobody knows which one it is about."""
    both = "nvidia.com/gpu.product=Tesla-T4\nnvidia.com/gpu.product=NVIDIA-A100-PCIE-40GB\n"
    assert stated(both).gpus is None
    assert len(sample("kubectl-node.txt").gpus or ()) == 2


def test_what_poetry_marks_is_not_installed() -> None:
    """`(!)` stands beside what is locked alone."""
    packages = value(sample("poetry-show.txt").text, "text.packages")
    assert isinstance(packages, tuple)
    assert "torch==2.2.0" in packages
    assert not any(str(one).startswith("triton") for one in packages)


@pytest.mark.parametrize("line", [
    "torch @ file:///wheels/numpy-1.26.4-cp311-cp311-linux_x86_64.whl",  # another's wheel
    "torch @ git+https://github.com/pytorch/pytorch@v2.1.0",
    "├── torch [required: ==2.1.0, installed: ?]",
    "nvidia-driver.x86_64    3:550.54.15-1.el9    cuda-rhel9-x86_64",  # available, not installed
])
def test_what_is_not_installed_is_no_package(line: str) -> None:
    """Each has the form of a row, and lacks what would make it one."""
    assert value(stated(line + "\n").text, "text.packages") is None


def test_conda_info_in_json_tells_of_the_active_environment() -> None:
    """The prefix and the Python of conda itself stood for those of the environment in use."""
    document = ('{\n  "active_prefix": "/opt/conda/envs/tf",\n'
                '  "conda_location": "/opt/conda/lib/python3.11/site-packages/conda",\n'
                '  "conda_prefix": "/opt/conda",\n  "conda_version": "23.7.4",\n'
                '  "env_vars": {"LD_LIBRARY_PATH": "/usr/local/cuda-11.2/lib64"},\n'
                '  "platform": "linux-64",\n'
                '  "python_version": "3.11.5.final.0",\n  "root_prefix": "/opt/conda",\n'
                '  "virtual_pkgs": [["__cuda", "12.2", "0"]]\n}\n')
    names = ("environment.CONDA_PREFIX", "environment.LD_LIBRARY_PATH", "python.version")
    assert [host(document, name) for name in names] == [
        "/opt/conda/envs/tf", "/usr/local/cuda-11.2/lib64", None]
    base = document.replace("/opt/conda/envs/tf", "/opt/conda")
    assert host(base, "python.version") == "3.11.5"


def test_what_conda_says_of_itself_is_not_said_of_the_environment() -> None:
    """Real output: the Python that runs conda was taken for the environment's, "<not set>" for a value."""
    document = (SAMPLES / "conda-info.json").read_text()
    names = ("environment.CONDA_PREFIX", "environment.LD_PRELOAD", "python.version")
    assert [host(document, name) for name in names] == ["/opt/conda/envs/tf", None, None]


@pytest.mark.parametrize(("text", "kernels"), [
    ("nvidia/535.183.01, 5.15.0-117-generic, x86_64: installed\n", ("5.15.0-117-generic",)),
    ("nvidia-current/535.183.01, 6.1.0-28-amd64, x86_64: installed (WARNING! Diff)\n", ("6.1.0-28-amd64",)),
    ("nvidia/535.183.01, 5.15.0-117-generic, x86_64: built\n", None),
    ("v4l2loopback/0.12.7, 5.15.0-117-generic, x86_64: installed\n", None),
    ("filename:       /lib/modules/6.8.0-40-generic/updates/dkms/nvidia.ko.zst\n", ("6.8.0-40-generic",)),
    ("/lib/modules/6.5.0-35-generic/kernel/drivers/video/nvidia.ko\n", ("6.5.0-35-generic",)),
    ("filename:       /lib/modules/6.8.0-40-generic/kernel/drivers/net/nvidiafb.ko\n", None),
])
def test_the_kernels_that_have_the_module_are_those_that_a_program_lists(text: str, kernels: object) -> None:
    """Not one that is only built and lies in no folder of the kernel's, nor for another module."""
    assert host(text, "driver.module_kernels") == kernels


@pytest.mark.parametrize(("text", "kernel"), [
    ("$ uname -r\n6.8.0-40-generic\n", "6.8.0-40-generic"),
    ("ana@box:~$ uname -r; mokutil --sb-state; dkms status\n6.8.0-40-generic\nSecureBoot enabled\n",
     "6.8.0-40-generic"),
    ("uname -r # 5.15.0-94-generic\n", "5.15.0-94-generic"),
    ("uname -r: 6.1.0-28-amd64\n", "6.1.0-28-amd64"),
    ("modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-40-generic\n",
     "6.8.0-40-generic"),
    ("$ sudo apt install linux-headers-$(uname -r)\n$ ls /lib/modules\n6.5.0-35-generic\n", None),
    ("$ uname -r && ls /lib/modules\n6.8.0-40-generic\n6.5.0-35-generic\n6.8.0-40-generic\n", None),
    ("$ uname -r\n$ dkms status\n", None),
])
def test_the_kernel_that_runs_is_what_uname_answers(text: str, kernel: object) -> None:
    """Not what another command prints after it; nor where nobody can tell which line is the answer."""
    assert host(text, "system.kernel") == kernel
