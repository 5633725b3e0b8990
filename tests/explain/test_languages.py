"""What people say of GPUs in other languages is read in the English words of the tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.model import Severity
from gpudoctor.unfamiliar.languages import Languages
from gpudoctor.unfamiliar.words import LONGEST, words_of
from tests.explain.shipped import database, findings

LANGUAGES = Languages(database().tables["spoken_languages"].rows)


def read(line: str) -> list[str]:
    """Return the words of a line as they are looked up."""
    return words_of(LANGUAGES.in_english(line))


def faults(text: str) -> list[str]:
    """Return the causes that are told of a text as faults, in order."""
    told = findings(text)
    return [finding.cause for finding in told if finding.severity is not Severity.BENIGN]


@pytest.mark.parametrize(("text", "cause"), [
    ("在 colab 上没有使用 GPU", "colab-runtime"),
    ("slurm 作业里检测不到显卡", "slurm-no-gres"),
    ("jetson: torch 识别不到 GPU", "jetson-wrong-wheel"),
    ("コンテナで GPU が認識されません\nplatform: docker", "docker-no-gpu-flag"),
    ("컨테이너에서 그래픽카드를 인식하지 못합니다\nplatform: docker", "docker-no-gpu-flag"),
    ("Kubernetes pod: la tarjeta gráfica no se detecta", "k8s-device-plugin"),
    ("no colab a placa de vídeo não é reconhecida", "colab-runtime"),
    ("docker: la carte graphique n\u2019est pas détectée", "docker-no-gpu-flag"),
    ("Meine Grafikkarte wird in docker nicht erkannt", "docker-no-gpu-flag"),
    ("torch не видит видеокарту\nplatform: docker", "docker-no-gpu-flag"),
])
def test_a_complaint_is_weighed_by_its_place_in_any_language(text: str, cause: str) -> None:
    """As the same sentence is in English."""
    assert faults(f"{text}\n")[0] == cause


@pytest.mark.parametrize(("message", "cause"), [
    ("ImportError: DLL load failed while importing _pywrap_tensorflow_internal: 找不到指定的模块。",
     "msvc-runtime-missing"),
    ("OSError: [WinError 1455] Файл подкачки слишком мал для завершения операции.", "host-memory-limit"),
    ("\"nvidia-smi\" no se reconoce como un comando interno o externo,", "driver-not-installed"),
])
def test_windows_prints_its_messages_in_its_own_language(message: str, cause: str) -> None:
    """They are wordings like any other."""
    assert faults(f"{message}\nframework: tensorflow 2.10\nplatform: windows\n")[0] == cause


def test_the_longest_phrase_is_read() -> None:
    """Too little memory on the card is no version of a driver, and no card by itself."""
    assert read("显存不足") == ["gpu", "out", "memory"]
    assert read("驱动版本过低") == ["driver", "too", "old"]


def test_accents_capitals_and_spaces_beside_han_do_not_matter() -> None:
    """People leave them out."""
    assert read("La TARJETA GRÁFICA no detecta") == read("la tarjeta grafica no detecta")
    assert read("只能用 CPU 跑") == read("只能用CPU跑")


def test_a_phrase_begins_and_ends_with_a_word_unless_a_star_says_otherwise() -> None:
    """Of the driver (pilote) is not spoken where somebody copilots, of the card in any case of Russian."""
    assert "driver" not in read("copilote")
    assert "gpu" in read("видеокартой")
    assert "gpu" not in read("tarjeta graficamente")


def test_words_between_keep_their_number() -> None:
    """A driver in one clause is not what is missing in another, six words later."""
    assert len(read("显卡驱动一直是更新到最新版本的然后程序还是找不到")) > 10


def test_an_english_line_is_left_as_it_is() -> None:
    """Also one with other letters in it."""
    for line in ("Could not load dynamic library 'libcudart.so.12'", "Größe 3 µm"):
        assert LANGUAGES.in_english(line) is line


@given(st.text(max_size=2 * LONGEST))
def test_any_line_is_read_within_bounds(line: str) -> None:
    """Nothing that people paste can make it fail or grow without end."""
    assert len(LANGUAGES.in_english(line)) <= max(len(line), 60 * LONGEST)
