"""What files say of an environment that would be built, each statement with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from gpudoctor.frozen import frozen
from gpudoctor.manifests.spans import Place


@frozen
class Image:
    """The image that it starts from; `reference` is None where variables without a value are in it."""

    reference: str | None
    place: Place
    platform: str = ""


@frozen
class Asked:
    """A distribution that is asked for, as written; `index` is the address that replaces the default one.

    `rewritable`: it stands there as it is, so that it can be replaced. `in_shell`: a shell reads it first.
    `command`: what has the same number there is installed by one command.
    """

    text: str
    place: Place
    tool: str = "pip"
    index: str | None = None
    extra_indexes: tuple[str, ...] = ()
    no_dependencies: bool = False
    rewritable: bool = True
    in_shell: bool = False
    command: int = 0


@frozen
class Setting:
    """An environment variable; None where its value is not known, `stated` is what of it is written."""

    value: str | None
    stated: str
    place: Place


@frozen
class Lost:
    """A requirement whose bound the shell takes for a redirection: what was meant, and what pip is given."""

    meant: str
    given: str
    place: Place
    rewritable: bool


@frozen
class Wish:
    """A sign that it is meant to use a GPU, in words."""

    why: str
    place: Place


@frozen
class Environment:
    """One environment that would be built: an image, a service, or what a list of requirements fills.

    `alters_libraries`: it installs CUDA in a way that is not read. `refuses_gpu`: it says that it wants none.
    `images` are those of all stages of its file, `feeding` those that it is or copies from.
    `in_container`: it is one with its own libraries, not the host's.
    """

    name: str
    place: Place
    image: Image | None = None
    images: tuple[Image, ...] = ()
    feeding: tuple[Image, ...] = ()
    asked: tuple[Asked, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    wishes: tuple[Wish, ...] = ()
    lost: tuple[Lost, ...] = ()
    python: str | None = None
    python_place: Place | None = None
    alters_libraries: bool = False
    alters_python: bool = False
    refuses_gpu: bool = False
    in_container: bool = True
