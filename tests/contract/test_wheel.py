"""What is shipped: the wheel (built from the source archive, so that both are proven), and that it works."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor import compiled, ruledb
from tests.contract.checkout import PACKAGE, ROOT, RULES, files_below, run_python, shown


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source archive, and the wheel from what is in it, once."""
    folder = tmp_path_factory.mktemp("built")
    build = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    assert build.returncode == 0, build.stdout + build.stderr
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> zipfile.ZipFile:
    """Open the wheel."""
    (path,) = built.glob("*.whl")
    assert path.name == f"gpudoctor_cli-{gpudoctor.__version__}-py3-none-any.whl"
    return zipfile.ZipFile(path)


def dist_info(name: str) -> str:
    """Return the name of a file in the wheel's metadata folder."""
    return f"gpudoctor_cli-{gpudoctor.__version__}.dist-info/{name}"


def test_wheel_holds_the_package_and_the_rules_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    """Every file of gpudoctor/, every file of rules/ as gpudoctor/_rules, the manual; no tests, no tools."""
    package = {shown(path) for path in files_below(PACKAGE)}
    rules = {f"gpudoctor/_rules/{path.relative_to(RULES).as_posix()}" for path in files_below(RULES)}
    shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}
    manual = f"gpudoctor_cli-{gpudoctor.__version__}.data/data/share/man/man1/gpudoctor.1"
    assert shipped == package | rules | {manual}
    assert {f"gpudoctor/_rules/{name}" for name in (
        "db.toml", "pages.json", "rules.json", "symptoms.json", "symptoms.jsonl", "tables.jsonl",
        "words.json")} <= shipped


def test_wheel_carries_the_license(wheel: zipfile.ZipFile) -> None:
    """The text itself, as it stands in the repository."""
    assert wheel.read(dist_info("licenses/LICENSE")) == (ROOT / "LICENSE").read_bytes()


def test_wheel_installs_the_command_under_both_names(wheel: zipfile.ZipFile) -> None:
    """`uvx gpudoctor-cli` looks for a command that is named like the distribution."""
    lines = wheel.read(dist_info("entry_points.txt")).decode().split("\n")
    assert [line for line in lines if line] == [
        "[console_scripts]", "gpudoctor = gpudoctor.cli:main", "gpudoctor-cli = gpudoctor.cli:main",
        "[pytest11]", "gpudoctor = gpudoctor.pytest_plugin"]


def test_wheel_has_no_upper_bounds(wheel: zipfile.ZipFile) -> None:
    """Installing the doctor must never downgrade what an environment holds."""
    metadata = wheel.read(dist_info("METADATA")).decode()
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    assert required
    assert [line for line in required if "<" in line.split(";")[0] or "==" in line.split(";")[0]] == []


def test_unpacked_wheel_reads_the_rules_that_it_carries(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """Outside a checkout the shipped rules are those of the checkout."""
    wheel.extractall(tmp_path / "site")
    answer = run_python(
        "from gpudoctor import ruledb; print(ruledb.shipped_folder()); print(ruledb.load().sha256)",
        environment={"PYTHONPATH": str(tmp_path / "site")}, folder=tmp_path)
    expected = [str(tmp_path / "site" / "gpudoctor" / "_rules"), ruledb.load().sha256]
    assert answer.stdout.splitlines() == expected, answer.stderr


def test_source_archive_holds_what_building_and_testing_need(built: Path) -> None:
    """A distributor can build and test from the archive alone."""
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    folders = [ROOT / name for name in ("gpudoctor", "rules", "tests", "tools", "constraints")]
    compiled_files = {f"rules/{name}" for name in (compiled.HEAD_NAME, *compiled.NAMES)}
    wanted = {shown(path) for folder in folders for path in files_below(folder)} - compiled_files
    assert wanted - names == set()


def test_editable_install_does_not_copy_the_rules(tmp_path: Path) -> None:
    """A copy would soon be older than the pages in the checkout."""
    code = "from hatchling.build import build_editable; import sys; print(build_editable(sys.argv[1]))"
    answer = run_python(code, str(tmp_path))
    assert answer.returncode == 0, answer.stderr
    (path,) = tmp_path.glob("*.whl")
    assert [name for name in zipfile.ZipFile(path).namelist() if "_rules" in name] == []
