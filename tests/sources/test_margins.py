"""Reports that were copied with what stands before each of their lines are read as if it were not there."""

from __future__ import annotations

import pytest

from gpudoctor.sources.margins import without_margin
from tests.sources.stating import SAMPLES, stated, value

BEFORE = (
    "Nov 20 05:43:12 host python[4711]: ", "Nov 20 05:43:12.123456 host python3.11[4711]: ",
    "2026-11-20T05:43:12+0100 host python3[4711]: ", "2026-11-20T05:43:12.123456Z 01O ",
    "[2026-11-20T05:43:12.123Z] ", "[2026-11-20 05:43:12] ", "05:43:12  ",
    "2026-11-20 05:43:12,123 - root - INFO - ", "2026-11-20 05:43:12,123 INFO [env.py:12] ",
    "2026-11-20 05:43:12.123 | INFO     | __main__:main:12 - ", "INFO:root:",
    "INFO 11-20 05:43:12 [__init__.py:239] ", "(pid=4711) ", "(RayWorker pid=4711, ip=10.0.0.1) ",
    "[rank0]: ", "[1,0]<stdout>:", "#12 3.456 ", "Nov 20 05:43:12 host python[4711]: [rank3]: ",
)
REPORTS = ("collect_env-1.4.txt", "nvidia-smi-610.txt", "nvidia-smi-q.txt", "pip-list.txt", "lspci.txt")


def said(text: str) -> dict[str, object]:
    """Return all facts of a text with their values alone."""
    answer = stated(text)
    scopes = {"": answer.host, "text ": answer.text}
    scopes |= {f"card {number} ": facts for number, facts in enumerate(answer.gpus or ())}
    scopes |= {f"framework {number} ": facts for number, facts in enumerate(answer.frameworks or ())}
    return {f"{scope}{name}": value(facts, name) for scope, facts in scopes.items() for name in facts}


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("before", BEFORE)
def test_prefixes_hide_nothing(name: str, before: str) -> None:
    """Of loggers, launchers, continuous integration and the journal."""
    text = (SAMPLES / name).read_text(encoding="utf-8").rstrip("\n")
    assert said("\n".join(before + line for line in text.split("\n"))) == said(text)


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("form", ["{:6}\t{}", "{}:{}", "{:7} {}", "{:4}: {}"])
def test_line_numbers_hide_nothing(name: str, form: str) -> None:
    """As cat -n, grep -n and less -N write them, whatever the first number is."""
    lines = (SAMPLES / name).read_text(encoding="utf-8").rstrip("\n").split("\n")
    lines += [""] * 12  # a run is that long at least
    numbered = "\n".join(form.format(number, line) for number, line in enumerate(lines, start=98))
    assert said(numbered) == said("\n".join(lines))


@pytest.mark.parametrize("line", [
    "Nov 20 05:43:12 host kernel: NVRM: Xid (PCI:0000:01:00): 79",
    "2026-11-20 05:43:12.412787: W tensorflow/a.cc:64] b", "GPU 0: Tesla T4", "0: Tesla T4", "[3.5] x",
    "(pid 4) x", "#1 SMP Thu", "INFO: x", "12:00 x", "", "[rank]: x",
])
def test_what_is_no_margin_stays(line: str) -> None:
    """What only looks a little like one."""
    assert without_margin([line]) == [line]


def test_a_short_list_with_numbers_is_no_margin() -> None:
    """Eight cards are numbered, too."""
    lines = [f"{number}: Tesla V100" for number in range(8)]
    assert without_margin(lines) == lines


def test_only_numbers_that_go_on_are_a_margin() -> None:
    """A table of measurements has others."""
    lines = [f"{number * 2} 0.5" for number in range(40)]
    assert without_margin(lines) == lines
