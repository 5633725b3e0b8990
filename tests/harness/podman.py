"""Podman's socket, with folders of its own in memory; it ends with the test."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

from tests.harness.engine import START_SECONDS, STOP_SECONDS, system
from tests.harness.tree import Newer

# what a machine within a machine allows: no limit raised, control groups of both kinds, no network
_CONTAINERS = """[containers]
default_ulimits = ["nofile=16384:16384", "nproc=16384:16384"]
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
events_logger = "file"
"""
_STORAGE = '[storage]\ndriver = "vfs"\ngraphroot = "{folder}/images"\nrunroot = "{folder}/run"\n'


def unavailable() -> str:
    """Return why Podman's socket cannot be opened here, "" where it can."""
    if os.geteuid() != 0:
        return "opening Podman's socket takes root"
    missing = [name for name in ("podman", "runc", "debootstrap") if shutil.which(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else ""


class Podman:
    """Podman in a folder, answering Docker's API; `newer` are the programs of a newer one."""

    def __init__(self, folder: Path, newer: Newer | None = None) -> None:
        self._folder = folder
        self._newer = newer
        self.address = f"unix://{folder}/podman.sock"

    def start(self) -> None:
        """Start it, and wait until its socket is there."""
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2g", "gpudoctor-podman", str(self._folder)],
                       check=True)
        (self._folder / "containers.conf").write_text(_CONTAINERS)
        (self._folder / "storage.conf").write_text(_STORAGE.format(folder=self._folder))
        with (self._folder / "podman.log").open("wb") as log:
            self._service = subprocess.Popen(
                self._command("system", "service", "--time=0", self.address), stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env=self._variables, start_new_session=True)
        until = time.monotonic() + START_SECONDS
        while not (self._folder / "podman.sock").exists():
            if self._service.poll() is not None or time.monotonic() > until:
                said = (self._folder / "podman.log").read_text(errors="replace")[-2000:]
                self.stop()
                raise RuntimeError(f"podman does not answer: {said}")
            time.sleep(0.1)

    def _command(self, *words: str) -> list[str]:
        command = ["podman", *words]
        return command if self._newer is None else self._newer.command(self._folder, command)

    @property
    def _variables(self) -> dict[str, str]:
        return {**os.environ, "CONTAINERS_CONF": f"{self._folder}/containers.conf",
                "CONTAINERS_STORAGE_CONF": f"{self._folder}/storage.conf"}

    def stop(self) -> None:
        """End it, and take its folder away."""
        if self._service.poll() is None:
            self._service.terminate()
            try:
                self._service.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._service.kill()
                self._service.wait()
        subprocess.run(["umount", "--lazy", str(self._folder)], check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, *words: str) -> str:
        """Run podman itself on the same images and containers; return what it says."""
        return subprocess.run(self._command(*words), env=self._variables, stdin=subprocess.DEVNULL,
                              check=True, capture_output=True, text=True, timeout=300).stdout

    def load_system(self, name: str) -> None:
        """Import a small Debian with Python."""
        archive = self._folder / "system.tar"
        shutil.copy(system(), archive)
        self.run("import", "--quiet", str(archive), name)
        archive.unlink()
