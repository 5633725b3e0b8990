"""A container engine that speaks Docker's API: reach it, and say in values what keeps one from it."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from gpudoctor.frozen import frozen
from gpudoctor.host import Host, Kind, Missing, Refused
from gpudoctor.transports import connections, contexts, engine_words, limits

DEFAULT_SOCKET = "/var/run/docker.sock"
PODMAN = "podman"
HANGS = "hangs"  # starting does; the engine answers all else
SILENT = engine_words.SILENT
_PODMAN = "Podman Engine"  # as its answer to `version` names itself
_RUNTIME = "nvidia"  # as NVIDIA's toolkit registers it
_PODMAN_SOCKET = "/run/podman/podman.sock"
_UNIX = "unix://"
_PROCESSORS = {"x86_64": "amd64", "aarch64": "arm64"}  # as kernels name them, and images
_SAID_CHARACTERS = 2000
_T = TypeVar("_T")


@frozen
class Trouble:
    """What keeps one from an engine or a container: a word of `image.trouble`, and the engine's own."""

    kind: str
    said: str


class EngineTrouble(Exception):
    """The engine did not do what was asked; `trouble` says why."""

    def __init__(self, kind: str, said: str) -> None:
        super().__init__(said)
        self.trouble = Trouble(kind=kind, said=" ".join(said.split())[:_SAID_CHARACTERS])


class NoLibrary(Exception):
    """The Python package that speaks with engines is not installed."""


@frozen
class Engine:
    """An engine that answers. `api` is the package's own client; `is_here`: its kernel is this machine's.

    `has_runtime`: NVIDIA's runtime is in its configuration, and it heeds one that is asked for.
    `architecture` is its machine's processor, as images name theirs.
    `limits_missing` are the limits that it cannot set for a container.
    """

    api: Any
    address: str
    name: str
    version: str
    is_here: bool
    knows_cdi: bool
    has_runtime: bool
    architecture: str
    processors: int
    limits_missing: tuple[str, ...] = ()


def connect(environment: Mapping[str, str], timeout_seconds: float, files: Host | None = None) -> Engine:
    """Return the engine that a docker command here would speak to, else Podman's; raise `EngineTrouble`."""
    try:
        from docker.utils import kwargs_from_env
    except ImportError as error:
        raise NoLibrary(str(error)) from None
    address = _address(environment, files or Host())

    def reach() -> Engine:
        named = kwargs_from_env(environment) if environment.get("DOCKER_HOST") else {"base_url": address}
        return _described(_client(named, timeout_seconds), address)

    return asked(reach, timeout_seconds, address)


def _client(named: Mapping[str, Any], timeout_seconds: float) -> Any:
    """Return a client whose certificates are those of DOCKER_CERT_PATH, whatever REQUESTS_CA_BUNDLE says."""
    from docker import APIClient

    class Client(APIClient):  # type: ignore[misc]
        def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any,
                                       cert: Any) -> Any:
            """Let the variable count only where no authority was named."""
            own = self.verify if verify is None else verify
            return super().merge_environment_settings(url, proxies, stream, own, cert)

    return Client(**named, timeout=timeout_seconds)


def _described(api: Any, address: str) -> Engine:
    version, info = api.version(), api.info()
    components = version.get("Components") or ()
    podman = next((one for one in components if one.get("Name") == _PODMAN), None)
    is_here = address.startswith(_UNIX) and info.get("KernelVersion") == platform.release()
    controllers = limits.controllers_of_podman(api, info) if podman else None
    return Engine(
        api=api, address=address, name=PODMAN if podman else "docker",
        version=str((podman or version).get("Version", "")), is_here=is_here,
        knows_cdi=bool(podman or info.get("CDISpecDirs")),
        has_runtime=not podman and _RUNTIME in (info.get("Runtimes") or {}),
        architecture=_PROCESSORS.get(str(info.get("Architecture")), str(info.get("Architecture") or "")),
        processors=int(info.get("NCPU") or 1), limits_missing=limits.missing(info, controllers))


def _address(environment: Mapping[str, str], files: Host) -> str:
    """Return where the engine listens: as variables say, else Docker's usual sockets, else as Podman does."""
    folder = environment.get("XDG_RUNTIME_DIR")
    of_docker = [DEFAULT_SOCKET, *([f"{folder}/docker.sock"] if folder else [])]
    of_podman = [*([f"{folder}/podman/podman.sock"] if folder else []), _PODMAN_SOCKET]
    try:
        return (environment.get("DOCKER_HOST") or contexts.address(environment, files)
                or connections.named(environment, files) or _socket(of_docker, files)
                or connections.usual(environment, files, _socket(of_podman, files)) or _UNIX + DEFAULT_SOCKET)
    except (contexts.ContextError, connections.ConnectionFault) as error:
        raise EngineTrouble(engine_words.MISDIRECTED, str(error)) from None


def _socket(paths: Sequence[str], files: Host) -> str:
    """Return the address of the first socket that is there, "" for none."""
    return next((_UNIX + path for path in paths if _is_socket(path, files)), "")


def _is_socket(path: str, files: Host) -> bool:
    entry = files.entry(path)
    if isinstance(entry, Refused):
        return True  # it is there, or may be: asking says more
    return not isinstance(entry, Missing) and entry.kind is Kind.SOCKET


def asked(question: Callable[[], _T], timeout_seconds: float, address: str = "") -> _T:
    """Return the engine's answer; every failure of it, and of the way to it, is an `EngineTrouble`."""
    from docker.errors import APIError

    try:
        return question()
    except EngineTrouble:
        raise
    except APIError as error:
        raise EngineTrouble(*engine_words.of_answer(error)) from None
    except Exception as error:  # noqa: BLE001 - of four packages, whose errors have no base in common
        raise EngineTrouble(*engine_words.of_failure(error, address, timeout_seconds)) from None


@contextlib.contextmanager
def waiting(engine: Engine, seconds: float) -> Iterator[None]:
    """Ask the engine with another limit than that of the whole look."""
    usual, engine.api.timeout = engine.api.timeout, seconds
    try:
        yield
    finally:
        engine.api.timeout = usual


def pull(engine: Engine, reference: str, told: Callable[[Mapping[str, Any]], None] | None) -> None:
    """Fetch an image, as its name says, else its tag `latest`; `told` hears each line of the progress."""
    from docker.utils import parse_repository_tag

    name, tag = parse_repository_tag(reference)

    def fetch() -> None:
        for line in engine.api.pull(name, tag=tag or "latest", stream=True, decode=True):
            if "error" in line:
                said = str(line["error"])
                raise EngineTrouble("no-space" if engine_words.is_no_space(said) else "refused", said)
            if told is not None:
                told(line)

    try:
        asked(fetch, engine.api.timeout)
    except EngineTrouble as error:  # registries refuse with words, and engines pass them on with any status
        said = error.trouble.said
        if error.trouble.kind in ("refused", "not-found"):
            is_closed = engine_words.is_unauthorised(said)
            raise EngineTrouble("unauthorised" if is_closed else "not-pulled", said) from None
        raise
