"""Distributions that write the same files, so that one of them overwrites the other's."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from gpudoctor.derive import planned
from gpudoctor.derive.view import as_texts
from gpudoctor.model import Tables, rows_of
from gpudoctor.versions import distribution_name

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_SHARING, _FOLDERS = ("nvidia_shared_files", "shared_modules"), "folder_owners"


def colliding(requirements: Sequence[str], tables: Tables, frameworks: AbstractSet[str] = frozenset()
              ) -> tuple[str, ...]:
    """Return those distributions that would write the same files as another of them.

    Two packages of one framework, of those that are chosen as such, have a rule of their own.
    """
    listed = [row for name in _SHARING for row in rows_of(tables, name)]
    listed += [row for row in rows_of(tables, _FOLDERS)
               if len(frameworks & set(as_texts(row["distributions"]))) < 2]
    asked = {distribution_name(one.name): one.specifier for one in planned.parse(requirements)}
    found: dict[str, None] = {}
    for row in listed:
        shared = {distribution_name(one.name): one.specifier
                  for one in planned.parse(as_texts(row["distributions"]))}
        owners = [name for name, specifier in shared.items()
                  if name in asked and _overlap(specifier, asked[name])]
        found.update(dict.fromkeys(owners if len(owners) > 1 else ()))
    return tuple(found)


def _overlap(shared: SpecifierSet, asked: SpecifierSet) -> bool:
    """Return whether a release that shares files may be taken: one that ends the range, or is named."""
    if not shared:  # all of them share
        return True
    ends = [one.version for one in (*shared, *asked) if not one.version.endswith("*")]
    return any(shared.contains(version) and asked.contains(version) for version in ends)
