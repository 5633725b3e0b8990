"""What files say of an environment that would be built, each statement with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from gpudoctor.frozen import frozen
from gpudoctor.manifests.shellwords import Command
from gpudoctor.manifests.spans import Place, Source

_FOR_GPUS = ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_REQUIRE_CUDA")
_OF_CUDA = "CUDA_VISIBLE_DEVICES"
_NO_GPU = {_OF_CUDA: ("", "-1"), "NVIDIA_VISIBLE_DEVICES": ("void", "none", "")}


@frozen
class Image:
    """The image that it starts from; `reference` is None where variables without a value are in it.

    `name` is what stands before its tag, None where that is not known either; `told_by` is how a variable
    gets its value.
    """

    reference: str | None
    place: Place
    platform: str = ""
    name: str | None = None
    told_by: str = "--build-arg NAME=VALUE gives it one"


@frozen
class Bound:
    """What a constraint leaves of a distribution, with the constraint as written."""

    specifier: str
    text: str
    place: Place


@frozen
class Asked:
    """A distribution that is asked for, as written; `index` is the address that replaces the default one.

    `rewritable`: it stands there as it is, so that it can be replaced. `in_shell`: a shell reads it first.
    `command`: what has the same number there is installed by one command. `bounds` are those of constraints,
    `along` those that they set to NVIDIA's packages and NumPy, which may come along. `overrides` are what uv
    installs in place of whatever is asked for of these packages. `links` are pages of wheels beside
    the indexes. `build` is what conda is told of the build, `cuda` its CUDA. `locked`: a lock has it so, as
    its program settled what excludes one another. `is_brought`: only another package asks for it. `is_kept`:
    a release that the image has is left there, if it meets what is asked for; so is one that another
    command put into the same environment, `into`. `is_file`: it is a wheel by its address or path.
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
    bounds: tuple[Bound, ...] = ()
    along: tuple[Bound, ...] = ()
    overrides: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    build: str = ""
    cuda: str | None = None
    locked: bool = False
    is_brought: bool = False
    is_kept: bool = False
    into: str | None = None
    is_file: bool = False


@frozen
class Package:
    """A package of CUDA or of a driver that the system's own package manager installs, as written."""

    text: str
    place: Place


@frozen
class Brought:
    """A package of conda that brings libraries of CUDA, as written, and of which CUDA."""

    text: str
    cuda: str
    place: Place


@frozen
class Setting:
    """An environment variable; None where its value is not known, `stated` is what of it is written.

    `is_listed`: an engine makes it of a list, and its place is that of the last item that counts.
    """

    value: str | None
    stated: str
    place: Place
    is_listed: bool = False


@frozen
class Lost:
    """A requirement whose bound the shell takes for a redirection: what was meant, and what pip is given."""

    meant: str
    given: str
    place: Place
    rewritable: bool


@frozen
class Broken:
    """A command for which a shell refuses to parse the whole that it stands in, and why.

    `is_list`: it looks like a list in JSON, and is none.
    """

    why: str
    place: Place
    is_list: bool = False


@frozen
class Lacking:
    """A program that a RUN calls, and that nothing has put into the image before."""

    program: str
    image: str
    place: Place


@frozen
class Wish:
    """A sign that it is meant to use a GPU, in words."""

    why: str
    place: Place


@frozen
class Unread:
    """What was not understood, or names what is not there; `of_framework`: a framework may hang on it.

    `ends`: who reads the file ends there, so that nothing comes of it, for a GPU or not.
    """

    why: str
    place: Place
    of_framework: bool = False
    ends: bool = False


@frozen
class Started:
    """What CMD or ENTRYPOINT starts, and the file that says it; a shell runs it, or it is one command."""

    commands: tuple[Command, ...]
    source: Source
    in_shell: bool = False


@frozen
class Build:
    """How a Dockerfile is built: the folder it copies from, values of its ARG, the stage that is wanted.

    `started` is what is started in place of its own CMD and ENTRYPOINT.
    """

    folder: str | None = None
    arguments: Mapping[str, str | None] = field(default_factory=dict)
    target: str | None = None
    started: Mapping[str, Started] = field(default_factory=dict)


@frozen
class Environment:
    """One environment that would be built: an image, a service, or what a list of requirements fills.

    `alters_libraries`: it installs CUDA in a way that is not read. `tells_installer`: pip may be told of an
    index in a way that is not read, as by a pip.conf. `has_condas`: conda brings packages that pip finds, as
    `systems_library` of apt or dnf may do for the system's own Python.
    `images` are those of all stages of its file, `feeding` those that it is or copies from.
    `python_bounds` are those that its Python must keep, where they leave several. `stubs` are the links
    called libcuda.so.1 that lead to the toolkit's placeholder. `in_container`: it is one with its own
    libraries, not the host's. `constrains`: it installs nothing, and bounds what others install. `given` says
    whether who starts it hands it a GPU; None where that is not said here.
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
    broken: tuple[Broken, ...] = ()
    unread: tuple[Unread, ...] = ()
    python: str | None = None
    python_place: Place | None = None
    python_bounds: str = ""
    packages: tuple[Package, ...] = ()
    lacking: tuple[Lacking, ...] = ()
    stubs: tuple[str, ...] = ()
    brought: tuple[Brought, ...] = ()
    alters_libraries: bool = False
    alters_python: bool = False
    tells_installer: bool = False
    has_condas: bool = False
    systems_library: str = ""
    in_container: bool = True
    constrains: bool = False
    given: bool | None = None

    @property
    def hiding(self) -> str | None:
        """Return the name of a variable that keeps every GPU from it; None where none does."""
        return next((name for name, values in _NO_GPU.items()
                     if name in self.settings and self.settings[name].value in values), None)

    @property
    def refuses_gpu(self) -> bool:
        """Return whether its variables keep every GPU from it, though it is given none."""
        return self.hiding is not None and not (self.given and self.hiding == _OF_CUDA)


def signs_of(settings: Mapping[str, Setting]) -> Iterator[Wish]:
    """Yield the variables that are there for the sake of a GPU alone."""
    for name in _FOR_GPUS:
        if name in settings:
            yield Wish(why=f"{name} is set", place=settings[name].place)
