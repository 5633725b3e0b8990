"""Which devices CUDA_VISIBLE_DEVICES leaves, read as the driver reads it, and which cards it hides.

The first entry says whether the list is one of numbers, of UUIDs or of MIG instances. Of a number the first
digits count ("1gpu" is 1, as with strtoul); the first entry that names no device ends the list; a device that
is named twice leaves none. Sources: CUDA C++ Programming Guide, environment variables; for digits and
repetition, which the guide leaves open, PyTorch's torch/cuda/__init__.py, which follows the driver.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from gpudoctor.derive.pairs import serves
from gpudoctor.derive.view import NotKnown, View, as_records, text_in
from gpudoctor.frozen import frozen
from gpudoctor.model import Absent, Fact, Facts, Known, Snapshot, Unknown

_VARIABLE = "environment.CUDA_VISIBLE_DEVICES"
_NUMBER = re.compile(r"[+]?([0-9]+)")
_MIG = "mig-"


@frozen
class Left:
    """The devices that stay: positions in libcuda's list; an instance of MIG that no list shows is -1."""

    kind: str  # all, some, none or invalid
    positions: tuple[int, ...] = ()


_HIDDEN_INSTANCE = -1


def left(view: View, snapshot: Snapshot) -> Left:
    """Return what the variable leaves, or end the derivation."""
    return view.once("CUDA_VISIBLE_DEVICES", lambda view: _left(view, snapshot))


def _left(view: View, snapshot: Snapshot) -> Left:
    if isinstance(view.fact(_VARIABLE), Absent):
        return Left(kind="all")
    entries = [entry.strip().lower() for entry in view.need_text(_VARIABLE).split(",")]
    by_number = not entries[0].startswith(("gpu-", _MIG))
    if by_number and next(_numbers(entries), None) is None:
        return Left(kind="none")  # nothing, -1, NoDevFiles: whatever devices there are
    total = view.need("cuda.device_count")
    assert isinstance(total, int)
    named = list(_numbers(entries)) if by_number else list(_by_uuid(entries, total, view, snapshot))
    if len(set(named)) < len(named):
        return Left(kind="invalid")
    positions = []
    for position in named:
        if position >= total:
            break
        positions.append(position)
    if not positions:
        return Left(kind="invalid")
    whole = len(positions) >= total and _HIDDEN_INSTANCE not in positions
    return Left(kind="all" if whole else "some", positions=tuple(positions))


def _numbers(entries: Sequence[str]) -> Iterator[int]:
    for entry in entries:
        match = _NUMBER.match(entry)
        if match is None:
            return
        yield int(match[1])


def _by_uuid(entries: Sequence[str], total: int, view: View, snapshot: Snapshot) -> Iterator[int]:
    """Yield the devices of a list of UUIDs or of their beginnings; of MIG instances a process uses one.

    One that is not there is as one behind the last of all, also where nobody tells the UUIDs.
    """
    kind = entries[0][:4]
    uuids = [text_in(record, "uuid").lower() for record in view.records("cuda.devices")]
    for position, entry in enumerate(entries):
        if not entry.startswith(kind):
            return
        matches = [device for device, uuid in enumerate(uuids) if uuid.startswith(entry)]
        if kind == _MIG:
            yield matches[0] if matches else _HIDDEN_INSTANCE if _may_have_mig(snapshot) else total
            return
        if not any(uuids):
            yield position  # nobody tells the UUIDs: taken at its word
        elif len(matches) == 1:
            yield matches[0]
        else:
            return


def _may_have_mig(snapshot: Snapshot) -> bool:
    """Return whether a card is in MIG mode, or may be."""
    if isinstance(snapshot.gpus, Unknown):
        return True
    modes = [card.get("gpu.mig_mode", Unknown(reason="not asked")) for card in snapshot.gpus]
    return any(mode.value is True if isinstance(mode, Known) else isinstance(mode, Unknown) for mode in modes)


# -- facts of the host ---------------------------------------------------------------------------------------


def visibility(view: View, snapshot: Snapshot) -> Fact:
    """Return what the variable leaves of the devices: all, some, none or invalid."""
    found = left(view, snapshot)
    if isinstance(view.fact(_VARIABLE), Absent):
        return Known(value="all", source="CUDA_VISIBLE_DEVICES is not set")
    total = view.value("cuda.device_count")
    of = "" if total is None else f", of {total} devices"
    return Known(value=found.kind, source=f"CUDA_VISIBLE_DEVICES={view.value(_VARIABLE)!r}{of}")


