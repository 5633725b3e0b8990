"""What was measured: the values, their form in JSON, and how they are held against what was committed."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

WORSE_AT_MOST = 1.2  # times the committed ratio
COMMITTED = Path(__file__).resolve().parent / "committed.json"


@dataclass(frozen=True, kw_only=True)
class Result:
    """One comparison: medians over its pairs. The ratios count; the seconds are of this machine alone."""

    name: str
    ratio: float
    processor_ratio: float
    seconds: tuple[float, float]
    pairs: int


def document(results: Sequence[Result], peak_megabytes: float | None,
             log_peak_megabytes: float | None = None) -> dict[str, Any]:
    """Return the results and the machine as JSON."""
    return {"machine": machine(), "peak_megabytes": peak_megabytes, "log_peak_megabytes": log_peak_megabytes,
            "results": {result.name: _rounded(asdict(result)) for result in results}}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.3g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items() if key != "name"}
    return [_rounded(item) for item in value] if isinstance(value, tuple) else value


def machine() -> str:
    """Return what the ratios may depend on, and nothing that names the machine."""
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    kernel = ".".join(platform.release().split(".")[:2])
    return (f"{os.cpu_count()} processors ({platform.machine()}), {memory_bytes / (1 << 30):.0f} GiB of "
            f"memory, Python {platform.python_version()}, Linux {kernel}")


def read(text: str) -> dict[str, Result]:
    """Return the results in such a document."""
    listed: Mapping[str, Any] = json.loads(text)["results"]
    return {name: _result(name, raw) for name, raw in listed.items()}


def _result(name: str, raw: Mapping[str, Any]) -> Result:
    first, second = raw["seconds"]
    return Result(name=name, ratio=float(raw["ratio"]), processor_ratio=float(raw["processor_ratio"]),
                  seconds=(float(first), float(second)), pairs=int(raw["pairs"]))


def is_worse(result: Result, committed: Mapping[str, Result]) -> bool:
    """Say whether a ratio has become worse than may be noise; what was never committed cannot have."""
    before = committed.get(result.name)
    return before is not None and result.ratio > before.ratio * WORSE_AT_MOST


def fault(result: Result, committed: Mapping[str, Result], at_most: float) -> str:
    """Return in a line what is wrong with a ratio, nothing where it is within what is promised."""
    if is_worse(result, committed):
        return f"{result.name}: {result.ratio:.3f}, committed is {committed[result.name].ratio:.3f}"
    if result.ratio > at_most:
        return f"{result.name}: {result.ratio:.3f}, promised is {at_most:g}"
    return ""


def better(one: Result, other: Result) -> Result:
    """Return the result with the smaller ratio: noise makes a ratio worse more easily than better."""
    return min(one, other, key=lambda result: result.ratio)
