"""What the index would say of a stack, which no snapshot shows: wheels, extras, and packages beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor import versions
from gpudoctor.candidates import together
from gpudoctor.candidates.ground import Ground, version_of
from gpudoctor.derive import planned, published
from gpudoctor.derive.stacks import Stack
from gpudoctor.derive.view import as_texts
from gpudoctor.model import Known, Rejection, rows_of

NO_WHEEL = "python-version-unsupported"


def unpublished(stack: Stack, base: Ground) -> Iterator[Rejection]:
    """Yield why pip cannot install it with this Python: there is no wheel, or its extra asks in vain."""
    rule = together.rule_of(NO_WHEEL, base.database)
    python, name = base.place.python, f"{stack.framework} {stack.version}"
    abi = base.fact("python.abi")
    if isinstance(abi, Known) and str(abi.value).endswith("t"):
        yield together.left_open(rule, f"the tables do not say which wheels of {name} are for a "
                                       f"free-threaded Python ({abi.value})")
    elif not stack.pythons:
        yield together.left_open(rule, f"the tables do not say which Python {name} has wheels for")
    elif python not in stack.pythons:
        ends = sorted(stack.pythons, key=versions.parse)
        said = f"no wheel of {name} for Python {python}: there are some for {ends[0]} to {ends[-1]}"
        yield Rejection(rule=rule, message=said)
    yield from _without_release(stack, base)
    broken = published.refused_extra(stack.framework, stack.version, python, base.database.tables)
    if stack.extra and broken is not None:
        yield Rejection(rule=rule, message=f"pip refuses {stack.requirement}: {broken['reason']}")


def _without_release(stack: Stack, base: Ground) -> Iterator[Rejection]:
    """Yield a package of NVIDIA's that it asks for and of which pip finds no release for this machine."""
    glibc, own = version_of(base.fact("system.glibc")), str(stack.row.get("glibc", "0"))
    if glibc is not None and versions.parse(own) > versions.parse(glibc):
        return  # its own wheel is not for this machine, of which a rule tells
    for asked in planned.parse(as_texts(stack.row.get("requires_nvidia"))):
        found = published.newest_nvidia(asked.name, (str(asked.specifier),), base.platform, glibc,
                                        base.database.tables)
        if found is None:
            here = f"{base.platform} and glibc {glibc}" if glibc else base.platform
            said = f"{stack.framework} {stack.version} asks for {asked}, which has no release for {here}"
            yield Rejection(rule=together.rule_of(together.UNMET, base.database), message=said)
            return


def later_breaks(stacks: Sequence[Stack], base: Ground) -> Iterator[tuple[str, str]]:
    """Yield (pin, reason) for later packages that pip would take and that break what was built before."""
    for row in rows_of(base.database.tables, "dependency_breaks"):
        if versions.parse(base.place.python) < versions.parse(str(row["python"])):
            continue
        for stack in stacks:
            asked = [r for column in ("requires", "requires_nvidia")
                     for r in planned.parse(as_texts(stack.row.get(column)))
                     if r.name == row["distribution"]]
            older = str(stack.row.get("uploaded", "9999")) < str(row["released"])
            if older and any(r.specifier.contains(str(row["version"])) for r in asked):
                yield str(row["pin"]), f"{row['pin']}: {row['reason']} ({stack.framework} {stack.version})"
