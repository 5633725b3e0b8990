"""The drivers that a machine could have instead of its own."""

from __future__ import annotations

from gpudoctor import versions
from gpudoctor.candidates import cures
from gpudoctor.candidates.ground import Ground, capabilities, causes
from gpudoctor.derive import branches, driver_packages
from gpudoctor.derive.view import NotKnown, View
from gpudoctor.model import Known, Row, Scope, Severity, rows_of


def others(base: Ground) -> list[str]:
    """Return the drivers that a command may name and that serve the cards, newer than the one here.

    Where the one here does not serve them, any that does is a way out: a card may need an older one.
    """
    view = View(facts=base.subjects[Scope.HOST][0].facts, database=base.database)
    try:
        served, here = branches.served(view), base.driver
    except NotKnown:  # a stranger's rules: without a table of what serves which card
        return []
    listed = [row for row in rows_of(base.database.tables, "driver_lifecycle") if capabilities(base)
              and served.allows(branches.major(row["branch"]))
              and (row["maintained"] is True or branches.major(row["branch"]) == served.last_branch)]
    first = sorted({_named(row, view) for row in listed}, key=versions.parse)
    if here is None or view.number("driver.cards_left_out"):
        return first
    return [driver for driver in first if versions.parse(driver) > versions.parse(here)]


def _named(row: Row, view: View) -> str:
    """Return the driver of a branch that a fix would name; its first release where the system is unknown."""
    try:
        fact = driver_packages.maintained_driver(view, str(row["branch"]))
    except NotKnown:
        return str(row["first_release"])
    return str(fact.value) if isinstance(fact, Known) else str(row["first_release"])


def may_help(base: Ground) -> bool:
    """Return whether another may help: the one here works, or each error of the machine is cured by one.

    One that is laid over the machine works, whatever keeps the one here from working: a stub in front of it,
    a service that does not run.
    """
    ready = base.fact("driver.ready")
    return (isinstance(ready, Known) and ready.value is True) or all(
        cures.is_of_driver(error, base.subjects, base.database) for error in causes(base)
        if error.severity is Severity.ERROR)
