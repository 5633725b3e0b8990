"""A call and the bare answer in a line below it become one line, which symptoms are looked for in."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.explanation.answers import answered


@pytest.mark.parametrize(("text", "said"), [
    (">>> tf.test.is_gpu_available()\nFalse", "tf.test.is_gpu_available(): False"),
    ("In [3]: torch.cuda.is_available()\nOut[3]: False", "torch.cuda.is_available(): False"),
    ("print(tf.config.list_physical_devices('GPU'))\n[]", "tf.config.list_physical_devices(): []"),
    (">>> len(tf.config.list_physical_devices('GPU'))\n0", "tf.config.list_physical_devices(): 0"),
    (">>> torch.version.cuda\n2020-01-01: I some.cc:1] a line of a log\nNone", "torch.version.cuda: None"),
    ("print(jax.default_backend())\n'cpu'", "jax.default_backend(): 'cpu'"),
])
def test_a_bare_answer_is_put_to_its_call(text: str, said: str) -> None:
    """Lines of a log may stand between them."""
    assert [one.text for one in answered(text.split("\n"))] == [said]


@pytest.mark.parametrize("text", [
    "False", ">>> tf.test.is_gpu_available()", "False\n>>> tf.test.is_gpu_available()", ">>> x = 1\nFalse",
    ">>> tf.test.is_gpu_available()" + "\nanother line" * 100 + "\nFalse",
])
def test_without_both_there_is_no_answer(text: str) -> None:
    """An answer far below, or above, belongs to something else."""
    assert list(answered(text.split("\n"))) == []


def test_the_line_that_is_made_shows_symptoms_and_has_the_number_of_the_answer() -> None:
    """The symptom is found in what no single line says."""
    said = texts.read_text("first\n>>> torch.cuda.is_available()\nFalse\n", ruledb.load_shipped()).said
    assert [(line.text, line.source) for line in said if "False" in line.text][:1] == [
        ("torch.cuda.is_available(): False", "standard input:3")]


def test_an_endless_transcript_gives_few_answers() -> None:
    """However often a program asks."""
    assert len(list(answered([">>> torch.cuda.is_available()", "False"] * 1000))) == 50
