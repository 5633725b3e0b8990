"""Each kind of report, in each of its ages: what is read out of a sample, held against a golden file.

collect_env-2.13-cpu, jax-info-cpu, the lists of pip and conda-info.json are of real runs, trimmed, and
conda-list.json is what conda 26.7.1 printed of records that we wrote; the other samples have the form of
their programs and values of our own. Real XML lies beside the checkout.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.assume import blank, lay
from gpudoctor.codec import encode_snapshot
from gpudoctor.model import Known
from gpudoctor.sources.importers import MARKS, read
from tests.sources.stating import ROOT, SAMPLES, sample, stated, value, written

NAMES = sorted(path.name for path in SAMPLES.iterdir())
DEVICE_QUERY = """Device 0: "NVIDIA Tegra X1"
  CUDA Driver Version / Runtime Version          10.2 / 10.0
  CUDA Capability Major/Minor version number:    5.3
"""
JETSON = """| NVIDIA-SMI 540.4.0   Driver Version: 540.4.0   CUDA Version: 12.6 |
| GPU  Name   Persistence-M | Bus-Id   Disp.A | Volatile Uncorr. ECC |
|   0  Orin (nvgpu)     N/A | N/A         N/A |                  N/A |
| N/A   N/A  N/A  N/A / N/A | Not Supported   |     N/A          N/A |
"""
XML = ROOT.parent / "shared" / "fixtures" / "nvidia-smi"


@pytest.mark.parametrize("name", NAMES)
def test_sample(name: str, golden: Callable[[str, str], None]) -> None:
    """All that is read of it, with the lines that say it."""
    golden(f"sources/{name}.txt", written(sample(name)))


@pytest.mark.parametrize(
    "name", ["nvidia-smi-535-mig.txt", "nvidia-smi-q.txt", "lspci.txt", "pip-list.txt", "tf_env.txt"]
)
@pytest.mark.parametrize("quote", ["> ", "    ", ">> "])
def test_quoted_and_indented_reports_are_read_alike(name: str, quote: str) -> None:
    """In a GitHub issue, in a mail, in a block of code."""
    text = (SAMPLES / name).read_text(encoding="utf-8")
    within = (
        "I ran it:\n\n```\n" + "".join(f"{quote}{line}\n" for line in text.splitlines()) + "```\nthanks\n"
    )
    plain, quoted = stated(text), stated(within)
    assert {k: value(quoted.host, k) for k in plain.host} == {k: value(plain.host, k) for k in plain.host}
    assert len(quoted.gpus or ()) == len(plain.gpus or ())


@pytest.mark.parametrize(
    ("file", "driver", "card", "capability"),
    [
        ("telegraf-a100-sxm4-v12.xml", "535.54.03", "NVIDIA A100-SXM4-80GB", "8.0"),
        ("telegraf-a10g.xml", "515.105.01", "NVIDIA A10G", "8.6"),
        ("telegraf-gtx-1070-ti.xml", None, "GeForce GTX 1070 Ti", "6.1"),
        ("telegraf-quadro-p2000-v12.xml", "525.125.06", "Quadro P2000", "6.1"),
        ("telegraf-rtx-3080-v13.xml", "595.58.03", "NVIDIA GeForce RTX 3080", "8.6"),
        ("telegraf-rtx-4000-sff-ada-v13.xml", None, "NVIDIA RTX 4000 SFF Ada Generation", "8.9"),
        ("telegraf-tesla-t4.xml", "515.105.01", "Tesla T4", "7.5"),
    ],
)
def test_xml_of_real_cards(file: str, driver: str | None, card: str, capability: str) -> None:
    """Of several formats; where the file was cut, what is left of it counts."""
    if not XML.is_dir():
        pytest.skip("beside the checkout: no folder of real XML")
    answer = stated((XML / file).read_text(encoding="utf-8"), file)
    cards = answer.gpus or ()
    assert [(value(facts, "gpu.name"), value(facts, "gpu.compute_capability")) for facts in cards] == [
        (card, capability)
    ]
    assert driver in (None, value(answer.host, "nvml.driver_version"))


def test_every_real_xml_tells_a_card_and_its_memory() -> None:
    """None is left unread."""
    if not XML.is_dir():
        pytest.skip("beside the checkout: no folder of real XML")
    for path in sorted(XML.glob("*.xml")):
        cards = stated(path.read_text(encoding="utf-8"), path.name).gpus or ()
        assert [isinstance(facts.get("gpu.memory_total_bytes"), Known) for facts in cards] == [True], (
            path.name
        )


def test_xml_declares_nothing() -> None:
    """Entities are not expanded: a bomb is a line like another."""
    bomb = (
        '<!DOCTYPE x [<!ENTITY a "' + "A" * 1000 + '"><!ENTITY b "' + "&a;" * 1000 + '">]>\n'
        "<nvidia_smi_log>\n<driver_version>535.54.03</driver_version>\n"
        '<gpu id="0"><product_name>&b;&b;</product_name></gpu>\n</nvidia_smi_log>\n'
    )
    answer = stated(bomb)
    assert value(answer.host, "nvml.driver_version") == "535.54.03"
    assert all(len(str(value(facts, "gpu.name"))) < 50 for facts in answer.gpus or ())


def test_mig_devices_are_counted_for_their_card() -> None:
    """Of the table's second half."""
    cards = sample("nvidia-smi-535-mig.txt").gpus or ()
    assert [value(card, "gpu.mig_instances") for card in cards] == [2, 0]


