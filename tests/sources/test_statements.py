"""What people write around a log: `key: value` lines, filled-in forms, sentences, paths."""

from __future__ import annotations

import pytest

from gpudoctor.model import Absent
from gpudoctor.sources.settle import choose
from gpudoctor.sources.stated import Rank, Statement
from tests.sources.stating import of_text, stated, value


@pytest.mark.parametrize(
    ("line", "name", "expected"),
    [
        ("framework: tensorflow-gpu 2.12.0", "framework_version", "2.12.0"),
        ("framework: tf-nightly 2.21.0.dev20250722", "framework", "tensorflow"),
        ("framework: tensorflow 2.x", "framework_version", None),
        ("framework: jax (jaxlib > 0.10.0)", "framework_version", None),
        ("framework: some-new-thing 3.1", "framework", "some-new-thing"),
        (
            "TensorFlow version (use command below): v2.3.0-rc2-23-gb36436b087 2.3.0",
            "framework_version",
            "2.3.0",
        ),
        ("- PyTorch Version (e.g., 1.0): 1.13.1+cu117", "framework_version", "1.13.1+cu117"),
        ("tf.__version__ = 2.9.1", "framework_version", "2.9.1"),
        ("* tensorflow: 2.4.0", "framework", "tensorflow"),
        ("cuda: 11.2", "cuda", "11.2"),
        ("CUDA: 12", "cuda", "12"),
        ("cuda: 11.4.0 image", "cuda", "11.4.0"),
        ("cuda: cu118", "cuda", "11.8"),
        ("cuda: 11.0 (driver)", "cuda", None),
        ("cuda: 11.0 (driver)", "driver_ceiling", "11.0"),
        ("cuda: 11/12 mixed", "cuda", None),
        ("CUDA: yes", "cuda", None),
        ("CUDA/cuDNN version: 10.2 / 8.0.2", "cudnn", "8.0.2"),
        ("CUDA/cuDNN version: 10.2 / 8.0.2", "cuda", "10.2"),
        ("- **CUDA/cuDNN version**: CUDA 10.1, cuDNN 7.6.5", "cudnn", "7.6.5"),
        ("CUDA/cuDNN version: cuDNN 8.1 with CUDA 11.2", "cuda", "11.2"),
        ("cudnn: 8.0.4 loaded (8.1.0 also installed)", "cudnn", "8.0.4"),
        ("torch.backends.cudnn.version(): 8902", "cudnn", "8.9.2"),
        ("cuDNN version: 90100", "cudnn", "9.1.0"),
        ("cuDNN version: C:\\CUDA\\v11.8\\bin\\cudnn64_8.dll", "cudnn", "8"),
        ("driver: 470.57.02", "driver", "470.57.02"),
        ("driver: 515 open", "driver", "515"),
        ("driver: 31.0.15.2686 (Windows)", "driver", "526.86"),
        ("NVIDIA driver: none", "driver", None),
        ("python: 3.8.2", "python", "3.8.2"),
        ("Python version: 3.7.5 (default, Nov 7 2019)", "python", "3.7.5"),
        ("python version : 3.10.9.final.0", "python", None),
        ("- OS Platform and Distribution (e.g., Linux Ubuntu 16.04): Windows 10", "os", "Windows 10"),
        ("os: Fedora 36", "os", "Fedora 36"),
        ("GPU model and memory: GTX 1080 Ti 11GB", "capabilities", ("6.1",)),
        ("gpu: none", "nvidia_card", False),
        ("gpu: AMD Radeon RX 6800", "nvidia_card", False),
        ("gpu: Intel UHD 620, NVIDIA GeForce MX150", "nvidia_card", True),
        ("gpu: 2x Tesla K40m", "cards", ("Tesla K40m",)),
        ("gpu: RTX 6000", "capabilities", None),
        ("gpu: Jetson Thor (sm_110)", "capabilities", ("11.0",)),
        ("compute capability: 8.6", "capabilities", ("8.6",)),
        ("compute capability: 120", "capabilities", ("12.0",)),
        ("compute capability: 12", "capabilities", None),
        ("platform: singularity", "places", ("singularity", "linux")),
        ("platform: wsl2", "places", ("wsl2", "linux")),
        ("### CUDA version\n\n11.8\n", "cuda", "11.8"),
        ("| CUDA | 12.1 |", "cuda", "12.1"),
        (">>> torch.__version__\n'2.1.0+cu118'", "framework_version", "2.1.0+cu118"),
        ("cuda: N/A", "cuda", None),
        ("Nvidia driver version: Could not collect", "driver", None),
    ],
)
def test_line(line: str, name: str, expected: object) -> None:
    """One line, one fact; what it does not say stays out."""
    assert of_text(line).get(name) == expected


