"""Decide what each framework is to be run through, on which card, and why not where it is not. Pure.

A neighbour's work is respected: one card at a time, and none that is taken, closed or full. A machine without
a card, or whose driver does not work, is told so and nothing is run but the imports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpudoctor import derive, versions
from gpudoctor.derive.view import as_records, text_in
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Course, RuleDatabase, Scope, Skip, Snapshot, Subject, Tables, Unknown, Value, rows_of,
)

STAGES = ("matmul", "convolution", "compiled", "reduced-precision", "all-reduce")
DEFAULT_LIMIT_SECONDS = 120.0
ROOM_BYTES = 1 << 30  # the data and the context that the driver makes beside it
ROOM_TOGETHER_BYTES = 4 << 30  # and NCCL's buffers, which grow with the cards and their links
COMPILING_SECONDS = 600.0  # with a limit from here on, what must first be compiled from PTX is tried
_TOGETHER = "all-reduce"
_MOST_TOGETHER = 8
_TAKEN = ("exclusive-thread", "exclusive-process")
_OUT_OF_MEMORY, _UNAVAILABLE = "2", "46"  # what the driver said to the checked kernel


@frozen
class Wish:
    """What the caller asked for: cards by index or UUID (none: one of each kind), stages, a stage's limit."""

    gpus: Sequence[str] = ()
    stages: Sequence[str] = STAGES
    limit_seconds: float = DEFAULT_LIMIT_SECONDS


class NoSuchCard(ValueError):
    """A card that was named is not there; one line that says which are."""


def courses(snapshot: Snapshot, database: RuleDatabase, wish: Wish, *, depth: str) -> tuple[Course, ...]:
    """Return what to run, framework by framework; raise `NoSuchCard`."""
    subjects = derive.subjects(snapshot, database)
    host = subjects[Scope.HOST][0]
    frameworks = [] if isinstance(snapshot.frameworks, Unknown) else subjects[Scope.FRAMEWORK]
    names = dict.fromkeys(str(n) for f in frameworks if (n := f.value("framework.name")) in FRAMEWORKS)
    cards = [] if isinstance(snapshot.gpus, Unknown) else subjects[Scope.GPU]
    whole = _skipped_on_every_card(snapshot, host, depth)
    named = _named(cards, wish.gpus) if whole is None else []  # else the report says why there is none
    found: list[Course] = []
    for name in names:
        if whole is not None:
            found.append(Course(framework=name, skip=whole))
            continue
        pairs = [s for s in subjects[Scope.PAIR] if s.value("framework.name") == name]
        found += _of_framework(name, named or _one_of_each_kind(cards), pairs, host, database.tables, wish)
        found += _together(name, named or _largest_kind(cards), pairs, host, wish)
    foretold = {str(f.value("framework.name")): _foretold(f) for f in frameworks}
    return tuple(replace(course, predicted=foretold[course.framework]) for course in found)


def _foretold(framework: Subject) -> tuple[str, ...]:
    """Return the files of the loader trace."""
    trace = as_records(framework.value("framework.libraries"))
    return tuple(path for record in trace if (path := text_in(record, "path")))


def of_unknown_code(snapshot: Snapshot, database: RuleDatabase) -> frozenset[str]:
    """Return the frameworks whose device code has to be walked: GPU builds that no table row is about."""
    if isinstance(snapshot.frameworks, Unknown):
        return frozenset()
    frameworks = derive.subjects(snapshot, database)[Scope.FRAMEWORK]
    return frozenset(str(f.value("framework.name")) for f in frameworks
                     if f.value("framework.has_gpu_build") is not False
                     and f.value("framework.code_is_listed") is not True)


def _skipped_on_every_card(snapshot: Snapshot, host: Subject, depth: str) -> Skip | None:
    if depth != "smoke":
        return Skip(reason=f"nothing is run at depth {depth}", wanted=False)
    if isinstance(snapshot.gpus, Unknown):
        return Skip(reason=f"the cards could not be listed: {snapshot.gpus.reason}", wanted=True)
    if not snapshot.gpus:
        return Skip(reason="there is no NVIDIA GPU here to run on", wanted=False)
    if host.value("driver.works") is not True:
        return Skip(reason="the driver does not work, so there is nothing to run on", wanted=False)
    return None


