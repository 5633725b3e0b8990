"""A Docker engine of our own: Debian's, on a socket and with folders of its own, without a network.

It touches neither the machine's engine nor its firewall, and ends with the test, by the id in its pid file.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.harness import nvidia
from tests.harness.debootstrap import debootstrap
from tests.harness.tree import Newer
from tests.shim.build import cache_folder

START_SECONDS, STOP_SECONDS, BUILD_SECONDS = 60, 30, 1500
# host networking alone: no bridge, no rule of a firewall
_SETTINGS = {"bridge": "none", "iptables": False, "ip6tables": False, "live-restore": False}
_PACKAGES = "python3-minimal,python3-venv,ca-certificates"
_RELEASE = "bookworm"  # whose Python is 3.11
_CONTROL_GROUPS = Path("/sys/fs/cgroup")
CLIENT = "/usr/bin/docker"  # Debian's, which has BuildKit in it
DRIVER, CUDA = "580.95.05", 13000  # of the card that a container is handed


def unavailable() -> str:
    """Return why no engine can be started here, "" where it can."""
    if os.geteuid() != 0:
        return "starting an engine takes root"
    missing = [name for name in ("dockerd", "debootstrap") if shutil.which(name) is None]
    if missing or not os.path.exists(CLIENT):
        return f"not installed: {', '.join(missing) or CLIENT}"
    return ""


class Engine:
    """An engine in a folder; `run` asks it. Its images lie in memory unless there are gigabytes of them.

    `settings` are more of its daemon.json, `more` of its options; `size` is that of the memory for images;
    `newer` are the programs out of which a newer one is run, which takes the GPU from CDI specifications.
    `hidden` are controllers of control groups that it does not find, as on a kernel without them.
    """

    def __init__(self, folder: Path, *, in_memory: bool = True, programs: Path | None = None,
                 settings: Mapping[str, object] | None = None, size: str = "3g",
                 more: Sequence[str] = (), newer: Newer | None = None, hidden: Sequence[str] = ()) -> None:
        self._newer = newer
        of_cdi = {} if newer is None else {"features": {"cdi": True}}
        self._folder = folder
        self._in_memory = in_memory
        self._settings = {**_SETTINGS, **of_cdi, **(settings or {})}
        self._size = size
        self._more = more
        self._hidden = hidden
        self._programs = programs  # a folder that comes first on its PATH, where it looks for the toolkit
        self._socket = f"unix://{folder}/docker.sock"
        self._pid_file = folder / "dockerd.pid"

    def start(self) -> None:
        """Start it and wait until it answers."""
        mount = ["-t", "tmpfs", "-o", f"size={self._size}", "gpudoctor-engine"] if self._in_memory else [
            "--bind", str(self._folder)]  # onto itself: what is mounted below goes with it
        _quietly(["mount", *mount, str(self._folder)])
        search = os.environ["PATH"] if self._programs is None else f"{self._programs}:{os.environ['PATH']}"
        (self._folder / "daemon.json").write_text(json.dumps(self._settings))
        with (self._folder / "dockerd.log").open("wb") as log:
            command = ["dockerd", "--host", self._socket, "--data-root", f"{self._folder}/data",
                       "--exec-root", f"{self._folder}/exec", "--pidfile", str(self._pid_file),
                       "--config-file", f"{self._folder}/daemon.json", *self._more]
            if self._newer is not None:
                command = self._newer.command(self._folder, command)
            daemon = subprocess.Popen(
                [*_without(self._hidden), *command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "PATH": search})
        self._daemon = daemon
        until = time.monotonic() + START_SECONDS
        while self.run("version", check=False).returncode:
            if daemon.poll() is not None or time.monotonic() > until:
                said = (self._folder / "dockerd.log").read_text(errors="replace")[-2000:]
                self.stop()
                raise RuntimeError(f"dockerd does not answer: {said}")
            time.sleep(0.1)

    @property
    def address(self) -> str:
        """Return where it listens, as DOCKER_HOST has it."""
        return self._socket

    def signal(self, number: int) -> None:
        """Send the daemon a signal: SIGSTOP makes one that hangs."""
        self._daemon.send_signal(number)

    def stop(self) -> None:
        """End it, and take its folder away."""
        if self._daemon.poll() is None:
            self._daemon.send_signal(signal.SIGTERM)
            try:
                self._daemon.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._daemon.kill()
                self._daemon.wait()
        _quietly(["umount", "--lazy", str(self._folder)])
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, *words: str, data: bytes | None = None, check: bool = True, buildkit: bool = False,
            folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run Debian's docker against it."""
        variables = {**os.environ, "DOCKER_HOST": self._socket, "DOCKER_BUILDKIT": str(int(buildkit)),
                     "DOCKER_CONFIG": str(self._folder / "client")}
        ran = subprocess.run([CLIENT, *words], env=variables, input=data, capture_output=True, cwd=folder,
                             stdin=subprocess.DEVNULL if data is None else None, check=False,
                             timeout=BUILD_SECONDS)
        said = subprocess.CompletedProcess(ran.args, ran.returncode, ran.stdout.decode(errors="replace"),
                                           ran.stderr.decode(errors="replace"))
        assert not check or ran.returncode == 0, f"{words}: {said.stdout[-3000:]}{said.stderr[-3000:]}"
        return said

    def build(self, dockerfile: str, folder: Path, name: str, arguments: Mapping[str, str], *,
              buildkit: bool = False, network: str = "none") -> None:
        """Build an image from a Dockerfile in a folder, without a network or with the host's."""
        (folder / "Dockerfile").write_text(dockerfile, encoding="utf-8")
        words = [word for key, value in arguments.items() for word in ("--build-arg", f"{key}={value}")]
        self.run("build", "--network", network, "-t", name, *words, ".", folder=folder, buildkit=buildkit)

    def load_system(self, name: str) -> None:
        """Import a small Debian with Python, made once and kept."""
        with system().open("rb") as archive:
            self.run("import", "-", name, data=archive.read())


