"""A NumPy that pip takes beside a framework compiled before there was one of its kind, as nothing bounds it.

Metadata of the time admits it, for nobody could know of it (table `dependency_breaks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from gpudoctor import versions
from gpudoctor.candidates.ground import Ground
from gpudoctor.derive import planned
from gpudoctor.derive.view import as_texts
from gpudoctor.frozen import frozen
from gpudoctor.manifests import choosing, images, releases
from gpudoctor.manifests.choices import FRAMEWORK_OF, Chosen
from gpudoctor.manifests.images import Base
from gpudoctor.manifests.statements import Asked, Environment, Image
from gpudoctor.manifests.together import can_meet
from gpudoctor.model import Row, rows_of

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_NUMPY = "numpy"  # of the others what else a framework needs keeps most releases from what breaks them
_FRAMEWORK = "tensorflow"  # whose import ends with it
_HELD = frozenset({"==", "===", "~=", "<", "<="})  # bounds of a time, whose packages may bound NumPy as well


@frozen
class Break:
    """A framework that does not run with a NumPy which pip takes; `asked` is what is to be bounded.

    `open_` says why pip may take another one, "" where it does not; `is_python`: nothing else decides.
    """

    one: Chosen
    asked: Asked
    taken: str
    row: Row
    open_: str = ""
    is_python: bool = False


def found(environment: Environment, base: Base | None, ground: Ground) -> Iterator[Break]:
    """Yield what an environment asks for that a later NumPy breaks."""
    listed = rows_of(ground.database.tables, "dependency_breaks")
    rows = [row for row in listed if row["distribution"] == _NUMPY]
    if not rows or not any(FRAMEWORK_OF.get(_name(one)) == _FRAMEWORK for one in environment.asked):
        return
    own = [one for one in environment.asked if _name(one) == _NUMPY and _counts(one, environment)]
    for chosen in choosing.frameworks(environment, base, ground):
        for row in rows if chosen.framework == _FRAMEWORK else ():
            need = _need(chosen, row)
            if need is None or (chosen.asked.locked and not own):
                continue
            bounds = [*map(releases.requirement_of, own), *_constraints(chosen.asked)]
            whole = SpecifierSet(",".join(str(one.specifier) for one in (need, *bounds) if one is not None))
            if not can_meet(whole, SpecifierSet(f">={row['version']}")):
                continue
            exact = next((bound.version for bound in whole if bound.operator in ("==", "===")), None)
            pythons = _too_old(environment, chosen, row)
            if exact is None and environment.python in pythons:
                continue
            open_ = "" if exact else _open(environment)
            is_python = not (exact or open_) and bool(pythons)
            yield Break(one=chosen, asked=own[-1] if own else chosen.asked, row=row, is_python=is_python,
                        taken=f"NumPy {exact or row['version']}{'' if exact else ' or newer'}",
                        open_=f"Python is older than {row['python']}" if is_python else open_)


def _need(chosen: Chosen, row: Row) -> Requirement | None:
    """Return what a release older than the break asks of NumPy, where that admits it."""
    stack = chosen.stack
    if stack is None or chosen.supposed or chosen.by_conda or (
            str(stack.row.get("uploaded", "9999")) >= str(row["released"])):
        return None
    listed = planned.parse(releases.overridden(as_texts(stack.row.get("requires")), chosen.asked))
    return next((one for one in listed if one.name == _NUMPY and one.specifier.contains(str(row["version"]))),
                None)


def _name(asked: Asked) -> str:
    return next(iter(planned.names((asked.text,))), "")


def _counts(asked: Asked, environment: Environment) -> bool:
    requirement = releases.requirement_of(asked)
    return requirement is not None and releases.applies(requirement, environment.python)


def _constraints(asked: Asked) -> Iterator[Requirement]:
    """Yield the constraints on NumPy, which comes along."""
    for bound in asked.along:
        yield from (one for one in planned.parse((bound.text,)) if one.name == _NUMPY)


def _too_old(environment: Environment, chosen: Chosen, row: Row) -> list[str]:
    """Return the Pythons that may be there for which there is no NumPy that breaks it."""
    known = (environment.python,) if environment.python else chosen.stack.pythons if chosen.stack else ()
    return [one for one in known if versions.parse(one) < versions.parse(str(row["python"]))]


def _open(environment: Environment) -> str:
    """Return why pip may take an older NumPy: what an image has, or what else is asked for."""
    image = environment.image
    if environment.in_container and not (image is not None and images.is_plain(image.reference)):
        return "the image has one already"
    if environment.has_condas:
        return "conda brings one"
    if environment.systems_library and not (image is not None and _has_own_python(image)):
        return f"{environment.systems_library} brings an older one, which pip leaves"
    if any(one.of_framework for one in environment.unread):
        return "what was not read here keeps it older"
    others = [one.text.strip() for one in environment.asked if _is_held(one)]
    return f"{others[0]} keeps it older" if others else ""


def _has_own_python(image: Image) -> bool:
    """Say whether an image has a Python beside that of its system, whose packages pip does not see."""
    return images.split(image.reference or "")[0] == "python"


def _is_held(asked: Asked) -> bool:
    requirement = releases.requirement_of(asked)
    name = _name(asked)
    return (requirement is not None and name != _NUMPY and name not in FRAMEWORK_OF
            and not name.startswith(releases.NVIDIA)
            and any(bound.operator in _HELD for bound in requirement.specifier))
