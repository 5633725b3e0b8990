"""Commands as root types them: without sudo, which a container or a small system does not have. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from gpudoctor.model import Finding, FixKind, Known, Report

# These are done elsewhere, by who is there: outside of the container, on another machine.
ELSEWHERE: frozenset[FixKind] = frozenset({"container", "image", "hardware"})
# where a shell expects a command: at the beginning, behind an operator, behind a word of the shell's own
_SUDO = re.compile(r"(?:(?<=[|&;(])|(?<=[|&;(] )|(?<=then )|(?<=else )|(?<=do ))sudo (?=[a-z])")
_QUOTED = re.compile(r"""('[^']*'|"(?:\\.|[^"\\])*")""", re.DOTALL)


def without_sudo(command: str) -> str:
    """Return a command for root, who may have no sudo; what stands in quotes stays as it is."""
    pieces = _QUOTED.split(command.removeprefix("sudo "))
    return "".join(piece if number % 2 else _SUDO.sub("", piece) for number, piece in enumerate(pieces))


def as_typed(report: Report) -> Report:
    """Return a report with its commands as whoever was examined types them: root without sudo."""
    user = report.snapshot.host.get("system.user_id")
    if not (isinstance(user, Known) and user.value == 0):
        return report
    return replace(report, findings=tuple(map(_for_root, report.findings)))


def _for_root(finding: Finding) -> Finding:
    return replace(
        finding, consequences=tuple(map(_for_root, finding.consequences)),
        asks=tuple(replace(ask, command=without_sudo(ask.command)) for ask in finding.asks),
        fixes=tuple(fix if fix.kind in ELSEWHERE else replace(
            fix, commands=tuple(map(without_sudo, fix.commands)),
            undo=None if fix.undo is None else without_sudo(fix.undo)) for fix in finding.fixes))
