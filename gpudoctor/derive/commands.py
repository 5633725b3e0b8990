"""How to run the patient's own pip, conda for its environment, a container, and gpudoctor once more."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from gpudoctor.derive.view import View, as_texts
from gpudoctor.model import Absent, Fact, Known, Unknown

_DATA_DIR = "--xla_gpu_cuda_data_dir"
# as a refusal of the request begins (`image.gpu_refusals`)
_REQUESTS = {"cdi": "--device nvidia.com/gpu=all", "runtime": "--runtime=nvidia"}


def pip_command(view: View) -> Fact:
    """Return how to run pip for the patient: its own, or uv for an environment without one.

    Without uv, too, Python brings a pip along.
    """
    return _pip(view, "install", "install")


def pip_uninstall_command(view: View) -> Fact:
    """Return how to remove packages from the patient, by the same pip."""
    return _pip(view, "uninstall", "uninstall --yes")


def _pip(view: View, of_uv: str, of_pip: str) -> Fact:
    python = shlex.quote(view.need_text("python.executable"))
    pip = f"{python} -m pip {of_pip}"
    if not isinstance(view.fact("python.pip_version"), Absent):
        return Known(value=pip, source="the patient's pip")
    if isinstance(view.fact("python.uv"), Absent):
        source = "the patient has no pip, and no uv is on PATH"
        return Known(value=f"{python} -m ensurepip && {pip}", source=source)
    return Known(value=f"uv pip {of_uv} --python {python}", source="the patient has no pip")


def conda_xla_flags(view: View) -> Fact:
    """Return XLA_FLAGS with the folder in which conda puts the compiler, beside the flags that it holds."""
    prefix = shlex.quote(view.need_text("environment.CONDA_PREFIX"))
    held = view.fact("environment.XLA_FLAGS")
    if isinstance(held, Unknown):
        return held
    kept = [] if isinstance(held, Absent) else [flag for flag in str(held.value).split()
                                                if not flag.startswith(_DATA_DIR)]
    return Known(value=" ".join((*kept, f"{_DATA_DIR}={prefix}")), source="CONDA_PREFIX and XLA_FLAGS")


def conda_command(view: View) -> Fact:
    """Return how to have conda install something for the patient, whichever environment is active.

    An environment of mamba or micromamba is theirs: who has one of these may have no conda.
    """
    told = view.value("python.conda_tool")
    tool = "conda" if told is None else str(told)
    prefix = view.value("python.prefix")
    if prefix is None:
        return Known(value=f"{tool} install", source="the environment of the patient is not known")
    into = f"--prefix {shlex.quote(str(prefix))}"
    return Known(value=f"{tool} install {into}", source="the patient's environment")


def run_command(view: View) -> Fact:
    """Return how a container with the GPUs is started: as its engine took the request, else as engines do.

    Where it took none, as it was asked last: so is asked what it knows best.
    """
    is_podman = "podman" in (view.value("image.engine"), view.value("container.runtime"))
    engine = "podman" if is_podman else "docker"
    request = view.value("image.gpu_request") or _asked_last(as_texts(view.value("image.gpu_refusals")))
    if is_podman or request == "cdi":
        return Known(value=f"{engine} run --device nvidia.com/gpu=all", source="the engine takes CDI devices")
    if request == "runtime":
        return Known(value=f"{engine} run --runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all",
                     source="the engine hands the GPU out by NVIDIA's runtime alone")
    return Known(value=f"{engine} run --gpus all", source="Docker with NVIDIA's toolkit")


def check_command(view: View) -> Fact:
    """Return how to look once more at what was examined: this machine, or the image or container named."""
    reference = view.value("image.reference")
    if reference is None:
        return Known(value="gpudoctor check", source="no image and no container was named")
    option = "--container" if view.value("image.is_running") is True else "--image"
    return Known(value=f"gpudoctor check {option} {shlex.quote(str(reference))}",
                 source=view.source("image.reference"))


def shell_command(view: View) -> Fact:
    """Return what runs a line for a shell where the patient is: in the container, or in one of the image."""
    reference, engine = shlex.quote(view.need_text("image.reference")), view.need_text("image.engine")
    source = view.source("image.reference")
    if view.value("image.is_running") is True:
        return Known(value=f"{engine} exec {reference} sh -c", source=source)
    run = view.need_text("container.run_command") if view.value("image.gpu_request") else f"{engine} run"
    return Known(value=f"{run} --rm --entrypoint sh {reference} -c", source=source)


def image_base(view: View) -> Fact:
    """Return what FROM of a Dockerfile names to build on the examined image, or on the container's."""
    reference = shlex.quote(view.need_text("image.reference"))
    if view.value("image.is_running") is not True:
        return Known(value=reference, source=view.source("image.reference"))
    engine = view.need_text("image.engine")
    return Known(value=f"$({engine} inspect --format '{{{{.Config.Image}}}}' {reference})",
                 source="the image of the container")


def _asked_last(refusals: Sequence[str]) -> str | None:
    """Return the last of the requests that an engine refused, each of which its line begins with."""
    last = refusals[-1] if refusals else ""
    return next((request for request, words in _REQUESTS.items() if last.startswith(f"{words}: ")), None)
