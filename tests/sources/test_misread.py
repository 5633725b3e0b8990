"""Regressions: lines of real reports out of which something wrong was read; not read is better than that."""

from __future__ import annotations

import pytest

from tests.sources.stating import SAMPLES, of_text, stated, value

CACHE = "\tlibz.so.1 (libc6,x86-64) => /lib/libz.so.1\n\tlibcuda.so.1 (libc6,x86-64) => /lib/libcuda.so.1\n"
PIP = "".join(f"{name:14} 1.0\n" for name in (
    "absl-py", "certifi", "gast", "h5py", "idna", "jax", "jaxlib", "keras", "Markdown", "numpy", "opt_einsum",
    "protobuf", "scipy", "wheel"))


@pytest.mark.parametrize(("count", "known"), [(2, True), (312, False), (22, False)])
def test_cut_off_cache_of_the_loader_does_not_say_what_is_missing(count: int, known: bool) -> None:
    """A list behind a prefix, of which no row was read, was taken for an empty one."""
    text = f"{count} libs found in cache `/etc/ld.so.cache'\n{CACHE}"
    assert ("loader.cache" in stated(text).host) is known


def test_digits_of_another_column_are_no_rocm_build() -> None:
    """A time stamp before `ROCM used to build PyTorch: N/A` made the build one for ROCm."""
    text = (SAMPLES / "collect_env-2.13-cpu.txt").read_text(encoding="utf-8")
    (framework,) = stated("\n".join(f"17 {line}" for line in text.split("\n"))).frameworks or ()
    assert value(framework, "framework.build") == "cpu"


