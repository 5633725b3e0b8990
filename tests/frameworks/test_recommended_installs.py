"""What `recommend` prints is typed: the environment is made, the framework imports, and `check` is content.

A dozen recommendations of which the index that pip is configured with has the wheels. Not tried: builds on
PyTorch's and Paddle's own indexes, images, the other releases, and whether anything runs on a card. What is
offered on the same machines and not tried is named at the end of the run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import codec, ruledb
from tests.contract.checkout import ROOT, run_gpudoctor
from tests.frameworks import installing, untried
from tests.harness.interpreters import need_python
from tests.shim.build import cache_folder

INSTALL_SECONDS = 1500
IMPORT_SECONDS = 300
GIB = 1 << 30
SHARED_CACHE_GIB = 20  # with less room, what was fetched for a case goes with it
MODULES = {"tensorflow": "tensorflow", "torch": "torch", "jax": "jax"}
UV_VARIABLES = {
    "index-url": "UV_INDEX_URL", "extra-index-url": "UV_EXTRA_INDEX_URL", "find-links": "UV_FIND_LINKS"}


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A machine, what is asked for on it, and with which tool the recommendation is typed."""

    python: str
    frameworks: tuple[str, ...]
    card: str = "8.9"
    driver: str = "580.95.05"
    tool: str = "uv"
    room_gib: float = 8

    @property
    def name(self) -> str:
        """Return the case in words."""
        return f"{'+'.join(self.frameworks)} py{self.python} cc{self.card} {self.driver.partition('.')[0]}"

    @property
    def machine(self) -> tuple[str, ...]:
        """Return the options that say on which machine."""
        return ("--assume", f"cc={self.card}", "--assume", f"driver={self.driver}")


CASES = (
    # a variable for its cuSOLVER
    Wanted(python="3.13", frameworks=("tensorflow==2.21.*",)),
    Wanted(python="3.12", frameworks=("tensorflow==2.20.*",), driver="535.104.05"),
    # a cuDNN held back
    Wanted(python="3.11", frameworks=("tensorflow==2.20.*",), card="7.0", driver="550.54.14"),
    Wanted(python="3.12", frameworks=("tensorflow==2.19.*",), card="9.0", driver="570.86.15"),
    Wanted(python="3.11", frameworks=("tensorflow==2.15.*",), driver="525.60.13"),
    # NVIDIA's packages one by one, and an older NumPy
    Wanted(python="3.10", frameworks=("tensorflow==2.12.*",), card="8.6"),
    Wanted(python="3.9", frameworks=("tensorflow==2.10.*",), card="8.0", driver="470.256.02"),
    Wanted(python="3.12", frameworks=("torch==2.15.*",), card="12.0"),
    Wanted(python="3.11", frameworks=("torch==2.10.*",), driver="535.104.05"),
    Wanted(python="3.12", frameworks=("jax[cuda13]",), card="10.0", tool="pip"),
    Wanted(python="3.11", frameworks=("jax[cuda12]",), card="7.0", driver="535.104.05"),
    Wanted(python="3.12", frameworks=("tensorflow", "torch==2.10.*"), driver="550.54.14", room_gib=12),
)


def recommended(wanted: Wanted, folder: Path) -> dict[str, Any]:
    """Return what is recommended, and in it as `typed` the first that pip's own index serves."""
    snapshot = folder / "machine.json"
    seen = codec.encode_snapshot(ruledb.load().base)
    seen["host"]["python.executable"] = {"absent": "a machine of which only the Python's version is known"}
    snapshot.write_text(json.dumps(seen))
    options = [word for name in wanted.frameworks for word in ("--framework", name)]
    run = run_gpudoctor("recommend", "--from", str(snapshot), "--python", wanted.python, "--format", "json",
                        *wanted.machine, *options)
    assert run.returncode == 0, run.stderr
    said: dict[str, Any] = json.loads(run.stdout)
    offered = [one for one in said["candidates"] if one["verdict"] != "rejected" and one["kind"] == "pip"]
    return {**said, "typed": next(one for one in offered if "--index-url" not in one["commands"][0])}