@pytest.mark.parametrize(
    ("sentence", "name", "expected"),
    [
        ("I am on Ubuntu 20.04 with CUDA 11.2 and TensorFlow 2.5", "cuda", "11.2"),
        ("I am on Ubuntu 20.04 with CUDA 11.2 and TensorFlow 2.5", "framework_version", "2.5"),
        ("I am on Ubuntu 20.04 with CUDA 11.2 and TensorFlow 2.5", "os", "Ubuntu 20.04"),
        ("TensorFlow 2.5 requires CUDA 11.2", "cuda", None),
        ("You should upgrade to CUDA 12.1", "cuda", None),
        ("CUDA 11.2 here; CUDA 10.1 does not work either", "cuda", None),
        ("my driver is 535.104.05", "driver", "535.104.05"),
        ("pip install tensorflow==1.15", "framework_version", "1.15"),
        ("I pip install tensorflow 2.16.1 and it sees no GPU", "framework_version", "2.16.1"),
        ('pip install "tensorflow[and-cuda]==2.17.0"', "framework_version", "2.17.0"),
        ("conda install pytorch=2.1.0 pytorch-cuda=12.1 -c pytorch", "framework_version", "2.1.0"),
        ("since upgrading to torch 2.6.0 I get this error", "framework_version", "2.6.0"),
        ("tf.__version__ is 2.15.0", "framework_version", "2.15.0"),
        ("torch.__version__ gives '2.4.1+cpu' here", "framework_version", "2.4.1+cpu"),
        ("PyTorch (2.1.0) and CUDA (11.8)", "framework_version", "2.1.0"),
        ("PyTorch (2.1.0) and CUDA (11.8)", "cuda", "11.8"),
        ("You should pip install tensorflow 2.10", "framework_version", None),
        ("I want to install tensorflow 2.16.1", "framework_version", None),
        ("It is Ubuntu 22.04. Nothing else.", "os", "Ubuntu 22.04"),
        ("/usr/local/cuda-11.2/lib64:/usr/lib", "cuda", "11.2"),
        ("/usr/local/cuda-11.2/lib64:/usr/local/cuda-10.1/lib64", "cuda", None),
        ('File "/home/me/.local/lib/python3.8/site-packages/torch/__init__.py", line 1', "python", "3.8"),
        (
            "C:\\Users\\me\\AppData\\Local\\Programs\\Python\\Python310\\lib\\site-packages\\x",
            "python",
            "3.10",
        ),
        ("/x/_pywrap_tensorflow_internal.cpython-39-x86_64-linux-gnu.so", "python", "3.9"),
        ("a-1.0-cp36-cp36m-manylinux1_x86_64.whl is not a supported wheel on this platform", "python", None),
        ("-> /usr/lib/x86_64-linux-gnu/libcudnn.so.8.9.2", "cudnn", "8.9.2"),
        ("Could not load dynamic library 'libcudnn.so.7'", "cudnn", None),
        ("docker run --gpus all nvidia/cuda:11.4.0-base-ubuntu20.04 nvidia-smi", "cuda", "11.4.0"),
        ("FROM tensorflow/tensorflow:2.3.0-gpu", "framework_version", "2.3.0"),
        ("| NVIDIA-SMI 460.56   Driver Version: 460.56   CUDA Version: 11.2 |", "cuda", None),
        ("My card is an RTX 3080 Ti.", "capabilities", ("8.6",)),
        ("I have a GT 710 in it.", "possible_capabilities", ("2.1", "3.5")),
        ("a notebook with an MX150 in it", "capabilities", ("6.1",)),
        ("I have a GeForce GT 1030", "capabilities", ("6.1",)),
    ],
)
def test_sentence_or_path(sentence: str, name: str, expected: object) -> None:
    """What is merely wanted is not stated, and neither is what contradicts itself."""
    assert of_text(sentence).get(name) == expected


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("FATAL: container creation failed: apptainer exec --nv", "singularity"),
        ("slurmstepd: error: x", "slurm"),
        ("Warning FailedScheduling 0/3 nodes: Insufficient nvidia.com/gpu", "kubernetes"),
        ("!pip in google colab", "colab"),
        ("/opt/miniconda3/envs/x/bin/python", "conda"),
        ("Linux n 4.9.253-tegra #1 SMP PREEMPT x aarch64 GNU/Linux", "jetson"),
        ("C:\\Windows\\nvcuda.dll", "windows"),
        ("/nix/store/abc", "nixos"),
        ("podman run --device nvidia.com/gpu=all", "podman"),
        ("Linux n 5.15.90.1-microsoft-standard-WSL2 #1 SMP x86_64 GNU/Linux", "wsl2"),
        ("lxc.cgroup2.devices.allow", "lxc"),
        ("module load CUDA/11.7 on hpc cluster", "hpc"),
        ("/kaggle/working", "kaggle"),
        ("running on an AWS EC2 machine", "cloud-vm"),
        ("in WSL the card is not seen", "wsl2"),
        ("micro-env: mamba create -n x", "conda"),
        ("on the login node", "hpc"),
        ("a node of OpenShift", "kubernetes"),
    ],
)
def test_place(text: str, place: str) -> None:
    """By what is typical of it."""
    assert place in (value(stated(text).text, "text.places") or ())  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("podman run --device nvidia.com/gpu=all", "kubernetes"),
        ("the collaboration", "colab"),
        ("I use wsl 1, and in WSL nothing works", "wsl2"),
        ("insrunning", "slurm"),
        ("platform: wsl2\nos: Windows 11 WSL2", "windows"),
    ],
)
def test_no_such_place(text: str, place: str) -> None:
    """A cue inside another word is none, and Windows around WSL is not where it happened."""
    assert place not in (value(stated(text).text, "text.places") or ())  # type: ignore[operator]


