"""House rules that linters do not know: one door to the machine, small files, no trace of where we work."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.checkout import PACKAGE, ROOT, files_below, parsed, shown
from tests.harness.interpreters import need_python

FILE_LINES = 300
TEST_FILE_LINES = 400
FUNCTION_LINES = 60
DATA = {"gpudoctor/facts.py"}  # mostly the catalogue, one fact a line, which no reader holds in mind

# Files, environment, processes, output and time belong to these parts, in which every use is easy to find.
DOORS = ("host", "child", "cli", "payloads", "pytest_plugin")
DOOR_CALLS = {"open", "print", "input"}
DOOR_MODULES = {"subprocess", "time", "socket", "shutil", "tempfile"}
DOOR_ATTRIBUTES = {"environ", "environb", "getenv", "putenv", "system", "popen", "open", "fork", "fdopen"}
PATH_METHODS = {"mkdir", "open", "rmdir", "touch", "unlink", "write_bytes", "write_text"}
PATH_READS = {"read_bytes", "read_text"}  # a Path's, without arguments; a Host's name the file that they read
# The rule database is read where it is understood.
EXCEPTIONS = {"ruledb.py": "open()", "rule_packages.py": "open()", "page_folder.py": ".read_bytes()"}

# Written in pieces, so that this file does not name what it forbids.
REGISTRY = re.compile("|".join((
    "py" + r"pi\.org", "python" + r"hosted\.org", r"(deb|security)\.deb" + r"ian\.org",
    r"archive\.ubu" + r"ntu\.com", r"registry\.npm" + r"js\.")), re.IGNORECASE)
MACHINE_PATH = re.compile(r"(^|[^A-Za-z0-9_])/(wo" + r"rk/|fa" + r"rm/|ro" + r"ot/[a-z.]|tmp/sp" + r"ec)")
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|NotImplemented" + r"Error)\b")

FILES = list(files_below(ROOT))
CODE = [path for path in FILES if path.suffix == ".py"]
MODULES = [path for path in files_below(PACKAGE) if path.suffix == ".py"]
PAYLOADS = [path for path in MODULES if path.parent == PACKAGE / "payloads"]


def door_uses(tree: ast.Module) -> Iterator[str]:
    """Yield each use of a file, the environment, a process, output or time, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in DOOR_CALLS:
                yield f"{node.lineno}: {name}()"
            case ast.Call(func=ast.Attribute(attr=name)) if name in PATH_METHODS:
                yield f"{node.lineno}: .{name}()"
            case ast.Call(func=ast.Attribute(attr=name), args=[]) if name in PATH_READS:
                yield f"{node.lineno}: .{name}()"
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in DOOR_ATTRIBUTES:
                yield f"{node.lineno}: os.{name}"
            case ast.Import():
                names = [alias.name for alias in node.names if alias.name in DOOR_MODULES]
                yield from (f"{node.lineno}: import {name}" for name in names)
            case ast.ImportFrom(module=str(module)) if module in DOOR_MODULES:
                yield f"{node.lineno}: from {module}"
            case ast.ImportFrom(module="os"):
                names = [alias.name for alias in node.names if alias.name in DOOR_ATTRIBUTES]
                yield from (f"{node.lineno}: from os import {name}" for name in names)


