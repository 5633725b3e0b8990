"""What every assumption needs: its error, a check of versions, and host facts laid over a snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpudoctor import versions
from gpudoctor.model import Absent, Fact, Known, Snapshot, Value


class AssumptionError(ValueError):
    """An assumption cannot be made; one line that says why and what would do."""


def require_version(name: str, text: str) -> None:
    """Raise `AssumptionError` unless `text` is a version."""
    if not versions.is_version(text):
        raise AssumptionError(f"{name}={text}: {text!r} is not a version")


def with_host(snapshot: Snapshot, source: str, values: Mapping[str, Value | None]) -> Snapshot:
    """Return the snapshot with host facts set; None is "not there"."""
    facts: dict[str, Fact] = {
        name: Absent(source=source) if value is None else Known(value=value, source=source)
        for name, value in values.items()}
    return replace(snapshot, host={**snapshot.host, **facts})
