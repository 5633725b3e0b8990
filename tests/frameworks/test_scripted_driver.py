"""Real frameworks on the scripted driver: how far they come without a GPU, and that they end with words."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.frameworks.agreement import computer
from tests.frameworks.tensorflow_itself import ANSWER
from tests.harness.machine import Machine
from tests.harness.nvidia import H100
from tests.harness.patient import Patient
from tests.machines.examination import EXIT_HEALTHY, assert_sound, examine

# What the CUDA runtime makes of "not supported", its answer where it asks for the driver's private table.
NOT_SUPPORTED = "operation not supported"
JAX = """
import jax
gpus, words = [], ""
try:
    gpus = jax.devices("gpu")
except RuntimeError as error:
    words = str(error)
""" + ANSWER


@pytest.fixture
def jax(environment: Callable[[str], Patient]) -> Patient:
    """Return the environment with JAX and its CUDA plugin."""
    return environment("jax-cuda")


def on_h100(patient: Patient) -> Machine:
    """Return a computer on which all but the GPU is in order."""
    return computer(patient, card=H100).adding(environment={"LD_LIBRARY_PATH": ""})


@pytest.mark.parametrize("version", ["2.20", "2.21"])
def test_tensorflow_cannot_make_a_device(version: str, environment: Callable[[str], Patient]) -> None:
    """It lists the GPU, initialises the driver and the CUDA runtime, and then says why it goes no further."""
    patient = environment(f"tensorflow-{version}")
    code = "import tensorflow as tf\nprint(len(tf.config.list_physical_devices('GPU')), flush=True)\n"
    done = computer(patient).run(
        [str(patient.python), "-c", code + "tf.config.list_logical_devices('GPU')"], timeout=120)
    assert done.stdout.split() == ["1"]
    assert NOT_SUPPORTED in done.stderr.lower()
    assert done.returncode == 1
    assert {"cuInit", "cuDeviceGetName", "cuGetExportTable"} <= set(done.calls)


def test_jax_finds_the_card_and_its_libraries(jax: Patient) -> None:
    """Its plugin counts the card, loads NVIDIA's packages from where the doctor says, and makes no device."""
    machine = on_h100(jax)
    doctor = examine(machine, jax)
    assert_sound(doctor)
    assert doctor.exit_code == EXIT_HEALTHY
    done = machine.run([str(jax.python), "-c", JAX], timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Failed to create stream executor for device CUDA:0" in done.stderr
    assert NOT_SUPPORTED in done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    mapped = {path.rpartition("/")[2]: path for path in answer["mapped"] if "/nvidia/" in path}
    (framework,) = doctor.report["snapshot"]["frameworks"]
    predicted = {one["soname"]: one["path"] for one in framework["framework.libraries"]["value"]}
    assert {"libcublas.so.12", "libcudnn.so.9", "libnvJitLink.so.12"} <= set(mapped) & set(predicted)
    assert {name: predicted.get(name, path) for name, path in mapped.items()} == mapped
    assert answer["gpus"] == []
