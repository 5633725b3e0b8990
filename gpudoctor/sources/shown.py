"""Versions in passing: in paths, file names and sentences. The weakest statements, and only if they agree."""

from __future__ import annotations

import re
from collections.abc import Callable

from gpudoctor.sources import fields
from gpudoctor.sources.cards import maker_is_nvidia, stated_cards
from gpudoctor.sources.found import Found
from gpudoctor.sources.frameworks import CATALOGUED
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank
from gpudoctor.transcripts import release_without_gpus

_SENTENCE = 400  # characters: a longer line is output, not a sentence
_BEFORE = 40
_GLUE = ("_", "/", "\\", ".", "-", "@")  # what is behind these is part of a name
_DPKG_ROW = re.compile(r"[uirph][ncHUFWti][R ] ")  # read by its own importer, where it is installed
_EXAMPLE = 16  # "(e.g., Linux Ubuntu 16.04)" of an issue template
# Before a version these words say that it is wanted, not that it is there.
_WANTED = re.compile(
    r"\b(?:requires?|required|needs?|needed|wants?|expects?|expected|supports?|supported|upgrad(?:e|ed|"
    r"ing) to|install(?:ing)?|to build|compiled (?:with|for|against)|built (?:with|for|against)|downgrad(?:e|"
    r"ed|ing) to|tested with|until|since|before|after|at least|instead of|looking for|or|than|for|minimum|"
    r"not|with no|without|update to|from|switch(?:ed|ing)? to|tried|try)[ :>=~]{0,4}(?:the |an? |either |"
    r"both |nvidia |gpu |your |my )?$")
# And these that it has come: "I pip install", "since upgrading to", "we have moved to".
_COME = r"(?:(?:pip3?|conda|mamba) )?(?:(?:re)?install|upgrad|updat|downgrad|switch|mov)"
_DONE = re.compile(
    rf"\b(?:(?:after|since|when|before that,? i was)(?: i| we)? {_COME}(?:ing|e?d)"
    rf"|(?:i|we|just|have|had|'ve|then|recently|already|did) {_COME}(?:e?d|e)?"
    r"|(?<!should )(?<!please )(?<!must )(?<!could )(?<!can )(?<!to )"
    r"(?:pip3?|conda|mamba) install(?: -[-a-z]{1,20}){0,3})"
    r"(?: to| it to| myself)?[ \"']{1,2}(?:the |nvidia |my )?$")

_AT_LEAST = re.compile(r"\+| ?(?:or|and) (?:newer|later|higher|above|greater|up)\b| ?[<>]")

# nvidia-smi's heading, in which CUDA's version is the newest that the driver runs.
_HEADING = re.compile(
    r"(?:NVIDIA-SMI:?\s{1,20}[0-9.]{3,12}[\s,;|]{1,40})?(?:Driver|KMD) Version ?:\s{0,20}[0-9.]{3,12}"
    r"[\s,;|]{1,40}CUDA (?:UMD )?Version ?:\s{0,20}[0-9]{1,2}\.[0-9]{1,2}")
_NOT_SENTENCES = ("NVIDIA-SMI", "Driver Version", "UMD Version", "CUDA Version  ", *fields.OFFERS)

_DRIVER = r"[1-9][0-9]{2}\.[0-9]{1,3}(?:\.[0-9]{1,3})?"
# literal (lower case) -> pattern from there, fact
_PATHS: tuple[tuple[str, str, str], ...] = (
    ("/cuda-", r"/cuda-([0-9]{1,2}\.[0-9](?:\.[0-9]{1,3})?)(?=[/:;'\"\s)]|$)", "text.cuda"),
    ("cuda\\v", r"cuda\\v([0-9]{1,2}\.[0-9])", "text.cuda"),
    ("libcudnn.so.", r"libcudnn\.so\.([0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,3})\b", "text.cudnn"),
    ("python", r"python([23]\.[0-9]{1,2})/(?:site|dist)-packages", "python.version"),
    ("lib/python", r"lib/python([23]\.[0-9]{1,2})/", "python.version"),
    ("python3", r"python(3)([0-9]{1,2})\\", "python.version"),
    (".cpython-", r"\.cpython-([23])([0-9]{1,2})-", "python.version"),
    ("-cp3", r"-cp(3)([0-9]{1,2})-cp3[0-9]{1,2}[a-z]{0,2}-[a-z0-9_.]{3,60}\.whl", "python.version"),
    ("libcuda.so.", rf"libcuda\.so\.({_DRIVER})\b", "driver.version"),
    ("libnvidia-ml.so.", rf"libnvidia-ml\.so\.({_DRIVER})\b", "driver.version"),
)
_NUMBER = (r"[ \t]{0,2}(?:version|ver\.?|toolkit|sdk|v|release|is|==|=|:|-|_)?"
           r"[ \t]{0,2}(?:version|is|v|=|:)?[ \t]{0,2}\(?v?")
