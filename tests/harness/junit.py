"""Documents in JUnit's form, held against the schema by which Jenkins' xUnit plugin refuses them.

`junit-10.xsd` is that plugin's own file (MIT licence, which stands in it), as pytest ships it for the same
purpose: pypi:pytest==8.4.2, testing/example_scripts/junit-10.xsd in its source distribution (2026-11-27).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import xmlschema


@cache
def _schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(Path(__file__).with_name("junit-10.xsd")), allow="local")


def problems(document: str) -> list[str]:
    """Return what the schema has against a document."""
    return [f"{error.path}: {error.reason}" for error in _schema().iter_errors(document)]
