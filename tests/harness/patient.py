"""Make a patient: a real virtual environment with the metadata of published wheels, without their gigabytes.

    patient = Patient.create(tmp_path / "venv", python="3.12")
    patient.install("torch", "2.15.0")
    patient.install_with_dependencies("tensorflow", "2.21.0", extras=("and-cuda",))

Shared libraries are stand-ins of the original's name and size: real ELF files that load, with nothing in
them. RECORD stays as published, so the hashes in it are those of the original files and never those of the
stand-ins.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import Literal

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.harness import wheels
from tests.harness.elf import place_standin
from tests.harness.interpreters import RUNNING, find_python, need_python

Libraries = Literal["none", "standins"]
Need = tuple[str, frozenset[str]]  # a version specifier and the extras that are asked for
SHARED_LIBRARY = re.compile(r".+\.so(\.\d+)*")
# Extension modules have no SONAME that anybody asks for: one stand-in serves them all.
EXTENSION_SONAME = "extension.so"
# Packages whose __init__.py may lie deeper than at the top, because several distributions share the top
# folder.
SHARED_PACKAGES = ("nvidia/", "jax_plugins/")
ACCELERATOR_PACKAGES = r"(nvidia|cuda|triton|jax|tensorrt|cupy|torch|tensorflow|keras).*"


@dataclass(frozen=True, kw_only=True)
class Patient:
    """A virtual environment under examination."""

    prefix: Path
    version: tuple[int, int]

    @classmethod
    def create(cls, prefix: Path, *, python: str | None = None) -> Patient:
        """Make an empty environment; the test is skipped where no such Python is installed.

        Without a wish it is 3.12, or where there is none the Python that runs the tests.
        """
        if python is None:
            python = "3.12" if find_python("3.12") else RUNNING
        command = [str(need_python(python)), "-m", "venv", "--without-pip", "--symlinks", str(prefix)]
        subprocess.run(command, check=True, capture_output=True)
        major, minor = python.split(".")
        return cls(prefix=prefix, version=(int(major), int(minor)))

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.prefix / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        """Where packages lie."""
        return self.prefix / "lib" / "python{}.{}".format(*self.version) / "site-packages"

    def add_file(self, path: str, content: str | bytes = "") -> None:
        """Write a file, `path` being relative to site-packages."""
        target = self.site_packages / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)

    def remove(self, path: str) -> None:
        """Delete a file or folder below site-packages, as a careless hand does."""
        target = self.site_packages / path
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink()

    def install(
        self,
        project: str,
        version: str,
        *,
        libraries: Libraries = "standins",
        runpaths: Mapping[str, str] | None = None,
        rpaths: Mapping[str, str] | None = None,
    ) -> wheels.CutWheel:
        """Install one published version; `runpaths` and `rpaths` give libraries (by file name) a search path.

        Raises LookupError where pip would say that it finds no matching distribution.
        """
        wheel = wheels.fetch(project, f"=={version}", self.version)
        self._put(wheel, libraries, runpaths or {}, rpaths or {})
        return wheel

    def _put(
        self,
        wheel: wheels.CutWheel,
        libraries: Libraries,
        runpaths: Mapping[str, str],
        rpaths: Mapping[str, str],
    ) -> None:
        files = wheel.files()
        for path, data in files.items():
            self.add_file(path, data)
        information = next(path for path in files if path.endswith("/METADATA")).rpartition("/")[0]
        self.add_file(f"{information}/INSTALLER", "pip\n")
        for path, size in wheel.sizes().items():
            if self._is_package_marker(path) and path not in files:
                self.add_file(path)
            elif libraries == "standins" and SHARED_LIBRARY.fullmatch(path) and ".data/" not in path:
                name = os.path.basename(path)
                place_standin(
                    self.site_packages / path,
                    soname=name if name.startswith("lib") else EXTENSION_SONAME,
                    runpath=runpaths.get(name),
                    rpath=rpaths.get(name),
                    size_bytes=size,
                )

    @staticmethod
    def _is_package_marker(path: str) -> bool:
        deepest = 3 if path.startswith(SHARED_PACKAGES) else 1
        return path.endswith("/__init__.py") and path.count("/") <= deepest

    def install_with_dependencies(
        self,
        project: str,
        version: str,
        *,
        extras: tuple[str, ...] = (),
        only: str = ACCELERATOR_PACKAGES,
        libraries: Libraries = "standins",
        runpaths: Mapping[str, str] | None = None,
        rpaths: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        """Install a version and what it requires, as far as the names match `only`; return name -> version.

        Each package gets the newest version that fits all who require it. A pin that only a version tried on
        the way asked for is dropped again; there is no going back beyond that, so this is not a resolver for
        disputes.
        """
        root = str(canonicalize_name(project))
        first = (f"=={version}", frozenset(extras))
        wanted = {root: first}
        while True:
            chosen = {name: wheels.fetch(name, needs, self.version) for name, (needs, _) in wanted.items()}
            again = self._needs(chosen, wanted, only)
            again[root] = first
            if again == wanted:
                break
            wanted = again
        for wheel in chosen.values():
            self._put(wheel, libraries, runpaths or {}, rpaths or {})
        return {name: wheel.version for name, wheel in chosen.items()}

    def _needs(
        self, chosen: Mapping[str, wheels.CutWheel], wanted: Mapping[str, Need], only: str
    ) -> dict[str, Need]:
        """Return what the chosen wheels require together: name -> all specifiers as one, all extras."""
        together: dict[str, Need] = {}
        for name, wheel in chosen.items():
            for need in self._requirements(wheel, wanted[name][1]):
                if not re.fullmatch(only, need.name):
                    continue
                key = str(canonicalize_name(need.name))
                specifier, extras = together.get(key, ("", frozenset()))
                merged = str(SpecifierSet(specifier) & need.specifier)
                together[key] = (merged, extras | need.extras)
        return together

    def _requirements(self, wheel: wheels.CutWheel, extras: frozenset[str]) -> list[Requirement]:
        """List what a wheel requires on this Python, with these extras."""
        environment = {str(key): str(value) for key, value in default_environment().items()}
        environment["python_version"] = "{}.{}".format(*self.version)
        environment["python_full_version"] = "{}.{}.0".format(*self.version)
        lines = HeaderParser().parsestr(wheel.metadata()).get_all("Requires-Dist") or []
        needs = [Requirement(line) for line in lines]
        return [
            need
            for need in needs
            if need.marker is None
            or any(need.marker.evaluate({**environment, "extra": extra}) for extra in (*extras, ""))
        ]
