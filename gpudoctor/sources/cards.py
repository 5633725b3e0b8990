"""Names of cards: whose they are, how many are meant, and the compute capability that a table has for them.

A name that the table does not have, or has for cards of several compute capabilities, stays without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from gpudoctor.frozen import frozen
from gpudoctor.lazily import Pattern
from gpudoctor.model import Table

NAME_CHARACTERS = 120
MOST_CARDS = 16
# What stands beside a product's name and does not change its compute capability: form, memory, packaging.
_NOISE = frozenset("""
nvidia corporation corp inc gpu gpus graphics card cards laptop notebook mobile desktop max q maxq edition
with design the pcie pci hbm2 hbm2e hbm3 hbm3e gddr5 gddr5x gddr6 gddr6x ddr3 oem vram memory ram rev a1 gb
g mib mb mac refresh workstation server passive sff sxm generation
""".split())
_NOISE_PATTERN = Pattern(
    r"[0-9]{1,6}(?:gb|mib|mb|gib|g)|sxm[0-9]|nvl[0-9]{0,3}|[0-9]{1,2}[qcab]|[0-9]{1,2}x")
_GLUED = Pattern(
    r"\b(rtx|gtx|gts|gt|titan|quadro|tesla|geforce|radeon|rx|vega|hd|uhd)[ -]?([0-9]{3,4})(ti|super|xtx?)?\b"
    r"|\b([0-9]{4})(super)\b|\b([0-9]{3,4})(ti)\b")
_TOKEN = Pattern(r"[a-z0-9]+")
_FAMILIES = frozenset({"geforce", "tesla", "quadro", "grid", "jetson", "drive", "tegra"})
_RANGES = frozenset({"rtx", "gtx"})
_GENERATIONS = frozenset({"ada", "blackwell", "pascal", "lovelace", "ampere"})
_MODULES = frozenset({"orin", "xavier"})

_NVIDIA_WORDS = frozenset("""
nvidia geforce gtx rtx quadro tesla titan jetson tegra dgx hgx nvs kepler maxwell pascal volta turing ampere
hopper blackwell fermi
""".split())
_OTHER_WORDS = frozenset("""
amd radeon vega rx intel iris uhd hd arc apple adreno mali ati firepro m1 m2 m3 m4 instinct mi100 mi210 mi250
mi300x tpu rocm gaudi
""".split())
_NO_CARD = frozenset({"none", "no", "no gpu", "cpu", "cpu only", "without gpu", "-", "n/a (cpu)", "no gpus"})
_CAPABILITY = Pattern(
    r"\b(?:sm_|compute_)([0-9]{2,3})[af]?\b|\b(?:capability|cc)[ :=]{1,3}([0-9]{1,2}\.[0-9])\b")
_COUNT = Pattern(r"\(?([0-9]{1,2}) ?[x\u00d7*](?!x)\)? ?(?=[A-Za-z])|(?<=[ )])[x\u00d7*] ?([0-9]{1,2})\b")
_PLAIN_NUMBER = Pattern(r"[0-9]{3}|[a-z]?[0-9]{4}")
_SERIES = Pattern(r"\b([rg]tx)[ -]?([0-9]{2})(?:xx|[ -]series)\b")
_SEPARATORS = Pattern(r"[,;&\n]| \+ | and | / | plus ")
# From one of these on a part goes on as a sentence, or is one: it names a card no more.
_SENTENCE = Pattern(
    r"(?:^|[ (])(?:nvidia-smi|nvcc|drivers?|with(?! max)|but|which|that|is|are|was|has|have|on|in|at|"
    r"shows?|works?|does|can(?:not)?|runs?|running|using|under|not|it|i|my|we|because|when|where|"
    r"while)\b", re.IGNORECASE)


@frozen
class Card:
    """A card as a text names it; `nvidia` is None when the name does not tell its maker."""

    name: str
    nvidia: bool | None
    capability: str | None = None
    mig: bool = False


def tokens(name: str) -> tuple[str, ...]:
    """Return the words of a product's name that tell it apart: "NVIDIA A100-SXM4-80GB" -> ("a100",)."""
    spaced = _GLUED.sub(_unglued, name[:NAME_CHARACTERS].lower())
    words = _TOKEN.findall(spaced)
    kept: list[str] = []
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        if word == "mig":
            break
        is_size = word.isdecimal() and following in ("gb", "gib", "mib", "mb", "g")
        if word not in _NOISE and not is_size and not _NOISE_PATTERN.fullmatch(word):
            kept.append(word)
    return tuple(kept)


def _unglued(found: re.Match[str]) -> str:
    return " ".join(part for part in found.groups() if part)


def forms(name: str) -> Iterator[str]:
    """Yield how people write a product's name, the full one first."""
    full = tokens(name)
    written = (full, _without(full, _FAMILIES), _without(full, _GENERATIONS),
               _without(full, _FAMILIES | _GENERATIONS), _module(full), _bare_number(full), _titan(full))
    yield from dict.fromkeys(" ".join(words) for words in written if _tells(words))


def _tells(words: Sequence[str]) -> bool:
    """Say whether the words can stand for a product: one word must be more than a family or a number."""
    if len(words) != 1:
        return bool(words)
    return words[0] in _MODULES or len(words[0]) == 4 or not (words[0].isalpha() or words[0].isdecimal())


