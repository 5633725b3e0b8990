"""An assumed system or distribution brings its own C library and version: this machine's are none of its."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpudoctor.derive.view import as_texts
from gpudoctor.model import Absent, Fact, Known, Snapshot, Tables, Unknown, row_of, rows_of, value_of

_NAME, _VERSION, _LIKE = "system.distribution", "system.distribution_version", "system.distribution_like"
_GLIBC, _OS, _LINUX = "system.glibc", "system.os", "Linux"
# what is there on Linux alone
_OF_LINUX = (_NAME, _VERSION, _LIKE, _GLIBC, "system.wsl")


def with_own_parts(before: Snapshot, laid: Snapshot, facts: Mapping[str, Fact], tables: Tables,
                   source: str) -> Snapshot:
    """Return `laid` with what the assumed distribution has in place of what the machine `before` had."""
    if _differs(before, laid, _OS) and value_of(laid.host, _OS) != _LINUX:
        gone = dict.fromkeys(_OF_LINUX, Absent(source=f"{source}: no Linux"))
        return replace(laid, host={**laid.host, **{n: f for n, f in gone.items() if n not in facts}})
    is_another = _differs(before, laid, _NAME)
    if not (is_another or _differs(before, laid, _VERSION)):
        return laid
    name = str(value_of(laid.host, _NAME))
    not_said = f"of {name} nothing else is assumed"
    follows: dict[str, Fact] = {}
    if is_another:
        follows = dict.fromkeys((_VERSION, _LIKE), Unknown(reason=not_said))
    version = value_of(laid.host, _VERSION) if _VERSION in facts or not is_another else None
    follows[_GLIBC] = glibc_of(name, None if version is None else str(version), tables, source)
    if "glibc" in facts:
        del follows[_GLIBC]
    return replace(laid, host={**laid.host, **{n: f for n, f in follows.items() if n not in facts}})


def glibc_of(system: str, version: str | None, tables: Tables, source: str) -> Fact:
    """Return the GNU C library of a distribution, as the tables have it; `version` by number or code name."""
    other = row_of(tables, "c_libraries", system=system)
    if other is not None:
        return Absent(source=f"{source}: {system} has {other['library']} in place of glibc")
    spellings = (version, str(version).partition(".")[0])  # the table has RHEL 9, os-release says 9.4
    row = next((row for row in rows_of(tables, "image_systems") if row["system"] == system
                and not set(spellings).isdisjoint(as_texts(row["names"]))), None)
    if row is not None and "glibc" in row:
        return Known(value=row["glibc"], source=f"{source}: {system} {version}")
    which = f"{system} {version}" if version else f"{system}, of which no version is assumed,"
    return Unknown(reason=f"which glibc {which} has is in no table; name it: --assume glibc=2.35")


def _differs(before: Snapshot, laid: Snapshot, name: str) -> bool:
    now = laid.host.get(name)
    return isinstance(now, Known) and now.value != value_of(before.host, name)
