"""GPUs inside a chip (Jetson): machine code for the cards of their generation does not run on them.

NVIDIA promises that machine code runs on later cards of its generation for cards alone, neither for the GPUs
inside its chips nor between both. From some CUDA on the builds for servers serve such a chip as well; which
and since when is in `architectures`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor import versions
from gpudoctor.derive import device_code
from gpudoctor.derive.device_code import Coverage
from gpudoctor.derive.remembered import of_same
from gpudoctor.model import Record, Table, Tables, rows_of


def coverage(code: Sequence[Record], capability: str, cuda: str | None, tables: Tables) -> Coverage:
    """Return what a build for this CUDA offers a card; of an unknown CUDA only what is sure."""
    return device_code.coverage(code, capability, alone(cuda, tables))


def alone(cuda: str | None, tables: Tables) -> frozenset[str]:
    """Return the compute capabilities that a build for this CUDA serves with code of their own alone."""
    table = tables.get("architectures")
    return _alone(table, cuda or None) if table is not None else frozenset()


@of_same
def _alone(table: Table, cuda: str | None) -> frozenset[str]:
    return frozenset(
        str(row["compute_capability"]) for row in table.rows if row.get("integrated")
        and (cuda is None or "shares_from" not in row
             or versions.parse(cuda) < versions.parse(str(row["shares_from"]))))


def depends_on_cuda(capability: str, tables: Tables) -> bool:
    """Return whether the CUDA of a build says if code for others runs on this card."""
    return any(row["compute_capability"] == capability and "shares_from" in row
               for row in rows_of(tables, "architectures"))
