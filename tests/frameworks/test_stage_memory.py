"""How much memory of a card a framework may take, as its child tells it: variables, and its own calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.test_stages_on_cpu import BUILDS, CLAIMING, Child, Environment, with_custom

# Writes down, when the framework is first looked for, what the environment says of memory.
LOOKING = """
import json, os, sys
class Looking:
    def find_spec(self, name, path=None, target=None):
        if name in ("tensorflow", "torch", "jax", "paddle") and not os.path.exists({path!r}):
            with open({path!r}, "w") as file:
                json.dump(dict(os.environ), file)
sys.meta_path.insert(0, Looking())
"""
MEMORY = {
    "tensorflow": {"TF_FORCE_GPU_ALLOW_GROWTH": "true"},
    "torch": {},  # takes no more than it needs, and is limited by a call
    "jax": {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.006250"},
    "paddle": {"FLAGS_allocator_strategy": "auto_growth", "FLAGS_gpu_memory_limit_mb": "512"},
}


def variables_at_import(environment: Environment, framework: str, folder: Path, request: dict[str, Any],
                        **more: str) -> dict[str, str]:
    """Return the variables of memory that a real framework finds when it is imported."""
    path = str(folder / "environment")
    custom = {**with_custom(folder, LOOKING.format(path=path)), **more}
    request = {"framework": framework, "import_only": True, **request}
    Child(environment(BUILDS[framework]), folder, request, **custom).end()
    found: dict[str, str] = json.loads(Path(path).read_text())
    return {name: value for name, value in found.items() if name.startswith(("XLA_", "FLAGS_", "TF_FORCE_"))}


@pytest.mark.parametrize("framework", MEMORY)
def test_memory_grows_to_512_mb_as_the_variables_say(
    framework: str, environment: Environment, tmp_path: Path
) -> None:
    """They are there before the import, of a card with 80 GiB."""
    request = {"card_memory_bytes": 80 << 30, "memory_limit_bytes": 1 << 40}  # more than 512 MB is not given
    assert variables_at_import(environment, framework, tmp_path, request) == MEMORY[framework]


@pytest.mark.parametrize(("total", "users", "expected"), [
    (None, {}, {}),
    (256 << 20, {}, {"XLA_PYTHON_CLIENT_MEM_FRACTION": "1.000000"}),
    (16 << 30, {"XLA_PYTHON_CLIENT_MEM_FRACTION": ".9"}, {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.031250"}),
    (16 << 30, {"XLA_CLIENT_MEM_FRACTION": ".9"}, {"XLA_CLIENT_MEM_FRACTION": "0.031250"}),
])
def test_jax_gets_its_share_under_one_name(
    total: int | None, users: dict[str, str], expected: dict[str, str],
    environment: Environment, tmp_path: Path,
) -> None:
    """Both names at once are an error of jaxlib; of a card of unknown size no share is known."""
    found = variables_at_import(environment, "jax", tmp_path, {"card_memory_bytes": total}, **users)
    assert found == {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", **expected}


TORCH_TOLD = CLAIMING + """
import json
def told(share, index):
    with open({path!r}, "a") as file:
        file.write(json.dumps([share, index]))
torch.cuda.set_per_process_memory_fraction = told
"""
TENSORFLOW_TOLD = """
import json, types
import tensorflow as tf
tf.config.list_physical_devices = lambda kind: [types.SimpleNamespace(name="a card")]
def told(device, configurations):
    with open({path!r}, "a") as file:
        file.write(json.dumps([device.name, [one.memory_limit for one in configurations]]))
tf.config.set_logical_device_configuration = told
"""


@pytest.mark.parametrize(("framework", "custom", "expected"), [
    ("torch", TORCH_TOLD, [1 / 32, 0]),  # of 16 GiB
    ("tensorflow", TENSORFLOW_TOLD, ["a card", [512]]),
])
def test_memory_is_limited_by_the_frameworks_own_call(
    framework: str, custom: str, expected: Any, environment: Environment, tmp_path: Path
) -> None:
    """Once for the card that it claims, before the first stage."""
    path = tmp_path / "told"
    variables = with_custom(tmp_path, custom.format(path=str(path)))
    request = {"framework": framework, "stages": ["matmul"]}
    Child(environment(BUILDS[framework]), tmp_path, request, **variables).end()
    assert json.loads(path.read_text()) == expected
