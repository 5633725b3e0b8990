"""What is recommended: candidates with what is to be typed, and what a change of the machine would buy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Literal

from gpudoctor.frozen import frozen


class Fit(Enum):
    """What becomes of a candidate; only the last is not offered."""

    FITS = "fits"
    WITH_NOTES = "fits-with-notes"
    REJECTED = "rejected"


@frozen
class Rejection:
    """The rule that speaks against a candidate, and in one line what it says.

    `is_open` where it says nothing against it, but could not be judged: nobody knows whether it fits.
    """

    rule: str
    message: str
    is_open: bool = False


@frozen
class Member:
    """A release, as a person names it."""

    framework: str
    version: str


@frozen
class Candidate:
    """A stack for pip or an image. `commands` are whole shell lines: pip's, the same with uv, then exports.

    `beside` are the other releases of a set that must live in one environment. `python` are the versions
    that have its wheel, `pins` the requirements that are told to pip beside it, `environment` the variables
    that it needs, `why` the chain of reasons where that was asked for, `least_cuda` the oldest CUDA that a
    driver must run for it, `toolkit` the CUDA toolkit that must lie in the system beside it.
    """

    framework: str
    version: str
    kind: Literal["pip", "image"]
    verdict: Fit
    beside: tuple[Member, ...] = ()
    cuda: str | None = None
    least_cuda: str | None = None
    toolkit: str | None = None
    python: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    pins: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    rejected_by: tuple[Rejection, ...] = ()
    why: tuple[str, ...] = ()

    @property
    def offered(self) -> bool:
        """Return whether no rule objects to it."""
        return self.verdict is not Fit.REJECTED

    @property
    def is_open(self) -> bool:
        """Return whether it is not offered for the sole reason that it could not be judged."""
        return bool(self.rejected_by) and all(one.is_open for one in self.rejected_by)

    @property
    def name(self) -> str:
        """Return its releases as a person names them."""
        return " with ".join([f"{self.framework} {self.version}",
                              *(f"{member.framework} {member.version}" for member in self.beside)])


@frozen
class Change:
    """A change of the machine, and the releases that it makes possible."""

    change: str
    gains: tuple[str, ...]


@frozen
class LastStack:
    """The newest release that has code for the cards here which works there, whatever else it needs.

    `is_ptx` where that is PTX alone for one of them: the driver would have to compile all of it.
    """

    framework: str
    version: str
    cuda: str | None
    python: tuple[str, ...]
    is_ptx: bool = False


@frozen
class Unserved:
    """A framework of which no release has code that is known to work on the cards here.

    `would_be` says where one would have to be sought: "older" or "newer" than what is known, "nowhere", as
    there are releases for each card and none for all of them, or "gone": older cards and newer ones are
    served, and CUDA has dropped this one. `unread` are releases whose code nobody read, the newest first.
    """

    framework: str
    oldest: str
    newest: str
    would_be: str
    unread: tuple[str, ...] = ()


@frozen
class CardSummary:
    """A card, and the reduced precisions that it computes in, where a table has its compute capability."""

    subject: str
    name: str
    compute_capability: str
    data_types: tuple[str, ...]
    is_listed: bool


@frozen
class Ground:
    """What stays as it is, in words: the machine that the candidates were laid over.

    `board` says of a Jetson what it is and what it takes; it is "" on any other machine.
    """

    platform: str
    driver: str
    python: str
    glibc: str
    cards: tuple[CardSummary, ...]
    environment: str
    faults: tuple[Rejection, ...]
    board: str = ""


@frozen
class Hint:
    """A next step in words, with the command for it, if there is one."""

    words: str
    command: str = ""


@frozen
class Recommendation:
    """What `gpudoctor recommend` says, complete. `conflict` is the smallest set that nothing fits.

    `hints` are next steps where there is no card, a board that takes builds of its own, no release for all
    cards, or none that pip has.
    """

    tool_version: str
    rules_version: str
    rules_sha256: str
    exit_code: int
    assumptions: tuple[str, ...] = ()
    wishes: tuple[str, ...] = ()
    ground: Ground
    candidates: tuple[Candidate, ...]
    may_change: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    conflict: tuple[str, ...] = ()
    last: tuple[LastStack, ...] = ()
    unserved: tuple[Unserved, ...] = ()
    hints: tuple[Hint, ...] = ()
