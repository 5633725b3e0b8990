"""A framework of the user's own folder that Python loads inside an environment, as a traceback shows it.

Python puts that folder before the environment's, so what was installed there is not what runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.explanation.answers import Answered
from gpudoctor.lazily import Pattern

LOADED = "of the user's own folder is loaded in an environment"
_OWN = Pattern(
    r"(?:\.local[/\\]lib[/\\]python[0-9]\.[0-9]{1,2}|Roaming[/\\]Python[/\\]Python[0-9]{2,3})"
    r"[/\\]site-packages[/\\](tensorflow|torch|jaxlib|jax|keras|paddle)[/\\]")
_ENVIRONMENT = Pattern(
    r"[/\\](?:envs[/\\][^/\\\s\"']{1,60}|(?:ana|mini)conda[0-9]?|mini(?:forge|mamba)[0-9]?|mambaforge|"
    r"\.?venv)[/\\](?:lib[/\\]python[0-9]|bin[/\\]|Lib[/\\]|python\.exe)")
_LONGEST = 1000


def own_frameworks(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield a line for the first framework that is loaded so."""
    own: Answered | None = None
    is_in_environment = False
    for number, line in enumerate(lines, start=1):
        if "/" not in line and "\\" not in line:
            continue
        found = _OWN.search(line[:_LONGEST]) if own is None else None
        if found is not None:
            own = Answered(text=f"{found[1]} {LOADED}", line=number)
        is_in_environment = is_in_environment or _ENVIRONMENT.search(line[:_LONGEST]) is not None
        if own is not None and is_in_environment:
            yield own
            return
