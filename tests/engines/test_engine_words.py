"""What is said of an engine that is not reached: plain words, and never Python's own spelling of an error."""

from __future__ import annotations

import gc
import re
import socket
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor.transports.engine import EngineTrouble, Trouble, connect

OF_PYTHON = re.compile(r"Error\(|Exception\(|\('|0x[0-9a-f]{6}|\[Errno|Traceback|http\+docker")
NO_ENGINE = "what answers there is no container engine"


def trouble(**variables: str) -> Trouble:
    """Return why no engine is reached with these variables."""
    with warnings.catch_warnings():
        # the package leaves its socket open when it is not answered, and nobody has what could close it
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            connect(variables, 3)
        except EngineTrouble as error:
            found = error.trouble
        gc.collect()
    return found


@pytest.fixture
def answering(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the address of a server that answers every question with the same bytes, and hangs up."""
    server = socket.create_server(("127.0.0.1", 0))
    answer: bytes = request.param

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join()


@pytest.mark.parametrize(("address", "said"), [
    ("unix:///nowhere/docker.sock", "No such file or directory"),
    ("tcp://127.0.0.1:1", "Connection refused"),
    ("tcp://nowhere.invalid:2375", "its name leads to no address (Name or service not known)"),
    ("ssh://nowhere.invalid", "over ssh it takes the Python package paramiko: pip install 'docker[ssh]'"),
    ("junk://here", "Invalid bind address protocol: junk://here"),
    ("tcp://here:port", "Port could not be cast to integer value as 'port'")])
def test_an_address_that_leads_nowhere(address: str, said: str) -> None:
    assert trouble(DOCKER_HOST=address) == Trouble(kind="unreachable", said=f"{address}: {said}")


def test_a_file_that_is_no_socket(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    address = f"unix://{tmp_path}/file"
    assert trouble(DOCKER_HOST=address).said == f"{address}: Connection refused"


@pytest.mark.parametrize(("answering", "said"), [
    (b"", "the connection ended without an answer"),
    (b"SSH-2.0-OpenSSH_9.2\r\n", NO_ENGINE),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", NO_ENGINE),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", NO_ENGINE),
    (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", f"{NO_ENGINE} (status 502)")],
    indirect=["answering"])
def test_somebody_else_who_answers(answering: str, said: str) -> None:
    found = trouble(DOCKER_HOST=answering)
    assert found == Trouble(kind="unreachable", said=f"{answering}: {said}")
    assert OF_PYTHON.search(found.said) is None


def test_certificates_that_are_not_there(tmp_path: Path) -> None:
    """The variables are named that the user has set, not the package's own words for them."""
    found = trouble(DOCKER_HOST="tcp://127.0.0.1:1", DOCKER_TLS_VERIFY="1", DOCKER_CERT_PATH=str(tmp_path))
    assert found.said.startswith("tcp://127.0.0.1:1: TLS is asked for, and the folder that DOCKER_CERT_PATH")
