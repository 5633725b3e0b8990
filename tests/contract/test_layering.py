"""Who may import whom: the arrows of the architecture, lazily imported modules included."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.checkout import PACKAGE, ROOT, files_below, parsed, shown

# From the bottom up. A part may import what stands lower in its column, or beside it (but never in a circle).
PURE = (
    {"frameworks", "frozen", "home"},
    {"compatible", "exhaustive", "lazily", "model", "schema", "transcripts", "variables"},
    {"facts"},
    {"arguments", "exported", "nearest", "quantities", "references", "skeleton", "toml_lines", "versions",
     "words"},
    {"assume", "codec", "compiled", "compiled_parts", "derive", "engine", "image_ends", "image_needs",
     "image_notes", "meaning", "pages", "pattern_forms", "require", "share", "stand_ins",
     "symptom_index", "symptom_meaning", "symptoms", "table_meaning", "unfamiliar"},
    {"as_root", "candidates", "compare", "consequences", "courses", "editions", "examine", "explanation",
     "fleet", "manifests", "planning", "proven", "proving", "remedy"},
    {"dockerfiles", "render"},
)
IMPURE = (
    {"host", "child"},
    {"page_folder", "patient", "probes", "rule_packages", "ruledb", "sources"},
    {"transports", "zipapp"},
)
# The highest pure layer that the impure column may use: it fills snapshots and reads rules, no more.
PURE_FOR_IMPURE = 4
# Where the columns meet, below the command line: what was seen decides what is run, and a fix or a plan that
# was judged right is tried, and texts are read and explained.
MEETING = {"looking", "rehearsal", "texts", "trial"}
TOP = {"api", "cli", "__main__", "needs", "pytest_plugin"}
# Payloads travel to other interpreters: they import nothing of ours but one another, and nobody imports them.
ALONE = {"payloads"}

# The only parts that may import a library that is heavy, optional, or tied to one job.
LIBRARIES = {
    "ahocorasick_rs": {"sources"},
    "typer": {"cli"},
    "rich": {"cli", "render"},
    "docker": {"transports"},
    "cattrs": {"pages"},
    "pynvml": {"payloads"},
    "packaging": {"derive", "manifests", "probes", "versions"},
    "yaml": {"manifests"},
    "jsonschema": set[str](),
    "pydantic": set[str](),
    "requests": set[str](),
    "tensorflow": {"payloads"},
    "torch": {"payloads"},
    "jax": {"payloads"},
    "paddle": {"payloads"},
}


def part_of(path: Path) -> str:
    """Return the part that a file belongs to: `host` of gpudoctor/host.py and of gpudoctor/host/files.py."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_names(tree: ast.Module, package: tuple[str, ...]) -> Iterator[str]:
    """Yield the dotted name of every import of a module in `package`, wherever in the file it stands."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                base = package[:len(package) - node.level + 1] if node.level else ()
                stem = ".".join((*base, *([node.module] if node.module else [])))
                yield from (f"{stem}.{alias.name}" for alias in node.names)
            case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
                yield name


def imports_of(path: Path) -> set[str]:
    """Return the names that a file of the package imports."""
    package = ("gpudoctor", *path.relative_to(PACKAGE).parts[:-1])
    return set(imported_names(parsed(path), package))


def parts_imported(path: Path) -> set[str]:
    """Return the other parts of gpudoctor that a file imports."""
    names = {name.split(".")[1] for name in imports_of(path) if name.startswith("gpudoctor.")}
    return {name for name in names if not name.startswith("__version")} - {part_of(path)}


def allowed_for(part: str) -> set[str]:
    """Return the parts that a part may import."""
    if part in TOP:
        return set().union(*PURE, *IMPURE, MEETING, TOP)
    if part in MEETING:
        return set().union(*PURE[:-1], *IMPURE, MEETING)
    if part in ALONE:
        return set()
    if part == "__init__":  # what other programs call; that it is there, every part may know
        return {"api", "model"}
    for height, layer in enumerate(PURE):
        if part in layer:
            return set().union(*PURE[:height + 1])
    for height, layer in enumerate(IMPURE):
        if part in layer:
            return set().union(*PURE[:PURE_FOR_IMPURE + 1], *IMPURE[:height + 1])
    raise AssertionError(f"gpudoctor/{part} has no place in the layering: give it one in {__file__}")


MODULES = [path for path in files_below(PACKAGE) if path.suffix == ".py"]


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_module_imports_only_what_lies_below_it(path: Path) -> None:
    """No arrow points upwards or from the pure column to the impure one."""
    assert parts_imported(path) - allowed_for(part_of(path)) == set()


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_library_is_imported_only_by_the_part_that_owns_it(path: Path) -> None:
    """typer stays in cli, cattrs in pages, and so on."""
    libraries = {name.split(".")[0] for name in imports_of(path)} & LIBRARIES.keys()
    assert {name for name in libraries if part_of(path) not in LIBRARIES[name]} == set()


def test_parts_do_not_import_one_another_in_a_circle() -> None:
    """Taking away parts that import nothing that is left ends with no part left."""
    left = {part_of(path): set[str]() for path in MODULES}
    for path in MODULES:
        left[part_of(path)] |= parts_imported(path)
    while free := {part for part, imports in left.items() if not imports & left.keys()}:
        left = {part: imports for part, imports in left.items() if part not in free}
    assert left == {}


@pytest.mark.parametrize(("code", "expected"), [
    ("import gpudoctor.host.files as f", {"gpudoctor.host.files"}),
    ("from gpudoctor import host, child", {"gpudoctor.host", "gpudoctor.child"}),
    ("def f():\n    from gpudoctor.child import run", {"gpudoctor.child.run"}),
    ("from . import view", {"gpudoctor.derive.view"}),
    ("from .. import host", {"gpudoctor.host"}),
    ("from ..host.files import read", {"gpudoctor.host.files.read"}),
    ("import importlib\nimportlib.import_module('gpudoctor.child')", {"importlib", "gpudoctor.child"}),
])
def test_no_way_to_import_is_overlooked(code: str, expected: set[str]) -> None:
    """The finder sees lazy, relative and computed-by-name imports."""
    assert set(imported_names(ast.parse(code), ("gpudoctor", "derive"))) == expected


def test_finder_sees_an_upward_arrow() -> None:
    """What the engine must never do is outside what it may do."""
    assert {"host", "child", "probes", "transports", "cli", "render"} & allowed_for("engine") == set()


def test_what_prints_judges_nothing() -> None:
    """Regression: every page imported the engine, for the words in which facts are shown."""
    assert [shown(path) for path in MODULES if part_of(path) == "render"
            and any(name.startswith("gpudoctor.engine") for name in imports_of(path))] == []


def test_each_part_is_told_of_to_who_comes_new() -> None:
    """CONTRIBUTING.md says of each folder and module below gpudoctor/ what it is about."""
    quoted = re.findall(r"`([^`]+)`", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    told = set(re.findall(r"[a-z_]+", " ".join(quoted)))
    assert sorted({part_of(path) for path in MODULES} - told - {"__init__", "__main__"}) == []


def test_the_tests_of_the_example_for_who_comes_new_are_there() -> None:
    """Regression: it named some that had gone, and `make test` ended with "no tests ran" and an error."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    example = re.search(r'make test ARGS="(tests/\w+) -k (\w+)"', text)
    assert example is not None
    assert [file for file in (ROOT / example[1]).glob("test_*.py") if example[2] in file.name]
