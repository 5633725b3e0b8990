"""modinfo, dkms status, uname -r and mokutil: for which kernels the driver's module lies there, which kernel
runs, and whether the module must be signed.
"""

from __future__ import annotations

import re

from gpudoctor.sources import fields
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank

_MODULE_LINES = 40
_DRIVER = r"([1-9][0-9]{2}\.[0-9]{1,3}(?:\.[0-9]{1,3})?)"
_DKMS = re.compile(rf"\s{{0,8}}nvidia(?:-open|-current|-srv)?[/,] {{0,2}}{_DRIVER}, "
                   r"([0-9][0-9A-Za-z._+-]{2,60}), ([a-z0-9_]{3,12}): installed\b")
_RELEASE = r"([2-6]\.[0-9]{1,3}\.[0-9]{1,3}[0-9A-Za-z._+-]{0,60})"
_ASKED = re.compile(r"(?:^|[$#%>\]] {0,2}|[;&] {0,2}|^\s{1,8})uname -r\s{0,8}"
                    rf"(?:$|[;&]|(?:#|:|->|=>?)\s{{0,4}}{_RELEASE}\s{{0,8}}$)")
_PROMPT = re.compile(r"[^#]{0,60}[$%] \S|\[[^]]{1,60}\]# \S|# [a-z]{2,12} ")
_ANSWER_LINES = 12  # of the commands that stand in the same line
_ALONE = re.compile(rf"\s{{0,8}}{_RELEASE}\s{{0,8}}")
_SEARCHED = re.compile(rf"Module \S{{1,40}} not found in directory /lib/modules/{_RELEASE}\.?\s{{0,4}}$")
_FILE = re.compile(rf"(?:filename:)?\s{{0,16}}(?:/usr)?/lib/modules/{_RELEASE}/\S{{0,80}}/"
                   r"nvidia(?:-current)?\.ko(?:\.[gx]?z(?:st)?)?\s{0,8}")
_LICENSES = {"NVIDIA": "proprietary", "Dual MIT/GPL": "open"}


def read(text: Text, found: Found) -> None:
    """Read what each of these programs prints."""
    _running_kernel(text, found)
    for index in text.having("/nvidia"):
        file = _FILE.fullmatch(text.lines[index])
        if file:
            found.mention("driver.module_kernels", file[1], text.source(index))
    for index in text.having("filename:"):
        if text.lines[index].rstrip().rpartition("/")[2].startswith("nvidia.ko"):
            _modinfo(text, found, index)
    for index in text.having(": installed"):
        row = _DKMS.match(text.lines[index])
        if row:
            found.say("driver.version", row[1], text.source(index), Rank.SHOWN)  # built, perhaps not loaded
            found.mention("driver.module_kernels", row[2], text.source(index))
    for words, is_on in (("SecureBoot enabled", True), ("SecureBoot disabled", False)):
        for index in text.having(words):
            if text.lines[index].strip() == words:
                found.say("system.secure_boot", is_on, text.source(index))


def _running_kernel(text: Text, found: Found) -> None:
    """Read `uname -r` with its answer in the line or below it, and where modprobe looked for a module."""
    for index in text.having("uname -r"):
        asked = _ASKED.search(text.lines[index][:400])
        if asked is not None:
            answers = [(asked[1], index)] if asked[1] else _alone(text, index + 1)
            if len(answers) == 1:
                fields.kernel(found, answers[0][0], text.source(answers[0][1]), Rank.REPORTED)
    for index in text.having("not found in directory /lib/modules/"):
        searched = _SEARCHED.search(text.lines[index])
        if searched:
            fields.kernel(found, searched[1], text.source(index), Rank.STATED)


def _alone(text: Text, start: int) -> list[tuple[str, int]]:
    """Return the releases that are all of a line, with its index, up to the next command."""
    found = []
    for index in range(start, min(start + _ANSWER_LINES, len(text.lines))):
        if _PROMPT.match(text.lines[index]):
            break
        if alone := _ALONE.fullmatch(text.lines[index]):
            found.append((alone[1], index))
    return found


def _modinfo(text: Text, found: Found, start: int) -> None:
    """Read the module file that modprobe would load, which need not be the one that is loaded."""
    for index in range(start + 1, min(start + _MODULE_LINES, len(text.lines))):
        key, colon, value = text.lines[index].partition(":")
        value = value.strip()
        if not colon or key == "filename":
            return
        if key == "version" and re.fullmatch(_DRIVER, value):
            found.say("driver.version", value, text.source(index), Rank.STATED)
        elif key == "license":
            found.say("driver.kernel_flavour", _LICENSES.get(value), text.source(index), Rank.STATED)
