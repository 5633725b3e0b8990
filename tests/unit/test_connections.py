"""The connections of the podman command, in the files that it keeps them in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpudoctor.host import Host
from gpudoctor.transports.connections import ConnectionFault, named, usual
from gpudoctor.transports.engine import EngineTrouble, connect

HOME = {"HOME": "/home/ana"}
OWN = "home/ana/.config/containers"
ONE = '[engine.service_destinations.{name}]\nuri = "unix:///{name}"\n'


def machine(root: Path, files: Mapping[str, str]) -> Host:
    """Return a machine that has these files."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return Host(root=str(root))


def written(default: str, **connections: str) -> str:
    """Return what Podman 5 writes."""
    return json.dumps({"Connection": {"Default": default, "Connections": {
        name: {"URI": address} for name, address in connections.items()}}, "Farm": {}})


def test_variables_go_before_the_files(tmp_path: Path) -> None:
    """CONTAINER_CONNECTION names one of the files', CONTAINER_HOST an address."""
    files = machine(tmp_path, {f"{OWN}/containers.conf": ONE.format(name="a")})
    assert named(HOME, files) == ""
    assert named({**HOME, "CONTAINER_HOST": "unix:///x"}, files) == "unix:///x"
    assert named({**HOME, "CONTAINER_HOST": "unix:///x", "CONTAINER_CONNECTION": "a"}, files) == "unix:///a"
    with pytest.raises(ConnectionFault, match="Podman's connection b that was chosen does not exist"):
        named({**HOME, "CONTAINER_CONNECTION": "b"}, files)


def test_later_files_win_and_what_podman_writes_last(tmp_path: Path) -> None:
    system = {"usr/share/containers/containers.conf": ONE.format(name="a"),
              "etc/containers/containers.conf": f'[engine]\nactive_service = "a"\n{ONE.format(name="b")}',
              "etc/containers/containers.conf.d/1.conf": '[engine]\nactive_service = "b"\n',
              "etc/containers/containers.conf.d/2.other": '[engine]\nactive_service = "a"\n'}
    files = machine(tmp_path, system)
    assert usual({}, files, "") == usual(HOME, files, "") == "unix:///b"
    machine(tmp_path, {f"{OWN}/containers.conf": '[engine]\nactive_service = "a"\n'})
    assert usual(HOME, files, "") == "unix:///a"
    machine(tmp_path, {f"{OWN}/podman-connections.json": written("c", c="unix:///c", b="unix:///of-json")})
    assert usual(HOME, files, "") == "unix:///c"
    assert named({**HOME, "CONTAINER_CONNECTION": "b"}, files) == "unix:///of-json"
    assert usual({}, files, "") == "unix:///b"
    moved = machine(tmp_path, {"mine.json": written("d", d="unix:///d"), "only.conf": ONE.format(name="e")})
    assert usual({"PODMAN_CONNECTIONS_CONF": "/mine.json"}, moved, "") == "unix:///d"
    assert usual({"CONTAINERS_CONF": "/only.conf"}, moved, "") == ""
    over = {"CONTAINERS_CONF_OVERRIDE": "/etc/containers/containers.conf.d/1.conf"}
    with pytest.raises(ConnectionFault, match="connection b"):
        usual({"CONTAINERS_CONF": "/only.conf", **over}, moved, "")


def test_its_own_socket_goes_first_where_podman_is_not_remote(tmp_path: Path) -> None:
    """Whoever adds a first connection has it as the default; plain `podman` still keeps its images here."""
    text = f'[engine]\nactive_service = "a"\n{ONE.format(name="a")}'
    files = machine(tmp_path, {f"{OWN}/containers.conf": text})
    assert usual(HOME, files, "unix:///here") == "unix:///here"
    machine(tmp_path, {"etc/containers/containers.conf": "[engine]\nremote = true\n"})
    assert usual(HOME, files, "unix:///here") == "unix:///a"
    assert usual({}, files, "unix:///here") == "unix:///here"


@pytest.mark.parametrize("text", [
    "[", "engine = 3", "[engine]\nservice_destinations = 3\nactive_service = 3\n",
    "[engine]\nservice_destinations.a = 3\n"])
def test_a_file_that_says_nothing_is_passed_over(text: str, tmp_path: Path) -> None:
    files = machine(tmp_path, {f"{OWN}/containers.conf": text, f"{OWN}/podman-connections.json": text})
    assert named(HOME, files) == ""


def test_one_over_ssh_is_a_finding_that_says_what_to_do(tmp_path: Path) -> None:
    """Docker's package would call Docker's command there; a password in the address is told to nobody."""
    address = "ssh://ana:secret@far/run/podman/podman.sock"
    files = machine(tmp_path, {f"{OWN}/podman-connections.json": written("far", far=address)})
    for variables in ({}, {"CONTAINER_CONNECTION": "far"}, {"CONTAINER_HOST": address}):
        with pytest.raises(EngineTrouble) as caught:
            connect({**HOME, **variables}, 5, files)
        assert caught.value.trouble.kind == "misdirected"
        assert "leads over ssh" in caught.value.trouble.said
        assert "secret" not in caught.value.trouble.said
