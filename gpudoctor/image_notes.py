"""What NVIDIA says of one of its monthly images: of itself, else of the month that it shares."""

from __future__ import annotations

import re

from gpudoctor import versions
from gpudoctor.model import Row, Tables, Value, row_of

_MONTH = re.compile(r"([0-9][0-9]\.[0-9][0-9])-")
_DRIVERS = ("driver", "driver_data_center")
_SHARED = ("cuda", "oldest_card", *_DRIVERS)


def noted(image: str, tag: str, tables: Tables) -> Row:
    """Return what the notes say of an image; nothing where there are none.

    What they leave out is taken from those of another image of the same month, which `read_from` names, if
    the two are known to be built alike and nothing speaks against it here.
    """
    own = row_of(tables, "container_images", image=image, tag=tag) or {}
    month = _month(image, tag, tables)
    if month is None or ("cuda" in own and _minor(own["cuda"]) != _minor(month["cuda"])):
        return own
    is_same_driver = own.get("driver", month.get("driver")) == month.get("driver")
    added = {column: month[column] for column in _SHARED
             if column in month and column not in own and (is_same_driver or column not in _DRIVERS)}
    if not added:
        return own
    return {**added, **own, "read_from": month["read_from"], "read_from_source": month["source"]}


def _month(image: str, tag: str, tables: Tables) -> Row | None:
    match = _MONTH.match(tag)
    shares = row_of(tables, "ngc_images", image=image, shares_release=True) is not None
    return row_of(tables, "ngc_releases", release=match[1]) if match and shares else None


def _minor(cuda: Value) -> tuple[int, ...]:
    return versions.parse(str(cuda)).release[:2]
