"""Links that lead out of the project: well formed, and one name for the project itself everywhere."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from gpudoctor.compatible import tomllib
from gpudoctor.home import ISSUES, REPOSITORY
from tests.contract.checkout import ROOT, files_below, shown
from tools.outer_links import answer, everywhere, in_text, problems

# how people and programs write where a repository lies: an address, or what a step of an action uses
_NAMED = re.compile(r"(?:github\.com/|\buses: *)([\w.-]+/gpudoctor)(?![\w-])")


def test_every_address_is_well_formed() -> None:
    """Those of texts and of the sources in the data; that none is a registry's, test_style holds."""
    links = everywhere()
    assert [f"{place}: {one}: {problem}" for one, place in links.items() for problem in problems(one)] == []
    assert len(links) > 1000
    assert REPOSITORY in links


@pytest.mark.parametrize(("address", "said"), [
    ("http://example.org/a", "the scheme is http, not https"), ("ftp://example.org/a", "not https"),
    ("https://localhost/a", "no name of a host"), ("https://10.0.0.1/a", "no name of a host"),
    ("https:///a", "no name of a host"), ("https://example..org/a", "no name of a host"),
    ("https://[::1/a", "Invalid IPv6"), ("https://me@example.org/a", "a user or a port"),
    ("https://example.org:8080/a", "a user or a port"), ("https://example.org/a%2", "has to be escaped"),
    ("https://example.org/a{b}", "has to be escaped"), ("https://example.org/\u00e9", "has to be escaped"),
    ("https://example.org//a", "two slashes"),
])
def test_an_address_that_is_not_is_found(address: str, said: str) -> None:
    assert [problem for problem in problems(address) if said in problem] != []
    assert list(problems("https://example.org/a%20b/?c=d&e#f")) == []


@pytest.mark.parametrize(("text", "found"), [
    ("See [a](https://example.org/a_(b)), or <https://example.org/c>.",
     ["https://example.org/a_(b)", "https://example.org/c"]),
    ("*https://example.org/a*; (https://example.org/b.)", ["https://example.org/a", "https://example.org/b"]),
    ("`https://example.org/a`\n```sh\ncurl https://example.org/b\n```\nhttp://example.org/c",
     ["http://example.org/c"]),
])
def test_addresses_are_found_in_texts(text: str, found: list[str]) -> None:
    """Without the end of their sentence, and not in code, which is no link."""
    assert list(in_text(text)) == found


def test_the_project_has_one_name() -> None:
    """The integrations named an owner to be filled in, and the program another."""
    own = REPOSITORY.removeprefix("https://github.com/")
    named = [(shown(path), name) for path in files_below(ROOT) if path != ROOT / "gpudoctor" / "home.py"
             and path.suffix in (".py", ".md", ".toml", ".yml", ".yaml", ".sh", ".1", ".json")
             for name in _NAMED.findall(path.read_text("utf-8", "replace")) if name != own]
    assert named == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["urls"] == {"Repository": REPOSITORY, "Issues": ISSUES}


def test_no_other_file_of_the_program_spells_it() -> None:
    """Who needs it imports it."""
    spelt = [shown(path) for folder in ("gpudoctor", "tools") for path in files_below(ROOT / folder)
             if path.suffix == ".py" and REPOSITORY in path.read_text("utf-8")]
    assert spelt == ["gpudoctor/home.py"]


@pytest.fixture
def server() -> Iterator[str]:
    """Serve /there, and nothing else."""
    class There(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/there" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    listening = HTTPServer(("127.0.0.1", 0), There)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}"
    listening.shutdown()
    thread.join()
    listening.server_close()


def test_who_is_asked_answers_or_not(server: str) -> None:
    assert answer(f"{server}/there#below") == ""
    assert answer(f"{server}/gone") == "404 Not Found"
    assert "refused" in answer("http://127.0.0.1:1/")
