"""Which release of Jetson Linux (L4T) a board runs: by itself, or by the JetPack that it belongs to."""

from __future__ import annotations

from gpudoctor.lazily import Pattern
from gpudoctor.model import rows_of
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank

# /etc/nv_tegra_release
_FILE = Pattern(r"# R([0-9]{2}) \(release\), REVISION: ([0-9]{1,2}(?:\.[0-9]{1,2})?)")
_RELEASE = r"([0-9]{2}\.[0-9]{1,2}(?:\.[0-9]{1,2})?)(?![0-9.]*[0-9-])"
_LINUX = Pattern(rf"\[L4T {_RELEASE}\]|(?<![\w/:.-])L4T(?: version)?\W{{1,3}}R?{_RELEASE}"
                 r"|nvidia-l4t-core[ \t]{1,40}([0-9]{2}\.[0-9]{1,2}\.[0-9]{1,2})-[0-9]{8}")
_BARE = Pattern(rf"(?<![\w/:.-])R{_RELEASE}")  # "R35.4.1", of a text that speaks of a board
_JETPACK = Pattern(r"(?<![\w/:.])(?:nvidia-)?jetpack(?: sdk)?(?: version)?\W{1,40}(?:version: )?"
                   r"([3-9]\.[0-9](?:\.[0-9])?(?: dp)?)(?![0-9.]*[0-9])")
_PACKAGE = "nvidia-jetpack"
_BOARD = ("jetson", "tegra", "jetpack", "orin", "xavier")


def read(text: Text, found: Found) -> None:
    """Read what a board says of itself, what lists of its packages say, and what people say of it."""
    for index in text.having("(release), REVISION: "):
        release = _FILE.search(text.lines[index])
        if release:
            _say(found, f"{release[1]}.{release[2]}", text.source(index), Rank.REPORTED)
    for mark in ("L4T", "l4t"):
        for index in text.having(mark):
            release = _LINUX.search(text.lines[index])
            if release:
                _say(found, release[1] or release[2] or release[3], text.source(index),
                     Rank.SAID if release[2] else Rank.REPORTED)
    is_of_board = any(word in text.folded for word in _BOARD)
    for position in text.places("R3") if is_of_board else ():
        release = _BARE.match(text.whole, position)
        if release:
            _say(found, release[1], text.source(text.index_at(position)), Rank.SAID)
    releases = {str(row["jetpack"]): str(row["l4t"]) for row in rows_of(found.tables, "jetpack")}
    for position in text.places("jetpack", folded=True):
        _jetpack(text, found, position, releases)


def _jetpack(text: Text, found: Found, position: int, releases: dict[str, str]) -> None:
    """Note the release of a JetPack; of several that it has had the first, which all of its CUDA is of."""
    before = position - len("nvidia-")
    begin = before if before >= 0 and text.folded.startswith(_PACKAGE, before) else position
    jetpack = _JETPACK.match(text.folded, begin)
    release = releases.get(jetpack[1].upper()) if jetpack else None
    if release is not None:
        is_listed = text.folded.startswith(_PACKAGE, begin)
        _say(found, release, text.source(text.index_at(position)),
             Rank.REPORTED if is_listed else Rank.SAID)


def _say(found: Found, release: str, source: str, rank: Rank) -> None:
    found.say("system.jetson", release, source, rank)
    found.mention("text.places", "jetson", source)
