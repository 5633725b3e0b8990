"""A call and the bare answer in a line below it become one line, which symptoms are looked for in."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.explanation import explain
from gpudoctor.explanation.answers import answered, echoed
from gpudoctor.model import value_of


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


@pytest.mark.parametrize(("text", "said"), [
    (">>> print(torch.__version__, torch.cuda.is_available())\n2.4.0+cu121 True",
     ["torch.cuda.is_available(): True"]),
    (">>> torch.__version__, torch.version.cuda, torch.cuda.is_available()\n('2.4.0', None, False)",
     ["torch.version.cuda: None", "torch.cuda.is_available(): False"]),
    ("In [2]: torch.cuda.is_available(), torch.cuda.device_count()\nOut[2]: (True, 2)",
     ["torch.cuda.is_available(): True", "torch.cuda.device_count(): 2"]),
    ("print('cuda is', torch.cuda.is_available())\ncuda is False", ["torch.cuda.is_available(): False"]),
    ("$ python -c \"import torch; print(torch.version.cuda, torch.cuda.is_available())\"\n12.1 True",
     ["torch.version.cuda: 12.1", "torch.cuda.is_available(): True"]),
])
def test_each_of_several_values_of_one_line_is_put_to_its_call(text: str, said: list[str]) -> None:
    """`2.4.0+cu121 True` was called a build for the CPU, with `pip uninstall torch`."""
    assert [one.text for one in answered(text.split("\n"))] == said


@pytest.mark.parametrize("text", [
    ">>> print(torch.__version__, torch.cuda.is_available())\n2.4.0+cu121 is True",
    ">>> print(torch.__version__, torch.cuda.is_available()\n2.4.0+cu121 True",
    "print('cuda', torch.cuda.is_available(), sep=', ')\ncuda, False",
    ">>> torch.__version__, torch.cuda.is_available()\n2.4.0+cu121 True",
])
def test_a_line_of_another_number_of_values_is_no_answer(text: str) -> None:
    """Which value belongs to which call nobody knows."""
    assert list(answered(text.split("\n"))) == []


@pytest.mark.parametrize("printed", ["2.4.0+cu121 True", "2.4.0 True"])
def test_a_healthy_answer_is_no_fault(printed: str) -> None:
    """The version in the same line is read as well."""
    database = ruledb.load_shipped("told")
    asked = ">>> print(torch.__version__, torch.cuda.is_available())\n"
    told = explain(texts.read_text(asked + printed, database), database)
    assert not told.findings
    assert value_of(told.snapshot.host, "text.framework_version") == printed.partition(" ")[0]


ASKED = "{prompt}{sudo}python -c 'import torch;print(torch.cuda.is_available())'\n{answer}\n"


@pytest.mark.parametrize(("answers", "works"), [
    ((("sudo ", "True"), ("", "False")), True), ((("", "False"), ("sudo ", "True")), True),
    ((("sudo ", "False"), ("", "False")), False), ((("sudo ", "True"), ("", "True")), False),
    ((("sudo ", "False"), ("", "True")), False), ((("", "False"), ("", "True")), False),
])
@pytest.mark.parametrize("prompt", ["", "$ ", "(venv) user@localhost:~> "])
def test_what_only_sudo_finds_is_a_matter_of_permissions(
        prompt: str, answers: tuple[tuple[str, str], ...], works: bool) -> None:
    """A transcript in which only `sudo` found the card was taken for a driver that is too old."""
    text = "".join(ASKED.format(prompt=prompt, sudo=sudo, answer=answer) for sudo, answer in answers)
    database = ruledb.load_shipped("told")
    causes = [finding.cause for finding in explain(texts.read_text(text, database), database).findings[:1]]
    assert (causes == ["device-permission"]) is works


@pytest.mark.parametrize(("text", "said"), [
    ("> echo $CUDA_VISIBLE_DEVICES\nMIG-1,MIG-2", ["CUDA_VISIBLE_DEVICES=MIG-1,MIG-2"]),
    ('me@host:~$ echo "${LD_LIBRARY_PATH}"\n/opt/cuda/lib64', ["LD_LIBRARY_PATH=/opt/cuda/lib64"]),
    ("printenv CUDA_HOME\n/opt/cuda\nmore", ["CUDA_HOME=/opt/cuda"]),
    ("echo $CUDA_VISIBLE_DEVICES\n\n0", []), ("echo hello\nhello", []), ("echo $CUDA_VISIBLE_DEVICES", []),
])
def test_a_variable_that_a_shell_was_asked_for(text: str, said: list[str]) -> None:
    """Its value stands in the next line; an empty one says nothing."""
    assert [one.text for one in echoed(text.split("\n"))] == said