def visible_count(view: View, snapshot: Snapshot) -> Fact:
    """Return how many CUDA devices stay visible."""
    found = left(view, snapshot)
    if found.kind == "all":
        return Known(value=view.need("cuda.device_count"), source="libcuda")
    return Known(value=len(found.positions), source="CUDA_VISIBLE_DEVICES")


def hides_every_device(view: View, snapshot: Snapshot) -> Fact:
    """Return whether the variable alone keeps every device from programs.

    Where libcuda never answered, the cards that NVML counts are hidden all the same by a list that is empty.
    """
    if view.value("driver.works") is False or view.value("cuda.device_count") == 0:
        return Known(value=False, source="there is no CUDA device to hide")
    kind = left(view, snapshot).kind
    source = f"CUDA_VISIBLE_DEVICES={view.value(_VARIABLE)!r}"
    if kind in ("all", "some"):
        return Known(value=False, source=source)
    counted = view.value("cuda.device_count") or view.value("nvml.gpu_count")
    if counted is None:
        view.need("cuda.device_count")
    return Known(value=bool(counted), source=f"{source}; cards: {counted}")


# -- facts of one card ---------------------------------------------------------------------------------------


def card_hidden(view: View, card: Facts, snapshot: Snapshot) -> Fact:
    """Return whether the variable hides this card while others stay visible.

    Where it hides them all, that is the fault, and the cards are judged as they are without it.
    """
    if isinstance(view.fact(_VARIABLE), Absent):
        return Known(value=False, source="CUDA_VISIBLE_DEVICES is not set")
    if view.value("driver.works") is False:
        return Known(value=False, source="CUDA does not start, whatever is hidden")
    found = left(view, snapshot)
    source = f"CUDA_VISIBLE_DEVICES={view.value(_VARIABLE)!r}"
    if found.kind != "some":
        return Known(value=False, source=source)
    if _HIDDEN_INSTANCE in found.positions:
        mode = card.get("gpu.mig_mode")
        return Known(value=isinstance(mode, Known) and mode.value is False, source=source)
    own = _positions_of(card, view, snapshot)
    return Known(value=not own & set(found.positions), source=source)


def _positions_of(card: Facts, view: View, snapshot: Snapshot) -> set[int]:
    """Return where libcuda lists a card: by bus id, by UUID or, if only one is of its kind, by that."""
    devices = view.records("cuda.devices")
    for key in ("bus_id", "uuid"):
        fact = card.get(f"gpu.{key}")
        if isinstance(fact, Known) and any(text_in(device, key) for device in devices):
            return {n for n, device in enumerate(devices) if text_in(device, key) == fact.value}
    fact = card.get("gpu.compute_capability")
    cards = () if isinstance(snapshot.gpus, Unknown) else snapshot.gpus
    alike = sum(other.get("gpu.compute_capability") == fact for other in cards)
    if isinstance(fact, Known) and alike == 1:
        found = {n for n, device in enumerate(devices) if text_in(device, "compute_capability") == fact.value}
        if len(found) == 1:
            return found
    raise NotKnown(Unknown(reason="nobody tells which of libcuda's devices this card is"))


# -- facts of one framework ----------------------------------------------------------------------------------


def served_devices(view: View, snapshot: Snapshot) -> Fact:
    """Return the visible devices that a build has code for, where it has none for others.

    They are numbers as CUDA_VISIBLE_DEVICES takes them: positions in libcuda's list, in the order that this
    environment asks for.
    """
    devices = as_records(view.need("cuda.devices"))
    seen = left(view, snapshot)
    if _HIDDEN_INSTANCE in seen.positions:
        return Absent(source="the variable names an instance of MIG")
    visible = seen.positions if seen.kind == "some" else tuple(range(len(devices)))
    capabilities = {n: text_in(devices[n], "compute_capability") for n in visible if n < len(devices)}
    if not all(capabilities.values()):
        return Unknown(reason="libcuda did not tell the compute capability of every device")
    served = tuple(str(n) for n, capability in capabilities.items() if serves(view, capability))
    if not served or len(served) == len(capabilities):
        return Absent(source="the build has code for all devices that are visible, or for none of them")
    return Known(value=",".join(served), source="device code of the build; libcuda's list")


def derivations(snapshot: Snapshot) -> dict[str, Callable[[View], Fact]]:
    """Return the host's derivations of what stays visible."""
    return {
        "cuda.visibility": lambda view: visibility(view, snapshot),
        "cuda.visible_count": lambda view: visible_count(view, snapshot),
        "cuda.hides_every_device": lambda view: hides_every_device(view, snapshot),
    }
