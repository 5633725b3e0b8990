"""What is written can be read again, and reading never fails but in its own words."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from hypothesis import given

from gpudoctor import codec
from gpudoctor.codec import CodecError, decode_snapshot, encode_snapshot
from gpudoctor.model import Snapshot
from tests.laws.made_up import any_json, refusal, snapshots


@given(snapshots())
def test_decoding_undoes_encoding(snapshot: Snapshot) -> None:
    """A snapshot survives JSON, values, sources and not-knowing included."""
    document = json.loads(json.dumps(encode_snapshot(snapshot)))
    assert decode_snapshot(document, "a file") == snapshot


@given(snapshots())
def test_encoding_is_the_same_each_time(snapshot: Snapshot) -> None:
    """Encoding what was decoded gives the same text, so that files can be compared."""
    text = json.dumps(encode_snapshot(snapshot))
    assert json.dumps(encode_snapshot(decode_snapshot(json.loads(text), "a file"))) == text


@given(any_json())
def test_any_document_is_read_or_refused(document: Any) -> None:
    """JSON of any shape, as a whole or as a part, is a snapshot or a CodecError of one line."""
    whole = {"schema": codec.SNAPSHOT_SCHEMA, "host": {}, "gpus": [], "frameworks": [], "probes": []}
    for broken in (
        document,
        *({**whole, key: document} for key in whole),
        {**whole, "host": {"system.os": document}},
        {**whole, "host": {"loader.files": {"value": document, "source": "x"}}},
    ):
        assert "\n" not in refusal(partial(decode_snapshot, broken, "a file"), CodecError)
