"""Read whether a framework was asked for, and what requires it: one may only have come along."""

from __future__ import annotations

from gpudoctor.model import Absent, Fact, Known, Unknown
from gpudoctor.probes import requirements
from gpudoctor.probes.calls import mapping, objects
from gpudoctor.probes.python import text
from gpudoctor.probes.shapes import Data

_TELLING = "pip"  # conda and distributions note nothing, and uv marks whatever it installs as requested


def requested(framework: Data) -> Fact:
    """Return that pip was told to install it; never that it was not.

    Old releases of pip leave no mark, and no release leaves one on what it finds installed already.
    """
    distribution = mapping(framework.get("distribution"))
    if not distribution:
        return Absent(source="no distribution provides it")
    path, by = text(distribution.get("path")) or "the distribution", text(distribution.get("installer"))
    if by != _TELLING:
        return Unknown(reason=f"{path}: {by or 'nobody'} does not tell what was asked for", asked=False)
    if distribution.get("requested") is True:
        return Known(value=True, source=f"{path}/REQUESTED")
    return Unknown(reason=f"no {path}/REQUESTED, which need not mean that nobody asked", asked=False)


def required_by(framework: Data, data: Data) -> Fact:
    """Return the distributions that require it on this platform; absent where no other framework does."""
    if "required_by" not in framework:
        return Unknown(reason="what requires it was not looked for")
    listed = framework["required_by"]
    if listed is None:
        return Absent(source="no other framework here requires it")
    if not isinstance(listed, list):
        return Unknown(reason=f"what requires it: {text(mapping(listed).get('error')) or 'was not told'}")
    markers = {str(k): v for k, v in mapping(mapping(data.get("python")).get("markers")).items()
               if isinstance(v, str)}
    names = []
    for found in objects(listed):
        name, error = text(found.get("name")), text(found.get("error"))
        lines = found["lines"] if isinstance(found.get("lines"), list) else []
        if error is not None or name is None:
            return Unknown(reason=f"METADATA of {name or 'a distribution'}: {error or 'was not read'}")
        if any(requirements.applies(line, markers) for line in lines):
            names.append(name)
    return Known(value=tuple(names), source="METADATA of every distribution")
