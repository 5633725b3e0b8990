"""Values of variables that no program should trust: they are reported, and never obeyed."""

from __future__ import annotations

import json
import shlex
import unicodedata

import pytest

from tests.hosts.looking import COMMAND, HEALTHY, ROOT, arguments, changed, healthy, look, looked

VALUES = {
    "newlines": "one\ntwo\r\nthree\n",
    "markup": "[bold red]angry[/bold red] [link=https://example.org]here[/link] [/] [0]",
    "an escape sequence": "\x1b[31m\x1b]0;title\x07\x1b[2J",
    "other controls": "\x01\x08\x7f\x9b31m\u202e\u2028\u200b",
    "braces": "{driver.version} {0} %s $(id) `id`",
    "128 KiB": "x" * 131000,
}
VARIABLE = "TF_XLA_FLAGS"
VARIABLES = (
    "TF_XLA_FLAGS",
    "XLA_FLAGS",
    "JAX_PLATFORMS",
    "CUDA_CACHE_PATH",
    "NVIDIA_REQUIRE_CUDA",
    "HIP_VISIBLE_DEVICES",
)


def without_controls(text: str) -> bool:
    """Say whether a text holds no control, format or surrogate character but line ends."""
    return all(
        character == "\n" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        for character in text
    )


def test_values_in_the_report() -> None:
    """JSON holds the values themselves, so that nothing is lost; all else is as it was."""
    environment = dict(zip(VARIABLES, VALUES.values(), strict=True))
    seen = look(HEALTHY, environment=environment)
    assert {name: seen.fact(f"environment.{name}")["value"] for name in VARIABLES} == environment
    assert changed(healthy(), seen) == {f"environment.{name}" for name in VARIABLES}
    assert seen.completed.stdout.isascii()


def test_value_that_is_no_text() -> None:
    """Bytes that are no UTF-8 are escaped, and the report stays JSON that every reader takes."""
    script = f"export {VARIABLE}=$(printf 'caf\\351 \\377\\300\\257') && exec {shlex.join(arguments())}"
    seen = looked(HEALTHY.run(["sh", "-c", script], cwd=str(ROOT)))
    value = seen.fact(f"environment.{VARIABLE}")["value"]
    assert value.startswith("caf")
    assert value.encode("utf-8")
    assert changed(healthy(), seen) == {f"environment.{VARIABLE}"}


@pytest.mark.parametrize(
    "value",
    ["".join(VALUES[kind] for kind in VALUES if kind != "128 KiB"), VALUES["128 KiB"]],
    ids=["hostile", "128 KiB"],
)
def test_value_in_the_text(value: str) -> None:
    """Printed, a value cannot move the cursor, colour the terminal or fill the screen."""
    command = [*COMMAND, "check", "--depth", "static", "-v", "--timeout", "6"]
    done = HEALTHY.run(
        command, cwd=str(ROOT), environment={"CUDA_VISIBLE_DEVICES": value, "LD_LIBRARY_PATH": value}
    )
    assert done.returncode in (0, 1, 3), done.stderr
    assert done.stderr == ""
    assert without_controls(done.stdout)
    assert len(done.stdout) < 40_000


def test_variables_that_steer_gpudoctor_itself() -> None:
    """A senseless value of a variable that is listened to is as good as none."""
    names = ("LANG", "LC_ALL", "TERM", "COLUMNS", "NO_COLOR", "PYTHONIOENCODING")
    environment = {**dict.fromkeys(names, "\u00bd-9"), "PYTHONIOENCODING": ":"}
    done = HEALTHY.run(
        [*COMMAND, "check", "--depth", "static", "--timeout", "6"], cwd=str(ROOT), environment=environment
    )
    assert done.returncode in (0, 1, 3), done.stderr
    assert "H100" in done.stdout


def test_report_of_values_survives_its_own_reading() -> None:
    """What was printed as JSON can be judged again, to the same verdict."""
    seen = look(
        HEALTHY, environment={VARIABLE: VALUES["an escape sequence"], "CUDA_VISIBLE_DEVICES": "\n\x1b[0m"}
    )
    again = HEALTHY.adding(files={"/tmp/report.json": json.dumps(seen.report)}).run(
        [*arguments("--from", "/tmp/report.json")], cwd=str(ROOT)
    )
    assert looked(again).report["findings"] == seen.report["findings"]
