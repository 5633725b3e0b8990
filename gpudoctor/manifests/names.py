"""Names of distributions that sound like a framework's and are not: known, made-up and misspelt ones."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from gpudoctor.derive.view import as_texts
from gpudoctor.frozen import frozen
from gpudoctor.model import Tables, row_of
from gpudoctor.versions import distribution_name

# what a framework is called, and the distributions that it is installed by
_CALLED = {
    "torch": ("torch",), "pytorch": ("torch",), "torchvision": ("torchvision",),
    "torchaudio": ("torchaudio",),
    "tensorflow": ("tensorflow[and-cuda]", "tensorflow"), "tf": ("tensorflow[and-cuda]", "tensorflow"),
    "jax": ("jax[cuda12]", "jax[cuda13]"), "jaxlib": ("jax[cuda12]", "jax[cuda13]"),
    "paddle": ("paddlepaddle-gpu",), "paddlepaddle": ("paddlepaddle-gpu",)}
_PUBLISHED = frozenset({
    "torch", "torchvision", "torchaudio", "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "jax", "jaxlib",
    "paddlepaddle", "paddlepaddle-gpu"})
_HARDWARE = re.compile(r"(?:gpu|cpu|nvidia|cuda[0-9]*|cu[0-9]+)\Z")
_LONG = 9  # letters of a name in which one wrong letter is a slip of the finger; shorter ones are other words
_LONGEST = 40


@frozen
class Misnamed:
    """What a name is instead of what it sounds like, and the names that were probably meant."""

    what: str
    nearest: tuple[str, ...]


def misnamed(name: str, others: AbstractSet[str], tables: Tables) -> Misnamed | None:
    """Return what is wrong with the name of a requirement beside `others`, None where nothing is."""
    written = distribution_name(name)
    row = row_of(tables, "misnamed_distributions", distribution=written)
    if row is not None:
        meant = as_texts(row["meant"]) if row.get("unless") not in others else ()
        return Misnamed(what=f"is {row['is']}", nearest=meant) if meant else None
    if written in _PUBLISHED or len(written) > _LONGEST:
        return None
    parts = written.split("-")
    core = "-".join(part for part in parts if not _HARDWARE.match(part))
    if core in _CALLED and core != written:
        return Misnamed(what="is no name under which the framework is published", nearest=_CALLED[core])
    alike = next((known for known in sorted(_PUBLISHED) if _is_slip(written, known)), None)
    return Misnamed(what=f"looks like {alike} misspelt", nearest=(alike,)) if alike else None


def _is_slip(written: str, meant: str) -> bool:
    """Return whether a name is another one with a letter left out, doubled, changed or two exchanged.

    In a short name two that are exchanged or one that is doubled, for with another letter it is another word.
    """
    if written[:1] != meant[:1]:
        return False
    if len(written) == len(meant):
        wrong = [at for at, pair in enumerate(zip(written, meant, strict=True)) if pair[0] != pair[1]]
        if len(wrong) == 2 and wrong[1] == wrong[0] + 1:
            return written[wrong[0]] == meant[wrong[1]] and written[wrong[1]] == meant[wrong[0]]
        return len(wrong) == 1 and len(meant) >= _LONG
    if len(written) == len(meant) + 1:
        return any(written[:at] + written[at + 1:] == meant and written[at] == written[at - 1]
                   for at in range(1, len(written)))
    return len(meant) >= _LONG and any(meant[:at] + meant[at + 1:] == written for at in range(len(meant)))
