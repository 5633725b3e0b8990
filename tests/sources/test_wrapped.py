"""Reports that a narrow window or a mail broke: what is read again, and that half a line says nothing."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from gpudoctor.sources.wrapped import rejoined
from tests.sources.stating import SAMPLES, stated, written

NAMES = sorted(path.name for path in SAMPLES.iterdir())
# What one broken line says that nothing shows to be broken.
LOST_AT_80 = {"collect_env-2.3-windows.txt": {"text.cudnn = 8"},
              "mmcv.txt": {"text.build_code = sm_37, sm_75"},  # one long word, broken in its middle
              "system.txt": {"system.architecture = x86_64"}}
# Of half a list less is read, and of conda's own places first or last; both are true.
TRUE_AS_WELL = ("text.packages = ", "text.places = ", "text.cards = ", "cards: ", "text.capabilities = ",
                "text.os = Linux Ubuntu", "text.cuda = 11.2", "system.pci_nvidia = ", "card 2 ",
                "reports: ", "text.os = Linux 5.14.0-284.30.1.el9_2.x86_64 #1 SMP", "frameworks: not listed")
# Of these too few rows are broken to be sure of a window.
FEW_ROWS = {"pip-freeze-files.txt", "pixi-list.txt"}
# A mail took a blank away; a card that stands second in the text; a name without the word behind it.
NEARLY = {"lspci.txt": {"card 0 gpu.name = GeForce GTX 1650 Mobile/ Max-Q"},
          "poetry-show.txt": {"frameworks: 1", "text.framework = pytorch", "text.frameworks = pytorch",
                              "text.framework_version = 2.2.0"},  # the row of the second one was lost
          # The value that a mail broke is left out, and what is left is no JSON: its lines are read as lines.
          "conda-info.json": {"python.version = 3.11.7", "text.python = 3.11.7",
                              "against it: environment.CONDA_PREFIX = /opt/conda"},
          "ultralytics.txt": {"card 0 gpu.name = Tesla T4", "card 0 gpu.compute_capability = 7.5",
                              "card 0 gpu.name = NVIDIA GeForce RTX 3060"}}


def in_a_window(text: str, columns: int) -> str:
    """Return a text as it is copied out of a window: broken at its last column, whatever stands there."""
    return "\n".join("\n".join(line[start:start + columns] for start in range(0, len(line), columns) or (0,))
                     for line in text.split("\n"))


def in_a_mail(text: str, columns: int) -> str:
    """Return a text as a mail folds it: at blanks, which are gone then."""
    return "\n".join("\n".join(textwrap.wrap(line, columns, break_long_words=False, break_on_hyphens=False))
                     if len(line) > columns else line for line in text.split("\n"))


def facts(text: str) -> set[str]:
    """Return what is read, without where."""
    return {line.partition("  <")[0].partition("  [")[0] for line in written(stated(text)).splitlines()}


@pytest.mark.parametrize("name", sorted(set(NAMES) - FEW_ROWS))
def test_a_window_of_80_columns_loses_nothing(name: str) -> None:
    """Half of what nvidia-smi's table, `-q`, pip's JSON, jax, TensorFlow and lspci say was lost."""
    text = (SAMPLES / name).read_text(encoding="utf-8")
    assert facts(in_a_window(text, 80)) == facts(text) - LOST_AT_80.get(name, set())


@pytest.mark.parametrize("columns", [72, 80, 100, 120])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "detectron2.txt"])
def test_nothing_is_read_of_half_a_line(name: str, columns: int) -> None:
    """A card's name, an identifier or a number that was cut off is not one (of detectron2 more is read)."""
    text = (SAMPLES / name).read_text(encoding="utf-8")
    whole = facts(text)
    for broken in (in_a_window(text, columns), in_a_mail(text, columns)):
        more = {fact for fact in facts(broken) - whole if not fact.startswith(TRUE_AS_WELL)}
        assert more <= NEARLY.get(name, set())


@pytest.mark.parametrize("name", NAMES)
def test_what_was_not_broken_stays_as_it_is(name: str) -> None:
    """Every sample, in its own width."""
    assert rejoined((SAMPLES / name).read_text(encoding="utf-8").split("\n")) is None


PROSE = textwrap.wrap(" ".join(Path(__file__).read_text(encoding="utf-8").translate(
    dict.fromkeys(map(ord, "()[]"))).split()), 80)
LOGGED = [f"INFO     step {step:4} of 4096, loss 0.1234{' ' * 30}train.py:{step:03}" for step in range(9)]
CUT_OFF = [f"root      {process} 12.0  0.5 1234 5678 ?  Ssl 10:00 0:01 python3 train.py --driver 535 --cu"
           for process in range(1000, 1009)]
RULED = ["=" * 80, "NVIDIA-SMI LOG", "=" * 80, "Driver Version : 535.54", "=" * 80, "CUDA Version : 12.2"]


@pytest.mark.parametrize("lines", [PROSE, LOGGED, CUT_OFF, RULED, [], [""], ["x" * 80, ""]],
                         ids=["prose", "rich", "ps", "rulers", "no line", "an empty line", "one line"])
def test_lines_that_are_as_long_as_one_another_for_another_reason(lines: list[str]) -> None:
    """Filled paragraphs, records that a logger pads, rows that `ps` cuts off, rulers."""
    assert rejoined(lines) is None


def test_a_document_of_json_that_a_window_broke_is_whole_again() -> None:
    """One line of many full ones."""
    line = json.dumps([{"name": f"package-{number}", "version": f"{number}.0"} for number in range(40)])
    broken = in_a_window(f"$ pip list --format json\n{line}\n$ exit", 80).split("\n")
    found = rejoined(broken)
    assert found is not None
    assert found[0] == ["$ pip list --format json", line, "$ exit"]
    assert found[1] == [0, 1, len(broken) - 1]


def test_the_bracket_that_ends_a_document_is_no_rest_of_a_line() -> None:
    """Regression: of `conda info --json` the longest line was lost, as of a window, where it stood last."""
    document = {"conda_version": "24.5.0", "virtual_pkgs": "all that this machine has, on one long line"}
    assert rejoined(json.dumps(document, indent=2).split("\n")) is None


def test_a_row_is_quoted_whole_with_the_number_of_its_first_line() -> None:
    """As an editor counts."""
    text = in_a_window((SAMPLES / "nvidia-smi-610.txt").read_text(encoding="utf-8"), 80)
    lines = written(stated(text)).splitlines()
    source = next(line for line in lines if line.startswith("driver.cuda_ceiling"))
    first = next(number for number, line in enumerate(text.split("\n"), 1) if "NVIDIA-SMI" in line)
    assert f"a.txt:{first}: | NVIDIA-SMI 610.43.03 KMD Version: 610.43.03 CUDA UMD Version: 13.3 |" in source