@pytest.mark.parametrize(("old", "new"), [
    (" On |", "\u00b2\u00b3 |"), ("|  0    1   0   0  |", f"|  {'9' * 5000}    1   0   0  |")])
def test_what_is_no_number_of_a_table_is_none(old: str, new: str) -> None:
    """Regression: a superscript, which `isdigit` takes, and thousands of digits ended it with exit code 5."""
    text = (SAMPLES / "nvidia-smi-535-mig.txt").read_text(encoding="utf-8")
    assert old in text
    assert len(stated(text.replace(old, new)).gpus or ()) == 2


def test_name_cut_short_has_a_capability_if_all_that_begin_so_agree() -> None:
    """GeForce GTX 165... can be a 1650 or one of its sisters; "NVIDIA GeForce ..." anything."""
    text = (SAMPLES / "nvidia-smi-460.txt").read_text(encoding="utf-8")
    assert value((stated(text).gpus or ())[0], "gpu.compute_capability") == "7.5"
    vague = stated(text.replace("GeForce GTX 165... ", "NVIDIA GeForce ... "))
    assert value((vague.gpus or ())[0], "gpu.compute_capability") is None


def test_name_cut_short_is_completed_by_another_line() -> None:
    """The owner says which card it is."""
    text = (SAMPLES / "nvidia-smi-460.txt").read_text(encoding="utf-8") + "\ngpu: GeForce GTX 1650 Ti\n"
    assert value((stated(text).gpus or ())[0], "gpu.name") == "GeForce GTX 1650 Ti"


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        (
            "GPU 0: Tesla V100-SXM2-16GB (UUID: GPU-1a2b3c4d)\nGPU 1: Tesla T4 (UUID: GPU-5e6f0000)\n",
            ["Tesla V100-SXM2-16GB", "Tesla T4"],
        ),
        (
            "GPU 0: NVIDIA A100 80GB PCIe (UUID: GPU-aaaa)\n  MIG 3g.40gb  Device 0: (UUID: MIG-bbbb)\n",
            ["NVIDIA A100 80GB PCIe"],
        ),
        (
            "name, driver_version, memory.total [MiB]\n" + 2 * "NVIDIA L4, 550.54.14, 23034 MiB\n",
            ["NVIDIA L4", "NVIDIA L4"],
        ),
        (
            "$ nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader\nNVIDIA H100 PCIe, 9.0\n$\n",
            ["NVIDIA H100 PCIe"],
        ),
        (
            "Created device -> physical GPU (name: X 1, pci bus id: 0000:01:00.0, compute capability: 6.1)\n",
            ["X 1"],
        ),
        (
            "name: GeForce GT 750M major: 3 minor: 0 memoryClockRate(GHz): 0.9255\npciBusID: 0000:01:00.0\n",
            ["GeForce GT 750M"],
        ),
        ("pciBusID: 0000:01:00.0 name: GeForce 820M computeCapability: 2.1\n", ["GeForce 820M"]),
        (DEVICE_QUERY, ["NVIDIA Tegra X1"]),
        (JETSON, ["Orin (nvgpu)"]),
    ],
)
def test_lists_of_cards(text: str, cards: list[str]) -> None:
    """nvidia-smi -L, --query-gpu with and without heading, TensorFlow's own lines, deviceQuery."""
    assert [value(facts, "gpu.name") for facts in stated(text).gpus or ()] == cards


def test_list_of_mig_devices_says_that_the_mode_is_on() -> None:
    """nvidia-smi -L prints them under their card."""
    (card,) = (
        stated("GPU 0: NVIDIA A100 (UUID: GPU-aaaa)\n  MIG 3g.40gb  Device 0: (UUID: MIG-bbbb)\n").gpus or ()
    )
    assert (value(card, "gpu.mig_instances"), value(card, "gpu.mig_mode")) == (1, True)


