"""The data-only wheel `gpudoctor-rules`: what is in it, when it is taken, and how it is refused."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import codec, compiled, rule_packages, ruledb
from gpudoctor.rule_packages import PACKAGE
from tests.contract.checkout import ROOT, RULES, run_python
from tools import rules_wheel

NEWER, SHIPPED = "2099.1.0", ruledb.load_shipped().version
CAUSE = "rules-package-refused"
_COMMAND = "import sys; sys.argv[0] = 'gpudoctor'; from gpudoctor.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the shipped pages as those of a later month."""
    folder = tmp_path_factory.mktemp("pages") / "rules"
    shutil.copytree(RULES, folder)
    head = (folder / "db.toml").read_text()
    (folder / "db.toml").write_text(head.replace(f'"{SHIPPED}"', f'"{NEWER}"'))
    return folder


@pytest.fixture(scope="module")
def wheel(pages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of a later month."""
    return rules_wheel.build(pages, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a virtual environment of its own, offline; return its interpreter."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=300)
    python = folder / "bin" / "python"
    pip = (str(python), "-m", "pip", "--disable-pip-version-check", "install", "--no-index", "--no-deps")
    installed = subprocess.run((*pip, str(wheel)), capture_output=True, text=True, timeout=300, check=False)
    assert installed.returncode == 0, installed.stderr
    return python


@pytest.fixture(scope="module")
def installed(environment: Path) -> Path:
    """Return the folder of packages that pip put the rules into."""
    (found,) = environment.parent.parent.glob(f"lib/python*/site-packages/{PACKAGE}")
    return found.parent


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the snapshot of a healthy machine."""
    path = tmp_path_factory.mktemp("snapshots") / "healthy.json"
    path.write_text(json.dumps(codec.encode_snapshot(ruledb.load_shipped().base)))
    return path


@pytest.fixture
def place(installed: Path, tmp_path: Path) -> Path:
    """Return a copy of the folder with the installed package, which a test may break."""
    shutil.copytree(installed / PACKAGE, tmp_path / "site" / PACKAGE)
    return tmp_path / "site"


def checked(machine: Path, place: Path, *options: str, **environment: str) -> dict[str, Any]:
    """Return the report of a check whose interpreter also imports from `place`."""
    answer = run_python(_COMMAND, "check", "--from", str(machine), "--format", "json", *options,
                        environment={"PYTHONPATH": f"{ROOT}{os.pathsep}{place}", **environment})
    assert (answer.returncode, answer.stderr) == (0, "")
    report: dict[str, Any] = json.loads(answer.stdout)
    return report


def refusals(report: dict[str, Any]) -> list[str]:
    """Return what a report says of rules that were refused."""
    return [finding["message"] for finding in report["findings"] if finding["cause"] == CAUSE]


# -- the wheel -------------------------------------------------------------------------------------

def test_wheel_holds_the_compiled_files_and_metadata_and_no_code(wheel: Path, pages: Path) -> None:
    """Nothing in it can be imported; its files are what compiling the pages gives."""
    expected = {f"{PACKAGE}/{name}": data for name, data in compiled.encode(ruledb.load_pages(pages)).items()}
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    info = f"{PACKAGE}-{NEWER}.dist-info"
    metadata = {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "licenses/LICENSE")}
    assert {name: data for name, data in files.items() if name not in metadata} == expected
    assert metadata < set(files)
    for line in files[f"{info}/RECORD"].decode().splitlines():
        name, digest, size = line.split(",")
        if digest:
            found = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={found}", str(len(files[name])))


def test_same_rules_give_the_same_bytes(wheel: Path, pages: Path, tmp_path: Path) -> None:
    """Whoever builds it again can compare."""
    assert rules_wheel.build(pages, tmp_path).read_bytes() == wheel.read_bytes()


def test_wheel_needs_a_calendar_version(pages: Path, tmp_path: Path) -> None:
    """A version that pip would sort wrongly is no version of the rules."""
    shutil.copytree(pages / "database", tmp_path / "rules" / "database")
    (tmp_path / "rules" / "db.toml").write_text('version = "next"\n')
    with pytest.raises(ruledb.RuleDatabaseError, match=r"db\.toml:1: its version is no date"):
        rules_wheel.build(tmp_path / "rules", tmp_path)


