"""The pytest plugin: a test says which GPU it needs, and is skipped with gpudoctor's reason where none works.

    @pytest.mark.requires_gpu(count=2, memory="40GiB", capability="8.0", framework="torch>=2.6")

The machine is examined once, before the first such test, in processes of its own; workers of pytest-xdist
share the answer. Every run of pytest loads this module, so it imports nothing until a test asks.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gpudoctor.model import Snapshot

MARKER = "requires_gpu"
_WRONG = f"{MARKER} is written wrong: "
_FOLDER = "gpudoctor_folder"
_DEPTH, _USUAL_DEPTH = "gpudoctor_depth", "smoke"
_HELP = (
    f"{MARKER}(count=1, memory=None, capability=None, framework=None): the test needs so many GPUs, each "
    "with that memory (\"40GiB\") and compute capability (\"8.0\"), and a framework that runs on them "
    "(\"torch>=2.6\"); without them it is skipped with gpudoctor's reason, or fails with --require-gpu")
_machine_key = pytest.StashKey["Snapshot"]()
_folder_key = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --require-gpu, and how deep to look."""
    group = parser.getgroup("gpudoctor")
    group.addoption("--require-gpu", action="store_true", help=(
        f"fail tests that are marked {MARKER} where no GPU serves them, in place of skipping them"))
    parser.addini(_DEPTH, default=_USUAL_DEPTH, help=(
        f"how deep to look for tests that are marked {MARKER}: static asks the driver, import imports "
        "frameworks too, smoke (the default) runs them"))


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest of the marker; refuse a depth that there is not before any test is collected."""
    config.addinivalue_line("markers", _HELP)
    depth = config.getini(_DEPTH)
    if depth != _USUAL_DEPTH:
        from gpudoctor import api

        try:
            api.chosen(_DEPTH, "--depth", depth)
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give the workers of pytest-xdist a folder in which the first leaves its answer for the others."""
    stash = node.config.stash
    if _folder_key not in stash:
        stash[_folder_key] = tempfile.mkdtemp(prefix="gpudoctor-")
    node.workerinput[_FOLDER] = stash[_folder_key]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Take the workers' folder away."""
    folder = config.stash.get(_folder_key, None)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that no GPU serves, before any of its fixtures touches one."""
    for marker in item.iter_markers(MARKER):
        why = _refused(marker) or _unmet(marker, item.config)
        if why and (item.config.getoption("--require-gpu") or why.startswith(_WRONG)):
            pytest.fail(why, pytrace=False)
        if why:  # by pytest's own mark, which names the test as the place; this would name itself
            item.add_marker(pytest.mark.skip(reason=why))
            return


def _refused(marker: pytest.Mark) -> str:
    """Return what is wrong with how the marker was written, "" where nothing is."""
    from gpudoctor import needs

    try:
        needs.as_written(marker.args, marker.kwargs)
    except ValueError as error:
        return f"{_WRONG}{error}"
    return ""


def _unmet(marker: pytest.Mark, config: pytest.Config) -> str:
    """Return why the machine does not serve the test, "" where it does."""
    from gpudoctor import needs

    try:
        why = needs.unmet(needs.as_written(marker.args, marker.kwargs), _machine(config))
    except ValueError as error:  # a site's rules that cannot be used are no reason to skip
        pytest.fail(f"{MARKER} could not be judged: {error}", pytrace=False)
    return f"needs a GPU: {why}" if why else ""


def _machine(config: pytest.Config) -> Snapshot:
    """Return what was seen of this machine, which is looked at once in a session."""
    if _machine_key not in config.stash:
        from gpudoctor import codec

        folder = getattr(config, "workerinput", {}).get(_FOLDER)
        depth = str(config.getini(_DEPTH))
        seen = _look(depth) if folder is None else _shared(folder, depth)
        config.stash[_machine_key] = codec.decode_snapshot(json.loads(seen), "this machine")
    return config.stash[_machine_key]


def _look(depth: str) -> str:
    """Return what is seen of this machine, as it is recorded: it is judged anew for each need."""
    from gpudoctor import api, codec

    stages = ("matmul",) if depth == "smoke" else ()
    report = api.check(None, depth, (), (), stages, "error", 20.0, 120.0)
    return json.dumps(codec.encode_snapshot(report.snapshot))


def _shared(folder: str, depth: str) -> str:
    """Return what the first worker sees while the others wait for it."""
    import fcntl

    with (open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock,
          open(os.path.join(folder, "seen.json"), "a+", encoding="utf-8") as seen):
        fcntl.flock(lock, fcntl.LOCK_EX)
        seen.seek(0)
        told = seen.read()
        if not told:
            told = _look(depth)
            seen.write(told)
        return told
