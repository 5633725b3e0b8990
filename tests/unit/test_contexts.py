"""The contexts of the docker command, in the folder that it keeps them in."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from gpudoctor.host import Host
from gpudoctor.transports.contexts import ContextError, address


def keep(folder: Path, name: str, text: str) -> None:
    """Lay down a context as the command does."""
    file = folder / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest() / "meta.json"
    file.parent.mkdir(parents=True)
    file.write_text(text)


def test_the_chosen_context_is_read(tmp_path: Path) -> None:
    """DOCKER_CONTEXT goes before what `docker context use` wrote, which a broken file chooses nothing in."""
    keep(tmp_path, "a", '{"Name": "a", "Endpoints": {"docker": {"Host": "tcp://a:2375"}}}')
    keep(tmp_path, "b", '{"Name": "b", "Endpoints": {"docker": {"Host": "unix:///b"}}}')
    own = {"DOCKER_CONFIG": str(tmp_path)}
    assert address(own, Host()) == ""
    assert address({**own, "DOCKER_CONTEXT": "a"}, Host()) == "tcp://a:2375"
    (tmp_path / "config.json").write_text('{"currentContext": "b"}')
    assert address(own, Host()) == "unix:///b"
    assert address({**own, "DOCKER_CONTEXT": "a"}, Host()) == "tcp://a:2375"
    assert address({**own, "DOCKER_CONTEXT": "default"}, Host()) == ""
    (tmp_path / "config.json").write_text("{")
    assert address(own, Host()) == ""
    assert address({}, Host()) == ""


@pytest.mark.parametrize(("text", "said"), [
    ("{", "cannot be read"), ("[]", "cannot be read"),
    ('{"Endpoints": {"docker": {"Host": 3}}}', "cannot be read"),
    (None, "does not exist")])
def test_one_that_cannot_be_used_ends_it(text: str | None, said: str, tmp_path: Path) -> None:
    if text is not None:
        keep(tmp_path, "a", text)
    with pytest.raises(ContextError, match=f"the context a that was chosen {said}"):
        address({"DOCKER_CONFIG": str(tmp_path), "DOCKER_CONTEXT": "a"}, Host())
