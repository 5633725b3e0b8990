"""The images that the tables know to build on: their references, and the systems in them."""

from __future__ import annotations

from gpudoctor import versions
from gpudoctor.dockerfiles.inside import System
from gpudoctor.frozen import frozen
from gpudoctor.model import Row, RuleDatabase, rows_of


@frozen
class PythonImage:
    """An image with a Python and little else."""

    reference: str
    system: System


def python_images(database: RuleDatabase) -> list[PythonImage]:
    """Return the images python:...-slim-..., those with the newest Python first."""
    found = [PythonImage(reference=f"python:{row['tag']}@{row['digest']}", system=system)
             for row in rows_of(database.tables, "python_images")
             if (system := system_of(str(row["system"]), database, str(row["python"]))) is not None]
    return sorted(found, key=lambda image: versions.parse(image.system.python), reverse=True)


def system_of(name: str, database: RuleDatabase, python: str | None = None) -> System | None:
    """Return a system with its own Python, or with the one that an image adds to it."""
    row = next((row for row in rows_of(database.tables, "image_systems") if compact(row) == name), {})
    with_python = python or row.get("python")
    if with_python is None or "glibc" not in row:
        return None
    return System(python=str(with_python), glibc=str(row["glibc"]))


def end_of_python(minor: str, database: RuleDatabase) -> str | None:
    """Return since when a Python gets no updates any more, None where it does or nobody read it."""
    ends = [str(row["ended"]) for row in rows_of(database.tables, "image_systems")
            if (row["system"], row["version"]) == ("python", minor) and "ended" in row]
    return next(iter(ends), None)


def compact(row: Row) -> str:
    """Return what other tables call the system of a row: ubuntu2204."""
    return f"{row['system']}{str(row['version']).replace('.', '')}"
