"""What an image asks of driver and cards by NVIDIA_REQUIRE_*, read as NVIDIA's container toolkit reads it.

The parts of a requirement between spaces are alternatives, of which one is enough; those between the commas
of one must hold together. Every card is judged by itself, and every variable must be met.
(libnvidia-container, src/cli/dsl.c and configure.c; nvidia-container-toolkit, internal/config/image)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import zip_longest

from gpudoctor.frozen import frozen

LABELS, _LABEL = "com.nvidia.", "com.nvidia.cuda.version"
PREFIX, DISABLING, OLDER = "NVIDIA_REQUIRE_", "NVIDIA_DISABLE_REQUIRE", "CUDA_VERSION"
_CUDA, _OF_BOARDS = f"{PREFIX}CUDA", f"{PREFIX}JETPACK"
_TRUE = frozenset({"1", "t", "T", "true", "True", "TRUE"})
_RELEASE = re.compile(r"v?([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.[0-9]{1,9})?(?:[-+][0-9A-Za-z.+-]+)?\Z")
_CONDITION = re.compile(r"([a-z]+)([<>=!]+)(.+)\Z", re.IGNORECASE)
_NUMBERS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})*\Z")
_ORDERS = {"=": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}
NOT_TOLD = ""


@frozen
class Card:
    """A card and its driver as requirements name them: the newest `cuda` that it runs, `arch` 8.9.

    None is not known. What the machine does not tell (`NOT_TOLD`) meets every condition on it.
    """

    cuda: str | None = None
    driver: str | None = None
    arch: str | None = None
    brand: str | None = None


def is_asking(variable: str) -> bool:
    """Say whether a variable of an image is one by which it may ask for something."""
    return variable.startswith(PREFIX) or variable in (DISABLING, OLDER)


def of_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the requirements in an image's variables, each by the name of its variable.

    An image older than NVIDIA_REQUIRE_CUDA asks by CUDA_VERSION for the CUDA that it has.
    """
    if variables.get(DISABLING, "") in _TRUE:
        return {}
    found = {name: value for name, value in sorted(variables.items())
             if name.startswith(PREFIX) and not name.startswith(_OF_BOARDS) and value.strip()}
    release = _RELEASE.match(variables.get(OLDER, ""))
    if release is not None and not variables.get(_CUDA):
        found[OLDER] = f"cuda>={release[1]}.{release[2] or 0}"
    return found


def of_labels(labels: Mapping[str, str], variables: Mapping[str, str]) -> str | None:
    """Return the CUDA that an image asks for by its label alone, as images did for nvidia-docker 1.

    It is no word for the CUDA in it: images of NVIDIA's catalogue with CUDA 12 say 9.0, as their variable
    does. (nvidia-docker 1, tools/src/nvidia-docker/utils.go)
    """
    release = _RELEASE.match(labels.get(_LABEL, ""))
    if release is None or of_variables(variables) or variables.get(DISABLING, "") in _TRUE:
        return None
    return f"{release[1]}.{release[2] or 0}"


def is_met(requirement: str, card: Card) -> bool | None:
    """Say whether a card and its driver meet a requirement; None where that is not known."""
    found = [_every(_holds(condition, card) for condition in alternative.split(",") if condition)
             for alternative in requirement.split()]
    if not found or True in found:
        return True
    return None if None in found else False


def _every(holding: Iterable[bool | None]) -> bool | None:
    found = list(holding)
    if False in found:
        return False
    return None if None in found else True


def _holds(condition: str, card: Card) -> bool | None:
    """Say whether one condition holds; one that the toolkit cannot read is not known."""
    match = _CONDITION.match(condition)
    if match is None or match[2] not in _ORDERS:
        return None
    name, sign, wanted = match[1].lower(), match[2], match[3]
    here = {"cuda": card.cuda, "driver": card.driver, "arch": card.arch, "brand": card.brand}.get(name)
    if not here:
        return True if here == NOT_TOLD else None
    if name == "brand":
        return (here.lower() == wanted.lower()) == (sign == "=") if sign in ("=", "!=") else None
    if not _NUMBERS.match(here) or not _NUMBERS.match(wanted):
        return None
    return _order(here, wanted) in _ORDERS[sign]


def _order(here: str, wanted: str) -> int:
    """Return -1, 0 or 1: how two versions compare, number by number; one that is shorter ends in zeros."""
    pairs = zip_longest(here.split("."), wanted.split("."), fillvalue="0")
    return next(((int(own) > int(other)) - (int(own) < int(other)) for own, other in pairs
                 if int(own) != int(other)), 0)
