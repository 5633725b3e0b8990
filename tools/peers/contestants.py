"""The tools that are compared: what each is, how it is run, and what it does not claim to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

DOCTOR = "gpudoctor"
# Newer than what any peer asks for: the packages of a training environment that are not the question here.
STUB_VERSION = "99.0"


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """One tool.

    commands: each is run on its own, `{python}` being the interpreter under examination; the tool is judged
    by all it says, its exit codes are shown in this order. inside: it examines the environment it is
    installed in, so it is installed into a copy of the patient's. stubs: packages that it wants to see beside
    the framework. real_cuda_runtime: it calls the CUDA runtime library, so the copy gets the published one.
    nvml_lines: by machine, script lines that make NVML answer as the real one does there.
    """

    name: str
    version: str
    distribution: str
    commands: Sequence[Sequence[str]]
    inside: bool = True
    stubs: Sequence[str] = ()
    real_cuda_runtime: bool = False
    nvml_lines: Mapping[str, str] = field(default_factory=dict)
    about: str = ""


CONTESTANTS: Sequence[Contestant] = (
    Contestant(
        name="env-doctor", version="0.3.5", distribution="env-doctor",
        commands=(("env-doctor", "check"), ("env-doctor", "check", "--ci")),
        about="Examines its own environment by importing torch, tensorflow and jax; asks NVML, else"
        " nvidia-smi. It also checks what is needed to compile extensions (nvcc, the system's cuDNN). It does"
        " not claim to look at CUDA_VISIBLE_DEVICES or the kernel module."),
    Contestant(
        name="cuda-doctor", version="0.2.0", distribution="cuda-doctor",
        commands=(("cuda-doctor", "diagnose", "--verbose"), ("cuda-doctor", "diagnose", "--format", "json")),
        about="Examines its own environment by importing torch; asks nvidia-smi (CSV, then XML, then the"
        " banner). It is about torch and CUDA development and does not claim to know TensorFlow."),
    Contestant(
        name="rapids-cli", version="0.2.0", distribution="rapids-cli",
        commands=(("rapids", "doctor", "--verbose"),), real_cuda_runtime=True,
        nvml_lines={
            # NVML asks the libcuda that the loader finds; the scripted one answers from its script instead.
            "9 libcuda absent": "rc.nvmlSystemGetCudaDriverVersion=12",
            "12 803 by cuda-compat": "cuda=13000",
            "14 A100, R470, working cuda-compat": "cuda=12080",
        },
        about="Checks whether RAPIDS could run: NVML, compute capability, memory, NVLink, and the CUDA"
        " libraries of its own environment. It does not claim to look at torch or TensorFlow. Where torch"
        " brought a CUDA runtime, its copy has the published one, and the compiler library of RAPIDS."),
    Contestant(
        name="mlenvdoctor", version="0.1.6", distribution="mlenvdoctor",
        commands=(("mlenvdoctor", "doctor"), ("mlenvdoctor", "diagnose", "--json", "-")),
        stubs=("transformers", "peft", "trl", "datasets", "accelerate", "keras"),
        about="Examines its own environment by importing torch, tensorflow and jax, runs a tensor operation,"
        " and reads nvidia-smi's banner. It also checks the packages of a fine-tuning environment: they are"
        " there, as empty packages of a high version. It expects torch in every environment."),
    Contestant(
        name=DOCTOR, version="this checkout", distribution="gpudoctor-cli", inside=False,
        commands=((DOCTOR, "check", "--python", "{python}", "--depth", "static", "--format", "json"),),
        about="Installed in an environment of its own; examines another interpreter from outside, imports"
        " nothing of it and runs nothing on the GPU (`--depth static`)."),
)
