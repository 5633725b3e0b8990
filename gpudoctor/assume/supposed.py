"""A machine as `--assume` says: what is assumed, and what a machine like that cannot but do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpudoctor.assume.laying import AssumptionError, with_host
from gpudoctor.model import Fact, Facts, Known, Snapshot, Unknown, Value, value_of

_ARCHITECTURE = "system.architecture"
_CARDS = ("cc", "card", "gpu")
_OF_CUDA = ("gpu.in_cuda", "cuda.init_code", "cuda.device_count")


def require_cards(snapshot: Snapshot, facts: Mapping[str, Fact]) -> None:
    """Raise `AssumptionError` for a driver on a machine without a card: nothing can be said of the two."""
    driver = facts.get("driver")
    version = driver.value if isinstance(driver, Known) else "none"
    if version != "none" and snapshot.gpus == () and not any(name in facts for name in _CARDS):
        raise AssumptionError(f"driver={version}: this machine has no NVIDIA card for it; assume one as "
                              "well, by its compute capability or its name: --assume cc=9.0, "
                              "--assume card=\"RTX 5090\"")


def with_consequences(snapshot: Snapshot, facts: Mapping[str, Fact], source: str) -> Snapshot:
    """Return the snapshot in which a Jetson has its architecture, and CUDA lists no card that is in MIG mode
    without an instance.
    """
    if isinstance(facts.get("system.jetson"), Known) and _ARCHITECTURE not in facts:
        snapshot = with_host(snapshot, source, {_ARCHITECTURE: "aarch64"})
    mode = facts.get("gpu.mig_mode")
    is_on = isinstance(mode, Known) and mode.value is True
    if not is_on or isinstance(snapshot.gpus, Unknown) or any(name in facts for name in _OF_CUDA):
        return snapshot
    unlisted: Facts = {"gpu.in_cuda": Known(value=False, source=source)}
    gpus = tuple({**card, **unlisted} if value_of(card, "gpu.mig_instances") == 0 else card
                 for card in snapshot.gpus)
    works = value_of(snapshot.host, "cuda.init_code") == 0
    left = sum(value_of(card, "gpu.in_cuda") is True for card in gpus)
    answers: dict[str, Value | None] = {} if not works else {"cuda.device_count": left} if left else {
        "cuda.init_code": 100, "cuda.init_name": "CUDA_ERROR_NO_DEVICE", "cuda.device_count": None}
    return with_host(replace(snapshot, gpus=gpus), source, answers)
