"""`pip inspect`: a document of hundreds of READMEs, which say of their programs what nobody says here.

"conda install", "Operating System :: Microsoft :: Windows" and errors that a package explains are no words
about this machine. So such a document is cut down to names, versions and the environment before it is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

_MOST_BYTES = 16 * 1024 ** 2  # of a longer document everything is read as it stands
_SIGNS = (b'"version"', b'"pip_version"', b'"installed"')
_HEAD_BYTES = 256
_KEPT = ("installer", "requested")


def without_prose(first: bytes, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a text in chunks; one that is a document of `pip inspect`, without what its packages say."""
    head = first[:_HEAD_BYTES].lstrip()
    if not head.startswith(b"{") or any(sign not in head for sign in _SIGNS):
        yield first
        yield from chunks
        return
    held, size, rest = [first], len(first), iter(chunks)
    for chunk in rest:
        held.append(chunk)
        size += len(chunk)
        if size > _MOST_BYTES:
            break
    else:
        held = [_bare(b"".join(held))]
    yield from chain(held, rest)


def _bare(text: bytes) -> bytes:
    try:
        document: Any = json.loads(text)
        return json.dumps({**document, "installed": [
            {"metadata": {name: item["metadata"][name] for name in ("name", "version")},
             **{name: item[name] for name in _KEPT if name in item}}
            for item in document["installed"]]}).encode()
    except (ValueError, RecursionError, LookupError, TypeError):  # cut off, or no such document
        return text