def test_shipped_rules_have_a_calendar_version_and_an_engine_that_is_here() -> None:
    """`make rules-wheel` builds from the same folder, and refuses one without."""
    assert re.fullmatch(r"20\d\d\.(?:[1-9]|1[0-2])\.\d+", ruledb.load_shipped().version)
    assert rule_packages.objection(str(RULES)) is None


# -- taken -----------------------------------------------------------------------------------------

def test_newer_rules_that_pip_installed_are_used(environment: Path, machine: Path) -> None:
    """In the virtual environment itself: its own folder of packages, behind the checkout."""
    known = os.pathsep.join((str(ROOT), sysconfig.get_path("purelib")))
    answer = subprocess.run(
        [str(environment), "-c", _COMMAND, "check", "--from", str(machine), "--format", "json"],
        env={**os.environ, "PYTHONPATH": known}, capture_output=True, text=True, timeout=120, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
    report = json.loads(answer.stdout)
    assert report["rules"]["version"] == NEWER
    assert refusals(report) == []


@pytest.mark.parametrize("first", [True, False])
def test_order_of_folders_of_packages_does_not_matter(first: bool, place: Path, machine: Path) -> None:
    """The rules may lie before gpudoctor or behind it."""
    both = (place, ROOT) if first else (ROOT, place)
    report = checked(machine, place, PYTHONPATH=os.pathsep.join(map(str, both)))
    digest = json.loads((place / PACKAGE / compiled.HEAD_NAME).read_text())["sha256"]
    assert report["rules"] == {"version": NEWER, "sha256": digest}


def test_named_folder_comes_before_the_wheel(place: Path, machine: Path) -> None:
    """--rules before GPUDOCTOR_RULES, and both before a newer package."""
    small = place / "rules"
    shutil.copytree(RULES / "database", small / "database")
    (small / "db.toml").write_text('version = "2001.1.0"\nschema = 1\n')
    named = {"GPUDOCTOR_RULES": str(small)}
    assert checked(machine, place, **named)["rules"]["version"] == "2001.1.0"
    assert checked(machine, place, "--rules", str(small))["rules"]["version"] == "2001.1.0"
    other = checked(machine, place, "--rules", str(place / PACKAGE), **named)
    assert other["rules"]["version"] == NEWER


def test_page_says_which_rules_it_is_of(place: Path) -> None:
    """`rules show` ends with version, digest and folder."""
    answer = run_python(_COMMAND, "rules", "show", "GPD9510",
                        environment={"PYTHONPATH": f"{ROOT}{os.pathsep}{place}"})
    digest = json.loads((place / PACKAGE / compiled.HEAD_NAME).read_text())["sha256"]
    assert answer.stdout.splitlines()[-1] == (
        f"Rules {NEWER}, sha256 {digest}, read from {place / PACKAGE}")


def test_looking_for_the_package_imports_nothing(tmp_path: Path) -> None:
    """Neither the list of installed packages nor digests, where there is no package of rules."""
    code = ("import sys; from gpudoctor import rule_packages as r; before = set(sys.modules)\n"
            "assert r.choose(sys.argv[1]).folder == sys.argv[1]\n"
            "print(sorted(set(sys.modules) - before), 'importlib.metadata' in sys.modules)")
    answer = run_python(code, str(RULES), folder=tmp_path)
    assert answer.stdout.strip() == "[] False", answer.stderr


# -- refused ---------------------------------------------------------------------------------------

def changed_head(**changes: object) -> Callable[[Path], None]:
    """Return a way to change what the package says of itself."""

    def change(package: Path) -> None:
        head = json.loads((package / compiled.HEAD_NAME).read_text())
        (package / compiled.HEAD_NAME).write_text(json.dumps({**head, **changes}))

    return change


def replaced_head(text: str) -> Callable[[Path], None]:
    """Return a way to put another text in the place of what the package says of itself."""

    def replace(package: Path) -> None:
        (package / compiled.HEAD_NAME).write_text(text)

    return replace


def appended(name: str) -> Callable[[Path], None]:
    """Return a way to damage a file: another byte at its end."""

    def append(package: Path) -> None:
        (package / name).write_bytes((package / name).read_bytes() + b" ")

    return append


ENGINE, REINSTALL = "pip install --upgrade gpudoctor-cli", "pip install --force-reinstall"
REFUSED: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "a later schema": (changed_head(schema="gpudoctor.rules/99"), (NEWER, "schema 99", ENGINE)),
    "a schema before the first": (changed_head(schema="gpudoctor.rules/0"), (NEWER, "no schema")),
    "no schema": (changed_head(schema=None), ("no schema",)),
    "a later engine": (changed_head(engine="9.0"), (NEWER, "gpudoctor 9.0", ENGINE)),
    "a damaged file": (appended(compiled.TABLES_NAME), (compiled.TABLES_NAME, "digest", REINSTALL)),
    "a file that is gone": (lambda package: (package / compiled.PAGES_NAME).unlink(),
                            (compiled.PAGES_NAME, "No such file", REINSTALL)),
    "no digests": (changed_head(files=[]), (compiled.RULES_NAME, "digest")),
    "a version that is none": (changed_head(version=7), (compiled.HEAD_NAME, "no version", REINSTALL)),
    "a head that is no JSON": (replaced_head("{"), (compiled.HEAD_NAME, "cannot be read", REINSTALL)),
    "a head that is a list": (replaced_head("[]"), (compiled.HEAD_NAME, "no JSON object")),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_package_that_cannot_be_used_is_refused(kind: str, place: Path) -> None:
    """One line names the package, what is wrong with it, and the remedy."""
    break_it, words = REFUSED[kind]
    break_it(place / PACKAGE)
    choice = rule_packages.choose(str(RULES), [str(place)])
    assert choice.folder == str(RULES)
    (said,) = choice.refused
    assert [word for word in (str(place), *words) if word not in said] == []


def test_report_has_a_note_on_the_package_that_was_refused(place: Path, machine: Path) -> None:
    """The shipped rules judge, and the exit code stays 0."""
    changed_head(schema="gpudoctor.rules/99")(place / PACKAGE)
    report = checked(machine, place)
    assert report["rules"]["version"] == SHIPPED
    (said,) = refusals(report)
    assert [word for word in (str(place), "schema 99", ENGINE) if word not in said] == []
    assert {f["severity"] for f in report["findings"]} == {"info"}


def test_commands_without_a_report_say_it_on_standard_error(place: Path) -> None:
    """`rules list` goes on with the shipped rules."""
    changed_head(engine="9.0")(place / PACKAGE)
    answer = run_python(_COMMAND, "rules", "list", environment={"PYTHONPATH": f"{ROOT}{os.pathsep}{place}"})
    assert answer.returncode == 0
    assert "newer rules are not used" in answer.stderr
    assert "gpudoctor 9.0" in answer.stderr


@pytest.mark.parametrize("version", [SHIPPED, "2020.1.0"])
def test_package_that_is_no_newer_is_passed_over(version: str, place: Path) -> None:
    """Whoever updated gpudoctor later need not remove it; that it is damaged does not matter either."""
    changed_head(version=version, engine="9.0")(place / PACKAGE)
    assert rule_packages.choose(str(RULES), [str(place)]) == rule_packages.Choice(folder=str(RULES))


def test_newest_admissible_of_several_is_taken(place: Path, tmp_path: Path) -> None:
    """Whatever their order; one that is newer still, and not admissible, is named."""
    later = tmp_path / "later"
    shutil.copytree(place, later)
    changed_head(version="2099.2.0", engine="9.0")(later / PACKAGE)
    for places in ((place, later), (later, place)):
        choice = rule_packages.choose(str(RULES), [str(one) for one in places])
        assert choice.folder == str(place / PACKAGE)
        (said,) = choice.refused
        assert "2099.2.0" in said


def test_named_folder_of_compiled_rules_that_is_damaged_is_an_error(place: Path, machine: Path) -> None:
    """What somebody named is never replaced: exit 4, naming file and remedy."""
    appended(compiled.RULES_NAME)(place / PACKAGE)
    answer = run_python(_COMMAND, "check", "--from", str(machine), "--rules", str(place / PACKAGE))
    assert (answer.returncode, answer.stdout) == (4, "")
    assert f"{place / PACKAGE / compiled.RULES_NAME} is not the file" in answer.stderr
    assert REINSTALL in answer.stderr
