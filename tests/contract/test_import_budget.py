"""What starting gpudoctor may load: heavy libraries wait until they are needed."""

from __future__ import annotations

import json

import gpudoctor
from tests.contract.checkout import run_python

HEAVY = {
    "ahocorasick_rs", "cattrs", "docker", "jax", "jsonschema", "paddle", "pynvml", "requests", "rich",
    "tensorflow", "torch", "yaml",
}
# On the last line of stderr: stdout belongs to the command.
_REPORT = "import json, sys; sys.stderr.write('\\n' + json.dumps(sorted(sys.modules)))"
_VERSION = f"""
import sys
sys.argv = ["gpudoctor", "--version"]
from gpudoctor.cli import run
code = run()
{_REPORT}
sys.exit(code)
"""


def loaded_by(code: str) -> tuple[set[str], str]:
    """Return the top-level modules that a fresh interpreter has loaded after `code`, and what it printed."""
    answer = run_python(code)
    assert answer.returncode == 0, answer.stderr
    return {name.split(".")[0] for name in json.loads(answer.stderr.splitlines()[-1])}, answer.stdout


def test_importing_the_command_loads_no_heavy_library() -> None:
    """`import gpudoctor.cli` is what every call pays."""
    loaded, _ = loaded_by(f"from gpudoctor.cli import main\n{_REPORT}")
    assert loaded & HEAVY == set()
    assert "gpudoctor" in loaded


def test_building_the_command_line_loads_no_heavy_library() -> None:
    """Building all of it is the most that a call pays, but for `--version`, before anything is looked at."""
    loaded, _ = loaded_by(f"from gpudoctor.cli.app import application\napplication([])\n{_REPORT}")
    assert loaded & HEAVY == set()
    assert "typer" in loaded


def test_asking_for_the_version_loads_no_heavy_library() -> None:
    """`gpudoctor --version` prints the version alone, from next to nothing."""
    loaded, stdout = loaded_by(_VERSION)
    assert loaded & {*HEAVY, "packaging", "pydantic", "typer"} == set()
    assert gpudoctor.__version__ in stdout


def test_a_heavy_library_would_be_noticed() -> None:
    """The measurement itself sees a library that was loaded."""
    loaded, _ = loaded_by(f"import jsonschema\n{_REPORT}")
    assert "jsonschema" in loaded & HEAVY


def test_a_check_loads_nothing_of_what_explains_texts_or_colours_reports() -> None:
    """What reads texts and prints pages waits until somebody brings a text, rich until there are colours."""
    code = ("import sys; sys.argv = ['gpudoctor', 'check', '--depth', 'static', '-o', '/dev/null']\n"
            "from gpudoctor.cli import run; run()\n"
            "print(' '.join(sys.modules))")
    loaded = set(run_python(code).stdout.split())
    assert "gpudoctor.engine" in loaded
    assert loaded & {"rich", "typer", "pydantic"} == set()
    parts = {name.split(".")[1] for name in loaded if name.startswith("gpudoctor.")}
    assert parts & {"explanation", "lint", "meaning", "pages", "sources", "texts"} == set()