def _named(cards: Sequence[Subject], wanted: Sequence[str]) -> list[Subject]:
    """Return the cards that were asked for by index or by the beginning of their UUID."""
    found = []
    for text in wanted:
        match = [card for card in cards if _is_named(card, text)]
        if len(match) != 1:
            there = ", ".join(f"{c.value('gpu.index')} ({c.value('gpu.name')})" for c in cards) or "none"
            what = "names several cards" if match else "no such card"
            raise NoSuchCard(f"--gpu {text}: {what}; cards here: {there}")
        found += match
    return found


def _is_named(card: Subject, text: str) -> bool:
    if text.isdecimal():
        return str(card.value("gpu.index")) == text
    return str(card.value("gpu.uuid") or "").lower().startswith(text.lower())


def _one_of_each_kind(cards: Sequence[Subject]) -> list[Subject]:
    """Return of each model the card with the most free memory, of those that programs may see."""
    return [max(alike, key=_free_bytes) for alike in _kinds(cards)]


def _largest_kind(cards: Sequence[Subject]) -> list[Subject]:
    """Return the cards of the model that there is most of: a program seldom spreads over unlike ones."""
    return max(_kinds(cards), key=len, default=[])


def _kinds(cards: Sequence[Subject]) -> list[list[Subject]]:
    """Return the cards that programs may see, those of one model together."""
    kinds: dict[tuple[Value | None, Value | None], list[Subject]] = {}
    for card in [c for c in cards if c.value("gpu.hidden") is not True] or cards:
        kinds.setdefault((card.value("gpu.name"), card.value("gpu.compute_capability")), []).append(card)
    return list(kinds.values())


def _of_framework(name: str, cards: Sequence[Subject], pairs: Sequence[Subject], host: Subject,
                  tables: Tables, wish: Wish) -> Iterator[Course]:
    stages = tuple(stage for stage in STAGES if stage in wish.stages and stage != _TOGETHER)
    hidden = host.value("cuda.visible_count") == 0
    for card in cards[:1] if hidden else cards:
        skip = _skipped(card) or _long_compilation(card, pairs, wish)
        yield Course(framework=name, card=_label(card), stages=() if skip else stages, skip=skip,
                     visible=None if hidden else _selector(card, host), precisions=_precisions(card, tables),
                     memory_bytes=_memory_bytes([card]))


def _together(name: str, cards: Sequence[Subject], pairs: Sequence[Subject], host: Subject,
              wish: Wish) -> Iterator[Course]:
    """Yield the course over several cards at once, or why it is left out where there are several."""
    is_meant = len(cards) > 1 or tuple(wish.stages) != STAGES
    if _TOGETHER not in wish.stages or not is_meant or host.value("cuda.visible_count") == 0:
        return
    refused = {_label(c): _skipped_together(c, pairs, wish) for c in cards}
    free = [c for c in cards if refused[_label(c)] is None][:_MOST_TOGETHER]
    if len(free) > 1:
        yield Course(framework=name, card=",".join(_label(c) for c in free), stages=(_TOGETHER,),
                     visible=",".join(str(_uuid(c)) for c in free), memory_bytes=_memory_bytes(free))
        return
    why = "; ".join([f"it takes two cards of one model, or named by --gpu, and {len(free)} may be used",
                     *(f"GPU {label}: {skip.reason}" for label, skip in refused.items() if skip)])
    yield Course(framework=name, skip=Skip(reason=why, wanted=True), left_out=(_TOGETHER,))


def _skipped_together(card: Subject, pairs: Sequence[Subject], wish: Wish) -> Skip | None:
    """Return why a card takes no part in what runs on several, if it takes none."""
    if not _uuid(card):
        return Skip(reason="CUDA does not list it, or it is in MIG mode", wanted=True)
    return _skipped(card, ROOM_TOGETHER_BYTES) or _long_compilation(card, pairs, wish)


