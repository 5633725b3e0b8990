"""One line per area of the machine: what a person reads before the findings."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive.view import as_records, as_texts, text_in
from gpudoctor.model import Absent, Fact, Facts, Known, Snapshot, Unknown, value_of
from gpudoctor.render.plain import printable
from gpudoctor.words import show

_MISSING = Unknown(reason="no probe answered for it")
_REQUESTS = {"nvidia": "with --gpus all", "cdi": "with the GPU as CDI device nvidia.com/gpu=all",
             "runtime": "with --runtime=nvidia and NVIDIA_VISIBLE_DEVICES=all"}


def lines(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield (area, what was seen) of a completed snapshot."""
    host = snapshot.host
    if isinstance(host.get("process.id"), Known):
        yield "process", _process(host)
    if isinstance(host.get("image.reference"), Known):
        yield "image", _image(host)
    if isinstance(host.get("image.trouble"), Known):
        return  # nothing else was looked at
    yield "system", _system(host)
    yield "driver", _driver(host)
    yield "cards", _cards(snapshot)
    yield "cuda", _cuda(host)
    if isinstance(host.get("container.runtime"), Known):
        yield "container", _said(host, "container.runtime")
    yield "toolkit", _toolkit(host)
    yield "python", _python(host)
    yield from _frameworks(snapshot)


def _said(facts: Facts, name: str, absent: str = "none") -> str:
    """Return a fact in words; what could not be seen says so and why."""
    return _words(facts.get(name, _MISSING), absent)


def _words(fact: Fact, absent: str) -> str:
    if isinstance(fact, Absent):
        return absent
    if isinstance(fact, Unknown):
        return f"could not be seen ({printable(fact.reason, 120)})"
    return printable(show(fact.value))


def _process(host: Facts) -> str:
    libraries = as_records(value_of(host, "process.libraries"))
    gone = [printable(text_in(record, "path")) for record in libraries if record.get("deleted") is True]
    said = (f"{_said(host, 'process.id')}: {_said(host, 'process.command')}; its environment is seen as it "
            f"started, later changes to it are not")
    return said + (f"; updated under its feet, start it anew: {', '.join(gone)}" if gone else "")


def _image(host: Facts) -> str:
    reference = _said(host, "image.reference")
    if value_of(host, "image.trouble") is not None:
        return f"{reference}: not examined ({_said(host, 'image.trouble_said')})"
    names = ("image.engine", "image.engine_version")
    engine = " ".join(str(value) for name in names if (value := value_of(host, name)))
    if value_of(host, "image.is_running"):
        asked = f" {_gpu_of_image(host)}" if value_of(host, "image.gpu_request") else ""
        return f"{reference}: a running container on {engine}{asked}"
    limits = as_texts(value_of(host, "image.limits_missing"))
    unlimited = f"; limits that the engine cannot set: {', '.join(limits)}" if limits else ""
    return f"{reference}: a container of it on {engine} {_gpu_of_image(host)}{unlimited}"


def _gpu_of_image(host: Facts) -> str:
    """Say how a container got the GPU, and whose driver and cards are told of."""
    request = host.get("image.gpu_request", _MISSING)
    words = _REQUESTS.get(str(value_of(host, "image.gpu_request")), "without a GPU")
    if isinstance(request, Unknown):
        words = f"(whether it gets a GPU {_words(request, '')})"
    if not value_of(host, "image.shows_host"):
        return words
    why = "nothing in it could look at it, so " if isinstance(request, Known) else ""
    return f"{words}; {why}what is said of driver and cards is the machine's own"


def _system(host: Facts) -> str:
    if (name := value_of(host, "system.os")) not in (None, "Linux"):  # it has no distribution and no glibc
        return f"{name}, {_said(host, 'system.architecture')}"
    named = (value_of(host, name) for name in ("system.distribution", "system.distribution_version"))
    parts = [" ".join(str(value) for value in named if value) or "unknown system"]
    parts.append(f"kernel {_said(host, 'system.kernel')}")
    glibc = host.get("system.glibc", _MISSING)
    parts.append("no glibc" if isinstance(glibc, Absent) else f"glibc {_words(glibc, '')}")
    parts.append(_said(host, "system.architecture"))
    if value_of(host, "system.wsl") is not None:
        parts.append(f"WSL{_said(host, 'system.wsl')}")
    if value_of(host, "system.jetson") is not None:
        parts.append(f"Jetson L4T {_said(host, 'system.jetson')}")
    return ", ".join(parts)


def _driver(host: Facts) -> str:
    version = host.get("driver.version", _MISSING)
    if isinstance(version, Absent):
        return "no NVIDIA driver"
    flavour = value_of(host, "driver.kernel_flavour")
    text = _words(version, "") + (f" ({flavour} kernel module)" if flavour else "")
    ceiling = host.get("driver.cuda_ceiling", _MISSING)
    if isinstance(ceiling, Unknown) and ceiling.at_least is not None:
        return f"{text}, runs at least CUDA {ceiling.at_least}"
    return f"{text}, runs CUDA up to {_words(ceiling, 'unknown')}" if isinstance(ceiling, Known) else text


