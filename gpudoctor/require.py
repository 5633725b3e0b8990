"""What a caller requires of a machine: `gpu>=2`, `gpu.memory>=40GiB`, `tensorflow>=2.15`. Pure.

Requirements become facts (`require.*`), and rules judge them like any other: a framework release that has no
wheel for the patient's Python is that cause, installed or not; a requirement without a known cause stands on
its own.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpudoctor import versions
from gpudoctor.derive import subjects
from gpudoctor.derive.view import as_texts
from gpudoctor.model import Absent, Fact, Facts, Known, Scope, Snapshot, Tables, Unknown, Value

_FORM = re.compile(r"\s*([A-Za-z][A-Za-z0-9_.-]*)\s*((?:>=|<=|==|!=|~=|>|<).+)?\s*\Z")
_SIZE = re.compile(r"(>=|<=|==|>|<)\s*(\d+(?:\.\d+)?)\s*(GiB|GB|MiB|MB)?\Z")
_UNITS = {"GiB": 1 << 30, "GB": 10**9, "MiB": 1 << 20, "MB": 10**6, None: 1}
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, ">": operator.gt, "<": operator.lt}
FRAMEWORKS = ("tensorflow", "torch", "jax", "paddle")


class RequirementError(ValueError):
    """A requirement cannot be read; one line that says what can be asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One requirement: `subject` is gpu, gpu.memory or a framework; `bound` the rest as written."""

    text: str
    subject: str
    bound: str


def parse(text: str) -> Requirement:
    """Return the requirement in `text`; raise `RequirementError`."""
    match = _FORM.match(text)
    subject, bound = (match[1], (match[2] or "").strip()) if match else ("", "")
    known = subject in ("gpu", "gpu.memory", *FRAMEWORKS)
    sound = known and (_SIZE.match(bound or ">=1") if subject.startswith("gpu") else _is_specifier(bound))
    if not sound:
        raise RequirementError(f"--require {text!r}: write gpu>=2, gpu.memory>=40GiB or tensorflow>=2.15 "
                               f"({', '.join(FRAMEWORKS)})")
    return Requirement(text=text.strip(), subject=subject, bound=bound)


def _is_specifier(bound: str) -> bool:
    try:
        versions.within("1", bound)
    except versions.Incomparable:
        return False
    return True


def impose(snapshot: Snapshot, requirements: Sequence[Requirement], tables: Tables) -> Snapshot:
    """Return the snapshot with the `require.*` facts in it."""
    unmet: list[Requirement] = []
    unknown: Unknown | None = None
    for requirement in requirements:
        met = _is_met(requirement, snapshot, tables)
        if isinstance(met, Unknown):
            unknown = unknown or met
        elif not met:
            unmet.append(requirement)
    facts: dict[str, Fact] = {"require.unmet": Known(value=tuple(r.text for r in unmet), source="--require")}
    if unknown is not None and not unmet:
        facts["require.unmet"] = unknown
    facts.update(_wheels(unmet, snapshot, tables))
    return replace(snapshot, host={**snapshot.host, **facts})


def _is_met(requirement: Requirement, snapshot: Snapshot, tables: Tables) -> bool | Unknown:
    if requirement.subject == "gpu":
        return _compare_size(requirement.bound or ">=1", _gpu_count(snapshot, tables))
    if requirement.subject == "gpu.memory":
        return _every_card(requirement.bound or ">=1", snapshot)
    if isinstance(snapshot.frameworks, Unknown):
        return snapshot.frameworks
    for framework in snapshot.frameworks:
        version = framework.get("framework.version")
        if _text(framework, "framework.name") == requirement.subject and isinstance(version, Known):
            try:
                return versions.within(version.value, requirement.bound)
            except versions.Incomparable as error:
                return Unknown(reason=str(error))
    return False


def _gpu_count(snapshot: Snapshot, tables: Tables) -> Fact:
    """Return how many cards CUDA programs see; where libcuda could not say, how many there are."""
    host = subjects(snapshot, tables)[Scope.HOST][0]
    visible = host.fact("cuda.visible_count")
    return visible if isinstance(visible, Known) else host.fact("system.nvidia_gpus")


def _compare_size(bound: str, fact: Fact) -> bool | Unknown:
    match = _SIZE.match(bound)
    assert match is not None
    if isinstance(fact, Absent):
        return False
    if isinstance(fact, Unknown):
        return fact
    value = fact.value if isinstance(fact.value, int | float) else 0
    return _COMPARE[match[1]](value, float(match[2]) * _UNITS[match[3]])


def _every_card(bound: str, snapshot: Snapshot) -> bool | Unknown:
    if isinstance(snapshot.gpus, Unknown):
        return snapshot.gpus
    verdicts = [_compare_size(bound, card.get("gpu.memory_total_bytes", Unknown(reason="no probe answered")))
                for card in snapshot.gpus]
    if any(verdict is False for verdict in verdicts) or not verdicts:
        return False
    return next((verdict for verdict in verdicts if isinstance(verdict, Unknown)), True)


def _text(facts: Facts, name: str) -> str:
    fact = facts.get(name)
    return str(fact.value) if isinstance(fact, Known) else ""


def _wheels(unmet: Sequence[Requirement], snapshot: Snapshot, tables: Tables) -> dict[str, Fact]:
    """Return what the release tables say about unmet framework requirements."""
    python = ".".join(_text(snapshot.host, "python.version").split(".")[:2])
    platform = f"{_text(snapshot.host, 'system.os').lower()}_{_text(snapshot.host, 'system.architecture')}"
    without: list[str] = []
    pythons: tuple[str, ...] = ()
    release: str | None = None
    for requirement in unmet:
        rows = _rows(requirement, platform, tables)
        offered = {version for row in rows for version in as_texts(row.get("python"))}
        if not rows or not python or python in offered:
            continue
        without.append(requirement.text)
        if release is None:
            newest = max(rows, key=lambda row: versions.parse(str(row["version"])))
            pythons = as_texts(newest.get("python"))
            release = f"{requirement.subject}=={newest['version']}"
    absent = Absent(source="--require")
    return {
        "require.without_wheel": Known(value=tuple(without), source="release tables"),
        "require.wheel_pythons": Known(value=pythons, source="release tables"),
        "require.wheel_release": absent if release is None else Known(value=release, source="release tables"),
    }


def _rows(requirement: Requirement, platform: str, tables: Tables) -> list[Mapping[str, Value]]:
    table = tables.get(requirement.subject)
    if table is None:
        return []
    return [row for row in table.rows if row.get("platform") == platform
            and not versions.parse(str(row["version"])).is_prerelease
            and versions.within(row["version"], requirement.bound)]
