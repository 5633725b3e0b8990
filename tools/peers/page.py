"""Write the tables of docs/comparison.md between their marks; the text around them is written by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.machines.catalogue import FIRST, HEALTHY
from tools.peers.contestants import CONTESTANTS, DOCTOR
from tools.peers.judging import Cell
from tools.peers.running import command_line

BEGIN = "<!-- written by tools/compare_peers.py: begin -->"
END = "<!-- written by tools/compare_peers.py: end -->"


def escaped(text: str) -> str:
    """Return text that is safe in a cell of a Markdown table."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("`", "'").replace("<", "&lt;")


def quoted(text: str) -> str:
    """Return text as code in a cell of a Markdown table, where only a bar and a backtick mean something."""
    return f"`{text.replace('|', chr(92) + '|').replace('`', chr(39))}`" if text else ""


def count(cells: Mapping[tuple[str, str], Cell], tool: str, machines: Sequence[str], verdict: str) -> int:
    """Return on how many of the machines a tool has this verdict."""
    return sum(cells[tool, machine].verdict == verdict for machine in machines)


def short(cell: Cell) -> str:
    """Return a cell of the first table: the verdict, the exit codes, the seconds."""
    if not cell.exit_codes:
        return cell.verdict
    codes = ", ".join("-" if code is None else str(code) for code in cell.exit_codes)
    word = f"**{cell.verdict}**" if cell.verdict == "right" else cell.verdict
    return f"{word} ({codes}; {cell.seconds:.1f} s)"


def overview(cells: Sequence[Cell]) -> list[str]:
    """Return the table of machines and tools, with the totals."""
    names = [contestant.name for contestant in CONTESTANTS]
    by_key = {(cell.tool, cell.machine): cell for cell in cells}
    lines = [f"| machine | truth | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for machine, scenario in FIRST.items():
        row = " | ".join(short(by_key[name, machine]) for name in names)
        lines.append(f"| {machine} | {scenario.cause} | {row} |")
    for title, machines in (
        ("broken machines right", [name for name in FIRST if FIRST[name].cause != HEALTHY]),
        ("healthy machines right", [name for name in FIRST if FIRST[name].cause == HEALTHY]),
        ("right", list(FIRST)),
    ):
        row = " | ".join(f"**{count(by_key, name, machines, 'right')}**" for name in names)
        lines.append(f"| **{title}, of {len(machines)}** | | {row} |")
    partly = " | ".join(str(count(by_key, name, list(FIRST), "partly")) for name in names)
    return [*lines, f"| partly, of {len(FIRST)} | | {partly} |"]


def words(cells: Sequence[Cell], tool: str) -> list[str]:
    """Return the table of one tool's own words."""
    lines = ["| machine | verdict | its own words | why |", "|---|---|---|---|"]
    for cell in cells:
        if cell.tool == tool:
            why = escaped(cell.complaint or cell.why)
            lines.append(f"| {cell.machine} | {cell.verdict} | {quoted(cell.quote)} | {why} |")
    return lines


def rendered(cells: Sequence[Cell], doctor: str) -> str:
    """Return what stands between the marks; `doctor` says which gpudoctor ran."""
    run = (f"Run on {_days(cells)}. In brackets: the exit codes of the tool's commands, and the seconds that "
           "one took.")
    lines = [run, "", *overview(cells)]
    for contestant in CONTESTANTS:
        commands = ", ".join(f"`{command_line(command)}`" for command in contestant.commands)
        published = f"pypi:{contestant.distribution}=={contestant.version}"
        version = doctor if contestant.name == DOCTOR else published
        lines += ["", f"### {contestant.name}", "", f"{version}; {commands}. {contestant.about}", ""]
        lines += words(cells, contestant.name)
    return "\n".join(lines)


def _days(cells: Sequence[Cell]) -> str:
    """Return on which day who ran: seconds of different days do not compare."""
    tools = {day: dict.fromkeys(cell.tool for cell in cells if cell.day == day)
             for day in sorted({cell.day for cell in cells if cell.day})}
    named = (f"{day} ({', '.join(some)})" for day, some in tools.items())
    return " and ".join(named if len(tools) > 1 else tools)


def replaced(page: str, text: str) -> str:
    """Return the page with new text between its marks."""
    before, found_begin, rest = page.partition(BEGIN)
    _, found_end, after = rest.partition(END)
    if not found_begin or not found_end:
        raise ValueError("the page has no marks")
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


def write_page(path: Path, cells: Sequence[Cell], doctor: str) -> None:
    """Write the tables into the page."""
    path.write_text(replaced(path.read_text("utf-8"), rendered(cells, doctor)), encoding="utf-8")
