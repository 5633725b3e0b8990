"""The table of all faults, and its count by group, subject and kind for docs/reliability.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.faults import (
    calls, distributions, midway, others, patients, probes, running, signals, surroundings,
)
from tests.faults.doctor import ROOT
from tests.faults.fault import Fault

PAGE = ROOT / "docs" / "reliability.md"
MODULES = (probes, running, midway, others, calls, surroundings, patients, distributions, signals)
BEGIN, END = "<!-- counted -->", "<!-- end -->"
# Where a line of the page counts the kinds of one subject, and where the subjects of one kind.
BY_SUBJECT = ("an NVML call", "a driver API call", "a signal")
BY_KIND = ("a probe's child", "another collector's child", "a collector among others", "a system call")
SURVIVED, BROKEN, SKIPPED = "survived", "broken", "not tried"


def all_faults() -> list[Fault]:
    """Return every row."""
    return [fault for module in MODULES for fault in module.faults()]


def line_of(fault: Fault) -> tuple[str, str]:
    """Return the group and the line of the page that a fault is counted in."""
    if fault.group in BY_SUBJECT:
        return fault.group, fault.subject
    return fault.group, fault.kind.removesuffix(" (in words)") if fault.group in BY_KIND else fault.name


def counted(outcomes: Iterable[tuple[Fault, str]]) -> dict[tuple[str, str], dict[str, int]]:
    """Count the outcomes for each line of the page."""
    lines: dict[tuple[str, str], dict[str, int]] = {}
    for fault, outcome in outcomes:
        line = lines.setdefault(line_of(fault), dict.fromkeys((SURVIVED, BROKEN, SKIPPED), 0))
        line[outcome] += 1
    return lines


def rendered(lines: Mapping[tuple[str, str], Mapping[str, int]]) -> str:
    """Return the counted part of the page: a table of the groups, then one for each group."""
    groups = list(dict.fromkeys(group for group, _ in lines))
    of_groups = {group: _sum(n for (of, _), n in lines.items() if of == group) for group in groups}
    text = [_table("group", of_groups)]
    total = _sum(lines.values())
    text.append(f"Together: {sum(total.values())} faults, {total[SURVIVED]} survived.\n")
    for group in groups:
        own = {line: number for (of, line), number in lines.items() if of == group}
        text.append(f"### {group[0].upper()}{group[1:]}\n\n{_table('fault', own)}")
    return "\n".join(text)


def _sum(numbers: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total = dict.fromkeys((SURVIVED, BROKEN, SKIPPED), 0)
    for one in numbers:
        for key, number in one.items():
            total[key] += number
    return total


def _table(title: str, rows: Mapping[str, Mapping[str, int]]) -> str:
    head = f"| {title} | faults | survived | not tried there |\n|---|---:|---:|---:|\n"
    return head + "".join(
        f"| {name.replace('|', ' ')} | {sum(n.values())} | {n[SURVIVED]} | {n[SKIPPED]} |\n"
        for name, n in rows.items())


def written(page: str, part: str) -> str:
    """Return the page with its counted part replaced."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{part}{END}{after}"


def faults_on(page: str) -> dict[tuple[str, str], int]:
    """Return how many faults each line of the page counts, by group and line."""
    found: dict[tuple[str, str], int] = {}
    group = ""
    for line in page.partition(BEGIN)[2].partition(END)[0].splitlines():
        if line.startswith("### "):
            group = line[4:]
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if group and len(cells) == 4 and cells[1].isdigit():
            found[group[0].lower() + group[1:], cells[0]] = int(cells[1])
    return found
