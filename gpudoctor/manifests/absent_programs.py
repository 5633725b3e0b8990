"""Whether a RUN calls pip in an image that has none, before anything can have put one there.

Only commands that surely bring none are passed over; what is not known here may have brought it.
"""

from __future__ import annotations

import posixpath
import re

from gpudoctor.manifests import images
from gpudoctor.manifests.installs import Install, behind_wrappers
from gpudoctor.manifests.shellwords import Command
from gpudoctor.manifests.spans import Source, Word
from gpudoctor.manifests.stage import Stage
from gpudoctor.manifests.statements import Lacking

# official images without a Python: https://github.com/docker-library/repo-info and NVIDIA's recipes, which
# install none (https://gitlab.com/nvidia/container-images/cuda)
_SYSTEMS = ("ubuntu", "debian")
_PIP = re.compile(r"pip3?(?:\.[0-9]+)?\Z")
_PYTHON = re.compile(r"python3?(?:\.[0-9]+)?\Z")
_APT = ("apt-get", "apt", "aptitude")
_MAY_BRING = re.compile(r"python|pip|conda|jupyter|\Aros|uv\b|ansible|\.deb\Z", re.IGNORECASE)
_BRINGS_NONE = frozenset(
    "[ : adduser addgroup add-apt-repository apt-key apt-mark cat cd chmod chown curl date echo export find "
    "git gpg grep groupadd ldconfig locale-gen ls mkdir nvcc printf rm rmdir sed set sleep test touch true "
    "unset update-ca-certificates useradd usermod wget".split())
_SYSTEMS_FOLDERS = re.compile(r"/(?:usr|opt|bin|sbin|root|home)(?:/|\Z)")


def has_none(reference: str | None) -> bool:
    """Return whether an image is known to have no Python, so that whoever wants pip installs one."""
    name, tag = images.split(reference or "")
    match = images.CUDA_TAG.match(tag) if name == images.CUDA_IMAGE else None
    return name in _SYSTEMS or (match is not None and match[4] in _SYSTEMS)


def look_at(command: Command, install: Install | None, stage: Stage, source: Source) -> None:
    """Keep an installation by pip that nothing can answer, and note what may bring one.

    Who calls pip for something else may only ask whether it is there: `pip --version || apt-get install ...`.
    """
    words = command.words[behind_wrappers(command.words):] or command.words
    if not stage.lacks_pip:
        return
    if _calls_pip(words):
        if install is None or command.conditional or stage.image is None:
            return
        stage.lacking.append(Lacking(program=words[0].text, image=stage.image.reference or "",
                                     place=source.of(words[0])))
        stage.lacks_pip = False  # once is enough
    elif not _brings_none(words):
        stage.lacks_pip = False


def copies(target: str) -> bool:
    """Return whether what is copied there may be a program."""
    return _SYSTEMS_FOLDERS.match(target) is not None


def _calls_pip(words: tuple[Word, ...]) -> bool:
    texts = [word.text for word in words]
    return bool(_PIP.match(texts[0])) or (bool(_PYTHON.match(texts[0])) and texts[1:3] == ["-m", "pip"])


def _brings_none(words: tuple[Word, ...]) -> bool:
    program = posixpath.basename(words[0].text)
    if program in _APT:
        return all(word.known and not _MAY_BRING.search(word.text) for word in words[1:])
    return words[0].known and program in _BRINGS_NONE
