"""How the distribution at hand installs a driver: whose packages, by which command, which release comes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gpudoctor import versions
from gpudoctor.derive.branches import OPEN, is_of_windows, major, served, windows_number
from gpudoctor.derive.view import NotKnown, View, as_texts
from gpudoctor.frozen import frozen
from gpudoctor.model import Absent, Fact, Known, Row

_ANY = "any"
_JETSON = "jetson"
_WSL = "wsl"
_BRANCH = "BRANCH"
_OF_DRIVER = ("command", "proprietary_command", "branch_command", "proprietary_branch_command")


@frozen
class Way:
    """A command that installs a driver, and the oldest release that it brings."""

    command: str
    driver: str


# -- the distribution ----------------------------------------------------------------------------------------


def package_row(view: View) -> Row:
    """Return the row of this distribution for the cards here, else any one's for them, else for all cards.

    The distribution is the one that os-release names, else the first that it says it is like, else "any".
    """
    rows, last = _rows_of_distribution(view), str(served(view).last_branch)
    own = [row for row in rows if _cards_of(row) == last] or [
        row for row in view.table("driver_packages").rows
        if row["distribution"] == _ANY in _families(view) and _cards_of(row) == last]
    return max(own or [row for row in rows if _cards_of(row) == _ANY],
               key=lambda row: major(row["first_version"]),
               default={"source": "rules/tables/driver_packages.toml has no row for this distribution"})


def system_row(view: View) -> Row:
    """Return the row of this distribution for all cards: what belongs to no branch stands there alone."""
    general = [row for row in _rows_of_distribution(view) if _cards_of(row) == _ANY]
    return max(general, key=lambda row: major(row["first_version"]), default={})


def _cards_of(row: Row) -> str:
    return str(row.get("last_branch", _ANY))


def _rows_of_distribution(view: View) -> Sequence[Row]:
    rows = view.table("driver_packages").rows
    version = major(view.value("system.distribution_version") or "")
    for family in _families(view):
        fitting = [row for row in rows
                   if row["distribution"] == family and major(row["first_version"]) <= version]
        if fitting:
            return fitting
    return ()


def _families(view: View) -> Sequence[str]:
    if isinstance(view.fact("system.jetson"), Known):
        return (_JETSON,)  # its driver comes with the board's system, whatever the distribution says
    if isinstance(view.fact("system.wsl"), Known):
        return (_WSL,)  # its driver is that of Windows: nothing is to be installed inside
    if isinstance(view.fact("system.distribution"), Absent):
        return (_ANY,)
    return (view.need_text("system.distribution"), *view.texts("system.distribution_like"), _ANY)


def cell(view: View, column: str, row_of: Callable[[View], Row] = package_row) -> Fact:
    """Return a cell of the distribution's row."""
    row = row_of(view)
    if column not in row:
        distribution = view.value("system.distribution") or "this system"
        return Absent(source=f"the rule database has no {column} for {distribution}")
    return Known(value=row[column], source=str(row["source"]))


def guide(view: View) -> Fact:
    """Return where it is written down how the driver is installed on this distribution."""
    rows = view.table("driver_packages").rows
    anywhere: Row = next((row for row in rows if row["distribution"] == _ANY), {})
    for row in (package_row(view), system_row(view), anywhere):
        if "guide" in row:
            return Known(value=row["guide"], source=str(row["source"]))
    return Absent(source="the rule database names no guide")


def repository_command(view: View) -> Fact:
    """Return the command that adds the repository which the driver's branches come from."""
    row = package_row(view)
    version, machine = _version_of(row, view), _machine_of(row, view)
    if "repository_command" not in row or version is None or machine is None:
        return Absent(source="the distribution's own repository has it, or none is known for this version")
    text = str(row["repository_command"]).replace("VERSION", version).replace("ARCH", machine)
    return Known(value=text, source=str(row["source"]))


def _version_of(row: Row, view: View) -> str | None:
    """Return the distribution's version as the repository spells it, None where it serves another one."""
    version = str(view.value("system.distribution_version") or "")
    if "versions" not in row:
        return version
    pairs = [text.partition("=") for text in as_texts(row["versions"])]
    spelled = (version, version.partition(".")[0])
    return next((repository or name for wanted in spelled for name, _, repository in pairs if name == wanted),
                None)


def _machine_of(row: Row, view: View) -> str | None:
    machine = str(view.value("system.architecture") or "")
    if "architectures" not in row:
        return machine
    pairs = (text.partition("=") for text in as_texts(row["architectures"]))
    return next((repository or name for name, _, repository in pairs if name == machine), None)


# -- the distribution's own driver ---------------------------------------------------------------------------


def _in_flavour(view: View, column: str) -> tuple[str, str] | None:
    """Return the cell for the best kernel module that serves the cards and has one, and that module."""
    row = package_row(view)
    for flavour in served(view).flavours:
        name = column if flavour == OPEN else f"{flavour}_{column}"
        if name in row:
            return str(row[name]), flavour
    return None


