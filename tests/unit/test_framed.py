"""Streams in frames: both taken apart, however they are cut; a limit on time and on what is kept."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.child import framed


def frame(stream: int, data: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


def talked(sent: bytes, *, given_: bytes = b"", closes: bool = True, limit: int = 1 << 20,
           seconds: float = 10.0, step: int = 1 << 16) -> tuple[framed.Said, bytes]:
    """Return what was read of a program that says this, and what it was given."""
    ours, theirs = socket.socketpair()
    got = bytearray()

    def program() -> None:
        while len(got) < len(given_):
            got.extend(theirs.recv(1 << 16))
        for start in range(0, len(sent), step):
            theirs.sendall(sent[start:start + step])
        if closes:
            theirs.close()

    thread = threading.Thread(target=program)
    thread.start()
    with ours:
        said = framed.talk(ours.fileno(), given_, limit_seconds=seconds, output_limit_bytes=limit,
                           errors_limit_bytes=limit)
    thread.join()
    theirs.close()
    return said, bytes(got)


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=40)), max_size=8), st.integers(1, 60))
def test_both_streams_come_out_whole(pieces: list[tuple[int, bytes]], step: int) -> None:
    """Wherever the connection cuts the frames."""
    said, _ = talked(b"".join(frame(*piece) for piece in pieces), step=step)
    assert said.output == b"".join(data for stream, data in pieces if stream == 1)
    assert said.errors == b"".join(data for stream, data in pieces if stream == 2)
    assert not said.late


def test_input_larger_than_any_buffer_arrives() -> None:
    data = bytes(range(256)) * 8192
    said, got = talked(frame(1, b"thanks"), given_=data)
    assert (said.output, got) == (b"thanks", data)


def test_what_is_too_long_is_cut_and_read_to_its_end() -> None:
    said, _ = talked(frame(1, b"x" * 100_000) + frame(2, b"end"), limit=10)
    assert (said.output, said.errors, said.late) == (b"x" * 10, b"end", False)


def test_who_says_nothing_more_is_late() -> None:
    begun = time.monotonic()
    said, _ = talked(frame(1, b"a"), closes=False, seconds=0.5)
    assert (said.output, said.late) == (b"a", True)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("sent", [b"", b"\x01\0\0", b"\xff" * 64])
def test_what_is_no_frame_does_no_harm(sent: bytes) -> None:
    assert talked(sent)[0].output == b""
