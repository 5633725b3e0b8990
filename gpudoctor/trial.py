"""Try fixes to the environment before they are printed: look again in children that have them.

Nothing of the caller's environment changes. A fix that was tried and did not cure is withdrawn: the model
that proved it was wrong about this machine, and a wrong fix is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from gpudoctor.consequences import Key, key_of
from gpudoctor.examine import every_finding
from gpudoctor.model import Finding, Remedy, Report
from gpudoctor.probes.raw import RawDocument

Look = Callable[[Mapping[str, str | None]], RawDocument | None]
Judge = Callable[[RawDocument], Report]


def changes(fix: Remedy) -> dict[str, str | None] | None:
    """Return the variables that an environment fix sets (None: unsets); None for any other fix."""
    if fix.kind != "environment":
        return None
    wanted: dict[str, str | None] = {}
    for name, value in fix.effect.items():
        if name.startswith("environment."):
            wanted[name.partition(".")[2]] = None if value is None else str(value)
        elif name == "loader.library_path" and isinstance(value, tuple | type(None)):
            wanted["LD_LIBRARY_PATH"] = ":".join(str(folder) for folder in value) if value else None
    return wanted or None


def try_fixes(report: Report, look: Look, judge: Judge) -> Report:
    """Return the report with every environment fix tried: `proven` becomes "tried", or the fix is gone.

    `look` gives None when no time is left to look again; then the fix stays as the model proved it. So does
    one for what was seen by running, as nothing is run again.
    """
    return replace(report, findings=tuple(_tried(finding, look, judge) for finding in report.findings))


def _tried(finding: Finding, look: Look, judge: Judge) -> Finding:
    fixes: list[Remedy] = []
    for fix in finding.fixes:
        wanted = changes(fix)
        if wanted is None or (again := look(wanted)) is None:
            fixes.append(fix)
            continue
        after = judge(again)
        if key_of(finding) in unasked(after):
            fixes.append(fix)
        elif key_of(finding) not in still_there(after):
            fixes.append(replace(fix, proven="tried"))
    return replace(finding, fixes=tuple(fixes))


def unasked(after: Report) -> set[Key]:
    """Return what looking again could not tell: what rests on a run cannot be told without another one."""
    return {key_of(undecided) for undecided in after.undecided if not undecided.asked}


def still_there(after: Report) -> set[Key]:
    """Return what is found, and what can no longer be judged."""
    return {*map(key_of, every_finding(after.findings)), *map(key_of, after.undecided)}
