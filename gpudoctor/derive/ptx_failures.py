"""PTX that a driver can compile for a card, and that is reported to fail there all the same."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor import versions
from gpudoctor.derive import stale
from gpudoctor.derive.device_code import Coverage
from gpudoctor.model import Row, Table, Tables


def reports(table: Table, framework: str, target: str) -> list[Row]:
    """Return the reports of PTX for `target` of a framework, whatever the card."""
    newest = versions.parse(target)
    return [row for row in table.rows
            if row["framework"] == framework and newest < versions.parse(str(row["code_below"]))]


def on_card(listed: Sequence[Row], capability: str) -> Row | None:
    """Return the report that is about cards of this major compute capability, None where there is none."""
    major = versions.parse(capability).major
    return next((row for row in listed if row["card_major"] == major), None)


def is_known_to_work(framework: str, found: Coverage, capability: str, tables: Tables) -> bool:
    """Return whether code was found for a card, and nothing is reported of it that leaves open if it works.

    Of a card that is newer than the tables nobody reported yet: PTX that failed on others may fail there.
    """
    table = tables.get("ptx_failures")
    if found.kind != "ptx" or found.ptx_target is None or table is None:
        return found.kind != "none"
    listed = reports(table, framework, found.ptx_target)
    end = stale.end_of(tables, "architectures", "compute_capability")
    return on_card(listed, capability) is None and not (listed and stale.is_newer(capability, end))
