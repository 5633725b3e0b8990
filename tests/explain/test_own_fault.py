"""Errors that Python raises for the program itself: nothing of a GPU, and no machine to look at."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.explanation import Told, explain
from gpudoctor.render.told import what_helps


def told(text: str) -> Told:
    """Return what the shipped rules say of a text."""
    database = ruledb.load_shipped("told")
    return explain(texts.read_text(text, database), database)


@pytest.mark.parametrize("text", [
    '  File "train.py", line 14\n    print "epoch", i\nSyntaxError: Missing parentheses in call to print\n',
    'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    c["lr"]\nKeyError: "lr"\n',
])
def test_a_fault_of_the_program_is_not_sent_to_the_machine(text: str) -> None:
    """Of a SyntaxError it was said that `gpudoctor check` finds the cause."""
    found = told(text)
    assert [question.cause for question in found.undecided] == ["fault-of-the-program"]
    assert found.is_unexplained
    assert "check" not in what_helps("fault-of-the-program")


@pytest.mark.parametrize("text", [
    "model.to('cuda')\nKeyError: 'blocks'\n", "KeyError: 'device'\n", "import torch\nKeyError: 'lr'\n",
    "KeyError: 'lr'\nRuntimeError: something else went wrong\n",
])
def test_a_word_of_a_gpu_or_another_error_leaves_it_unknown(text: str) -> None:
    """It may come of anything."""
    assert "fault-of-the-program" not in [question.cause for question in told(text).undecided]
