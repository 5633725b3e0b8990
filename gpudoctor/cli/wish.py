"""What `check` and `snapshot` may be asked about running frameworks: cards, stages, a stage's limit."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from gpudoctor.arguments import allowed
from gpudoctor.courses import STAGES, Wish
from gpudoctor.render.plain import printable

# of a UUID its beginning is enough
_CARD = re.compile(r"[0-9]{1,4}|(?:GPU|MIG)-[0-9a-z-]{0,80}", re.IGNORECASE)


class WishError(ValueError):
    """A stage that does not exist was asked for; one line that names those that do."""


def parse(gpus: Sequence[str] | None, stages: Sequence[str] | None, limit_seconds: float) -> Wish:
    """Return the wish; `stages` are names, several may stand in one text, separated by commas."""
    named = [name.strip() for text in stages or () for name in text.split(",") if name.strip()]
    for name in named:
        if name not in STAGES:
            raise WishError(f"--stages {printable(name, 80)}: no such stage; {allowed(name, STAGES)}")
    if stages and not named:
        raise WishError(f"--stages names nothing; {allowed('', STAGES)}")
    cards = [name.strip() for text in gpus or () for name in text.split(",") if name.strip()]
    wrong = next((name for name in cards if _CARD.fullmatch(name) is None), None)
    if wrong is not None:
        raise WishError(f"--gpu {printable(wrong, 80)}: no card is called so; give an index or a UUID as "
                        "nvidia-smi -L prints them")
    if gpus and not cards:
        raise WishError("--gpu names nothing; give an index or a UUID as nvidia-smi -L prints them")
    return Wish(gpus=tuple(cards), stages=tuple(named) or STAGES, limit_seconds=limit_seconds)


def told(text: str) -> None:
    """Say on a terminal's standard error what is being run, because it can take long."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"gpudoctor: running {printable(text, 200)}\n")
        sys.stderr.flush()
