"""An engine by TLS, as DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH name it: reached, and refused."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpudoctor.transports.engine import Engine as Reached
from gpudoctor.transports.engine import EngineTrouble, Trouble, connect
from tests.harness.engine import Engine, unavailable

SECONDS = 10


@dataclass(frozen=True)
class Served:
    """Where an engine listens, and a folder with the certificates of one whom it lets in."""

    address: str
    certificates: Path


def openssl(*words: str) -> None:
    ran = subprocess.run(["openssl", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         check=False)
    assert ran.returncode == 0, ran.stderr


def make_authority(folder: Path) -> None:
    """Make a certificate authority of our own."""
    folder.mkdir()
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=gpudoctor-test",
            "-keyout", f"{folder}/ca-key.pem", "-out", f"{folder}/ca.pem")


def sign(authority: Path, folder: Path, name: str, uses: str) -> None:
    """Make a key and a certificate of the authority, beside a copy of the authority's own."""
    folder.mkdir()
    shutil.copy(authority / "ca.pem", folder)
    (folder / "extensions").write_text(f"extendedKeyUsage={uses}\nsubjectAltName=IP:127.0.0.1\n")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", f"{folder}/key.pem",
            "-out", f"{folder}/request.pem")
    openssl("x509", "-req", "-days", "2", "-in", f"{folder}/request.pem", "-CA", f"{authority}/ca.pem",
            "-CAkey", f"{authority}/ca-key.pem", "-CAcreateserial", "-extfile", f"{folder}/extensions",
            "-out", f"{folder}/cert.pem")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Start an engine on loopback that lets nobody in without a certificate."""
    reason = unavailable() or ("" if shutil.which("openssl") else "not installed: openssl")
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("tls")
    make_authority(folder / "authority")
    sign(folder / "authority", folder / "server", "engine", "serverAuth")
    sign(folder / "authority", folder / "client", "client", "clientAuth")
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    server = folder / "server"
    engine = Engine(Path(tempfile.mkdtemp(prefix="gpudoctor-")), size="200m", more=[
        "--host", f"tcp://127.0.0.1:{port}", "--tlsverify", "--tlscacert", f"{server}/ca.pem",
        "--tlscert", f"{server}/cert.pem", "--tlskey", f"{server}/key.pem"])
    engine.start()
    try:
        yield Served(address=f"tcp://127.0.0.1:{port}", certificates=folder / "client")
    finally:
        engine.stop()


def reach(served: Served, **variables: str) -> Reached | Trouble:
    try:
        found = connect({"DOCKER_HOST": served.address, **variables}, SECONDS)
    except EngineTrouble as error:
        return error.trouble
    found.api.close()
    return found


def test_with_a_certificate_it_answers(served: Served, tmp_path: Path,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where REQUESTS_CA_BUNDLE names authorities for the web: it was taken for the engine's."""
    make_authority(tmp_path / "web")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "web" / "ca.pem"))
    found = reach(served, DOCKER_TLS_VERIFY="1", DOCKER_CERT_PATH=str(served.certificates))
    assert isinstance(found, Reached), found
    assert (found.name, found.address) == ("docker", served.address)
    assert found.is_here is False  # where a port leads nobody knows


def test_another_authority_is_not_trusted(served: Served, tmp_path: Path) -> None:
    """What is wrong with the certificate is told in OpenSSL's words, without its source file and line."""
    shutil.copytree(served.certificates, tmp_path / "mine")
    make_authority(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "ca.pem", tmp_path / "mine")
    found = reach(served, DOCKER_TLS_VERIFY="1", DOCKER_CERT_PATH=str(tmp_path / "mine"))
    assert isinstance(found, Trouble), found
    assert found.kind == "unreachable"
    assert found.said.startswith(f"{served.address}: the connection by TLS fails (")
    assert "certificate" in found.said
    assert "_ssl.c" not in found.said


def test_a_client_whom_nobody_vouches_for(served: Served, tmp_path: Path) -> None:
    """The engine ends the connection, which is told as TLS's matter."""
    make_authority(tmp_path / "other")
    sign(tmp_path / "other", tmp_path / "mine", "client", "clientAuth")
    shutil.copy(served.certificates / "ca.pem", tmp_path / "mine")
    found = reach(served, DOCKER_TLS_VERIFY="1", DOCKER_CERT_PATH=str(tmp_path / "mine"))
    assert isinstance(found, Trouble), found
    assert found.said.startswith(f"{served.address}: the connection by TLS fails (")
    assert "alert" in found.said  # TLS's word for what the other side says


def test_without_tls_the_engine_says_so(served: Served) -> None:
    found = reach(served)
    assert isinstance(found, Trouble), found
    assert "HTTPS" in found.said
    assert "Error(" not in found.said
