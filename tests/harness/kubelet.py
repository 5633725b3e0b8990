"""A kubelet of our own, without a cluster: it runs the pods of a folder on an engine of ours.

That is its stand-alone mode. It writes no rule of a firewall, and has /var/log and /var/lib of its own, where
it would leave files. It ends with the test.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

START_SECONDS, STOP_SECONDS = 60, 20
_NODE = "node-1"
_SPEAKS_DOCKER = (1, 23)  # the last that speaks with Docker itself
# what follows takes the process over, so that its id is that of the kubelet
_APART = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
          'mount -t tmpfs kubelet /var/log && mount -t tmpfs kubelet /var/lib && exec "$@"', "sh"]
_VERSION = re.compile(r"v(\d+)\.(\d+)")


def unavailable() -> str:
    """Return why no kubelet can be started here, "" where it can."""
    program = shutil.which("kubelet")
    if program is None:
        return "kubelet is not on PATH"
    if os.geteuid() != 0:
        return "kubelet takes root"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    match = _VERSION.search(said)
    if match is None or (int(match[1]), int(match[2])) > _SPEAKS_DOCKER:
        return f"this kubelet does not speak with Docker: {said.strip()}"
    return ""


class Kubelet:
    """A kubelet in a folder, on the engine at an address, with an image that holds a pod together."""

    def __init__(self, folder: Path, address: str, pause: str) -> None:
        self._folder = folder
        self._address = address
        self._pause = pause
        self._port, self._own_port = (_free_port() for _ in range(2))

    def start(self) -> None:
        """Start it, and wait until it answers."""
        pods = self._folder / "pods"
        pods.mkdir(parents=True)
        (self._folder / "config.yaml").write_text(json.dumps({
            "kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "staticPodPath": str(pods), "fileCheckFrequency": "1s", "port": self._own_port,
            "address": "127.0.0.1", "readOnlyPort": self._port, "healthzPort": 0,
            "volumePluginDir": f"{self._folder}/plugins", "makeIPTablesUtilChains": False,
            "failSwapOn": False, "cgroupDriver": "cgroupfs", "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            # a machine of developers has a fuller disk than a node
            "evictionHard": {"nodefs.available": "1%", "imagefs.available": "1%"},
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"}}))
        options = {"config": f"{self._folder}/config.yaml", "root-dir": f"{self._folder}/root",
                   "cert-dir": f"{self._folder}/pki", "container-runtime": "docker", "network-plugin": "",
                   "docker-endpoint": self._address, "pod-infra-container-image": self._pause,
                   "hostname-override": _NODE}
        with (self._folder / "kubelet.log").open("wb") as log:
            self._process = subprocess.Popen(
                [*_APART, "kubelet", *(f"--{name}={value}" for name, value in options.items())],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        until = time.monotonic() + START_SECONDS
        while self._pods() is None:
            if self._process.poll() is not None or time.monotonic() > until:
                said = (self._folder / "kubelet.log").read_text(errors="replace")[-2000:]
                self.stop()
                raise RuntimeError(f"kubelet does not answer: {said}")
            time.sleep(0.2)

    def give(self, pod: Mapping[str, Any]) -> None:
        """Give it a pod."""
        part = self._folder / "part.json"
        part.write_text(json.dumps(pod))
        part.rename(self._folder / "pods" / f"{pod['metadata']['name']}.json")

    def status(self, name: str, seconds: float = 120) -> dict[str, Any]:
        """Return a pod's status once it runs its program, or has failed."""
        until = time.monotonic() + seconds
        found: dict[str, Any] = {}
        while time.monotonic() < until:
            for pod in self._pods() or ():
                if pod["metadata"]["name"] == f"{name}-{_NODE}":
                    found = pod["status"]
            states = [one["state"] for one in found.get("containerStatuses") or ()]
            if found.get("phase") == "Failed" or any("running" in state for state in states):
                return found
            time.sleep(0.5)
        raise AssertionError(f"{name} neither runs nor has failed: {found}")

    def stop(self) -> None:
        """End it; the containers are the engine's."""
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _pods(self) -> list[dict[str, Any]] | None:
        with contextlib.suppress(OSError), urllib.request.urlopen(
                f"http://127.0.0.1:{self._port}/pods", timeout=5) as answer:
            return json.load(answer).get("items") or []
        return None


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
