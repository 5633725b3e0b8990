"""Make a snapshot fit to be shown to strangers: what is private is replaced, nothing else changes. Pure.

The catalogue says what is private. Folders and names of a user become stand-ins, the same one everywhere, so
that a shared snapshot still gives the same diagnosis: the loader trace needs to know that two paths are the
same, not what they are called.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpudoctor.facts import CATALOGUE
from gpudoctor.model import Absent, Fact, Facts, Known, Record, Scalar, Snapshot, Unknown, Value

# what gpudoctor itself looks at, and what every system calls the same: it tells nothing about a user
_PUBLIC_NAMES = frozenset("""
.containerenv .dockerenv .pyenv .venv INSTALLER METADATA RECORD WHEEL WSL anaconda3 bin build_info.py bus
cdi cgroup cgroup.controllers class cmdline compat conda conf cpuinfo cublas cuda cuda_cupti cuda_nvcc
cuda_nvrtc cuda_runtime cudnn cufft cufile curand current cusolver cusparse cusparselt dev device-tree
devices dist-packages dkms driver drivers dxg efi efivars envs etc extra extras firmware gpus home include
information jax jax_plugins jaxlib kern.log kernel kmsg ld.so.cache ld.so.conf ld.so.conf.d lib lib32 lib64
libx32 local log maps messages miniconda3 miniforge3 model module modules modules.dep mountinfo nccl
nv_tegra_release nvcc nvidia nvidia-smi nvjitlink nvshmem nvtx opengl-driver opt os-release paddle pci
platform proc pyenv python run sbin self share site-packages stubs sys syslog targets tensorflow tmp torch
updates usr var venv version version.py versions wsl xla_cuda12 xla_cuda13
""".split())
_PUBLIC_FORMS = re.compile(
    r"(?:[a-z0-9_]+-linux-gnu|python[0-9.]*t?|pypy[0-9.]*|cuda-[0-9.]+|cu[0-9]+|"
    r"lib[A-Za-z0-9_+-]+\.so[0-9.]*|nvidia[a-z-]*[0-9]*\*?|cuda\*|[0-9.]+)\Z")
_SWITCH = re.compile(r"(?i:-?[0-9]{1,9}|true|false|yes|no|on|off|lazy|eager)?\Z")  # no secret hides in one
_UUID = re.compile(r"\b(?:GPU|MIG)-[0-9A-Za-z/-]{4,}")
_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]{1,1000}@")
_ABSOLUTE = re.compile(r"(?<![\w.])/[^\s:;,'\"()\[\]]+")
_ANY_PATH = re.compile(r"(?<![\w./~-])[\w.@+~-]*/[^\s:;,'\"()\[\]]*")


@dataclass(slots=True)
class _StandIns:
    """The stand-ins given so far: kind -> original -> stand-in."""

    given: dict[str, dict[str, str]] = field(default_factory=dict)
    is_one_for_all: bool = False

    def of(self, kind: str, original: str) -> str:
        if self.is_one_for_all:
            return kind
        known = self.given.setdefault(kind, {})
        return known.setdefault(original, f"{kind}{len(known) + 1}")


def share(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with private facts redacted, their shape kept."""
    names = _StandIns()
    return replace(
        snapshot, redacted=True, host=_facts(snapshot.host, names), gpus=_scope(snapshot.gpus, names),
        frameworks=_scope(snapshot.frameworks, names),
        probes=tuple(replace(probe, detail=_text(probe.detail, names)) for probe in snapshot.probes))


def without_secrets(text: str) -> str:
    """Return what a program said without names and passwords in addresses, and without UUIDs of cards.

    Folders stay as they are: it is for a log that its owner alone reads, and that says how to undo things.
    """
    return _UUID.sub(lambda found: f"{found[0][:4]}redacted", _CREDENTIALS.sub("[redacted]@", text))


def variable(name: str, value: Value) -> Value:
    """Return the value of an environment's fact as others may see it, the same on each machine.

    Every private name has the same stand-in: a number would say in which order names came on one machine.
    """
    return _value(name, value, _StandIns(is_one_for_all=True))


def _scope(scope: tuple[Facts, ...] | Unknown, names: _StandIns) -> tuple[Facts, ...] | Unknown:
    if isinstance(scope, Unknown):
        return replace(scope, reason=_text(scope.reason, names))
    return tuple(_facts(facts, names) for facts in scope)


def _facts(facts: Facts, names: _StandIns) -> dict[str, Fact]:
    return {name: _fact(name, fact, names) for name, fact in facts.items()}


def _fact(name: str, fact: Fact, names: _StandIns) -> Fact:
    """Return a fact redacted; sources and reasons are always cleaned, they may quote a private path."""
    match fact:
        case Known():
            private = name not in CATALOGUE or CATALOGUE[name].private
            value = _value(name, fact.value, names) if private else _clean_value(fact.value, names)
            return Known(value=value, source=_text(fact.source, names))
        case Absent():
            return Absent(source=_text(fact.source, names))
        case Unknown():
            return replace(fact, reason=_text(fact.reason, names))


def _value(name: str, value: Value, names: _StandIns) -> Value:
    if name == "system.user_id":
        return 0 if value == 0 else 1000
    if name in _KEPT_WORDS:
        return _clean_value(value, names)
    if isinstance(value, str) and name.startswith("environment."):
        if _SWITCH.match(value):
            return value
        return _text(value, names) if name in _PATH_VARIABLES else "[redacted]"
    if isinstance(value, str):
        return _text(value, names, _ANY_PATH)
    if name == "system.gpu_kernel_log":
        return ("[redacted]",) if value else ()
    return _clean_value(value, names)


_PATH_VARIABLES = frozenset(f"environment.{name}" for name in (
    "LD_LIBRARY_PATH", "LD_PRELOAD", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH",
    "PYTHONHOME", "CUDA_CACHE_PATH", "CUDA_MPS_PIPE_DIRECTORY"))
_KEPT_WORDS = frozenset(f"environment.{name}" for name in (
    "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_REQUIRE_CUDA",
    "NVIDIA_DISABLE_REQUIRE", "CUDA_DEVICE_ORDER", "JAX_PLATFORMS", "TF_CPP_MIN_LOG_LEVEL",
    "ACCELERATE_MIXED_PRECISION"))


def _clean_value(value: Value, names: _StandIns) -> Value:
    if isinstance(value, str):
        return _text(value, names)
    if isinstance(value, tuple):
        texts = tuple(_text(item, names) for item in value if isinstance(item, str))
        return texts or tuple(_record(item, names) for item in value if isinstance(item, Mapping))
    return value


def _record(record: Record, names: _StandIns) -> dict[str, Scalar]:
    return {key: _text(item, names) if isinstance(item, str)
            else tuple(_text(part, names) for part in item) if isinstance(item, tuple) else item
            for key, item in record.items()}


def _text(text: str, names: _StandIns, paths: re.Pattern[str] = _ABSOLUTE) -> str:
    """Return text with UUIDs and the private parts of paths replaced."""
    text = _UUID.sub(lambda m: f"{m[0][:4]}redacted-{names.of('', m[0])}", text)
    return paths.sub(lambda m: _path(m[0], names), text)


def _path(path: str, names: _StandIns) -> str:
    return "/".join(part if _is_public(part) else names.of("name", part) for part in path.split("/"))


def _is_public(part: str) -> bool:
    return part in ("", ".", "..") or part in _PUBLIC_NAMES or _PUBLIC_FORMS.match(part) is not None
