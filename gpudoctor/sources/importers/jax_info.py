"""jax.print_environment_info: its devices; versions are read as `key: value` lines."""

from __future__ import annotations

import re

from gpudoctor.sources.cards import capability_named
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank

_DEVICE = re.compile(r"\s{0,8}device info: (.{1,80}?)-([0-9]{1,3}), [0-9]{1,3} local devices")


def read(text: Text, found: Found) -> None:
    """Read which devices JAX names; "cpu" says that it sees no card."""
    for index in text.having("device info: "):
        device = _DEVICE.match(text.lines[index])
        if device is None:
            continue
        found.say("text.framework", "jax", text.source(index), Rank.STATED)
        name, count = device[1].strip(), min(int(device[2]), 64)
        if name.lower() not in ("cpu", "tpu"):
            capability = capability_named(name, found.known)
            card = found.card({"gpu.name": name, "gpu.compute_capability": capability}, text.source(index))
            found.list_cards([card] * count)
