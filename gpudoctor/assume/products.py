"""Cards by the names that people use for them, as the table of products has them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from gpudoctor.assume.laying import AssumptionError
from gpudoctor.derive.view import as_texts
from gpudoctor.model import Tables, rows_of

_MAKER = re.compile(r"\b(nvidia|geforce|tesla)\b")
# what names say of the board beside the card: its memory, its form, its cooling, for whom it is
_BOARD = re.compile(r"\b(?:[0-9]+ ?gb|sxm[0-9]?|pcie|hbm[0-9]\w*|nvl|laptop gpu|mobile|with max q design|"
                    r"max q|generation|(?:workstation|server) edition|ac)\b")
_TOLD = re.compile(r"(.*\S)\s*\(cc=([0-9.]+)\)")
_MOST_SHOWN = 5
Products = Mapping[tuple[str, str], set[str]]  # name and compute capability -> forms in which it is written


def told_apart(text: str) -> tuple[str, str | None]:
    """Return the name of a card, and the compute capability that is told beside it: "MATS (cc=13.0)"."""
    match = _TOLD.fullmatch(text.strip())
    return (match[1], match[2]) if match else (text, None)


def capability_of(text: str, tables: Tables) -> str:
    """Return the compute capability of a product, as it is told or as the tables have it.

    Raise `AssumptionError` where they differ, and for a name that is none, or that of several.
    """
    known = _known(tables)
    text, told = told_apart(text)
    if told is not None:
        others = {capability for _, capability in _called(text, known)}
        if others and told not in others:
            raise AssumptionError(f"card={text} and cc={told} contradict one another: its compute capability "
                                  f"is {' or '.join(sorted(others))}")
        return told
    found = _called(text, known)
    capabilities = sorted({capability for _, capability in found})
    if len(capabilities) == 1:
        return capabilities[0]
    if found:
        shown = ", ".join(f"{name} (cc={capability})" for name, capability in found[:_MOST_SHOWN])
        raise AssumptionError(f"card={text}: several cards are called so: {shown}; write --assume cc=...")
    names = sorted({form for forms in known.values() for form in forms})
    if text.isdecimal():
        raise AssumptionError(f"{text}: a card is named, not counted: --assume card=\"RTX 5090\" or --assume "
                              "cc=9.0, twice for two")
    near = difflib.get_close_matches(_plain(text)[:80], names, n=3)
    hint = f" (did you mean {' or '.join(near)}?)" if near else ""
    raise AssumptionError(f"card={text[:80]}: the rules know no such card{hint}; of one of NVIDIA's say its "
                          "compute capability beside it: --assume cc=9.0; others are not judged")


def capabilities_of(text: str, tables: Tables) -> tuple[str, ...]:
    """Return the compute capabilities of the products that are called so, () where none is."""
    return tuple(sorted({capability for _, capability in _called(text, _known(tables))}))


def names_of(text: str, tables: Tables) -> tuple[str, ...]:
    """Return the products that are called so, by their whole names."""
    return tuple(dict.fromkeys(name for name, _ in _called(text, _known(tables))))


def _called(text: str, known: Products) -> list[tuple[str, str]]:
    """Return the products of a name: of the whole one, of its forms, else of it without the board."""
    whole, wanted = " ".join(text.lower().split()), _plain(text)
    return sorted(product for product in known if product[0].lower() == whole) or sorted(
        product for product, forms in known.items() if _joined(wanted) in map(_joined, forms)) or sorted(
        product for product, forms in known.items() if _bare(wanted) in map(_bare, forms))


def _known(tables: Tables) -> Products:
    """Return the forms in which people write each product, by its name and compute capability."""
    return {(str(row["name"]), str(row["compute_capability"])): {
        _plain(str(row["name"])), *map(_plain, as_texts(row["forms"]))}
        for row in rows_of(tables, "gpu_products")}


def _joined(name: str) -> str:
    """Return a name without its spaces, which many leave out: "rtx5090"."""
    return name.replace(" ", "")


def _bare(name: str) -> str:
    """Return a plain name without what it says of the board: nvidia-smi writes V100-SXM2-16GB."""
    return _joined(re.sub(r"[()-]", " ", _BOARD.sub(" ", name.replace("-", " "))))


def _plain(text: str) -> str:
    return " ".join(_MAKER.sub(" ", text.lower()).split())