def _without(words: Sequence[str], left_out: frozenset[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in left_out)


def _module(words: Sequence[str]) -> tuple[str, ...]:
    """Return the chip by which a Jetson calls itself: "Orin"."""
    return tuple(word for word in words if word in _MODULES)[:1]


def _bare_number(words: Sequence[str]) -> tuple[str, ...]:
    """Return "3090 ti" of "geforce rtx 3090 ti", "a6000" of "rtx a6000"; three digits need "ti"."""
    short = _without(words, _FAMILIES | _RANGES)
    if not short or not _PLAIN_NUMBER.fullmatch(short[0]):
        return ()
    return short if len(short[0]) > 3 or short[1:2] == ("ti",) else ()


def _titan(words: Sequence[str]) -> tuple[str, ...]:
    """Return "titan x", which several boards were called."""
    short = _without(words, _FAMILIES | _RANGES | _GENERATIONS)
    return short if short[:1] == ("titan",) and len(short) > 1 else ()


def first_word(generation: str) -> str:
    """Return the word by which people call a generation: "ada" of "Ada Lovelace"."""
    return generation.partition(" ")[0].lower()


def index(table: Table | None) -> Mapping[str, frozenset[str]]:
    """Return the compute capabilities of each form in the table of products."""
    found: dict[str, set[str]] = {}
    for row in table.rows if table is not None else ():
        capability, listed = row.get("compute_capability"), row.get("forms")
        if isinstance(capability, str) and isinstance(listed, tuple):
            for form in listed:
                found.setdefault(str(form), set()).add(capability)
    return {form: frozenset(capabilities) for form, capabilities in found.items()}


def capability_named(name: str, known: Mapping[str, frozenset[str]]) -> str | None:
    """Return the compute capability of the product that words name, None unless there is exactly one."""
    found = capabilities_named(name, known)
    return next(iter(found)) if len(found) == 1 else None


def capabilities_named(name: str, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the compute capabilities of the products that words name: of "GeForce GT 710" there are two.

    Other words may stand around the name; `assume.products` asks for a name and nothing else.
    Of a name that nvidia-smi cut short ("GeForce GTX 165...") they are those of all that begin so, of a
    series ("RTX 30 series", "RTX 30xx") those of all that belong to it.
    """
    words = tokens(name.replace("...", " "))
    if "..." in name:
        return _beginning(" ".join(words), known)
    if series := _SERIES.search(name.lower()):
        of_series = re.compile(rf"geforce {series[1]} {series[2]}[0-9][0-9]\b")
        return frozenset().union(*(some for form, some in known.items() if of_series.match(form)))
    for length in range(min(len(words), 6), 0, -1):
        for start in range(min(len(words) - length + 1, 4)):
            part = " ".join(words[start:start + length])
            if part in known:
                return known[part]
    return frozenset()


def _beginning(start: str, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    if len(start) < 6 or not any(character.isdecimal() for character in start):
        return frozenset()  # "GeForce ...", which could be any
    return frozenset().union(*(some for form, some in known.items() if form.startswith(start)))


def maker_is_nvidia(name: str, known: Mapping[str, frozenset[str]]) -> bool | None:
    """Say whether a card is NVIDIA's; None when its name does not tell."""
    words = set(_TOKEN.findall(_GLUED.sub(_unglued, name[:NAME_CHARACTERS].lower())))
    if words & _NVIDIA_WORDS:
        return True
    if words & _OTHER_WORDS:
        return False
    return True if capabilities_named(name, known) else None


def names_none(text: str) -> bool:
    """Say whether a person's words say that there is no card: "none", "no GPU (a laptop)"."""
    said = text.strip().lower().rstrip(".")
    return said in _NO_CARD or said.partition(" (")[0] in _NO_CARD


def stated_cards(text: str, known: Mapping[str, frozenset[str]]) -> tuple[Card, ...] | None:
    """Return the cards that a person's words name ("2x Tesla K40m"), () for "none"; None without any name."""
    text = text[:NAME_CHARACTERS * 4].strip()
    if names_none(text):
        return ()
    cards: list[Card] = []
    for part in _SEPARATORS.split(text):
        named = _named(part)
        maker = maker_is_nvidia(named, known)
        if maker is None:
            continue
        found = _COUNT.search(named)
        count = int(found[1] or found[2]) if found else 1
        name = " ".join(_COUNT.sub(" ", named).split())[:NAME_CHARACTERS].strip(" .[]*_`'\"-:")
        cards += [_card(name, maker, part, known)] * max(1, min(count, MOST_CARDS - len(cards)))
        if len(cards) >= MOST_CARDS:
            break
    return tuple(cards) or None


def _named(part: str) -> str:
    """Return what of a part can be a card's name: what a sentence says of the card is none of it."""
    said = _SENTENCE.search(part)
    return part if said is None else part[:said.start()]


def _card(name: str, maker: bool, words: str, known: Mapping[str, frozenset[str]]) -> Card:
    stated = capability_in(words)
    looked_up = capability_named(name, known) if maker else None
    return Card(name=name, nvidia=maker, capability=stated or looked_up,
                mig=re.search(r"\bMIG\b", words) is not None)


def capability_in(text: str) -> str | None:
    """Return a compute capability that is written out: sm_86, compute capability 8.6."""
    found = _CAPABILITY.search(text[:NAME_CHARACTERS * 4].lower())
    if found is None:
        return None
    return found[2] or f"{found[1][:-1]}.{found[1][-1]}"
