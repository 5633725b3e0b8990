"""What a value of each bounded type looks like: a wrong one would be judged as a machine that cannot be.

The bounds say what the numbers mean, not which of them the tables know: a card, a driver or a CUDA newer than
all of them stays possible.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpudoctor import versions
from gpudoctor.assume.laying import AssumptionError
from gpudoctor.facts import FactType
from gpudoctor.frozen import frozen

_MAJOR = "([1-9]|[1-3][0-9])"


@frozen
class Form:
    """How a value is spelled, and what to call it where it is spelled otherwise."""

    pattern: str
    called: str


NAMES: Mapping[str, FactType] = {
    "driver": FactType.DRIVER_VERSION, "cc": FactType.COMPUTE_CAPABILITY,
    "glibc": FactType.GLIBC_VERSION, "python": FactType.PYTHON_VERSION,
}
_FORMS: Mapping[FactType, Form] = {
    FactType.INTEGER: Form(pattern="[0-9]{1,18}", called="whole number, from 0 on, of at most 18 digits"),
    FactType.NUMBER: Form(pattern="[0-9]{1,18}([.][0-9]{1,9})?", called="number, from 0 on: 2.5"),
    FactType.COMPUTE_CAPABILITY: Form(
        pattern=_MAJOR + "[.][0-9]",
        called="compute capability: two numbers like 9.0, from 1.0 to 39.9, also one that no card has yet"),
    FactType.DRIVER_VERSION: Form(
        pattern="[1-9][0-9]{1,3}([.][0-9]{1,4}){0,2}",
        called="version of NVIDIA's driver: a branch and what follows it, like 570.86.15"),
    FactType.CUDA_VERSION: Form(
        pattern=_MAJOR + "([.][0-9]{1,4}){0,2}", called="version of CUDA, from 1.0 to 39.9: 12.8"),
    FactType.CUDNN_VERSION: Form(
        pattern=_MAJOR + "([.][0-9]{1,4}){0,3}", called="version of cuDNN, from 1.0 to 39.9: 9.10.2"),
    FactType.PTX_ISA: Form(pattern=_MAJOR + "[.][0-9]{1,2}", called="version of PTX, from 1.0 to 39.9: 8.8"),
    FactType.PYTHON_VERSION: Form(
        pattern="[2-9][.][0-9]{1,2}([.][0-9a-z]{1,8})?", called="version of Python, from 2.0 on: 3.12"),
    FactType.GLIBC_VERSION: Form(
        pattern="[2-9][.][0-9]{1,3}([.][0-9]{1,3})?", called="version of the C library, from 2.0 on: 2.31"),
}


# of texts that are compared as versions all the same, by the fact
_OF_TEXTS: Mapping[str, Form] = {
    "system.jetson": Form(
        pattern="[1-9][0-9]?([.][0-9]{1,3}){1,2}", called="release of Jetson Linux, without R: 36.4.0"),
}

# texts that people write in several ways, by how they are written in small letters
_SPELLINGS: Mapping[str, Mapping[str, str]] = {
    "system.os": {"linux": "Linux", "windows": "Windows", "darwin": "Darwin", "macos": "Darwin"},
    "system.architecture": {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"},
}
NONE_IS_A_VALUE = ("cuda.visibility", "image.gpu_dropped")
_CLOSED = ("system.os",)  # of which there are no others: a wrong one would be judged as a Linux of some kind


def spelled(name: str, text: str) -> str:
    """Return `text` as that fact is spelled; raise `AssumptionError` where it can be no value of it."""
    form, known = _OF_TEXTS.get(name), _SPELLINGS.get(name, {})
    if form is not None and not re.fullmatch(form.pattern, text):
        raise AssumptionError(f"{name}={text[:80]}: {text[:80]!r} is no {form.called}")
    if name in _CLOSED and text.lower() not in known:
        raise AssumptionError(f"{name}={text[:80]}: {text[:80]!r} is none of "
                              f"{', '.join(dict.fromkeys(known.values()))}")
    return known.get(text.lower(), text)


def require_form(name: str, kind: FactType, text: str) -> None:
    """Raise `AssumptionError` unless `text` can be a value of that type."""
    form = _FORMS.get(kind)
    is_version = kind in (FactType.INTEGER, FactType.NUMBER) or versions.is_version(text)
    if form is None and not is_version:
        raise AssumptionError(f"{name}={text[:80]}: {text[:80]!r} is not a version")
    if form is not None and not (is_version and re.fullmatch(form.pattern, text)):
        raise AssumptionError(f"{name}={text[:80]}: {text[:80]!r} is no {form.called}")
