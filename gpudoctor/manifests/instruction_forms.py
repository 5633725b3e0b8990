"""What instructions must have for a builder to take the file at all.

https://github.com/moby/buildkit/blob/0bbf9e58388fdcf7e4a7985e7e17c37340a056f8/frontend/dockerfile/instructions/parse.go
"""

from __future__ import annotations

from gpudoctor.manifests.dockerfile import Instruction
from gpudoctor.manifests.shellwords import words_of
from gpudoctor.manifests.spans import Source

_MAY_BE_EMPTY = frozenset({"RUN", "CMD", "ENTRYPOINT", "FROM"})  # of FROM its reader says more
_OF_PAIRS = ("ENV", "LABEL")


def require(instruction: Instruction, source: Source, escape: str) -> None:
    """Raise `ManifestError` where something is missing without which every build ends."""
    name = instruction.name
    words = words_of(instruction.arguments, {}, escape)
    if not words and name not in _MAY_BE_EMPTY:
        raise source.error(instruction.keyword.start, f"{name} without anything behind it")
    if name not in _OF_PAIRS:
        return
    if "=" not in words[0].text:  # the old form: a name, and the rest of the line
        if len(words) == 1:
            raise source.error(words[0].start, f"{name} without a value: write {name} NAME=VALUE")
        return
    for word in words:
        if "=" not in source.text[word.start:word.end]:
            raise source.error(word.start, (
                f"{name} with a word without =: write NAME=VALUE, and quotes around a value that has blanks"))
