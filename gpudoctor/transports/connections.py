"""The connections of the podman command: which one was chosen, and where its engine listens.

It reads containers.conf, and the file that `podman system connection` writes since Podman 5, whose word goes
before (cmd/podman/root.go, and pkg/config of https://github.com/containers/common).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from gpudoctor.compatible import tomllib
from gpudoctor.frozen import frozen
from gpudoctor.host import Host, Names, Text
from gpudoctor.probes.calls import mapping

_FILE = "containers.conf"
_OF_SYSTEM = (f"/usr/share/containers/{_FILE}", f"/etc/containers/{_FILE}")
_WRITTEN = "podman-connections.json"
_OVER_SSH = "ssh://"


class ConnectionFault(Exception):
    """The chosen connection is not there, or is not one that can be followed."""


@frozen
class Connections:
    """What Podman's files say: addresses by name, the default one's name, and whether it goes first."""

    addresses: Mapping[str, str]
    default: str
    is_remote: bool


def named(environment: Mapping[str, str], files: Host) -> str:
    """Return the address that Podman's variables name, "" where none does; raise `ConnectionFault`."""
    name = environment.get("CONTAINER_CONNECTION")
    if name:
        return _followed(read(environment, files), name)
    return _spoken_with(environment.get("CONTAINER_HOST", ""), "CONTAINER_HOST")


def usual(environment: Mapping[str, str], files: Host, socket: str) -> str:
    """Return the address that podman takes without variables, "" for none; raise `ConnectionFault`.

    `socket` is the address of its own on this machine, "" where it has none. There `podman` keeps its images,
    unless containers.conf says that it is remote; `podman --remote` takes the default connection.
    """
    found = read(environment, files)
    if not found.default or (socket and not found.is_remote):
        return socket
    return _followed(found, found.default)


def read(environment: Mapping[str, str], files: Host) -> Connections:
    """Return the connections; a file that cannot be read has none."""
    addresses: dict[str, str] = {}
    default, is_remote = "", False
    for engine in _engines(environment, files):
        for name, one in mapping(engine.get("service_destinations")).items():
            addresses[str(name)] = str(mapping(one).get("uri") or "")
        default = str(engine.get("active_service") or default)
        is_remote = engine.get("remote", is_remote) is True
    written = _written(environment, files)
    for name, one in mapping(written.get("Connections")).items():
        addresses[str(name)] = str(mapping(one).get("URI") or "")
    return Connections(addresses=addresses, default=str(written.get("Default") or default),
                       is_remote=is_remote)


def _followed(found: Connections, name: str) -> str:
    address = found.addresses.get(name)
    if not address:
        raise ConnectionFault(f"Podman's connection {name} that was chosen does not exist")
    return _spoken_with(address, f"Podman's connection {name}")


def _spoken_with(address: str, what: str) -> str:
    """Return an address; one by ssh would be spoken with by Docker's command there, which is not Podman's."""
    if address.startswith(_OVER_SSH):
        raise ConnectionFault(f"{what} leads over ssh, where Docker's command is asked, not Podman's; "
                              "forward its socket (ssh -N -L ./podman.sock:ITS/podman.sock HOST), and name "
                              "it: DOCKER_HOST=unix://$PWD/podman.sock")
    return address


def _engines(environment: Mapping[str, str], files: Host) -> Iterator[Mapping[str, object]]:
    """Yield the tables `engine` of the files that count, the last of which wins."""
    for path in _paths(environment, files):
        answer = files.read_text(path)
        try:
            yield mapping(tomllib.loads(answer.text).get("engine")) if isinstance(answer, Text) else {}
        except (tomllib.TOMLDecodeError, RecursionError):
            continue


def _paths(environment: Mapping[str, str], files: Host) -> Iterator[str]:
    only = environment.get("CONTAINERS_CONF")
    if only:
        yield only
    else:
        system, own = _OF_SYSTEM, _of_user(environment)
        yield system[0]
        for path in (system[1], *([f"{own}/{_FILE}"] if own else [])):
            yield path
            names = files.list_folder(f"{path}.d")
            yield from (f"{path}.d/{name}" for name in sorted(names.names if isinstance(names, Names) else ())
                        if name.endswith(".conf"))
    over = environment.get("CONTAINERS_CONF_OVERRIDE")
    if over:
        yield over


def _of_user(environment: Mapping[str, str]) -> str:
    """Return the folder of the user's own settings, "" where nothing names his home."""
    home = environment.get("XDG_CONFIG_HOME") or (
        f"{environment['HOME']}/.config" if environment.get("HOME") else "")
    return home and f"{home}/containers"


def _written(environment: Mapping[str, str], files: Host) -> Mapping[str, object]:
    """Return what `podman system connection` wrote."""
    own = _of_user(environment)
    answer = files.read_text(environment.get("PODMAN_CONNECTIONS_CONF") or f"{own}/{_WRITTEN}")
    try:
        return mapping(mapping(json.loads(answer.text)).get("Connection")) if isinstance(answer, Text) else {}
    except (ValueError, RecursionError):
        return {}