# A framework's own word for it, an extra of its package, or the end of a quoted command may stand between.
_ASKED = (r"(?:\.__version__(?: is| gives| returns| prints| shows| says|:|=| ->| =>){0,2}[ '\"]{0,2}"
          r"|\[[a-z0-9,_-]{1,30}\]|[`'\"](?= \())?")
_MORE = r"[0-9a-z./-]{0,12}[0-9]"  # the number goes on: a build, a date
_SAID: tuple[tuple[str, str, str], ...] = (
    ("cuda", rf"cuda{_NUMBER}([0-9]{{1,2}}\.[0-9](?:\.[0-9]{{1,3}})?)(?!{_MORE})", "text.cuda"),
    ("cudnn", rf"cudnn{_NUMBER}([0-9]{{1,2}}(?:\.[0-9]{{1,2}}){{1,3}})(?![0-9])", "text.cudnn"),
    ("driver", rf"drivers?{_NUMBER}({_DRIVER})(?![0-9])", "driver.version"),
    # a row of nvidia-smi --query-gpu=name,driver_version without its heading; three parts are no watts
    ("nvidia ", rf"nvidia [a-z0-9 ()/-]{{3,60}}, ({_DRIVER.removesuffix('?')})(?![\w.])", "driver.version"),
    ("nvidia-driver-", r"nvidia-driver-([1-9][0-9]{2})(?![0-9])", "driver.version"),
    ("pip", rf"pip{_NUMBER}([0-9]{{1,2}}\.[0-9]{{1,2}}(?:\.[0-9]{{1,2}})?|1[89]|2[0-9])(?!{_MORE})",
     "python.pip_version"),
    ("python", rf"python{_NUMBER}([23]\.[0-9]{{1,2}}(?:\.[0-9]{{1,2}})?)(?!{_MORE})", "python.version"),
)
_RELEASE = (r"([0-9]\.[0-9]{1,2}(?:\.[0-9]{1,2})?(?:\.?dev[0-9]{1,8}|rc[0-9]|\.post1[0-9]{2})?"
            r"(?:\+[a-z0-9.]{2,12})?)"
            r"(?![0-9a-z])")
_FRAMEWORKS = {
    "tensorflow": "tensorflow", "pytorch": "pytorch", "torch": "pytorch", "tf": "tensorflow", "jax": "jax",
    "jaxlib": "jax", "paddlepaddle": "paddle", "onnxruntime": "onnxruntime", "ctranslate2": "ctranslate2",
    "keras": "keras", "vllm": "vllm", "cupy": "cupy",
}
_IMPORTS = {"import tensorflow": "tensorflow", "import torch": "pytorch", "import jax": "jax",
            "import paddle": "paddle", "import onnxruntime": "onnxruntime", "import keras": "keras",
            "import cupy": "cupy", "from numba import": "numba", "import caffe": "caffe",
            "from tensorflow": "tensorflow", "from torch": "pytorch", "from keras": "keras",
            "jaxlib.xla_extension": "jax", "jax.errors.jaxruntimeerror": "jax",
            "import ctranslate2": "ctranslate2", "from faster_whisper": "ctranslate2", "import vllm": "vllm"}