def _without(controllers: Sequence[str]) -> list[str]:
    """Return what runs a command in a mount namespace that lacks these controllers, nothing for none."""
    if not controllers:
        return []
    hide = "".join(f"umount {_CONTROL_GROUPS / one} && " for one in controllers)
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", f'{hide}exec "$@"', "sh"]


def unhidable(controllers: Sequence[str]) -> str:
    """Return why these controllers cannot be hidden here, "" where they can."""
    united = ", ".join(one for one in controllers if not (_CONTROL_GROUPS / one).is_mount())
    return united and f"this machine has control groups without a mount of their own: {united}"


def handed_in(folder: Path, card: nvidia.Card, more: str = "") -> list[str]:
    """Return the options that mount a scripted driver with a card, and the nodes that it opens.

    The toolkit does so; `more` are further lines of the script.
    """
    script = folder / "shim.cfg"
    script.write_text(nvidia.script(DRIVER, CUDA, [card]) + more)
    options = ["-v", f"{script}:/run/gpudoctor-shim.cfg:ro"]
    for path, library in nvidia.driver_libraries(DRIVER, CUDA).items():
        options += ["-v", f"{library}:{path.removesuffix(DRIVER)}1:ro"]
    for node in ("nvidia0", "nvidiactl", "nvidia-uvm"):
        options += ["--device", f"/dev/null:/dev/{node}"]
    return options


def system() -> Path:
    """Return the archive of a small Debian, made by debootstrap from the mirror that apt here uses."""
    folder = cache_folder("engine")
    archive = folder / f"{_RELEASE}-{_PACKAGES.replace(',', '-')}.tar"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            root, part = folder / "root", folder / "root.tar"
            shutil.rmtree(root, ignore_errors=True)
            debootstrap(_RELEASE, _PACKAGES, root)
            _quietly(["tar", "-C", str(root), "-cf", str(part), "."])
            shutil.rmtree(root)
            part.rename(archive)
    return archive


def _quietly(command: Sequence[str]) -> None:
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{command[0]}: {ran.stdout[-1000:]}{ran.stderr[-1000:]}"
