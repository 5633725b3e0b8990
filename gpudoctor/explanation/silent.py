"""Commands in a transcript that found nothing: `$ lsmod | grep nvidia_uvm`, and the next prompt right below.

That nothing was printed is the answer, and no line has it: it becomes one, which symptoms may name. (What
lspci does not find, `listings.py` says.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.explanation.answers import Answered
from gpudoctor.lazily import Pattern

_PROMPT = (r"(?:\([\w.-]{1,40}\) ?)?(?:[\w.-]{1,40}@[\w.-]{1,64}(?::| )[^\s$#]{0,80}[$#]"
           r"|\[[^\]\s]{1,80} [^\]]{1,80}\][$#]|[$%])")
_ASKED = Pattern(
    rf"{_PROMPT} {{1,3}}(?:sudo )?(?P<lists>lsmod|ldconfig)\b[^|]{{0,80}}"
    r"\| ?(?:sudo )?[ef]?grep (?:-(?![\w-]*[qv])[\w-]{1,20} ){0,3}['\"]?(?P<what>[\w./-]{1,40}?)\*?['\"]?"
    r"\s{0,4}")
_NEXT = Pattern(
    rf"(?:{_PROMPT}(?: .{{0,400}})?|```.{{0,20}}|~~~.{{0,20}}"
    r"|\(?(?:nothing|empty|no output).{0,20})\s{0,4}")
_LONGEST = 500
_MOST = 20


def silent(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield `lsmod lists no nvidia_uvm` for each such command whose output is empty."""
    found = 0
    for number, line in enumerate(lines, start=1):
        if "grep" not in line or len(line) > _LONGEST:
            continue
        asked = _ASKED.fullmatch(line.strip())
        if asked is None or not _is_over(lines, number):
            continue
        yield Answered(text=f"{asked['lists']} lists no {asked['what'].lower()}", line=number)
        found += 1
        if found == _MOST:
            return


def _is_over(lines: Sequence[str], number: int) -> bool:
    """Say whether the next line that is not empty is a prompt, or the end of what was pasted."""
    below = next((line.strip() for line in lines[number:number + 4] if line.strip()), None)
    return below is None or _NEXT.fullmatch(below[:_LONGEST]) is not None