_NAMES_TENSORFLOW = re.compile(r"(?<![a-z0-9])(?:tensorflow|tf)(?![a-z0-9])")
_CARD = re.compile(
    r"(?:nvidia )?(?:geforce )?(?:quadro |tesla )?(?:(?:rtx|gtx) ?(?:a|pro |titan )?[0-9x]{1,4}(?: ?ti|"
    r" ?super)?m?(?: ada)?(?:[- ]series)?\b|gt ?[0-9]{3,4}m?\b|mx ?[1-5][0-9]0\b|titan (?:xp?|v|rtx)\b|"
    r"(?:tesla|quadro|grid) [a-z]{0,3} ?[0-9]{1,4}[a-z]?\b)")
# Cards of computing centres that people call by their bare name; of several nobody knows which is here.
_BARE_CARDS = ("p100", "v100", "a100", "h100", "h200", "b200", "k80", "t4")
_DISTRIBUTIONS = ("ubuntu", "debian", "centos", "fedora", "linux mint", "rhel", "pop!_os", "manjaro",
                  "almalinux", "rocky")
_DISTRIBUTION = re.compile(
    r"(ubuntu|debian|centos|fedora|linux mint|rhel|pop!_os|manjaro|almalinux|rocky linux)"
    r"[ -]?(?:linux |stream )?([0-9]{1,2}(?:\.[0-9]{1,2}){0,2})(?![0-9~-]|\.[0-9])")
_WINDOWS = re.compile(r"windows (10|11|8\.1|8|7|server 20[0-9]{2})\b")


def read(text: Text, found: Found) -> None:
    """Read paths, then sentences."""
    for literal, pattern, fact in _PATHS:
        _each(text, literal, pattern, _sayer(found, text, fact, Rank.SHOWN), alone=False)
    for literal, pattern, fact in _SAID:
        _each(text, literal, pattern, _sayer(found, text, fact, Rank.SAID), alone=True)
    for literal, name in _FRAMEWORKS.items():
        pattern = f"{literal}(?:-gpu|_gpu|-cpu)?{_ASKED}{_NUMBER}{_RELEASE}"
        _each(text, literal, pattern, _framework(found, text, name), alone=True)
    for words, name in _IMPORTS.items():
        position = text.folded.find(words)
        if position >= 0 and not text.folded[position + len(words):position + len(words) + 1].isalnum():
            source = text.source(text.index_at(position))
            found.mention("text.frameworks", name, source)
            found.say("text.framework", name, source, Rank.SHOWN)
    if _NAMES_TENSORFLOW.search(text.folded):
        _without_gpus(text, found)
    _cards(text, found)
    _systems(text, found)


def _without_gpus(text: Text, found: Found) -> None:
    """Note the release that TensorFlow's own list of no GPUs stands beside."""
    for position in text.places("[]", folded=True):
        index = text.index_at(position)
        release = release_without_gpus(text.lines[index])
        if release is not None:
            found.say("text.framework", "tensorflow", text.source(index), Rank.SAID)
            found.say("text.framework_version:tensorflow", release, text.source(index), Rank.SAID)


def _each(text: Text, literal: str, pattern: str, take: Callable[[re.Match[str]], None], *,
          alone: bool) -> None:
    """Give `take` every match; `alone` ones stand in a sentence, and are not what is merely wanted."""
    compiled: re.Pattern[str] | None = None
    for position in text.places(literal, folded=True):
        compiled = compiled or re.compile(pattern)  # most texts hold few of the literals
        match = compiled.match(text.folded, position)
        if match is None or (alone and not stated_there(text, position, match.end())):
            continue
        take(match)


def stated_there(text: Text, start: int, end: int) -> bool:
    """Say whether a match stands as words of a sentence that does not just wish for it or a newer one."""
    folded = text.folded
    before = folded[max(0, start - _BEFORE):start].rpartition("\n")[2]
    joined_on = before[-1:].isalnum() and before[-1:].isascii()  # Chinese and Japanese write no spaces
    if joined_on or before[-1:] in _GLUE or folded[end:end + 1] in ("_", "/", "\\"):
        return False
    index = text.index_at(start)
    line = text.lines[index]
    if "e.g" in before[-_EXAMPLE:] or _DPKG_ROW.match(line):
        return False
    beside = _beside_heading(line, start - text.start(index))
    if any(mark in beside for mark in _NOT_SENTENCES) or _AT_LEAST.match(folded, end):
        return False
    is_pinned = "==" in folded[start:end]  # pip install tensorflow==2.4: that is the one it is about
    return len(line) <= _SENTENCE and (
        is_pinned or not _WANTED.search(before) or _DONE.search(before) is not None)


