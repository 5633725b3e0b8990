"""What people say of time: the first use of a card takes minutes, and the next one is quick."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.explanation.answers import Answered
from gpudoctor.lazily import Pattern

AT_START, ONLY_FIRST = "the start is said to take minutes", "only the first start is said to take minutes"
_LONG = Pattern(r"\b(?:[0-9]{1,3}\W{0,3}|few |several |many |some )min(?:ute)?s?\b|\bminutes\b|\bages\b|"
                r"takes? forever|\b(?:very|extremely|so|too|really) (?:long|slow)|\blong time\b|"
                r"\b[0-9]{3} ?s(?:ec\w*)?\b")
_TAKES = Pattern(r"\b(?:take[sn]?|took|taking|needs?|hangs?|stuck|waits?|waiting|freez\w*|paus\w*|stall\w*|"
                 r"sits|spends?|is (?:very|extremely|so|too|really))\b")
_FIRST = Pattern(r"\b(?:first|1st|initial)\b")
_START = Pattern(r"\b(?:every time|each time|start(?:s|up|ing)?|launch\w*|load\w*|init\w*|begins?|creat\w*|"
                 r"warm-?up|appears?|session)\b|\.cuda\(|\.to\(")
_NEXT = Pattern(r"\b(?:second|2nd|subsequent|following|next|later|after-?wards?|after that|another|"
                r"again|then)\b")
_QUICK = Pattern(r"\b(?:fast|quick\w*|instant\w*|immediate\w*|normal\w*|smooth\w*|"
                 r"(?<![0-9])[0-9]{1,2} ?s(?:ec\w*)?|seconds|no delay)\b")
# What takes minutes anywhere, or is no wait.
_OTHERWISE = Pattern(r"\b(?:download\w*|install\w*|pip|conda|pull\w*|upload\w*|epochs?|boot\w*|compil(?:e|"
                     r"ing) from|building|crash\w*|die[sd]?|killed|timeouts?|timed out|disk|nfs|error)\b|"
                     r"\bthis (?:will|may|might|can) take\b")  # so speaks a program of what it is about to do
_OF_GPUS = Pattern(r"cuda|gpu|nvidia|torch|tensorflow|\bjax|\bsess(?:ion)?\b|\brtx|\bgtx", re.IGNORECASE)
_LONGEST, _NEAR = 400, 3


def slow_starts(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield a line where the first use of a card is said to take minutes, or every start."""
    for number, line in enumerate(lines, start=1):
        said = line[:_LONGEST].lower()
        if not _LONG.search(said) or not _TAKES.search(said) or _OTHERWISE.search(said):
            continue
        if not (_FIRST.search(said) or _START.search(said)):
            continue
        if any(_OF_GPUS.search(other[:_LONGEST]) for other in lines):
            around = " ".join(one[:_LONGEST] for one in lines[number - 1:number - 1 + _NEAR]).lower()
            only = _NEXT.search(around)
            is_quick = only is not None and _QUICK.search(around, only.end()) is not None
            yield Answered(text=ONLY_FIRST if is_quick else AT_START, line=number)
            return
