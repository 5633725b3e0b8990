"""Which machine code a build has for a card: compare the fat binaries' signatures with a compute capability.

A fat binary holds SASS (machine code) for some architectures and PTX (to be compiled by the driver) for
others. SASS runs on the same major capability with an equal or higher minor one, but not between a card and
the GPU inside a chip, which is then `alone`; PTX runs on any equal or higher capability, provided that the
driver knows the PTX's ISA version. Source: CUDA C++ Programming Guide, application compatibility; the ISA
version stands in each entry's header.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

from gpudoctor import versions
from gpudoctor.derive.view import floor_row
from gpudoctor.frozen import frozen
from gpudoctor.model import Record, Row, Tables

_CAPABILITY = re.compile(r"([0-9]+)\.([0-9]+)([af]?)\Z")


@frozen
class Coverage:
    """What a card gets from a build: `kind` native, partial, ptx or none.

    Of the PTX that must be compiled, `ptx_isa` is the newest ISA and `ptx_target` the newest card it is for.
    """

    kind: str
    ptx_isa: str | None
    ptx_target: str | None
    fat_binaries: int
    native: int


def coverage(code: Sequence[Record], capability: str, alone: frozenset[str] = frozenset()) -> Coverage:
    """Return what `code` (signature records: sass, ptx, fat_binaries) offers a card of `capability`.

    Those that are `alone` run no machine code but what was compiled for them, which runs nowhere else.
    """
    native = compiled = nothing = 0
    groups: list[tuple[int, bool]] = []
    isa: str | None = None
    target: str | None = None
    for signature in code:
        count = signature.get("fat_binaries", 1)
        count = count if isinstance(count, int) else 1
        runs = any(_sass_runs(item, capability, alone) for item in _list(signature, "sass"))
        needed = None if runs else _smallest_isa(_list(signature, "ptx"), capability)
        groups.append((count, runs or needed is not None))
        if runs:
            native += count
            continue
        if needed is None:
            nothing += count
            continue
        compiled += count
        isa = _newer(isa, needed)
        target = _newer(target, _newest_target(_list(signature, "ptx"), capability))
    kind = _kind(native, compiled, nothing) if _main_groups_serve(groups) else "none"
    return Coverage(kind=kind, ptx_isa=isa, ptx_target=target, native=native,
                    fat_binaries=native + compiled + nothing)


def _newer(one: str | None, other: str | None) -> str | None:
    known = [text for text in (one, other) if text is not None]
    return max(known, key=versions.parse, default=None)


def _kind(native: int, compiled: int, nothing: int) -> str:
    """Return the kind of coverage.

    Fat binaries without code for a card are normal as long as they are the fewer: kernels that only newer
    cards have, or a library beside (NCCL in torch 2.8) that still serves older cards than the build itself.
    """
    if native + compiled <= nothing:
        return "none"
    if not compiled:
        return "native"
    return "partial" if native else "ptx"


def _main_groups_serve(groups: Sequence[tuple[int, bool]]) -> bool:
    """Return whether each of the main kinds of fat binaries, as (number, serves the card), has code for it.

    Libraries that are linked in can be the more: torch 1.11 and 1.12 hold cuDNN and cuBLAS with code for 3.5,
    and their own kernels begin at 3.7. So every kind counts that is half as frequent as the most frequent.
    """
    most = max((count for count, _ in groups), default=0)
    return all(serves for count, serves in groups if 2 * count >= most)


def span(code: Sequence[Record], capabilities: Collection[str],
         alone: frozenset[str] = frozenset()) -> tuple[str, str] | None:
    """Return the oldest and the newest of `capabilities` that `code` serves in any way; None for no such."""
    ordered = sorted(capabilities, key=versions.parse)
    served = [capability for capability in ordered if coverage(code, capability, alone).kind != "none"]
    return (served[0], served[-1]) if served else None


def targets(code: Sequence[Record]) -> frozenset[str]:
    """Return the compute capabilities that the code names, for which a card may exist."""
    entries = (item.partition("@")[0] for signature in code for kind in ("sass", "ptx")
               for item in _list(signature, kind))
    return frozenset(f"{found[0]}.{found[1]}" for entry in entries if (found := _split(entry)))


def _list(signature: Record, key: str) -> tuple[str, ...]:
    value = signature.get(key, ())
    return value if isinstance(value, tuple) else ()


@lru_cache(maxsize=1024)
def _split(text: str) -> tuple[int, int, str] | None:
    match = _CAPABILITY.match(text)
    return (int(match[1]), int(match[2]), match[3]) if match else None


@lru_cache(maxsize=4096)
def _sass_runs(compiled_for: str, capability: str, alone: frozenset[str]) -> bool:
    """Return whether machine code runs on a card: same major, no newer minor; "9.0a" on 9.0 alone."""
    code, card = _split(compiled_for), _split(capability)
    if code is None or card is None or code[0] != card[0]:
        return False
    is_bound = code[2] == "a" or not alone.isdisjoint({capability, f"{code[0]}.{code[1]}"})
    return code[1] == card[1] if is_bound else code[1] <= card[1]


@lru_cache(maxsize=4096)
def _smallest_isa(entries: tuple[str, ...], capability: str) -> str | None:
    """Return the oldest PTX ISA among the entries ("9.0@8.5") that can be compiled for the card."""
    fitting = []
    for entry in entries:
        target, _, isa = entry.partition("@")
        wanted, card = _split(target), _split(capability)
        if wanted is None or card is None or not isa:
            continue
        if _compiles(wanted, card):
            fitting.append(isa)
    return min(fitting, key=versions.parse, default=None)


@lru_cache(maxsize=4096)
def _newest_target(entries: tuple[str, ...], capability: str) -> str | None:
    """Return the newest card that PTX is for among what can be compiled for this one."""
    wanted, card = [_split(entry.partition("@")[0]) for entry in entries], _split(capability)
    fitting = [found[:2] for found in wanted if found and card and _compiles(found, card)]
    return ".".join(str(number) for number in max(fitting)) if fitting else None


def _compiles(target: tuple[int, int, str], card: tuple[int, int, str]) -> bool:
    """Say whether PTX for `target` compiles for a card; "a" binds it to one chip, "f" to its family."""
    if target[2] == "a":
        return target[:2] == card[:2]
    if target[2] == "f":
        return target[0] == card[0] and target[1] <= card[1]
    return target[:2] <= card[:2]


def cudnn_row(tables: Tables, cudnn: str, cuda: Callable[[], str | None]) -> Row | None:
    """Return the row of a cuDNN that is for some CUDA, None when what the table read is not of such a one.

    Of one version there is a build for each CUDA, and they need not have code for the same cards.
    """
    row = floor_row(tables["cudnn_architectures"], "since", cudnn)
    if row is None or "oldest_cuda" not in row:
        return row
    stated = cuda()
    is_read = stated is not None and versions.parse(stated) >= versions.parse(str(row["oldest_cuda"]))
    return row if is_read else None
