"""What lists show as wholes: no card of NVIDIA's among the cards, two TensorFlows, two halves of a driver."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.explanation.answers import Answered
from gpudoctor.lazily import Pattern
from gpudoctor.transcripts import release_without_gpus

OTHER_CARDS = "lspci lists graphics of other makers only"
NO_CARD = "lspci finds nothing of NVIDIA's"
NO_GPUS = "list_physical_devices(): []"
TWO_TENSORFLOWS = "two TensorFlows are listed"
TWO_RELEASES = "two TensorFlows of different releases are listed"
TWO_ONNXRUNTIMES = "onnxruntime and onnxruntime-gpu are listed"
TWO_DRIVERS = "the kernel module and the libraries are listed with different versions"
_CONTROLLER = Pattern(r"(?:VGA compatible|3D|Display) controller")
_ASKED = Pattern(r"^(?:[\w@:~.\[\]() -]{0,60}[$#] ?)?(?:sudo )?"
                 r"lspci\b[^|]{0,40}\| ?e?grep\b.{0,40}nvidia[\"' ]{0,2}$",
                 re.IGNORECASE)
_PROMPT = Pattern(r"^(?:[\w@:~.\[\]() -]{0,60}[$#%]|>>>|\(?nothing\)?|\(?empty.{0,20})(?: |$)", re.IGNORECASE)
_TENSORFLOW = Pattern(r"^\W{0,4}(tensorflow|tensorflow-gpu|tensorflow-cpu|tf-nightly|tf-nightly-gpu|"
                      r"intel-tensorflow)(?:==|\s{1,40}\(?)([0-9]+\.[0-9]+)[\w.]*\)?(?:\s|$)")
_TENSORFLOW_JSON = Pattern(r"\"name\": ?\"(tensorflow|tensorflow-gpu|tensorflow-cpu|tf-nightly|"
                           r"tf-nightly-gpu|intel-tensorflow)\", ?\"version\": ?\"([0-9]+\.[0-9]+)")
_OWN_NAMES = frozenset({"tensorflow", "tf"})
_FRAMEWORK = Pattern(r"(?<![a-z0-9])(?:tensorflow|tf|torch|pytorch|jax|paddle|mxnet)(?![a-z0-9])")
_ONNXRUNTIME = Pattern(r"(?<![\w/.-])(onnxruntime|onnxruntime-gpu)(?:==|\s{1,40}\(?|"
                       r"\", ?\"version\": ?\")[0-9]+\.[0-9]+")
_MODULE = Pattern(r"NVRM version:.{0,60}Kernel Module.{0,20}?\s([0-9]{3}\.[0-9]{1,3}(?:\.[0-9]{1,3})?)\b")
_LIBRARY = Pattern(r"^ii\s+(?:nvidia-utils|libnvidia-compute|libcuda1|"
                   r"nvidia-libopencl1)[\w:-]*\s+([0-9]{3}\.[0-9]{1,3}(?:\.[0-9]{1,3})?)\b|lib(?:cuda|"
                   r"nvidia-ml)\.so\.([0-9]{3}\.[0-9]{1,3}(?:\.[0-9]{1,3})?)\b")
OTHER_PROCESSOR = "the processor is no x86"
_PROCESSOR = Pattern(r"\buname -(?:m|a|p|i)\b.{0,200}\b(?:aarch64|arm64|ppc64le)\b|"
                     r"^\W{0,4}Architecture:\s+(?:aarch64|arm64|ppc64le)\b|^(?:aarch64|ppc64le)$")
_LONGEST = 400
_LONGEST_LIST = 4000  # of pip's JSON, which is one line


def listed(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield a line for each list that shows such a thing."""
    yield from _cards(lines)
    yield from _without_gpus(lines)
    yield from _tensorflows(lines)
    yield from _onnxruntimes(lines)
    yield from _drivers(lines)
    yield from (Answered(text=OTHER_PROCESSOR, line=number) for number in _other_processors(lines))


def _cards(lines: Sequence[str]) -> Iterator[Answered]:
    rows = [number for number, line in enumerate(lines, start=1) if _CONTROLLER.search(line[:_LONGEST])]
    if rows and not any("nvidia" in lines[number - 1].lower() for number in rows):
        yield Answered(text=OTHER_CARDS, line=rows[0])
    for number, line in enumerate(lines[:-1], start=1):
        is_asked = "lspci" in line and _ASKED.search(line.strip()[:_LONGEST])
        if is_asked and _PROMPT.search(lines[number].strip()):
            yield Answered(text=NO_CARD, line=number)
            return


def _without_gpus(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield the lines with TensorFlow's release and no GPU; beside other frameworks it has to be named."""
    found = [number for number, line in enumerate(lines, start=1) if release_without_gpus(line)]
    named = {name for line in lines for name in _FRAMEWORK.findall(line[:_LONGEST].lower())} if found else ()
    if not named or not _OWN_NAMES.isdisjoint(named):
        yield from (Answered(text=NO_GPUS, line=number, meaning="a release of TensorFlow, and no GPU")
                    for number in found)


def _tensorflows(lines: Sequence[str]) -> Iterator[Answered]:
    found: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines, start=1):
        if "ensor" not in line and "tf-" not in line:
            continue
        row = _TENSORFLOW.match(line[:_LONGEST].lower())
        for one in (row,) if row else _TENSORFLOW_JSON.finditer(line[:_LONGEST_LIST]):
            found.setdefault(one[1], (one[2], number))
    if len(found) > 1:
        releases = {release for release, _ in found.values()}
        text = TWO_TENSORFLOWS if len(releases) == 1 else TWO_RELEASES
        yield Answered(text=text, line=max(number for _, number in found.values()))


def _onnxruntimes(lines: Sequence[str]) -> Iterator[Answered]:
    found: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if "onnxruntime" in line:
            found |= dict.fromkeys(_ONNXRUNTIME.findall(line[:_LONGEST_LIST]), number)
    if len(found) > 1:
        yield Answered(text=TWO_ONNXRUNTIMES, line=max(found.values()))


def _drivers(lines: Sequence[str]) -> Iterator[Answered]:
    module = next((found[1] for line in lines if (found := _MODULE.search(line[:_LONGEST]))), None)
    if module is None:
        return
    libraries = [(found[1] or found[2], number) for number, line in enumerate(lines, start=1)
                 if (found := _LIBRARY.search(line[:_LONGEST]))]
    if libraries and all(version != module for version, _ in libraries):
        yield Answered(text=TWO_DRIVERS, line=libraries[0][1])


def _other_processors(lines: Sequence[str]) -> Iterator[int]:
    """Yield the first line that says so: an answer of uname, or lscpu's; not that of a Mac."""
    for number, line in enumerate(lines, start=1):
        if ("64" in line and _PROCESSOR.search(line.strip()[:_LONGEST])) and "Darwin" not in line:
            yield number
            return