def _cards(snapshot: Snapshot) -> str:
    if isinstance(snapshot.gpus, Unknown):
        return f"could not be listed ({printable(snapshot.gpus.reason, 160)})"
    if not snapshot.gpus:
        others = as_texts(value_of(snapshot.host, "system.other_accelerators"))
        return "no NVIDIA GPU" + (f" (seen: {', '.join(others)})" if others else "")
    return "; ".join(_card(index, card) for index, card in enumerate(snapshot.gpus))


def _card(position: int, card: Facts) -> str:
    index = value_of(card, "gpu.index")
    device = value_of(card, "gpu.pci_device_id") or "of unknown name"
    name = value_of(card, "gpu.product") or f"NVIDIA device {device}"
    text = f"GPU {position if index is None else index}: {printable(str(name))}"
    capability, memory = value_of(card, "gpu.compute_capability"), value_of(card, "gpu.memory_total_bytes")
    if capability is not None:
        text += f", compute capability {capability}"
    if isinstance(memory, int):
        text += f", {memory / (1 << 30):.0f} GiB"
    kernel = value_of(card, "gpu.driver_kernel")
    return text + (f", checked kernel: {kernel}" if kernel is not None else "")


def _cuda(host: Facts) -> str:
    library = host.get("cuda.library", _MISSING)
    if isinstance(library, Absent):
        return f"libcuda.so.1 cannot be loaded ({_said(host, 'cuda.load_error', 'no reason given')})"
    if isinstance(library, Unknown):
        return _words(library, "")
    code = value_of(host, "cuda.init_code")
    name = value_of(host, "cuda.init_name")
    state = "works" if code == 0 else f"cuInit returned {code}" + (f" ({name})" if name else "")
    text = f"{_words(library, '')}, {state}"
    visibility = value_of(host, "cuda.visibility")
    if code == 0:
        text += f", devices: {_said(host, 'cuda.device_count')}"
        if visibility not in (None, "all"):
            text += f", CUDA_VISIBLE_DEVICES leaves {_said(host, 'cuda.visible_count')}"
    return text


def _toolkit(host: Facts) -> str:
    if isinstance(host.get("toolkit.installs", _MISSING), Unknown):
        return _said(host, "toolkit.installs")
    installs = as_records(value_of(host, "toolkit.installs"))
    return ", ".join(f"{text_in(r, 'version') or '?'} in {printable(text_in(r, 'path'))}"
                     for r in installs) or "none on disk (wheels bring their own CUDA libraries)"


def _python(host: Facts) -> str:
    version = host.get("python.version", _MISSING)
    if isinstance(version, Unknown):
        return _words(version, "")
    text = f"{_words(version, 'of unknown version')} {_said(host, 'python.executable')}"
    because = value_of(host, "python.chosen_because")
    return text + (f" ({printable(str(because))})" if because else "")


def _frameworks(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    if isinstance(snapshot.frameworks, Unknown):
        yield "frameworks", f"could not be listed ({printable(snapshot.frameworks.reason, 160)})"
    elif not snapshot.frameworks:
        yield "frameworks", "none installed here"
    else:
        for facts in snapshot.frameworks:
            yield _said(facts, "framework.name"), _framework(facts)
            run = _run(facts)
            if run:
                yield "", run


def _framework(facts: Facts) -> str:
    build = value_of(facts, "framework.build")
    parts = [_said(facts, "framework.version")]
    if build == "cuda":
        parts.append(f"built for CUDA {_said(facts, 'framework.cuda', 'unknown')}")
        cudnn = value_of(facts, "framework.cudnn")
        if cudnn is not None:
            parts.append(f"cuDNN {cudnn}")
    else:
        parts.append(f"{build} build" if build else "build unknown")
    return ", ".join(parts)


def _run(facts: Facts) -> str:
    """Return what came of running it, "" where nobody wanted to."""
    imported = facts.get("framework.import_outcome", _MISSING)
    if isinstance(imported, Unknown):
        wanted = imported.asked and imported != _MISSING
        return f"was not run: {printable(imported.reason, 160)}" if wanted else ""
    seconds = value_of(facts, "framework.import_seconds")
    took = f" in {seconds:.1f} s" if isinstance(seconds, float) else ""
    parts = [f"import {_words(imported, '')}{took}"]
    grouped: dict[str, list[str]] = {}
    for stage in as_records(value_of(facts, "framework.stages")):
        outcome, reason = text_in(stage, "outcome"), text_in(stage, "reason")
        if outcome == "skipped":
            outcome = f"skipped ({printable(reason, 200)})"
        card = text_in(stage, "card")
        where = f" on GPU {card}" if card and not outcome.startswith(("skipped", "ran-on-cpu")) else ""
        grouped.setdefault(outcome + where, []).append(text_in(stage, "stage"))
    parts += [outcome if names == ["all"] else f"{outcome}: {', '.join(names)}"
              for outcome, names in grouped.items()]
    return "; ".join(parts)
