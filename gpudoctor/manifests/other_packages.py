"""Distributions for GPUs that are no framework: CuPy, whose names say their CUDA, and those in no table."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.candidates.ground import Ground, version_of
from gpudoctor.frozen import frozen
from gpudoctor.manifests import releases
from gpudoctor.manifests.statements import Asked, Environment
from gpudoctor.model import Row, Tables, row_of, rows_of
from gpudoctor.versions import distribution_name

_CUPY = "cupy_distributions"


@frozen
class ForCuda:
    """A distribution that is asked for, the oldest CUDA that a driver must run for it, and what this one
    does run, None where that is not known or there is none.
    """

    asked: Asked
    least_cuda: str
    instead: str | None


def for_cuda(environment: Environment, ground: Ground) -> Iterator[ForCuda]:
    """Yield what is asked for of CuPy: each of its distributions is for one CUDA."""
    tables = ground.database.tables
    for asked, name in _asked(environment):
        row = row_of(tables, _CUPY, distribution=name)
        if row is not None:
            yield ForCuda(asked=asked, least_cuda=_floor(str(row["cuda"]), tables),
                          instead=_newest_that_runs(ground))


def unjudged(environment: Environment, tables: Tables) -> Iterator[Asked]:
    """Yield what is for GPUs and in no table, unless the framework that it rests on is asked for as well."""
    frameworks = releases.frameworks_asked(environment.asked, environment.python)
    for asked, name in _asked(environment):
        row = row_of(tables, "unjudged_distributions", distribution=name)
        if row is not None and row.get("rests_on") not in frameworks:
            yield asked


def _asked(environment: Environment) -> Iterator[tuple[Asked, str]]:
    for asked in environment.asked:
        requirement = releases.requirement_of(asked)
        if requirement is not None and releases.applies(requirement, environment.python):
            yield asked, distribution_name(requirement.name)


def _floor(cuda: str, tables: Tables) -> str:
    """Return the CUDA of the oldest driver that runs what is compiled for a CUDA."""
    row = row_of(tables, "minor_version_compatibility", cuda_major=str(versions.parse(cuda).major))
    return str(row["floor_cuda"]) if row is not None and "floor_cuda" in row else cuda


def _newest_that_runs(ground: Ground) -> str | None:
    """Return the distribution of CuPy with the newest release among those that the driver runs."""
    ceiling, tables = version_of(ground.fact("driver.cuda_ceiling")), ground.database.tables
    some = [] if ceiling is None else [
        row for row in rows_of(tables, _CUPY) if row["platform"] == ground.platform
        and versions.parse(_floor(str(row["cuda"]), tables)) <= versions.parse(ceiling)]
    newest = max(some, key=_newness, default=None)
    return None if newest is None else str(newest["distribution"])


def _newness(row: Row) -> tuple[object, object]:
    return versions.parse(str(row["version"])), versions.parse(str(row["cuda"]))
