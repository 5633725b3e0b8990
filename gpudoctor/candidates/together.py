"""Whether pip can install releases into one environment, and what it would then be told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpudoctor import versions
from gpudoctor.candidates.stacks import Stack
from gpudoctor.derive import planned
from gpudoctor.derive.view import as_texts
from gpudoctor.frozen import frozen
from gpudoctor.model import Rejection, RuleDatabase, Table

_UNMET, _SAME_FILES = "python-deps-abi", "wheel-file-collision"
_NEXT = ("", ".0.1", ".1")  # of a bound that is excluded, versions just beside it


@frozen
class Asked:
    """What one release asks of a distribution."""

    framework: str
    distribution: str
    bounds: str


def rule_of(cause: str, database: RuleDatabase) -> str:
    """Return the id of the rule for a cause, the cause itself where the rules have none."""
    return next((rule.id for rule in database.rules if rule.cause == cause), cause)


def clash(stacks: Sequence[Stack], database: RuleDatabase) -> Rejection | None:
    """Return why pip cannot install these releases together, None where it can as far as the tables know."""
    wanted = list(_asked(stacks))
    for name in dict.fromkeys(one.distribution for one in wanted):
        asked = [one for one in wanted if one.distribution == name]
        if len({one.framework for one in asked}) > 1 and not _some_version(name, asked, database):
            said = ", ".join(f"{one.framework} asks for {name}{one.bounds}" for one in asked)
            return Rejection(rule=rule_of(_UNMET, database), message=f"no version meets both: {said}")
    return _same_files(wanted, database)


def merged(texts: Iterable[str]) -> tuple[str, ...]:
    """Return requirements with all bounds on one distribution in one, as pip resolves them."""
    bounds: dict[str, list[str]] = {}
    for requirement in planned.parse(texts):
        bounds.setdefault(requirement.name.lower(), []).append(str(requirement.specifier))
    return tuple(name + ",".join(dict.fromkeys(part for part in parts if part))
                 for name, parts in bounds.items())


def _asked(stacks: Sequence[Stack]) -> Iterator[Asked]:
    for stack in stacks:
        for column in ("requires_nvidia", "requires"):
            for requirement in planned.parse(as_texts(stack.row.get(column))):
                yield Asked(framework=f"{stack.framework} {stack.version}", bounds=str(requirement.specifier),
                            distribution=requirement.name.lower())


def _some_version(name: str, asked: Sequence[Asked], database: RuleDatabase) -> bool:
    """Return whether a version is known, or named in the bounds, that meets them all."""
    bounds = [bound for one in asked for bound in one.bounds.split(",") if bound]
    named = [bound.lstrip("=<>!~ ").removesuffix(".*") for bound in bounds]
    known = {f"{version}{end}" for version in named for end in _NEXT} | _listed(name, database)
    return not bounds or any(_meets(version, bounds) for version in known)


def _listed(name: str, database: RuleDatabase) -> set[str]:
    table: Table | None = database.tables.get("nvidia_libraries")
    return {str(row[column]) for row in (table.rows if table else ()) if row["distribution"] == name
            for column in ("since", "version")}


def _meets(version: str, bounds: Sequence[str]) -> bool:
    try:
        return all(versions.within(version, bound) for bound in bounds)
    except versions.Incomparable:
        return False


def _same_files(wanted: Sequence[Asked], database: RuleDatabase) -> Rejection | None:
    """Return the two packages of two releases that write the same files, of which the last would win."""
    owners = {one.distribution: one.framework for one in wanted}
    table = database.tables.get("nvidia_shared_files")
    for row in table.rows if table else ():
        names = [name for name in planned.names(as_texts(row["distributions"])) if name in owners]
        if len({owners[name] for name in names}) > 1:
            said = " and ".join(f"{name} ({owners[name]})" for name in names[:2])
            return Rejection(rule=rule_of(_SAME_FILES, database),
                             message=f"{said} both write {row['folder']}/{row['library']}")
    return None