def is_door(path: Path) -> bool:
    """Say whether a file of the package may touch the machine."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py") in DOORS


@pytest.mark.parametrize("path", [path for path in MODULES if not is_door(path)], ids=shown)
def test_only_the_doors_touch_the_machine(path: Path) -> None:
    """Everything else is a function of what it is given."""
    uses = [use for use in door_uses(parsed(path)) if EXCEPTIONS.get(path.name) != use.partition(": ")[2]]
    assert uses == []


@pytest.mark.parametrize("code", [
    "open('x')", "print('x')", "import os\nos.environ['X']", "from os import environ", "import subprocess",
    "def f():\n    import time", "from time import monotonic", "path.read_bytes()", "os.getenv('X')",
])
def test_no_touch_is_overlooked(code: str) -> None:
    """The finder sees each way to touch the machine."""
    assert len(list(door_uses(ast.parse(code)))) == 1


@pytest.mark.parametrize("path", [path for path in CODE if shown(path) not in DATA], ids=shown)
def test_file_is_short(path: Path) -> None:
    """A reader holds it in mind."""
    limit = TEST_FILE_LINES if shown(path).startswith("tests/") else FILE_LINES
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= limit


@pytest.mark.parametrize("path", CODE, ids=shown)
def test_functions_are_short(path: Path) -> None:
    """One thing each."""
    lengths = {
        node.name: (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(parsed(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert {name: length for name, length in lengths.items() if length > FUNCTION_LINES} == {}


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_broad_except_gives_its_reason_beside_it(path: Path) -> None:
    """After `noqa: BLE001` or alone, words: why everything is caught here."""
    lines = path.read_text(encoding="utf-8").splitlines()
    broad = [lines[node.lineno - 1] for node in ast.walk(parsed(path)) if isinstance(node, ast.ExceptHandler)
             and (node.type is None or ast.unparse(node.type) in ("Exception", "BaseException"))]
    bare = re.compile(r":\s*(#\s*noqa: BLE001\W*)?$")
    assert [line.strip() for line in broad if bare.search(line)] == []


def other_digits(tree: ast.Module) -> Iterator[str]:
    """Yield each use of what takes more digits than `int` and a version do, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if r"\d" in text:
                yield f"{node.lineno}: \\d"
            case ast.Attribute(attr="isdigit" | "isnumeric" as name):
                yield f"{node.lineno}: .{name}"


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_digits_are_those_of_versions(path: Path) -> None:
    r"""`\d` takes those of every script, of which no version is made, and "\u00b2".isdigit() is true."""
    assert [*other_digits(parsed(path))] == []


@pytest.mark.parametrize("code", [r"re.compile(r'\d+')", r"rf'{a}\d'", "text.isdigit()", "text.isnumeric()"])
def test_other_digits_are_found(code: str) -> None:
    assert [*other_digits(ast.parse(code))] != []


def found(pattern: re.Pattern[str]) -> list[str]:
    """Return the places in the project's text files that a pattern finds."""
    places = []
    for path in FILES:
        data = path.read_bytes()
        if b"\0" in data:
            continue
        lines = enumerate(data.decode("utf-8", "replace").splitlines(), start=1)
        places += [f"{shown(path)}:{number}: {line.strip()[:100]}"
                   for number, line in lines if pattern.search(line)]
    return places


def test_no_file_names_a_package_registry() -> None:
    """Sources of packages are written as pypi:NAME==VERSION."""
    assert found(REGISTRY) == []


def test_no_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    """The project works from any folder."""
    assert found(MACHINE_PATH) == []


def test_nothing_is_left_unfinished() -> None:
    """What is missing is in the issue tracker; symptoms quote what other programs say."""
    others = ("LICENSE", "rules/symptoms", "rules/pages.json")
    assert [place for place in found(UNFINISHED) if not place.startswith(others)] == []


@pytest.mark.parametrize(("pattern", "text"), [
    (REGISTRY, "https://py" + "pi.org/simple"), (REGISTRY, "files.python" + "hosted.org"),
    (MACHINE_PATH, "in /ro" + "ot/.cache"), (MACHINE_PATH, "/wo" + "rk/main"),
    (UNFINISHED, "# TO" + "DO: later"),
])
def test_patterns_find_what_they_forbid(pattern: re.Pattern[str], text: str) -> None:
    """The pieces make the words."""
    assert pattern.search(text)


@pytest.mark.parametrize("path", PAYLOADS, ids=shown)
def test_payload_is_python_3_6(path: Path) -> None:
    """By the grammar of that version, on every machine."""
    ast.parse(path.read_bytes(), filename=str(path), feature_version=(3, 6))


def answer_of(python: str, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in another interpreter."""
    argv = [python, "-c", code, *arguments]
    return subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)


def test_payloads_compile_with_python_3_6() -> None:
    """By the oldest interpreter itself, where there is one: it refuses more than the grammar check does."""
    python = str(need_python("3.6"))
    code = "import sys\nfor name in sys.argv[1:]:\n    compile(open(name, 'rb').read(), name, 'exec')"
    answer = answer_of(python, code, *map(str, PAYLOADS))
    assert answer.returncode == 0, answer.stderr
