"""The machine as a container on it sees it: what the host lends stays, the rest is the image's."""

from __future__ import annotations

from dataclasses import replace

from gpudoctor import versions
from gpudoctor.assume import lay
from gpudoctor.facts import CATALOGUE
from gpudoctor.frozen import frozen
from gpudoctor.model import Absent, Fact, Known, RuleDatabase, Scope, Snapshot, Value, value_of

ENVIRONMENT = "/opt/venv"  # in the image: where the framework is installed
PYTHON = f"{ENVIRONMENT}/bin/python"
_SOURCE, _RUNTIME = "the image", "container.runtime"
# where the containers of Docker on Windows run
_UNDER_WINDOWS: dict[str, Value] = {"system.os": "Linux", "system.wsl": 2}
# Whose facts do not cross the border of a container. The kernel, the driver and the cards do; and who asks in
# a container has no host at hand whose driver could be another.
_OF_IMAGE = frozenset({"python", "environment", "loader", "toolkit", "process", "container"})
_NOTHING_INSTALLED = ("python.nvidia_distributions", "python.planned_distributions", "python.collisions",
                      "python.colliding_distributions", "python.incomplete_distributions",
                      "python.shadowing_files", "loader.files", "loader.cache", "loader.library_path")


@frozen
class System:
    """What an image brings: its Python (3.12.14) and its C library."""

    python: str
    glibc: str

    @property
    def python_minor(self) -> str:
        """Return major and minor of its Python."""
        return versions.minor_of(self.python)


def inside(snapshot: Snapshot, system: System, database: RuleDatabase) -> Snapshot:
    """Return the snapshot of a container on the machine, in an environment with nothing installed."""
    absent = Absent(source=_SOURCE)
    names = [spec.name for spec in CATALOGUE.values()
             if spec.scope is Scope.HOST and spec.probe in _OF_IMAGE and spec.name != _RUNTIME]
    host = {**snapshot.host, **{name: database.base.host.get(name, absent) for name in names}}
    values: dict[str, Value] = {
        "python": system.python, "glibc": system.glibc, "python.executable": PYTHON,
        "python.prefix": ENVIRONMENT, "python.environment": "venv",
        "python.site_packages": (f"{ENVIRONMENT}/lib/python{system.python_minor}/site-packages",),
        **dict.fromkeys(_NOTHING_INSTALLED, ()),
        **(_UNDER_WINDOWS if value_of(snapshot.host, "system.os") == "Windows" else {})}
    facts: dict[str, Fact] = {name: Known(value=value, source=_SOURCE) for name, value in values.items()}
    return lay(replace(snapshot, host=host, frameworks=()), facts, database.tables, source=_SOURCE)