def test_halves_of_a_driver_are_told_apart() -> None:
    """An update without a reboot is seen in this line alone."""
    host = stated("driver: 352.63 kernel / 361.93.2 user").host
    assert (value(host, "driver.kernel_version"), value(host, "driver.libcuda_file_version")) == (
        "352.63",
        "361.93.2",
    )


def test_kernel_says_whether_it_is_of_wsl() -> None:
    """One that is not says so; a text without a kernel leaves it open."""
    own, wsl, none = (
        stated(text).host.get("system.wsl")
        for text in ("kernel: 6.1.0-28-amd64", "kernel: 5.15.90.1-microsoft-standard-WSL2", "os: Debian 12")
    )
    assert (type(own), getattr(wsl, "value", None), none) == (Absent, 2, None)


def test_source_is_the_line_with_its_number() -> None:
    """Numbers are those of the file, where lines were left out before."""
    from gpudoctor.sources.importers import read

    fact = read("\nDriver Version: 535.54.03\n", "issue.txt", tables={}, numbers=[11, 12, 13]).text[
        "text.driver"
    ]
    assert getattr(fact, "source", "") == "issue.txt:12: Driver Version: 535.54.03"


def test_source_has_no_control_characters() -> None:
    """A terminal shows it."""
    fact = stated("driver: 535.54.03 \x1b[31m\x07").text["text.driver"]
    assert getattr(fact, "source", "").isprintable()


def statement(value: str, rank: Rank) -> Statement:
    return Statement(fact="text.cuda", value=value, source="a line", rank=rank)


@pytest.mark.parametrize(
    ("said", "expected", "against"),
    [
        ([("11.2", Rank.SAID), ("10.1.243", Rank.REPORTED)], "10.1.243", ["11.2"]),
        ([("10.1", Rank.REPORTED), ("10.1.243", Rank.STATED)], "10.1.243", []),
        ([("11.2", Rank.REPORTED), ("11.8", Rank.REPORTED)], "11.8", ["11.2"]),
        ([("11.2", Rank.SAID), ("11.8", Rank.SAID)], None, ["11.2", "11.8"]),
        ([("11.2", Rank.SAID), ("11.2.152", Rank.SAID)], "11.2.152", []),
        ([("11.2", Rank.STATED), ("11.2.152", Rank.SHOWN)], "11.2", []),
        ([("1.1", Rank.STATED), ("1.15", Rank.SHOWN)], "1.1", ["1.15"]),
    ],
)
def test_which_statement_counts(
    said: list[tuple[str, Rank]], expected: str | None, against: list[str]
) -> None:
    """Better founded before worse, later before earlier, more exact before less; the others stay visible."""
    best, others = choose([statement(*one) for one in said])
    assert (best.value if best else None, [other.value for other in others]) == (expected, against)


def test_contradiction_stays_visible() -> None:
    """A person's word against a program's."""
    answer = stated("cuda: 11.2\nCuda compilation tools, release 10.1, V10.1.243\n")
    assert value(answer.text, "text.cuda") == "10.1.243"
    assert [(other.fact, other.value) for other in answer.others] == [("text.cuda", "11.2")]


def test_text_that_says_nothing_states_nothing() -> None:
    """Lists that are not there are left out, and so are cards."""
    answer = stated("Hello, does anybody know?\n")
    assert (answer.host, answer.text, answer.gpus, answer.frameworks) == ({}, {}, None, None)


@pytest.mark.parametrize("quote", ["`", "'", ""])
def test_the_version_behind_a_quoted_command_is_the_package_s(quote: str) -> None:
    """Regression: the end of the quotation kept the version from being read."""
    text = f"On Windows I did {quote}pip install tensorflow{quote} (2.16.1, Python 3.11).\n"
    assert of_text(text)["framework_version"] == "2.16.1"
