"""Whether an image of nvidia/cuda starts on a driver that is older than its CUDA: it hangs on the card."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import causes, docker, judged

FOUND = ["docker-require-cuda-unsatisfied"]
IMAGE = "FROM nvidia/cuda:{}-runtime-ubuntu22.04"


@pytest.mark.parametrize(("cuda", "host", "expected", "open_"), [
    # 12.8 takes the branch 535 on cards of brands that are listed, and GeForce is none of them
    ("12.8.1", ("driver=535.104.05", "card=RTX 4090"), FOUND, False),
    ("12.8.1", ("driver=535.104.05", "card=TITAN V"), FOUND, False),
    ("12.8.1", ("driver=535.104.05", "card=L4"), [], False),
    ("12.8.1", ("driver=535.104.05", "cc=8.9"), [], True),
    ("12.8.1", ("driver=535.104.05",), [], True),
    ("12.8.1", ("driver=525.60.13", "cc=8.9"), FOUND, False),  # a branch that it takes on no card
    ("12.8.1", ("driver=570.86.15", "card=RTX 4090"), [], False),
    ("12.2.2", ("driver=535.104.05", "cc=8.9"), [], False),
    # a patch of which no table knows asks for what the patch before it does
    ("13.0.9", ("driver=535.104.05", "card=RTX 4090"), FOUND, False)])
def test_a_card_is_asked_for_what_the_driver_leaves_open(
    cuda: str, host: tuple[str, ...], expected: list[str], open_: bool,
) -> None:
    """Regression: a driver that some cards are excused with was taken for fine on all."""
    found = judged(docker(IMAGE.format(cuda)), *host)
    assert [cause for cause in causes(found) if cause in FOUND] == expected
    assert any("starts on the driver" in note.said and note.matters for note in found.notes) == open_