@pytest.mark.parametrize(("path", "version"), [
    (r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v12.4\bin\cudnn_ops_train64_8.dll", "8"),
    (r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v12.4\bin\cudnn64_9.dll", "9"),
    (r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v12.4\bin\cud", None),
    ("/usr/local/cuda-12.4/targets/x86_64-linux/lib/libcudnn_ops_infer.so.8.9.7", "8.9.7"),
])
def test_folder_of_cudnn_is_not_its_version(path: str, version: str | None) -> None:
    """v12.4 in the path of cuDNN's library is CUDA's version."""
    assert of_text(f"cuDNN version: {path}").get("cudnn") == version


@pytest.mark.parametrize("line", [
    "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471", "cuda>=12.4", "driver>=470",
    "NVIDIA_REQUIRE_CUDA=cuda&gt;=12.4 brand=tesla,driver&gt;=470,driver&lt;471", "tensorflow>=2.4",
    "python>=3.9",
])
def test_what_is_asked_for_is_not_there(line: str) -> None:
    """A container's demand on the driver was read as its version."""
    answer = stated(line)
    assert not {"driver.version", "python.version"} & answer.host.keys()
    assert not {"text.cuda", "text.framework_version"} & answer.text.keys()


def test_question_of_a_form_answered_with_no_is_no_place() -> None:
    """Every report of diffusers asks whether it ran on Google Colab."""
    assert of_text("- Running on Google Colab?: No").get("places") is None
    assert of_text("- Running on Google Colab?: Yes").get("places") == ("colab", "linux")
    assert "kubernetes" in str(of_text("kubernetes: no nodes are available")["places"])


def test_card_that_pytorch_does_not_see_may_be_there() -> None:
    """Lightning's list of cards is PyTorch's."""
    assert stated("* CUDA:\n\t- GPU:               None\n\t- available:         False\n").gpus is None
    assert stated("GPU: None\n").gpus == ()


def test_build_of_rocm_is_no_release_of_pytorch() -> None:
    """Where the report is cut off above."""
    assert "framework_version" not in of_text("ROCM used to build PyTorch: 6.3.42134-a9a80e791\n")


@pytest.mark.parametrize(("before", "rows", "known"), [
    ("Package        Version\n-------------- -------\n", PIP, True),
    ("$ pip list -v\nPackage        Version\n", PIP, True),
    ("Package        Version Latest Type\n", PIP.replace("1.0\n", "1.0     2.0    wheel\n"), False),
    ("$ pip list --user\nPackage        Version\n", PIP, False),
    ("$ python -m pip3 list | head -20\nPackage        Version\n", PIP, False),
    ("Package        Version\n", PIP[:PIP.index("Markdown")], False),
    ("Package        Version\n", PIP.replace("numpy", "..."), False),
])
def test_what_a_part_of_a_list_does_not_show_may_be_there(before: str, rows: str, known: bool) -> None:
    """A list of what is outdated, without jax's plugin, made jax a build for the CPU."""
    answer = stated(before + rows)
    builds = [value(facts, "framework.build") for facts in answer.frameworks or ()]
    assert builds == (["cpu"] if known else [None])
    assert ("python.nvidia_distributions" in answer.host) is known


def test_list_of_old_pip() -> None:
    """Before version 18 it had brackets and no heading; Ubuntu 18.04 has pip 9."""
    rows = "absl-py (0.9.0)\nnumpy (1.18.5)\npip (9.0.1)\ntensorflow-gpu (2.3.0, /home/ana/src)\n"
    assert of_text(rows)["framework_version"] == "2.3.0"
    assert "packages" not in of_text("numpy (1.18.5)\nis what I have\n")


def test_what_uv_takes_away_is_gone() -> None:
    """It lists both with a sign."""
    text = "Uninstalled 1 package in 2ms\n - jaxlib==0.4.20\n + jax==0.4.30\n"
    assert of_text(text)["packages"] == ("jax==0.4.30",)


def test_column_is_no_distribution() -> None:
    """Ultralytics prints CUDA's version in one."""
    assert of_text("CUDA                12.1\n") == {"cuda": "12.1"}


@pytest.mark.parametrize(("text", "cards"), [
    ("GPU 0,2: Tesla T4\nGPU 1: Tesla V100-SXM2-32GB\n", ["Tesla T4", "Tesla V100-SXM2-32GB", "Tesla T4"]),
    ("GPU 0: Tesla T4\nGPU 1: Tesla K80\n", ["Tesla T4", "Tesla K80"]),
    ("GPU 0,1          Tesla T4 (arch=7.5)\n", ["Tesla T4", "Tesla T4"]),
    ("torch-1.13 CUDA:0 (Tesla T4, 15102MiB)\n   CUDA:1 (Tesla K80, 11441MiB)\n", ["Tesla T4", "Tesla K80"]),
    ("* CUDA:\n\t- GPU:\n\t\t- Tesla T4\n\t\t- Tesla K80\n\t- available: True\n", ["Tesla T4", "Tesla K80"]),
    ("cuda:\n\tGPU:\n\t\tTesla T4\n\tavailable: True\n", ["Tesla T4"]),
])
def test_lists_of_other_projects_are_whole(text: str, cards: list[str]) -> None:
    """Of several cards only the first was read: mmcv, detectron2, Ultralytics, Lightning."""
    assert [value(facts, "gpu.name") for facts in stated(text).gpus or ()] == cards


def test_a_size_without_its_prefix_is_none() -> None:
    """A damaged "MiB" ended the reading of the whole text."""
    table = (SAMPLES / "nvidia-smi-610.txt").read_text(encoding="utf-8")
    assert "MiB" in table
    (card, *_) = stated(table.replace("MiB", "iB")).gpus or ()
    assert value(card, "gpu.memory_total_bytes") is None


@pytest.mark.parametrize("state", ["un ", "iU ", "rc ", "pn ", "iFR"])
def test_package_that_is_not_installed_says_nothing(state: str) -> None:
    """`dpkg -l` lists names of which nothing is there."""
    row = f"{state} nvidia-driver-470   <none>   <none>   (no description available)\n"
    assert "driver.version" not in stated(row).host