@pytest.mark.parametrize(
    ("text", "packages"),
    [
        (
            "Successfully installed numpy-1.26.4 nvidia-cudnn-cu12-9.1.0.70 torch-2.4.0\n",
            ("numpy==1.26.4", "nvidia-cudnn-cu12==9.1.0.70", "torch==2.4.0"),
        ),
        ("Requirement already satisfied: tensorflow==2.15.0 in ./venv\n", ("tensorflow==2.15.0",)),
        (
            "Requirement already satisfied: numpy in /usr/lib/python3/dist-packages (1.21.5)\n",
            ("numpy==1.21.5",),
        ),
        (
            "tensorflow 2.4.1 requires numpy~=1.19.2, but you have numpy 1.23.0 which is incompatible.\n",
            ("tensorflow==2.4.1", "numpy==1.23.0"),
        ),
        ("Name: tensorflow\nVersion: 2.11.0\nSummary: it\n", ("tensorflow==2.11.0",)),
        (" - jax==0.4.20\n + jax==0.4.30\n", ("jax==0.4.30",)),
        (
            "xorg-x11-drv-nvidia-cuda-535.129.03-1.fc39.x86_64\nkmod-nvidia-535.129.03-1.fc39.x86_64\n",
            ("xorg-x11-drv-nvidia-cuda==535.129.03", "kmod-nvidia==535.129.03"),
        ),
    ],
)
def test_packages(text: str, packages: tuple[str, ...]) -> None:
    """What pip says while it works, pip show, uv, rpm -qa."""
    assert value(stated(text).text, "text.packages") == packages


def test_conda_list_as_json() -> None:
    """Its build string says what the build is for."""
    rows = [
        {
            "name": "pytorch",
            "version": "1.7.1",
            "build_string": "py3.8_cuda11.0.221_cudnn8.0.5_0",
            "channel": "pytorch",
        },
        {"name": "python", "version": "3.8.5", "build_string": "h7579374_1"},
    ]
    answer = stated(f"$ conda list --json\n{json.dumps(rows, indent=1)}\n")
    (framework,) = answer.frameworks or ()
    assert (value(framework, "framework.cuda"), value(framework, "framework.cudnn")) == ("11.0", "8.0.5")
    assert value(answer.text, "text.python") == "3.8.5"


def test_conda_info_as_json() -> None:
    """The virtual packages are what counts in it."""
    document = {
        "conda_version": "23.1.0",
        "platform": "linux-aarch64",
        "virtual_pkgs": [["__cuda", "12.2", "0"], ["__glibc", "2.31", "0"], ["__linux", "5.10", "0"]],
    }
    answer = stated(json.dumps(document))
    assert value(answer.host, "driver.cuda_ceiling") == "12.2"
    assert (value(answer.host, "system.glibc"), value(answer.host, "system.architecture")) == (
        "2.31",
        "aarch64",
    )


def test_long_document_in_one_line() -> None:
    """As pip and gpudoctor write them."""
    rows = [{"name": f"package-number-{number}", "version": "1.0"} for number in range(2000)]
    text = "before\n" + json.dumps([*rows, {"name": "torch", "version": "2.4.0+cu121"}]) + "\nafter\n"
    (framework,) = stated(text).frameworks or ()
    assert value(framework, "framework.cuda") == "12.1"


def test_docker_info_as_json() -> None:
    """The host's system is in it."""
    document = {
        "ServerVersion": "24.0.7",
        "DefaultRuntime": "runc",
        "OperatingSystem": "Ubuntu 22.04.3 LTS",
        "KernelVersion": "6.2.0-39-generic",
        "Architecture": "x86_64",
    }
    answer = stated(json.dumps(document))
    assert (value(answer.text, "text.os"), value(answer.host, "system.kernel")) == (
        "Ubuntu 22.04.3 LTS", "6.2.0-39-generic")


def test_snapshot_of_gpudoctor_outranks_words() -> None:
    """It was looked at, not told."""
    snapshot = lay(blank(), {"python.version": Known(value="3.12.7", source="here")}, {}, source="here")
    text = "Python version: 3.8\n\n" + json.dumps(encode_snapshot(snapshot), indent=1)
    answer = stated(text)
    assert value(answer.host, "python.version") == "3.12.7"
    assert answer.snapshot is not None


def test_every_module_is_asked() -> None:
    """A module that no sign leads to would never read anything."""
    folder = ROOT / "gpudoctor" / "sources" / "importers"
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "card_values"}
    assert set(MARKS) | {"system", "libraries", "packages"} == modules


def test_document_that_only_looks_like_gpudoctors_is_left_alone() -> None:
    """A damaged one is text like any other."""
    assert stated('{"schema": "gpudoctor.snapshot/1", "host": 7}').snapshot is None


def test_absent_table_of_products_leaves_capabilities_open() -> None:
    """Nothing is guessed without it."""
    text = (Path(SAMPLES) / "nvidia-smi-windows.txt").read_text(encoding="utf-8")
    assert value((read(text, "x", tables={}).gpus or ())[0], "gpu.compute_capability") is None
