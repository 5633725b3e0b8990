"""`key: value` lines: filled-in issue templates, and what people put around a log."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.sources import fields
from gpudoctor.sources.cards import names_none
from gpudoctor.sources.found import Found
from gpudoctor.sources.keys import KEYS, REPORTED, VARIABLES, VERSION_KEYS
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank
from gpudoctor.sources.values import says_nothing
from gpudoctor.transcripts import pairs

_KEY_CHARACTERS = 90
_DECORATION = " \t-*#>|_`'\"[]\u2022\u00b7+.\\"
_PARTS = 6
_BOUNDS = ("<", ">", "!", "~", "&lt;", "&gt;")
# nvidia-smi's own output, -q and the heading, where it is what the driver runs.
_OF_SMI = ("CUDA Version  ", "Driver Version:", "NVIDIA-SMI")
_MOST = 1500  # of more lines that state something, so many from the beginning and from the end count


def read(text: Text, found: Found) -> None:
    """Read every line that is a key and a value, and headings whose value stands below."""
    of_documents = {index for lines in text.in_documents for index in lines}
    stated = [(index, key, value) for index, line in enumerate(text.lines) if index not in of_documents
              for key, value in _pairs(text, index, line)]
    stated = sorted([*stated, *_answers(text)], key=lambda found: found[0])
    if len(stated) > 2 * _MOST:
        stated = stated[:_MOST] + stated[-_MOST:]
    for index, key, value in stated:
        is_none = KEYS.get(key) is fields.cards and names_none(value)
        if is_none and _is_what_torch_sees(text, index):
            continue
        if value and (is_none or not says_nothing(value.removesuffix(","))):
            of_driver = key == "cuda version" and any(mark in text.lines[index] for mark in _OF_SMI)
            _apply(found, "cuda driver version" if of_driver else key, value, text.source(index))


def _is_what_torch_sees(text: Text, index: int) -> bool:
    """Say whether a list of cards is Lightning's, of those that PyTorch sees: there may be others."""
    below = text.lines[index + 1] if index + 1 < len(text.lines) else ""
    return _normal(below.partition(":")[0]) == "available"


def _answers(text: Text) -> Iterator[tuple[int, str, str]]:
    """Yield what Python answered below `torch.__version__` or `print(torch.version.cuda)`."""
    for mark in ("__version__", "version.cuda", "VERSION"):
        for index in text.having(mark):
            asked = text.lines[index].rpartition("print(")[2].lstrip("> .$`").rstrip(" )\"'`;").lower()
            below = text.lines[index + 1].strip("> '\"") if index + 1 < len(text.lines) else ""
            if (asked in VERSION_KEYS or asked in REPORTED) and below[:1].isdecimal() and " " not in below:
                yield index + 1, asked, below
    for pair in pairs(text.lines):
        asked = pair.asked.lower()
        if (asked in VERSION_KEYS or asked in REPORTED) and pair.value[:1].isdecimal():
            yield pair.place, asked, pair.value


def _pairs(text: Text, index: int, line: str) -> Iterator[tuple[str, str]]:
    """Yield the keys that are known, each with its value."""
    start = line[:_KEY_CHARACTERS].lstrip(_DECORATION)[:3]
    is_numbered = start[:1].isdecimal() and ("." in start or ")" in start)
    if not start[:1].isalpha() and not is_numbered:
        return  # a time stamp, most often
    if ":" not in line and "=" not in line and "\uff1a" not in line:
        head = line.strip()
        if head[:1] in "#*|" and head and len(head) <= _KEY_CHARACTERS:
            yield from _heading(text, index, head)
        return
    rest = line
    for _ in range(_PARTS):
        found, value = _split(rest)
        if found is None:
            return
        key = _normal(found)
        if _known(key):
            yield key, value or _below(text, index)
        if key in VARIABLES:
            return  # its value may hold what looks like further keys
        comma = max(value[:400].find(","), value[:400].find(";"))
        if comma < 0 or len(line) > 400:
            return
        rest = value[comma + 1:]


def _split(line: str) -> tuple[str | None, str]:
    """Return what stands before the first colon (or =) outside brackets, and what stands after it."""
    start = 0
    bracket, closing = line.find("(", 0, _KEY_CHARACTERS), line.find(")", 0, 2 * _KEY_CHARACTERS)
    if 0 <= bracket < closing and ":" not in line[:bracket] and "=" not in line[:bracket]:
        start = closing
    ends = [end for mark in (":", "=", "\uff1a")
            if (end := line.find(mark, start, start + _KEY_CHARACTERS)) >= 0]
    end = min(ends, default=-1)
    if end < 0 or (line[end] == "=" and (line[:end].endswith(_BOUNDS) or line[:end].lstrip()[:2] == "__")):
        return None, ""  # cuda>=12.4 is asked for, and not there; __cuda=12.4 is conda's word for the driver
    return line[:end], line[end:].lstrip(":=\uff1a* _`").strip(" \t`*_'\"|")


def _normal(head: str) -> str:
    """Return a key without decoration, numbering and words in brackets, in lower case."""
    bracket, closing = head.find("("), head.rfind(")")
    if 0 < bracket < closing and head[bracket:closing + 1] != "()":
        head = f"{head[:bracket]} {head[closing + 1:]}"
    words = head.strip(_DECORATION).lower().split()
    if words and words[0].rstrip(".)").isdecimal() and len(words) > 1:
        words = words[1:]
    return " ".join(words).strip(_DECORATION.replace(")", ""))


def _known(key: str) -> bool:
    return key in KEYS or key in REPORTED or key in VARIABLES or key in VERSION_KEYS


def _heading(text: Text, index: int, head: str) -> Iterator[tuple[str, str]]:
    """Yield a heading of an issue form with the first line below it, or the cells of a table's row."""
    cells = [cell.strip() for cell in head.strip("|").split("|")] if head.startswith("|") else []
    if 2 <= len(cells) <= 3:
        if _known(_normal(cells[0])):
            yield _normal(cells[0]), cells[1].strip("`* ")
    elif not cells and _known(_normal(head)):
        yield _normal(head), _below(text, index)


def _below(text: Text, index: int) -> str:
    """Return the next line with words, unless it is another key or heading."""
    for line in text.lines[index + 1:index + 4]:
        words = line.strip()
        if words:
            is_key = ":" in words[:_KEY_CHARACTERS] and _split(words)[0] is not None
            return "" if is_key or words[0] in "#*-|[" else words.strip("`*_")
    return ""


def _apply(found: Found, key: str, value: str, source: str) -> None:
    reader = REPORTED.get(key)
    if reader is not None:
        reader(found, value, source, Rank.REPORTED)
    elif key in KEYS:
        KEYS[key](found, value, source, Rank.STATED)
    elif key in VARIABLES:
        found.say(f"environment.{VARIABLES[key]}", value.strip("'\","), source, Rank.STATED)
    else:
        rank = Rank.SAID if key.startswith("jaxlib") else Rank.STATED  # jax itself may have another version
        fields.framework_version(found, VERSION_KEYS[key], value, source, rank)
