"""A driver that a sentence names by its branch: "nvidia driver 595", "the 535 drivers", "drivers 470.xx"."""

from __future__ import annotations

from gpudoctor.lazily import Pattern
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.shown import stated_there
from gpudoctor.sources.stated import Rank

_DRIVER = "(?:\u9a71\u52a8|\u9a45\u52d5|\u30c9\u30e9\u30a4\u30d0\u30fc?)"  # in Chinese, and in Japanese
_WORDS = ("driver", "treiber", "\u9a71\u52a8", "\u9a45\u52d5", "\u30c9\u30e9\u30a4\u30d0")
_BEFORE = 48
_BRANCH = r"r?(?P<branch>[3-9][0-9]{2})(?:\.x{1,3}(?:\.x{1,3})?)?"
# Not the number of something else: "the driver took 300 ms", "driver 595.58" (read as a version), "550+".
_ENDS = (r"(?![\w+%]|\.?[0-9]| ?(?:[kmgt]i?b|ms|s|secs?|seconds?|times|lines|errors?|files|hz|w|watts?)\b)")
_AFTER = Pattern(
    r"(?:(?:driver|treiber)s?(?: (?:version|branch|series|release|v|is|zweig))?[ :=(-]{0,3}v?"
    rf"|{_DRIVER}\w{{0,6}}[ :=(\uff1a]{{0,3}}){_BRANCH}{_ENDS}")
_AHEAD = Pattern(
    rf"(?<![\w.\\/#$+-]){_BRANCH}(?: |-)(?:(?:nvidia|open|server|series|branch|game ready|studio)(?: |-))?\Z")
# Before a number these make it a product's: "GTX 960 drivers".
_PRODUCTS = Pattern(
    r"\b(?:gtx?|rtx|gts|rx|hd|mx|geforce|radeon|quadro|tesla|nvs|error|code|line|port)[ -]?\Z")


def read(text: Text, found: Found) -> None:
    """Read every sentence that has a branch just behind, or just before, its word for a driver."""
    for word in _WORDS:
        for position in text.places(word, folded=True):
            match = _AFTER.match(text.folded, position)
            if match is not None:
                _say(text, found, match["branch"], match.start(), match.end())
                continue
            ahead = text.folded[max(0, position - _BEFORE):position].rpartition("\n")[2]
            match = _AHEAD.search(ahead)
            if match is not None and not _PRODUCTS.search(ahead[:match.start()]):
                start = position - len(ahead) + match.start()
                _say(text, found, match["branch"], start, position + len(word))


def _say(text: Text, found: Found, branch: str, start: int, end: int) -> None:
    if stated_there(text, start, end):
        found.say("driver.version", branch, text.source(text.index_at(start)), Rank.SAID)
