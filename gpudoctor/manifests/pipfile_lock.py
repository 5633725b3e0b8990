"""What a Pipfile.lock pins, in the form that other locks have.

https://pipenv.pypa.io/en/latest/locking.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from gpudoctor.manifests.spans import ManifestError, Place, Source
from gpudoctor.manifests.toml_tables import table, tables

NAME = "Pipfile.lock"
_KEY = re.compile(r'"([A-Za-z0-9][A-Za-z0-9._-]{0,200})"[ \t\r\n]*:[ \t\r\n]*\{')
_ABOUT = "_meta"


def read(source: Source, wanted: Callable[[str], bool] | None = None
         ) -> tuple[list[tuple[Mapping[str, Any], Place]], str]:
    """Return the packages of each category that is wanted, with their places, and the Python.

    Raise `ManifestError`.
    """
    try:
        document = table(json.loads(source.text.removeprefix("\ufeff")))
    except json.JSONDecodeError as error:
        at = error.pos + len(source.text) - len(source.text.removeprefix("\ufeff"))
        raise source.error(min(at, len(source.text)), f"is no JSON: {error.msg}") from None
    except RecursionError:
        raise ManifestError(source.file, "is no JSON: nested too deeply") from None
    about = table(document.get(_ABOUT))
    addresses = {str(one.get("name")): str(one.get("url")) for one in tables(about.get("sources"))}
    places = {match[1]: source.place(match.start(1), match.end(1))
              for match in reversed([*_KEY.finditer(source.text)])}
    found = {name: (_package(name, table(pinned), addresses), places.get(name, source.place(0)))
             for category, listed in reversed([*document.items()])
             if category != _ABOUT and (wanted is None or wanted(category))
             for name, pinned in table(listed).items()}
    return list(found.values()), str(table(about.get("requires")).get("python_version", ""))


def _package(name: str, pinned: Mapping[str, Any], addresses: Mapping[str, str]) -> Mapping[str, Any]:
    """Return a package as uv and poetry write it."""
    address = addresses.get(str(pinned.get("index")))
    return {**pinned, "name": name, "version": str(pinned.get("version", "")).removeprefix("=="),
            **({"source": {"registry": address}} if address else {})}
