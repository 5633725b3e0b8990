"""What a text names in passing and nothing states: its framework, a card's generation, that there is none."""

from __future__ import annotations

import re

from gpudoctor.lazily import Pattern
from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.shown import stated_there
from gpudoctor.sources.stated import Rank

# text.frameworks calls it so -> any trace of it, and its name as a word of a sentence
_TRACES = {
    "tensorflow": "tensorflow", "pytorch": r"\b(?:py)?torch", "jax": r"\bjax", "paddle": r"\bpaddle",
    "onnxruntime": r"\bonnx ?runtime", "mxnet": r"\bmxnet", "theano": r"\btheano",
}
_WORD = (r"(?<![\w/\\.@\"'=-])(?:{trace})(?:-gpu|lib|paddle| [0-9][0-9.]*)?"
         r"(?=[\s,;!?)`*]|\.(?:\s|$)|$)")
# A list of the machine's parts has this item. A bare line "No GPU" may be what a program printed.
_ITEM = re.compile(r"\s{0,8}[-*\u2022]\s{1,4}(?:no (?:nvidia |dedicated |discrete )?(?:gpus?|graphics card)|"
                   r"cpu[- ]only(?: machine| node| server| system)?|without (?:a |any )?gpus?)"
                   r"\s{0,4}[.!]?\s{0,4}")
_MARKS = ("no gpu", "no nvidia", "no dedicated", "no discrete", "no graphics", "cpu only", "cpu-only",
          "without")
# One card is meant: "Kepler GPUs" is what programs write of a kind, "my two Kepler GPUs" what a person has.
_OF_GENERATION = (
    r"(?:[- ]?based|[- ]generation|[- ]class|[- ]era)?(?: (?:architecture|lovelace|ultra|nvidia|tesla|quadro|"
    r"geforce|desktop|laptop|graphics)){0,3}[ -](?:gpu|card|graphics ?card|karte)\b(?! (?:support|"
    r"architecture|famil|generation|is not supported))")
_PADDLE = "architecture in your current machine is "  # as Paddle's warning begins
# Somebody's own graphics are another maker's; a laptop has those beside NVIDIA's card as well.
_OTHERS = Pattern(
    r"\b(?:my|i have|i've got|i own|it has|has|only|just)\b[^.\n]{0,30}?\b(?:(?:amd )?radeon|amd (?:rx|vega|"
    r"gpu|graphics)|intel (?:uhd|hd|iris|arc|integrated|graphics)|integrated graphics|apple (?:m[1-9]|"
    r"silicon))\b")
_NVIDIAS = Pattern(
    r"geforce|\b[rg]tx|quadro|tesla|titan|nvidia[- ](?:smi|card|gpu|driver|graphics)|dedicated|discrete")


def read(text: Text, found: Found) -> None:
    """Read what no other importer found."""
    others = None if found.cards or found.no_cards else _OTHERS.search(text.folded)
    if others is not None and _NVIDIAS.search(text.folded) is None:
        found.no_cards = text.source(text.index_at(others.start()))
    if not found.cards:
        _generation(text, found)
    if not any(one.fact == "text.framework" for one in found.statements):
        _framework(text, found)
    for mark in _MARKS:
        for position in text.places(mark, folded=True):
            index = text.index_at(position)
            if _ITEM.fullmatch(text.lines[index].lower()[:80]):
                found.no_cards = found.no_cards or text.source(index)


def _generation(text: Text, found: Found) -> None:
    """Note the generation that sentences give a card; several are no answer (`settle` sees to it)."""
    for word in found.generations:
        pattern, of_paddle = Pattern(word + _OF_GENERATION), Pattern(_PADDLE + word)
        for position in text.places(word, folded=True):
            match = (pattern.match(text.folded, position)
                     or of_paddle.match(text.folded, max(position - len(_PADDLE), 0)))
            if match is not None and stated_there(text, position, match.end()):
                found.say("text.generation", word, text.source(text.index_at(position)), Rank.SAID)


def _framework(text: Text, found: Found) -> None:
    """Note the one framework that sentences name; where two have traces, nobody knows which it is about."""
    traced = [name for name, trace in _TRACES.items() if re.search(trace, text.folded)]
    if len(traced) != 1:
        return
    word = re.search(_WORD.format(trace=_TRACES[traced[0]]), text.folded)
    if word is not None:
        found.say("text.framework", traced[0], text.source(text.index_at(word.start())), Rank.SHOWN)