def _beside_heading(line: str, place: int) -> str:
    """Return a line without nvidia-smi's heading, unless the place is in it: people write on behind it."""
    heading = _HEADING.search(line, 0, 2 * _SENTENCE) if "CUDA" in line else None
    if heading is None or heading.start() <= place < heading.end():
        return line
    return line[:heading.start()] + line[heading.end():]


def _sayer(found: Found, text: Text, fact: str, rank: Rank) -> Callable[[re.Match[str]], None]:
    def say(match: re.Match[str]) -> None:
        index = text.index_at(match.start())
        line = text.lines[index]
        if fact == "python.version" and "not a supported wheel" in line:
            return  # for another Python than this
        if fact == "python.version" and "conda_location" in line:
            return  # conda's own, whichever environment is active
        if fact == "text.cuda" and "(driver" in line:
            return  # "11.0 (driver)" is what the driver runs
        found.say(fact, ".".join(part for part in match.groups() if part), text.source(index), rank)
    return say


def _framework(found: Found, text: Text, name: str) -> Callable[[re.Match[str]], None]:
    def say(match: re.Match[str]) -> None:
        source = text.source(text.index_at(match.start()))
        found.mention("text.frameworks", name, source)
        found.say("text.framework", name, source, Rank.SAID)
        found.say(f"text.framework_version:{name}", match[1], source, Rank.SAID)
        if name in CATALOGUED and "+" in match[1]:
            found.framework_version(CATALOGUED[name], match[1], source, Rank.SAID)
    return say


def _cards(text: Text, found: Found) -> None:
    """Note the first card that a sentence names; output of programs is read by its own importer."""
    for literal in ("rtx", "gtx", "tesla ", "quadro ", "titan ", "geforce ", "gt ", "mx"):
        for position in text.places(literal, folded=True):
            index = text.index_at(position)
            line = text.lines[index]
            start = max(text.start(index), position - 16)
            match = _CARD.search(text.folded, start, min(len(text.folded), position + 60))
            if match is None or len(line) > _SENTENCE or "|" in line:
                continue
            if maker_is_nvidia(match[0], found.known):
                named = stated_cards(text.whole[match.start():match.end()], found.known)
                if named:
                    fields.cards(found, named[0].name, text.source(index), Rank.SAID)
                    return
    _bare_card(text, found)


def _bare_card(text: Text, found: Found) -> None:
    """Note the one card of a computing centre that sentences call by its bare name: "Kaggle P100"."""
    named: dict[str, str] = {}  # "" where it is only wished for, or part of another name
    for name in _BARE_CARDS:
        for position in text.places(name, folded=True):
            end = position + len(name)
            index = text.index_at(position)
            beside = text.folded[position - 1:position], text.folded[end:end + 1]
            if not named.get(name) and not any(letter.isalnum() for letter in beside):
                is_here = "|" not in text.lines[index] and stated_there(text, position, end)
                named[name] = text.source(index) if is_here else ""
    name, source = next(iter(named.items()), ("", ""))
    if len(named) == 1 and source:
        fields.cards(found, name.upper(), source, Rank.SAID)


def _systems(text: Text, found: Found) -> None:
    for literal in _DISTRIBUTIONS:
        for position in text.places(literal, folded=True):
            match = _DISTRIBUTION.match(text.folded, position)
            if match and stated_there(text, position, match.end()):
                words = text.whole[match.start():match.end()]
                fields.os(found, words, text.source(text.index_at(position)), Rank.SAID)
                break
    position = text.folded.find("windows ")
    match = _WINDOWS.match(text.folded, position) if position >= 0 else None
    if match:
        source = text.source(text.index_at(position))
        fields.os(found, text.whole[match.start():match.end()], source, Rank.SAID)
