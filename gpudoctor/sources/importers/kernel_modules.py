"""modinfo, dkms status and mokutil: the driver's kernel module, and whether it must be signed."""

from __future__ import annotations

import re

from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank

_MODULE_LINES = 40
_DRIVER = r"([1-9][0-9]{2}\.[0-9]{1,3}(?:\.[0-9]{1,3})?)"
_DKMS = re.compile(rf"\s{{0,8}}nvidia(?:-open|-current|-srv)?[/,] {{0,2}}{_DRIVER}, "
                   r"([0-9][0-9A-Za-z._+-]{2,60}), ([a-z0-9_]{3,12}): installed\b")
_LICENSES = {"NVIDIA": "proprietary", "Dual MIT/GPL": "open"}


def read(text: Text, found: Found) -> None:
    """Read what each of these programs prints."""
    for index in text.having("filename:"):
        if text.lines[index].rstrip().rpartition("/")[2].startswith("nvidia.ko"):
            _modinfo(text, found, index)
    for index in text.having(": installed"):
        row = _DKMS.match(text.lines[index])
        if row:
            found.say("driver.version", row[1], text.source(index), Rank.SHOWN)  # built, perhaps not loaded
    for words, is_on in (("SecureBoot enabled", True), ("SecureBoot disabled", False)):
        for index in text.having(words):
            if text.lines[index].strip() == words:
                found.say("system.secure_boot", is_on, text.source(index))


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
