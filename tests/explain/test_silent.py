"""Commands of a transcript whose output is empty: that nothing was printed is what they say."""

from __future__ import annotations

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.explanation.silent import silent


@pytest.mark.parametrize(("text", "said"), [
    ("$ lsmod | grep nvidia_uvm\n$ nvidia-smi -L", "lsmod lists no nvidia_uvm"),
    ("ana@box:~$ lsmod | grep -i NVIDIA\nana@box:~$ ", "lsmod lists no nvidia"),
    ("[root@node1 ~]# lsmod | grep nvidia\n\n[root@node1 ~]# uname -r", "lsmod lists no nvidia"),
    ("$ lsmod | grep nvidia\n(nothing)", "lsmod lists no nvidia"),
    ("(tf) ana@box:~/work$ ldconfig -p | grep libcuda\n```", "ldconfig lists no libcuda"),
    ("$ lsmod | grep nvidia_uvm", "lsmod lists no nvidia_uvm"),
])
def test_a_command_without_output_says_so(text: str, said: str) -> None:
    """The next prompt stands right below it, or the paste ends there."""
    assert [one.text for one in silent(text.split("\n"))] == [said]


@pytest.mark.parametrize("text", [
    "$ lsmod | grep nvidia_uvm\nnvidia_uvm 1200128 0\n$ ",
    "what does lsmod | grep nvidia_uvm say?",
    "lsmod | grep nvidia_uvm\n$ ",
    "$ lsmod | grep nvidia_uvm\nsome words that follow it",
    "$ dmesg | grep -i nvidia\n$ ",
    "$ lsmod | grep -v nvidia\n$ ",
    "$ lsmod | grep -iq nvidia\n$ ",
])
def test_what_printed_something_or_was_not_run_says_nothing(text: str) -> None:
    """A line without a prompt may be advice; of dmesg, which root alone may read, silence means little.

    So it does of `grep -q`, which prints nothing, and `-v`, which prints the others.
    """
    assert list(silent(text.split("\n"))) == []


def test_the_module_that_is_not_there_is_the_cause() -> None:
    """`nvidia-smi` works and the list of modules has no nvidia_uvm: it was taken for a CPU build."""
    text = ("$ lsmod | grep nvidia_uvm\n$ nvidia-smi -L\nGPU 0: Tesla T4 (UUID: GPU-11111111-2222-3333)\n"
            '$ python -c "import torch; print(torch.cuda.is_available())"\nFalse\n')
    assert texts.told_causes(text, ruledb.load_shipped("told"))[0] == "nvidia-uvm-missing"
