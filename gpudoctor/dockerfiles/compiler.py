"""The package with CUDA's compiler, for a release whose XLA needs one that nothing else there brings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpudoctor import versions
from gpudoctor.candidates.together import rule_of
from gpudoctor.dockerfiles.inside import ENVIRONMENT
from gpudoctor.model import Candidate, Fit, RuleDatabase, rows_of

COMPILER = "nvidia-cuda-nvcc"  # how the package with ptxas and libdevice begins, for each CUDA
_FLAGS = "XLA_FLAGS"
_CALL = " pip install "


def lacks_libdevice(one: Candidate) -> bool:
    """Say whether XLA will look in vain for what its releases bring by an extra or a package."""
    words = one.commands[0] if one.kind == "pip" else COMPILER
    return one.framework == "tensorflow" and "[and-cuda]" not in words and COMPILER not in words


def with_compiler(one: Candidate, python: str, database: RuleDatabase) -> Candidate:
    """Return the candidate with the package that has its CUDA's compiler, where it lacks one that is known.

    XLA does not search the packages of a Python for it, so it is told the folder.
    """
    row = _row(one, database)
    if row is None or not lacks_libdevice(one):
        return one
    requirement = str(row["requirement"])
    folder = f"{ENVIRONMENT}/lib/python{python}/site-packages/{row['folder']}"
    rule = rule_of("libdevice-not-found", database)
    note = (f"{requirement}: XLA compiles with its ptxas and libdevice, which it finds by {_FLAGS} alone "
            f"({rule})")
    return replace(
        one, verdict=Fit.WITH_NOTES, notes=(*one.notes, note), pins=(*one.pins, requirement),
        commands=tuple(_as_well(command, requirement) for command in one.commands),
        environment={**one.environment, _FLAGS: f"--xla_gpu_cuda_data_dir={folder}"})


def _row(one: Candidate, database: RuleDatabase) -> Mapping[str, object] | None:
    """Return the row for the CUDA of a release: the same major release, and not older."""
    if one.cuda is None:
        return None
    wanted = versions.parse(one.cuda)
    return next((row for row in rows_of(database.tables, "cuda_compilers")
                 if row["cuda_major"] == wanted.major and versions.parse(str(row["cuda"])) >= wanted), None)


def _as_well(command: str, requirement: str) -> str:
    """Return a command in which the first call of pip or uv installs one thing more."""
    first, *others = command.split(" && ")
    if _CALL not in first and others:
        return f"{first} && {_as_well(' && '.join(others), requirement)}"
    return " && ".join([f"{first} {requirement}" if _CALL in first else first, *others])
