"""Importers are total and linear: whatever a stranger wrote, they answer, and soon."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.facts import CATALOGUE, LISTS
from gpudoctor.model import Absent, Known, Scope
from gpudoctor.sources.importers import Stated
from gpudoctor.versions import Incomparable, parse
from tests.sources.stating import SAMPLES, stated

TEXTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(SAMPLES.iterdir())}
LINES = sorted({line for text in TEXTS.values() for line in text.splitlines()})
PIECES = """
NVIDIA-SMI|Driver Version:|CUDA Version: |KMD Version:| 0  |0000:01:00.0 Off |N/A|MiB / |MIG devices|
Processes:|No running|NVSMI LOG|GPU 00000000:01:00.0|<nvidia_smi_log>|<gpu id="0">|</gpu>|
<product_name>|</nvidia_smi_log>|GPU 0: |(UUID: GPU-|MIG |name, driver_version|
--query-gpu=name,driver_version|PyTorch version: |CUDA used to build PyTorch: |
GPU models and configuration:|cuDNN version: Probably one of|[conda] |[pip3] |==|torch==|
Package Version|# Name Version Build|Successfully installed |Requirement already satisfied: |
which is incompatible|Name: |Version: |virtual packages|__cuda=|conda version : |[{"name": "|
"version": "|"build_string"|{"schema": "gpudoctor.snapshot/1"|"HostConfig"|"DefaultRuntime"|
Linux box 5.15 #1|uname_result(system='Linux'|ID=ubuntu|VERSION_ID=|PRETTY_NAME="|NVRM version:|
Kernel Module  |compilation tools, release 11.2, V|#define CUDNN_MAJOR |Module Size Used by|
libs found in cache|.so.8 (libc6) => /|ii  libcudnn8  |.x86_64|VGA compatible controller: NVIDIA|
3D controller|Kernel driver in use: |pci bus id: |major: |computeCapability: |with CUDA capability sm_|
Device 0: "|CUDA Capability Major/Minor version number:|== cuda libs |== env ==|== python version|
device info: |framework: |cuda: |cudnn: |driver: |python: |gpu: |os: |platform: |CUDA/cuDNN version: |
RTX 3080|2x |sm_86|/cuda-11.2/|python3.8/site-packages|libcudnn.so.8.9.2|cuda 11.2|tensorflow 2.4|
nvidia/cuda:11.4.0-base|11.2|8|999999999999|1.2.3.4.5.6.7|> |```|\t|\x00|\x1b[31m|\u0130|\uff1a|\u2028|
(|)|[|]|{|}|"|'|...|,|;|/|:|=|-|#|*||
""".replace("\n", "")
fragments = st.sampled_from([*PIECES.split("|"), "|", "\n", "\n", "\n", " "])
made_up = st.lists(st.one_of(fragments, st.sampled_from(LINES), st.text(max_size=8)), max_size=40).map(
    "".join
)
shuffled = st.lists(st.sampled_from(LINES), max_size=40).map("\n".join)


def check(answer: Stated) -> None:
    """Everything that is stated is catalogued, of its type, and has a line of one kind of characters."""
    facts = [*answer.host.items(), *answer.text.items()]
    facts += [
        item for scope in (answer.gpus, answer.frameworks) for one in scope or () for item in one.items()
    ]
    for name, fact in facts:
        spec = CATALOGUE[name]
        if isinstance(fact, Absent) and name == "system.wsl":
            continue
        assert isinstance(fact, Known)
        assert fact.source.isprintable()
        assert isinstance(fact.value, tuple) == (spec.type in LISTS or spec.type.value == "records"), name
        if spec.type.value.endswith(("_version", "_capability")):
            try:
                parse(str(fact.value))
            except Incomparable as error:
                raise AssertionError(f"{name}: {error}") from None
    for other in answer.others:
        assert other.fact in CATALOGUE
    for scope, kind in ((answer.gpus, Scope.GPU), (answer.frameworks, Scope.FRAMEWORK)):
        assert all(CATALOGUE[name].scope is kind for one in scope or () for name in one)


@given(st.text())
def test_any_text(text: str) -> None:
    """Of any characters."""
    check(stated(text))


@settings(max_examples=400)
@given(made_up)
def test_text_of_signs(text: str) -> None:
    """Signs of every kind of report, in any order and company."""
    check(stated(text))


@settings(max_examples=200)
@given(shuffled)
def test_shuffled_lines_of_real_reports(text: str) -> None:
    """Halves of reports, one inside the other."""
    check(stated(text))


@settings(max_examples=200)
@given(st.sampled_from(sorted(TEXTS)), st.integers(0, 5000), st.integers(0, 5000), st.text(max_size=6))
def test_damaged_reports(name: str, start: int, end: int, put_in: str) -> None:
    """With a piece cut out and something else in its place."""
    text = TEXTS[name]
    check(stated(text[:start] + put_in + text[max(start, end) :]))


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_reports_as_they_are(name: str) -> None:
    """Every fact of theirs is catalogued and of its type."""
    check(stated(TEXTS[name]))


REPEATED = [
    *PIECES.split("|"),
    "a==1\n",
    "cuda: 11.2, cudnn: 8, gpu: RTX 3080, os: ubuntu\n",
    "NVSMI LOG\n",
    "[",
    '{"a":',
    "GPU 0: x (UUID: GPU-1234)\n",
    "name, driver_version\na, 1\n",
    "### CUDA version\n",
    "<a>",
    'Device 0: "x"\n',
    "<nvidia_smi_log>\n<gpu id='1'>\n",
    "GPU models and configuration:\nGPU 0: a\n",
    " ",
    "\n",
    "a",
    "1.",
    "(",
    "01:00.0 VGA compatible controller: NVIDIA [a]\n",
    "== cuda libs\n",
    '[{"name": "a", "version":\n',
]


def cpu_seconds(text: str) -> float:
    """Return the processor time that reading takes, the shorter of two: a busy machine plays no part."""
    times = []
    for _ in range(2):
        begin = time.process_time()
        stated(text)
        times.append(time.process_time() - begin)
    return min(times)


@pytest.mark.parametrize("piece", [piece for piece in REPEATED if piece], ids=repr)
def test_time_is_linear(piece: str) -> None:
    """Eight times as many lines of the same take about eight times as long, not sixty-four times."""
    small = (f"{piece}\n" * 6_000)[:6_000]
    assert cpu_seconds(small * 8) < 16 * cpu_seconds(small) + 0.1


def test_long_line_takes_no_longer_than_its_beginning() -> None:
    """Of a line only the beginning is read."""
    line = "".join(REPEATED).replace("\n", " ")
    assert cpu_seconds(line * 400) < 16 * cpu_seconds(line * 10) + 0.1