def _skipped(card: Subject, room_bytes: int = ROOM_BYTES) -> Skip | None:
    """Return why a card is left alone, if it is."""
    mode, processes = card.value("gpu.compute_mode"), card.value("gpu.compute_processes")
    if mode == "prohibited":
        return Skip(reason="its compute mode prohibits computing", wanted=True)
    has_room = card.value("gpu.driver_kernel") == "passed"  # with MPS there is room beside another process
    if mode in _TAKEN and isinstance(processes, int) and processes > 0 and not has_room:
        return Skip(reason=f"its compute mode is {mode} and {processes} process(es) use it", wanted=True)
    refused = _refused(card)
    if refused:
        return Skip(reason=refused, wanted=True)
    total, free = card.value("gpu.memory_total_bytes"), card.value("gpu.memory_free_bytes")
    if isinstance(total, int) and isinstance(free, int) and free < room_bytes:
        said = f"{free >> 20} MiB of its {total >> 20} MiB are free"
        return Skip(reason=f"no room on it: {said}, {room_bytes >> 20} MiB are needed", wanted=True)
    return None


def _refused(card: Subject) -> str:
    """Return why the checked kernel got no place on the card: NVML does not always tell who uses it."""
    if card.value("gpu.driver_kernel") != "skipped":
        return ""
    answer = card.value("gpu.driver_kernel_answer")
    if answer == _UNAVAILABLE:
        return f"its compute mode is {card.value('gpu.compute_mode')} and it is taken, as the driver says"
    return "no room on it, not even for the checked kernel" if answer == _OUT_OF_MEMORY else ""


def _long_compilation(card: Subject, pairs: Sequence[Subject], wish: Wish) -> Skip | None:
    pair = next((p for p in pairs if p.gpu == card.gpu), None)
    if pair is None or pair.value("pair.code") != "ptx" or wish.limit_seconds >= COMPILING_SECONDS:
        return None
    command = f"gpudoctor check --smoke-timeout {3 * COMPILING_SECONDS:.0f}"
    if pair.value("pair.ptx_fails") is True:
        return Skip(
            wanted=False, reason=f"it has no code that works on this card; to run it anyway: {command}")
    return Skip(wanted=False, reason=(
        "all its kernels must first be compiled from PTX for this card, which can take many minutes; "
        f"to wait for it: {command}"))


def _precisions(card: Subject, tables: Tables) -> tuple[str, ...]:
    capability = card.value("gpu.compute_capability")
    if not isinstance(capability, str):
        return ()
    tried = (row for row in rows_of(tables, "precisions") if row.get("tried") is not False)
    return tuple(str(row["precision"]) for row in tried
                 if versions.parse(str(row["first_compute_capability"])) <= versions.parse(capability))


def _selector(card: Subject, host: Subject) -> str | None:
    """Return what shows a program this card alone; where there is no other, it sees what it always sees.

    Not every board's driver takes UUIDs (Jetson), and a card that we hid ourselves would look like a fault.
    """
    return None if host.value("cuda.device_count") == 1 else _uuid(card)


def _uuid(card: Subject) -> str | None:
    """Return what selects the card in CUDA_VISIBLE_DEVICES; a card in MIG mode is left to the driver."""
    uuid = card.value("gpu.uuid")
    if card.value("gpu.mig_mode") is True or card.value("gpu.in_cuda") is not True:
        return None
    return uuid if isinstance(uuid, str) else None


def _label(card: Subject) -> str:
    index = card.value("gpu.index")
    return str(card.gpu if index is None else index)


def _memory_bytes(cards: Sequence[Subject]) -> int | None:
    """Return what the smallest of the cards has, None where nobody says; a MIG instance has less."""
    totals = [total for card in cards if isinstance(total := card.value("gpu.memory_total_bytes"), int)
              and card.value("gpu.mig_mode") is not True]
    return min(totals) if len(totals) == len(cards) else None


def _free_bytes(card: Subject) -> int:
    free = card.value("gpu.memory_free_bytes")
    return free if isinstance(free, int) else 0
