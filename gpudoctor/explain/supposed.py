"""A machine as a text lets one suppose it, to fill in the words of fixes: never to judge by.

What is stated as `text.*` stands for the facts of a machine with one framework and cards of these kinds. What
is not stated stays unknown, and a fix whose words need it is not printed.
"""

from __future__ import annotations

from dataclasses import replace

from gpudoctor.derive.view import as_texts
from gpudoctor.model import Fact, Facts, Known, Snapshot, Unknown

_PACKAGES = {"pytorch": "torch"}
_ELSEWHERE = {"windows", "macos", "jetson"}  # there a wheel for Linux on x86-64 is none
_OTHER_PROCESSORS = ("arm", "aarch64", "ppc64le")
_SUPPOSED = "supposed: the text does not say otherwise"
_HOST = {"python.version": "text.python", "nvml.driver_version": "text.driver",
         "nvml.cuda_version": "text.driver_ceiling"}
_FRAMEWORK = {"framework.version": "text.framework_version", "framework.cuda": "text.build_cuda"}
PIP = Known(value="python -m pip install", source=_SUPPOSED)


def supposed(snapshot: Snapshot) -> Snapshot:
    """Return the told snapshot with what it states of a machine where a machine has it."""
    said = snapshot.host
    host: dict[str, Fact] = {
        name: said[text] for name, text in _HOST.items() if isinstance(said.get(text), Known)}
    if _is_ordinary(said):
        host |= {"system.os": Known(value="Linux", source=_SUPPOSED),
                 "system.architecture": Known(value="x86_64", source=_SUPPOSED)}
    host |= {name: fact for name, fact in said.items() if name not in host or isinstance(fact, Known)}
    return replace(
        snapshot, host=host,
        gpus=_cards(said) if isinstance(snapshot.gpus, Unknown) else snapshot.gpus,
        frameworks=_framework(said) if isinstance(snapshot.frameworks, Unknown) else snapshot.frameworks)


def _is_ordinary(said: Facts) -> bool:
    places, system = said.get("text.places"), said.get("text.os")
    named = str(system.value).lower() if isinstance(system, Known) else ""
    return not (isinstance(places, Known) and set(as_texts(places.value)) & _ELSEWHERE) and not any(
        processor in named for processor in _OTHER_PROCESSORS)


def _cards(said: Facts) -> tuple[Facts, ...] | Unknown:
    stated = said.get("text.capabilities")
    capabilities = as_texts(stated.value) if isinstance(stated, Known) else ()
    if not isinstance(stated, Known) or not capabilities:
        return Unknown(reason="the text does not list them", asked=False)
    return tuple({"gpu.index": Known(value=index, source=stated.source),
                  "gpu.compute_capability": Known(value=capability, source=stated.source)}
                 for index, capability in enumerate(capabilities))


def _framework(said: Facts) -> tuple[Facts, ...] | Unknown:
    name = said.get("text.framework")
    if not isinstance(name, Known):
        return Unknown(reason="the text does not list them", asked=False)
    package = Known(value=_PACKAGES.get(str(name.value), name.value), source=name.source)
    stated = {fact: said[text] for fact, text in _FRAMEWORK.items() if isinstance(said.get(text), Known)}
    return ({"framework.name": package, "framework.distribution": package, **stated},)
