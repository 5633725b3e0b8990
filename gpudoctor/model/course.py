"""What a framework is to be run through, and on which card: values only."""

from __future__ import annotations

from gpudoctor.frozen import frozen


@frozen
class Skip:
    """Why stages are not run; `wanted` when somebody who asked for proof does not get it."""

    reason: str
    wanted: bool


@frozen
class Course:
    """One framework on one card (or on several at once); with `skip`, only its import.

    `card` is the card's index in NVML, several separated by commas, "" where there is none. `visible` is what
    CUDA_VISIBLE_DEVICES is set to; None leaves it as it is. `memory_bytes` is what the smallest of the cards
    has. `predicted` are the files of the loader trace, held against what is really loaded. `left_out` are the
    stages that `skip` is about, none of them where it is about all.
    """

    framework: str
    card: str = ""
    visible: str | None = None
    stages: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    memory_bytes: int | None = None
    predicted: tuple[str, ...] = ()
    skip: Skip | None = None
    left_out: tuple[str, ...] = ()
