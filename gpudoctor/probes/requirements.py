"""Work out which nvidia-* distributions a distribution asks for, on the patient's platform and Python.

torch asks through the meta distribution cuda-toolkit[...], JAX through its plugins' extras: both are followed
where they are installed, because their requirements are in their own metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name

from gpudoctor.probes.calls import mapping

if TYPE_CHECKING:
    from packaging.requirements import Requirement

TOOLKIT = "cuda-toolkit"
_OPERATORS = ("===", "==", "~=", ">=", ">", "!=", "<=", "<")
_DEPTH_LIMIT = 5
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")
# Nothing but `... and extra == "x"`: the line counts with that extra alone. Seen without parsing, because
# cuda-toolkit has well over a hundred such lines.
_ONLY_WITH = re.compile(
    r""";(?:\s*\([^()]*\)|(?:(?!\bor\b)[^()])*)\sand\s+extra\s*==\s*['"]([^'"]+)['"]\s*$"""
)
Distribution = Mapping[str, Any]


def prepare() -> None:
    """Import what reading a framework's requirements takes, for whoever is waiting anyway."""
    import packaging.requirements  # noqa: F401


def required(
    distribution: Distribution,
    extras: frozenset[str],
    markers: Mapping[str, str],
    others: Mapping[str, Distribution],
) -> tuple[str, ...]:
    """Return what `distribution[extras]` requires of NVIDIA, as requirements without markers.

    `others` are the installed distributions to follow, by name; cuda-toolkit is named where it is missing.
    """
    return tuple(dict.fromkeys(_required(distribution, extras, markers, others, _DEPTH_LIMIT)))


def applies(line: object, markers: Mapping[str, str]) -> bool:
    """Return whether a requirement counts on the patient's platform, whatever extra was asked for."""
    return isinstance(line, str) and _applying(line, frozenset(), markers) is not None


def cuda_extras(distribution: Distribution) -> frozenset[str]:
    """Return the extras that are there for CUDA: and-cuda, cuda12, with-cuda."""
    names = distribution.get("extras")
    listed = names if isinstance(names, list) else []
    return frozenset(name for name in listed if isinstance(name, str) and "cuda" in name.lower())


def _required(
    distribution: Distribution,
    extras: frozenset[str],
    markers: Mapping[str, str],
    others: Mapping[str, Distribution],
    depth: int,
) -> Iterator[str]:
    lines = distribution.get("requires")
    for line in lines if isinstance(lines, list) else []:
        name = _name(line)
        is_followed = name in others and not name.startswith("nvidia-")
        if not (is_followed or name.startswith("nvidia-") or name == TOOLKIT):
            continue
        requirement = _applying(line, extras, markers)
        if requirement is None:
            continue
        if not is_followed:
            yield _bare(name, requirement)
        elif depth:
            inner = frozenset(requirement.extras)
            yield from _required(mapping(others[name]), inner, markers, others, depth - 1)


def _name(line: Any) -> str:
    found = _NAME.match(line) if isinstance(line, str) else None
    return canonicalize_name(found[0]) if found else ""


def _applying(line: str, extras: frozenset[str], markers: Mapping[str, str]) -> Requirement | None:
    """Return the requirement if it counts on this platform without extra or with one of `extras`."""
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
    from packaging.requirements import Requirement  # slow; needed for frameworks alone

    wanted = {canonicalize_name(extra): extra for extra in extras}
    only = _ONLY_WITH.search(line)
    if only is not None and canonicalize_name(only[1]) not in wanted:
        return None
    named = {canonicalize_name(extra) for extra in _EXTRA.findall(line)}
    try:
        requirement = Requirement(line)
        tried = ["", *(wanted[name] for name in sorted(named & wanted.keys()))]
        marker = requirement.marker
        applies = marker is None or any(marker.evaluate({**markers, "extra": extra}) for extra in tried)
    except (ValueError, UndefinedComparison, UndefinedEnvironmentName):  # also thousands of digits
        return None
    return requirement if applies else None


def _bare(name: str, requirement: Requirement) -> str:
    """Write a requirement without its marker, lower bounds first: nvidia-cudnn-cu12>=9.3.0.75,<10.0."""
    ordered = sorted(requirement.specifier, key=lambda part: (_OPERATORS.index(part.operator), part.version))
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return name + extras + ",".join(str(part) for part in ordered)
