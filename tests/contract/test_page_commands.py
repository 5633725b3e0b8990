"""Commands of the pages are commands: a shell can read each, and none is one that gives up halfway."""

from __future__ import annotations

import re
import subprocess
from functools import cache

from gpudoctor import ruledb
from gpudoctor.words import PLACEHOLDER
from tests.contract.checkout import RULES

PATTERN = re.compile(r"apt(?:-get)? (?:-\w+ )*(?:purge|remove|autoremove)\b[^|;&$]*[\^*]")


@cache
def commands() -> tuple[tuple[str, str], ...]:
    """Return the id of each page with each command of it, facts replaced by a word."""
    said = [(rule.id, command) for rule in ruledb.load_pages(RULES).rules
            for command in (*(command for fix in rule.fix for command in (*fix.commands, fix.undo or "")),
                            *(ask.command for ask in rule.ask)) if command]
    return tuple((name, PLACEHOLDER.sub("fact", command)) for name, command in said)


def test_a_shell_can_read_every_command() -> None:
    """A quote that is not closed, or a parenthesis too many, is seen before a person runs it."""
    refused = [(name, command) for name, command in commands()
               if subprocess.run(["sh", "-n", "-c", command], capture_output=True, check=False).returncode]
    assert refused == []


def test_no_package_is_removed_by_a_pattern() -> None:
    """Where one of several patterns matches no package of the sources, apt-get gives up and removes none.

    The commands that took drivers out of WSL and of images did nothing wherever NVIDIA's own source was
    not set up.
    """
    assert [(name, command) for name, command in commands() if PATTERN.search(command)] == []
    assert PATTERN.search("apt-get purge -y '^libcuda1$'")
