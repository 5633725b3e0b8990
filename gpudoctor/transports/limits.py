"""The limits that a container is given: those that the engine can set on its kernel.

Docker refuses every container that asks for a limit of processors where no control group has one, and leaves
the other limits out in silence. A Podman without root starts none that asks for what its user's control group
was not handed (section 26 of https://github.com/containers/podman/blob/main/troubleshooting.md), and does not
say so where Docker does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

# each limit, the words by which an engine says that it can set it, and the kernel's controller for it
_SAID = {"memory": ("MemoryLimit",), "swap": ("SwapLimit",), "processes": ("PidsLimit",),
         "processors": ("CpuCfsPeriod", "CpuCfsQuota")}
_CONTROLLERS = {"memory": "memory", "swap": "memory", "processes": "pids", "processors": "cpu"}
_PROCESSES, _PROCESSORS = 4096, 4
_MEMORY_BYTES = 16 << 30
_OF_PODMAN = "/v4.0.0/libpod/info"  # its own answer, which names the controllers
_OK = 200


def missing(info: Mapping[str, Any], controllers: Collection[str] | None = None) -> tuple[str, ...]:
    """Return the limits that an engine cannot set, by its answer and the controllers that it may use.

    What an engine does not speak of it is asked for.
    """
    return tuple(limit for limit, words in _SAID.items()
                 if any(info.get(word) is False for word in words)
                 or (controllers is not None and _CONTROLLERS[limit] not in controllers))


def controllers_of_podman(api: Any, info: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the controllers that a Podman may use, None where it does not say.

    With version 1 of control groups it lists those of the kernel instead, and its answer to Docker's question
    is the better one.
    """
    if str(info.get("CgroupVersion")) != "2":
        return None
    answer = api.get(f"{api.base_url}{_OF_PODMAN}")
    if answer.status_code != _OK:
        return None
    found = answer.json().get("host", {}).get("cgroupControllers")
    return tuple(map(str, found)) if isinstance(found, list) else None


def options(missing_limits: Collection[str], processors: int) -> dict[str, Any]:
    """Return the limits of a container as an engine takes them, without those that it cannot set."""
    limits = {"memory": {"mem_limit": _MEMORY_BYTES}, "swap": {"memswap_limit": _MEMORY_BYTES},
              "processes": {"pids_limit": _PROCESSES},
              "processors": {"nano_cpus": min(_PROCESSORS, processors) * 10**9}}
    return {name: value for limit, one in limits.items() if limit not in missing_limits
            for name, value in one.items()}
