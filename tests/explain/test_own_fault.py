"""Errors that Python raises for the program itself: nothing of a GPU, and no machine to look at."""

from __future__ import annotations

import pytest

from gpudoctor.render.told import what_helps
from tests.explain.shipped import told


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


@pytest.mark.parametrize(("source", "error"), [
    ('use = ("cuda" if torch.cuda.is_available() else "cpu"', "SyntaxError: '(' was never closed"),
    ('print "cuda", torch.cuda.is_available()', "SyntaxError: Missing parentheses in call to 'print'"),
    ("if torch.cuda.is_available():", "IndentationError: unexpected indent"),
    ("d = names[torch.cuda.is_available()]", "KeyError: False"),
    ("use = torch.cuda.is_available()", "NameError: name 'torch' is not defined"),
])
@pytest.mark.parametrize("frame", ['  File "/home/joe/train.py", line 7\n    ', "----> 7 "])
def test_the_line_of_a_program_that_a_traceback_quotes_is_none(frame: str, source: str, error: str) -> None:
    """`torch.cuda.is_available()` in it became a build for the CPU."""
    found = told(f"{frame}{source}\n{error}\n")
    assert [question.cause for question in found.undecided] == ["fault-of-the-program"]
    assert not found.findings


def test_what_a_framework_raises_in_its_own_line_is_still_read() -> None:
    """Somebody may have cut the report below it."""
    text = ('  File "/venv/lib/python3.10/site-packages/torch/cuda/__init__.py", line 211, in _lazy_init\n'
            '    raise AssertionError("Torch not compiled with CUDA enabled")\n')
    assert "cpu-only-build" in [finding.cause for finding in told(text).findings]
