"""The raw document as JSON: what is recorded, what the stand-alone payload prints, what a replay reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.codec import CodecError, NewerSchema
from gpudoctor.probes.raw import RAW_SCHEMA, Answer, RawDocument


def encode(raw: RawDocument) -> dict[str, Any]:
    """Return the document as JSON values."""
    return {"schema": RAW_SCHEMA, "probes": {
        name: {"outcome": a.outcome, "seconds": round(a.seconds, 4), "detail": a.detail, "data": a.data}
        for name, a in raw.items()}}


def is_raw(document: Any) -> bool:
    """Return whether a JSON document says that it is a raw one."""
    return isinstance(document, Mapping) and str(document.get("schema", "")).startswith("gpudoctor.raw/")


def decode(document: Any, name: str) -> RawDocument:
    """Return the answers in a raw document; raise `CodecError` in one line."""
    schema = document.get("schema")
    if schema != RAW_SCHEMA:
        raise NewerSchema(f"{name}: schema {schema} is newer than this gpudoctor reads; update gpudoctor")
    probes = document.get("probes")
    if not isinstance(probes, Mapping):
        raise CodecError(f"{name}: the raw document has no \"probes\"")
    return {str(key): _answer(value, f"{name}: probe {key!r}") for key, value in probes.items()}


def _answer(raw: Any, where: str) -> Answer:
    match raw:
        case {"outcome": str(outcome), "seconds": int() | float() as seconds}:
            return Answer(outcome=outcome, seconds=float(seconds), detail=str(raw.get("detail", "")),
                          data=raw.get("data"))
    raise CodecError(f"{where}: needs an outcome and seconds")
