"""The contexts of the docker command: which one was chosen, and where its engine listens.

The package `docker` finds them only beside a file config.json, which the command does without.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from gpudoctor.host import Host, Missing, Text
from gpudoctor.probes.calls import mapping

_DEFAULT = "default"


class ContextError(Exception):
    """The chosen context is not there, or cannot be read."""


def address(environment: Mapping[str, str], files: Host) -> str:
    """Return the address of the context that was chosen, "" for the default one; raise `ContextError`.

    One that is not there ends a docker command: another engine is not the one that was meant.
    """
    home = environment.get("HOME")
    folder = environment.get("DOCKER_CONFIG") or (f"{home}/.docker" if home else None)
    if folder is None:
        return ""
    name = environment.get("DOCKER_CONTEXT") or _current(folder, files)
    if name == _DEFAULT:
        return ""
    known = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
    answer = files.read_text(f"{folder}/contexts/meta/{known}/meta.json")
    if isinstance(answer, Missing):
        raise ContextError(f"the context {name} that was chosen does not exist")
    host = mapping(mapping(_read(answer).get("Endpoints")).get("docker")).get("Host")
    if not isinstance(host, str):
        raise ContextError(f"the context {name} that was chosen cannot be read")
    return host


def _current(folder: str, files: Host) -> str:
    """Return what `docker context use` chose; a file that cannot be read chooses none."""
    return str(_read(files.read_text(f"{folder}/config.json")).get("currentContext") or _DEFAULT)


def _read(answer: object) -> Mapping[str, object]:
    try:
        return mapping(json.loads(answer.text)) if isinstance(answer, Text) else {}
    except (ValueError, RecursionError):
        return {}
