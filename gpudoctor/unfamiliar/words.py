"""A line as plain words, whoever wrote it: identifiers are taken apart, and one verb stands for a refusal.

`cudaErrorNoDevice`, `CUDA_ERROR_NO_DEVICE` and "CUDA error: no device" give the same words. "couldn't open",
"was unable to open" and "failed to open" all give "cannot open".
"""

from __future__ import annotations

import re

LONGEST = 1024  # characters of a line that are read
MOST_WORDS = 160
# cuDNN and cuBLAS are one word each; so are GPUs. Other capitals begin a word.
_PIECES = re.compile(
    r"cu[A-Z]{3,}|[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[<>]")
_CONTRACTED = re.compile(r"n['\u2019]t\b", re.IGNORECASE)
_LEFT_OUT = frozenset(
    "a an the any your my our this that these its it of in for on with by from at as and or please you i we "
    "be been being is are was were while when".split())
_DENIED = frozenset(
    "do does did has have had would should need needs don doesn didn isn wasn aren weren hasn haven hadn "
    "wouldn shouldn needn".split())
_UNABLE = frozenset("can could able unable cannot couldn couldnt cant impossible".split())
_ABLE = frozenset({"can", "could", "able", "couldn"})
_FAILED = frozenset("fail fails failed failing failure failures unsuccessful".split())
_TROUBLE_WITH = frozenset("error errors problem problems trouble".split())
_IN_USE = re.compile(r"\bin use\b", re.IGNORECASE)  # both words by themselves say nothing
# "0 GPUs" says that there are none; a part of 3.6.0, the index of "GPU 0" and what a tag holds do not.
_NONE = re.compile(
    r"(?<![\w.,:/#>-])(?<!gpu )(?<!cuda )(?<!device )(?<!card )(?<!rank )(?<!node )(?<!id )0"
    r"(?![\w:]|[.,/]\w)",
    re.IGNORECASE)
_MOODS = frozenset({"not", "cannot", "failed"})
_SHORTEST_PLURAL = 4
_SHORTEST_VERB = 4
_PAST = {"found": "find", "seen": "see"}
_DROPS_ITS_E = ("creat", "locat", "allocat", "resolv", "writ", "initializ", "initialis")


def words_of(line: str) -> list[str]:
    """Return the words of a line in small letters, without those that say nothing."""
    said = _NONE.sub("zero", _IN_USE.sub("occupied", _CONTRACTED.sub("n not", line[:LONGEST])))
    pieces = [piece for piece in (found.lower() for found in _PIECES.findall(said)[:MOST_WORDS])
              if piece not in _LEFT_OUT]
    found: list[str] = []
    for index, piece in enumerate(pieces):
        word = _mood(piece, pieces[index + 1] if index + 1 < len(pieces) else "", found)
        if word and not (word in _MOODS and found and found[-1] == word):
            found.append(word)
    return found


def _mood(piece: str, after: str, before: list[str]) -> str:
    """Return the word for a piece, "" for none; "cannot" and "not" take the words around them along."""
    if piece in _FAILED:
        return "cannot" if after == "to" else "failed"
    if piece == "to" or (piece in _DENIED and after in ("not", *_ABLE)):
        return ""
    if piece in _TROUBLE_WITH and after.endswith("ing"):
        return "cannot"
    if piece == "not":
        return "" if before and before[-1] == "cannot" else "not"
    if piece in _UNABLE:
        if before and before[-1] == "not":
            before.pop()
            return "cannot"
        return "cannot" if piece not in _ABLE or after == "not" else ""
    return _spelt(_verb(piece) if before and before[-1] == "cannot" else piece)


def _verb(word: str) -> str:
    """Return "open" of "opening" and "opened": after "cannot" stands a verb."""
    stem = word.removesuffix("ing").removesuffix("ed")
    if stem == word or len(stem) < _SHORTEST_VERB:
        return _PAST.get(word, word)
    return f"{stem}e" if stem.endswith(_DROPS_ITS_E) else stem


def _spelt(word: str) -> str:
    """Return the word in one spelling and number."""
    if word.startswith(("initialis", "initializ")):
        return "init"
    if len(word) < _SHORTEST_PLURAL or not word.endswith("s") or word.endswith("ss"):
        return word
    return f"{word[:-3]}y" if word.endswith("ies") else word[:-1]
