"""Order values of the catalogued types; the only place that compares versions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from gpudoctor.facts import FactType
from gpudoctor.model import Value

_NUMERIC = (FactType.INTEGER, FactType.NUMBER)  # no sets: to hash a member of an enumeration takes longer
_TEXTUAL = (FactType.TEXT, FactType.PATH, FactType.FLAG)
_UPPER, _LOWER = ("<", "<="), (">", ">=")
UNCOUNTABLE = re.compile(r"[0-9]{1000}")  # packaging fails on thousands of digits, once versions are compared
_LABEL = re.compile(r"cu(?:da)?([0-9]{2,3})(?![0-9])")
_PADDLES_POST = re.compile(r"[2-9]\.[0-9.]{1,20}\.post(1[0-9])([0-9])$")


class Incomparable(ValueError):
    """Two values cannot be ordered: one is no version, or their kinds differ."""


@lru_cache(maxsize=4096)
def parse(text: str) -> Version:
    """Return the version that `text` spells; raise `Incomparable` when it spells none."""
    try:
        return Version(text)
    except ValueError:  # InvalidVersion, or a number of thousands of digits
        raise Incomparable(f"{text[:60]!r} is not a version") from None


def is_version(text: str) -> bool:
    """Say whether `text` spells a version."""
    try:
        parse(text)
    except Incomparable:
        return False
    return True


@lru_cache(maxsize=512)
def _specifiers(text: str) -> SpecifierSet:
    if UNCOUNTABLE.search(text):
        raise Incomparable(f"{text[:60]!r} is not a version specifier")
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        raise Incomparable(f"{text!r} is not a version specifier") from None


def below(kind: FactType, left: Value, right: Value) -> bool:
    """Return whether `left` is smaller than `right`, both of `kind`; raise `Incomparable`."""
    if kind in _NUMERIC:
        if isinstance(left, int | float) and isinstance(right, int | float):
            return left < right
        raise Incomparable(f"{left!r} and {right!r} are not both numbers")
    return parse(str(left)) < parse(str(right))


def equal(kind: FactType, left: Value, right: Value) -> bool:
    """Return whether two values of `kind` are the same; versions by meaning ("12.0" is "12")."""
    if kind in _NUMERIC or kind in _TEXTUAL or not (isinstance(left, str) and isinstance(right, str)):
        return left == right
    return parse(left) == parse(right)


def within(version: Value, specifiers: Value) -> bool:
    """Return whether `version` satisfies a specifier set such as ">=9.3,<10"; pre-releases count."""
    return _specifiers(str(specifiers)).contains(parse(str(version)), prereleases=True)


def meets(version: Value, bounds: Iterable[str]) -> bool:
    """Say whether `version` satisfies every specifier; what cannot be compared does not."""
    try:
        return all(within(version, bound) for bound in bounds)
    except Incomparable:
        return False


def tightest(bounds: str) -> str:
    """Return the specifiers that decide: of several upper ones the lowest, of several lower ones the highest.

    Where only one version is left it is named: ==9.10.2.21 of >=9.10.2.21,<10,<=9.10.2.21.
    """
    every = sorted(_specifiers(bounds), key=str)
    upper = min((one for one in every if one.operator in _UPPER), default=None,
                key=lambda one: (parse(one.version), one.operator == "<="))
    lower = max((one for one in every if one.operator in _LOWER), default=None,
                key=lambda one: (parse(one.version), one.operator == ">"))
    others = [one for one in every if one.operator not in (*_UPPER, *_LOWER)]
    named = [one.version for one in others if one.operator == "==" and not one.version.endswith(".*")]
    if upper and lower and parse(upper.version) == parse(lower.version):
        named.append(upper.version)
    only = next((version for version in named if within(version, bounds)), None)
    left = (lower, *others, upper) if only is None else (f"=={only}",)
    return ",".join(str(one) for one in left if one is not None)


def minor_of(version: str) -> str:
    """Return 3.12 of 3.12.1: the first two parts, as they are written."""
    return ".".join(version.split(".")[:2])


def of_cudnn_number(number: int) -> str:
    """Return 8.9.2 of 8902 and 9.1.0 of 90100, which is how cuDNN counts its own version."""
    thousand = 10_000 if number >= 90_000 else 1000
    return f"{number // thousand}.{number % thousand // 100}.{number % 100}"


def of_cuda_number(number: int) -> str | None:
    """Return 11.4 of 11040, which is how CUDA counts its own version; None of what cannot be one."""
    if not 1000 <= number < 1000000:
        return None
    return f"{number // 1000}.{number % 1000 // 10}"


def cuda_of_label(version: str) -> str | None:
    """Return 11.8 of 2.1.0+cu118, and 12 of 0.4.7+cuda12.cudnn88; None where no CUDA is in the local part."""
    label = _LABEL.match(version.partition("+")[2])
    if label is None:
        return None
    digits = label[1]
    return f"{digits[:-1]}.{digits[-1]}" if len(digits) > 2 or digits[0] == "9" else digits


def cuda_of_post(version: str) -> str | None:
    """Return 11.7 of PaddlePaddle's 2.4.2.post117; None of other versions.

    In its releases 1 the last digit was cuDNN's. Ask of Paddle's alone: PyTorch 2.1.2.post101 is a build of
    conda-forge's for the CPU.
    """
    post = _PADDLES_POST.match(version)
    return f"{post[1]}.{post[2]}" if post else None


@lru_cache(maxsize=4096)  # of hundreds of candidates most ask for the same
def distribution_name(name: str) -> str:
    """Return a distribution's name as indexes compare it."""
    from packaging.utils import canonicalize_name  # with its tags of wheels: seldom needed

    return canonicalize_name(name)