def surroundings(python: Path, folder: Path) -> dict[str, str]:
    """Return the environment in which the lines are typed: this Python found, uv told of pip's index."""
    variables = {name: value for name, value in os.environ.items()
                 if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH")}
    settings = installing.pip_settings()
    variables.update({UV_VARIABLES[name]: value for name, value in settings.items() if name in UV_VARIABLES})
    variables.update({
        "UV_PYTHON_DOWNLOADS": "never", "UV_INDEX_STRATEGY": "unsafe-best-match", "UV_LINK_MODE": "hardlink",
        "PATH": os.pathsep.join([str(python.parent), str(Path(sys.executable).parent), os.environ["PATH"]])})
    if shutil.disk_usage(folder).free < SHARED_CACHE_GIB * GIB:
        variables["UV_CACHE_DIR"] = variables["PIP_CACHE_DIR"] = str(folder / "fetched")
    if "PIP_CERT" in variables:
        variables.setdefault("SSL_CERT_FILE", variables["PIP_CERT"])
    return variables


def typed(lines: list[str], folder: Path, python: Path, seconds: int) -> subprocess.CompletedProcess[str]:
    """Run lines in a shell, as somebody types them."""
    return subprocess.run(
        ["sh", "-e", "-c", "\n".join(lines)], cwd=folder, env=surroundings(python, folder), text=True,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)


@pytest.mark.parametrize("wanted", CASES, ids=lambda wanted: wanted.name)
def test_what_is_printed_installs_imports_and_is_sound(
        wanted: Wanted, record_property: Callable[[str, object], None]) -> None:
    """On that machine, assumed: `check` of the real environment finds nothing that keeps it off the card."""
    python = need_python(wanted.python)
    folder = cache_folder("recommended") / wanted.name.replace("*", "x")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    free = shutil.disk_usage(folder).free
    if free < wanted.room_gib * GIB:
        pytest.skip(f"{wanted.room_gib} GiB are needed below {folder}, {free / GIB:.1f} are free")
    try:
        said = recommended(wanted, folder)
        for kind, name in untried.offered_besides(said, said["typed"]):
            record_property(kind, name)
        _install_and_check(wanted, said["typed"], folder, python)
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # what was fetched stays in the installer's own cache


def _install_and_check(wanted: Wanted, said: dict[str, Any], folder: Path, python: Path) -> None:
    with_pip, with_uv, *exports = said["commands"]
    installed = typed([with_uv if wanted.tool == "uv" else with_pip], folder, python, INSTALL_SECONDS)
    assert installed.returncode == 0, f"{said['commands']}\n{installed.stdout}\n{installed.stderr}"[-3000:]
    names = [said["framework"], *(member["framework"] for member in said["beside"])]
    imports = "; ".join(f"import {MODULES[name]}" for name in names)
    imported = typed([*exports, f"gpu-environment/bin/python -c '{imports}'"], folder, python, IMPORT_SECONDS)
    assert imported.returncode == 0, imported.stderr[-3000:]
    check = (f"'{sys.executable}' -m gpudoctor check --python gpu-environment/bin/python --depth static "
             f"--format json {' '.join(wanted.machine)}")
    checked = typed([*exports, f"PYTHONPATH='{ROOT}' {check}"], folder, python, IMPORT_SECONDS)
    report = json.loads(checked.stdout)
    found = [(one["rule"], one["subject"], one["message"]) for one in report["findings"]
             if one["severity"] in ("error", "warning")]
    assert (found, checked.returncode) == ([], 0), checked.stderr
    there = {facts["framework.name"]["value"]: facts["framework.version"]["value"]
             for facts in report["snapshot"]["frameworks"]}
    assert there[said["framework"]].partition("+")[0] == said["version"]
