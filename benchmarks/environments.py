"""The environments that are needed, each made once in a scratch folder and kept there."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from benchmarks import logs

ROOT = Path(__file__).resolve().parent.parent
CUDA_DOCTOR, ENV_DOCTOR = "cuda-doctor==0.2.0", "env-doctor==0.3.5"
TENSORFLOW, TORCH = "tensorflow-cpu==2.21.0", "torch==2.13.0"
MANY, MANY_REPORTS = 5000, 1000
RECORDED = ROOT / "tests" / "gpu" / "recorded" / "h200-580.159.04-2026-11-20-healthy-torch-jax.json"
USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"
LONG_PATH = ":".join([*map(str, range(MANY)), USUAL_PATH])  # relative: one variable holds 128 KiB at most


class Environments:
    """Makes what a comparison asks for; `frameworks` names an environment that is there already."""

    def __init__(self, scratch: Path, frameworks: Path | None = None) -> None:
        self._scratch = scratch
        self._frameworks = frameworks

    @cached_property
    def doctor(self) -> Path:
        """Return the programs' folder of gpudoctor as a user has it: a wheel of this checkout, compiled."""
        programs = self._venv("doctor", ["pip"])
        _install(programs / "python", "--reinstall-package", "gpudoctor-cli", str(ROOT))
        return programs

    @cached_property
    def plain(self) -> Path:
        """Return the interpreter of an environment with nothing in it."""
        return self._venv("plain", []) / "python"

    @cached_property
    def cuda_doctor(self) -> Path:
        """Return the programs' folder of cuda-doctor's environment."""
        return self._venv("cuda-doctor", [CUDA_DOCTOR])

    @cached_property
    def frameworks(self) -> Path:
        """Return the interpreter of an environment with TensorFlow and torch."""
        return self._frameworks or self._venv("frameworks", [TENSORFLOW, TORCH], installer="pip") / "python"

    @cached_property
    def tensorflow(self) -> Path:
        """Return the interpreter of an environment with TensorFlow alone."""
        return self._venv("tensorflow", [TENSORFLOW]) / "python"

    @cached_property
    def env_doctor(self) -> Path:
        """Return the programs' folder of env-doctor; it sees the packages of `frameworks` as its own."""
        programs = self._venv("env-doctor", [ENV_DOCTOR])
        line = f"{_site_packages(self.frameworks)}\n"
        (_site_packages(programs / "python") / "frameworks.pth").write_text(line, encoding="utf-8")
        return programs

    @cached_property
    def many_distributions(self) -> Path:
        """Return the interpreter of an environment with thousands of distributions, small ones."""
        python = self._venv("many", []) / "python"
        folder = _site_packages(python)
        for number in range(MANY):
            information = folder / f"package_{number}-1.0.dist-info"
            if not information.is_dir():
                information.mkdir()
                about = f"Metadata-Version: 2.1\nName: package-{number}\nVersion: 1.0\n"
                (information / "METADATA").write_text(about, encoding="utf-8")
                (information / "RECORD").write_text(f"package_{number}.py,,\n", encoding="utf-8")
        return python

    @cached_property
    def empty_folder(self) -> Path:
        """Return a folder with nothing in it."""
        folder = self._scratch / "empty"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @cached_property
    def full_folder(self) -> Path:
        """Return a folder with thousands of Python files, none with a framework's name."""
        folder = self._scratch / "full"
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(MANY):
            (folder / f"module_{number}.py").touch()
        return folder

    @cached_property
    def path_folder(self) -> Path:
        """Return a folder that holds thousands of empty ones; see `LONG_PATH`."""
        folder = self._scratch / "path"
        for number in range(MANY):
            (folder / str(number)).mkdir(parents=True, exist_ok=True)
        return folder

    @cached_property
    def reports(self) -> Path:
        """Return a folder of a thousand copies of the report on a machine that was recorded with its card."""
        argv = [str(self.doctor / "gpudoctor"), "check", "--from", str(RECORDED), "--format", "json"]
        report = subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout
        folder = self._scratch / "reports"
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(MANY_REPORTS):
            (folder / f"node{number:04}.json").write_bytes(report)
        return folder

    @cached_property
    def large_log(self) -> Path:
        """Return a log of some hundred megabytes."""
        return self._written(f"large-{logs.LARGE_MEGABYTES}.log", logs.write_large)

    @cached_property
    def short_log(self) -> Path:
        """Return a log of forty lines."""
        return self._written("short.log", logs.write_short)

    @cached_property
    def literals(self) -> Path:
        """Return a file of the literals of all patterns."""
        return self._written("literals.txt", logs.write_literals)

    def _written(self, name: str, write: Callable[[Path], None]) -> Path:
        """Return a file that is written once for each state of the rules."""
        if not (self._logs / name).exists():
            write(self._logs / name)
        return self._logs / name

    @cached_property
    def _logs(self) -> Path:
        folder = self._scratch / f"logs-{_fingerprint_of_rules()}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _venv(self, name: str, requirements: Sequence[str], installer: str = "uv") -> Path:
        """Return the programs' folder of an environment, made anew when something else is wanted of it."""
        prefix = self._scratch / name
        mark, wanted = prefix / "made-from", _fingerprint([sys.executable, sys.version, *requirements])
        if not mark.exists() or mark.read_text(encoding="utf-8") != wanted:
            pip = [] if installer == "pip" else ["--without-pip"]
            _run(sys.executable, "-m", "venv", "--clear", *pip, str(prefix))
            python = str(prefix / "bin" / "python")
            if requirements and installer == "pip":
                _run(python, "-m", "pip", "install", "--quiet", *requirements)
            elif requirements:
                _install(Path(python), *requirements)
            mark.write_text(wanted, encoding="utf-8")
        return prefix / "bin"


def _fingerprint(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _fingerprint_of_rules() -> str:
    files = sorted((ROOT / "rules" / "symptoms").glob("*.toml"))
    return _fingerprint([file.read_text("utf-8") for file in files])[:12]


def _site_packages(python: Path) -> Path:
    return next((python.parent.parent / "lib").glob("python3*/site-packages"))


def _install(python: Path, *requirements: str) -> None:
    """Install with bytecode, as pip does: a first run that compiles is not what is measured."""
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--compile-bytecode"]
    _run(*command, "--python", str(python), *requirements)


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