def _brings(view: View, flavour: str) -> str | None:
    """Return the oldest driver that the distribution's packages bring, None where it has none of its own."""
    row = package_row(view)
    found = row.get(f"{flavour}_driver", row.get("driver"))
    return None if found is None else str(found)


def own_command(view: View) -> Fact:
    """Return the command that installs the distribution's own driver, where that serves the cards."""
    found = _in_flavour(view, "command")
    driver = None if found is None else _brings(view, found[1])
    if found is None or driver is None or not served(view).allows(major(driver)):
        return Absent(source="the distribution's own packages have no driver for the cards here")
    return Known(value=found[0], source=str(package_row(view)["source"]))


# -- the branch ----------------------------------------------------------------------------------------------


def _release(view: View, minimum: str) -> tuple[str, str] | None:
    """Return the oldest driver that is new enough and of the oldest branch worth naming, and why that one.

    Branches that are still maintained come first; then the last one for cards that none of them serves; then
    the minimum itself, when a branch that nobody maintains for long is the only one that will do.
    """
    cards = served(view)
    rows = sorted(view.table("driver_lifecycle").rows, key=lambda row: (row["maintained"] is not True,
                                                                       major(row["branch"])))
    for row in rows:
        branch = major(row["branch"])
        if branch < major(minimum) or not cards.allows(branch):
            continue
        if row["maintained"] is not True and branch != cards.last_branch:
            continue
        newest = max(str(row["first_release"]), minimum, key=versions.parse)
        return newest, f"branch {row['branch']}, {row['designation']} ({row['source']})"
    if major(minimum) and cards.allows(major(minimum)):
        return minimum, "no maintained branch is new enough"
    return None


def _way(view: View, minimum: str, wanted: str) -> Way | None:
    """Return how `wanted` is installed here, or what brings another driver that is new enough."""
    row = package_row(view)
    if "repository" in row and not isinstance(repository_command(view), Known):
        return None
    chosen = _in_flavour(view, "branch_command") or _in_flavour(view, "command")
    if chosen is None:
        return None
    text, flavour = chosen
    if _BRANCH in text:
        branch = major(wanted)
        lifecycle = view.table("driver_lifecycle").rows
        if branch not in {major(known["branch"]) for known in lifecycle if known["maintained"] is True}:
            return None
        return Way(command=text.replace(_BRANCH, str(branch)), driver=wanted)
    driver = _brings(view, flavour)
    if driver is None or versions.parse(driver) < versions.parse(minimum):
        return None
    return Way(command=text, driver=driver) if served(view).allows(major(driver)) else None


def maintained_driver(view: View, minimum: str) -> Fact:
    """Return the driver that a fix may name when at least `minimum` is needed: what its command brings."""
    found = _release(view, minimum)
    if found is None:
        return Absent(source=f"no driver of {minimum} or newer serves the cards here")
    if is_of_windows(view):
        named = max(minimum, windows_number(found[0], view.tables), key=versions.parse)
        return Known(value=named, source=found[1])
    row, way = package_row(view), _way(view, minimum, found[0])
    if way is not None and way.driver != found[0]:
        return Known(value=way.driver, source=str(row["source"]))
    named = str(row.get("driver", "0")) if _cards_of(row) != _ANY else "0"
    if versions.parse(named) > versions.parse(found[0]):  # of this branch, what can still be had
        return Known(value=named, source=str(row["source"]))
    return Known(value=found[0], source=found[1])


def branch_command(view: View, minimum: str) -> Fact:
    """Return the command that installs that driver; a repository that it needs must be known as well."""
    found = _release(view, minimum)
    way = None if found is None else _way(view, minimum, found[0])
    if way is None:
        return Absent(source="no command is known that installs this driver here")
    return Known(value=way.command, source=str(package_row(view)["source"]))


def for_fact(make: Callable[[View, str], Fact], minimum: str) -> Callable[[View], Fact]:
    """Return a derivation that takes the driver which is needed from the fact called `minimum`."""
    return lambda view: make(view, view.need_text(minimum))


def for_cards(make: Callable[[View, str], Fact]) -> Callable[[View], Fact]:
    """Return a derivation for whatever branch serves the cards, however old."""
    return lambda view: make(view, "0")


# -- the way back --------------------------------------------------------------------------------------------


def installs_driver(view: View, command: str) -> bool:
    """Return whether this is a command of the distribution's row that installs a driver, of any branch."""
    row = _row_if_known(view)
    templates = (str(row[name]) for name in _OF_DRIVER if name in row)
    return any(re.fullmatch(re.escape(template).replace(_BRANCH, r"[0-9]+"), command)
               for template in templates)


def command_from_before(view: View) -> str:
    """Return the command that installs the branch of the driver that is here, "" where none is known."""
    driver, flavour = view.value("driver.version"), view.value("driver.kernel_flavour")
    name = "branch_command" if flavour == OPEN else f"{flavour}_branch_command"
    text = str(_row_if_known(view).get(name, ""))
    return text.replace(_BRANCH, str(major(driver))) if driver is not None and _BRANCH in text else ""


def _row_if_known(view: View) -> Row:
    try:
        return package_row(view)
    except NotKnown:
        return {}
