"""What pip and uv are told by variables: by those of the image, of the script, and before the command.

https://pip.pypa.io/en/stable/topics/configuration/#environment-variables and
https://docs.astral.sh/uv/reference/environment/
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from gpudoctor.manifests.installs import ASSIGNMENT, BACKEND, PYTORCH, Install, behind_wrappers
from gpudoctor.manifests.shellwords import Command, Variables
from gpudoctor.manifests.spans import Word

_INDEXES = {"pip": ("PIP_INDEX_URL",), "uv": ("UV_DEFAULT_INDEX", "UV_INDEX_URL")}
_EXTRA_INDEXES = {"pip": ("PIP_EXTRA_INDEX_URL",), "uv": ("UV_EXTRA_INDEX_URL", "UV_INDEX")}
_CONSTRAINTS = {"pip": ("PIP_CONSTRAINT",), "uv": ("UV_CONSTRAINT",)}
_OVERRIDES, _LISTS = {"uv": ("UV_OVERRIDE",)}, {"pip": ("PIP_REQUIREMENT",)}
_BACKENDS = {"uv": ("UV_TORCH_BACKEND",)}
_ELSEWHERE = ("PIP_FIND_LINKS", "PIP_CONFIG_FILE", "UV_FIND_LINKS", "UV_CONFIG_FILE")
_NAMED = "="  # behind a name that uv gives to an index


def told(install: Install, command: Command, variables: Variables) -> Install:
    """Return an installation with what variables name: of indexes only where it names none itself."""
    known = {**variables, **_before(command)}

    def words(names: Mapping[str, tuple[str, ...]]) -> tuple[Word, ...]:
        first = command.words[0]
        return tuple(Word(text=part, start=first.start, end=first.end, plain=False)
                     for name in names.get(install.tool, ()) for part in (known.get(name) or "").split())

    backends = [replace(one, text=f"{PYTORCH}{one.text}") for one in words(_BACKENDS)
                if BACKEND.match(one.text)]
    extra = tuple(replace(one, text=_address(one.text)) for one in words(_EXTRA_INDEXES))
    return replace(
        install, index=install.index or next(iter((*words(_INDEXES), *backends)), None),
        extra_indexes=install.extra_indexes or extra, files=(*install.files, *words(_LISTS)),
        constraints=(*install.constraints, *words(_CONSTRAINTS)),
        overrides=(*install.overrides, *words(_OVERRIDES)))


def leave_open(command: Command, variables: Variables, declared: Collection[str]) -> bool:
    """Return whether variables may name an index that is not read: only the build knows it, or a file does.

    An ARG that is declared without a value has the one that the build is called with.
    """
    known = {**dict.fromkeys(declared), **variables, **_before(command)}
    indexes = (name for names in (*_INDEXES.values(), *_EXTRA_INDEXES.values()) for name in names)
    return any(known.get(name, "") is None for name in indexes) or any(name in known for name in _ELSEWHERE)


def _before(command: Command) -> dict[str, str | None]:
    """Return the variables that are set for a command alone, also by env."""
    words = command.words[:behind_wrappers(command.words)]
    pairs = [(word, word.text.partition("=")) for word in words if ASSIGNMENT.match(word.text)]
    return {name: value if word.known else None for word, (name, _, value) in pairs}


def _address(text: str) -> str:
    """Return the address of an index; uv takes it behind a name, too."""
    name, equals, address = text.partition(_NAMED)
    return address if equals and "/" not in name else text
