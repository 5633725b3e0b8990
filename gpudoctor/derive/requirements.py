"""What the caller requires (`--require`), held against the machine and against the tables of releases."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpudoctor import versions
from gpudoctor.derive import cards, published
from gpudoctor.derive.lazy import ASSUMED, Derivation
from gpudoctor.derive.releases import platform_of, release_rows
from gpudoctor.derive.stacks import stacks_of
from gpudoctor.derive.view import NotKnown, View, as_texts, text_of
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.frozen import frozen
from gpudoctor.model import Absent, Fact, Known, Row, Snapshot, Unknown
from gpudoctor.nearest import did_you_mean

_FORM = re.compile(r"\s*([A-Za-z][A-Za-z0-9_.-]*)\s*((?:>=|<=|==|!=|~=|>|<).+)?\s*\Z")
_CARDS, _MEMORY = "gpu", "gpu.memory"
_SUBJECTS = (_CARDS, _MEMORY, *FRAMEWORKS)
_AT_LEAST_ONE = ">=1"
_SOURCE = "--require"
_NAME, _DISTRIBUTION, _VERSION = "framework.name", "framework.distribution", "framework.version"


class RequirementError(ValueError):
    """Requirements cannot be read or met: one line, which calls them by the option of the command line.

    `texts` are those that it is about and `why` is what stands behind them, for who calls them otherwise.
    """

    def __init__(self, why: str, *texts: str) -> None:
        self.why, self.texts = why, tuple(dict.fromkeys(texts))
        super().__init__(" and ".join(f"--require {text!r}" for text in self.texts) + why)


@frozen
class Requirement:
    """One requirement: `subject` is gpu, gpu.memory or a framework; `bound` the rest as written."""

    text: str
    subject: str
    bound: str


def parse(text: str) -> Requirement:
    """Return the requirement in `text`; raise `RequirementError`."""
    match = _FORM.match(text)
    subject, bound = (match[1].lower(), (match[2] or "").strip()) if match else ("", "")
    if subject == _CARDS:
        sound = cards.unit(bound or _AT_LEAST_ONE) == ""
    elif subject == _MEMORY:
        sound = bool(cards.unit(bound))  # a size without one would be bytes, which every card has
    else:
        sound = subject in FRAMEWORKS and _is_specifier(bound)
    if not sound:
        raise RequirementError(": write gpu>=2, gpu.memory>=40GiB or tensorflow>=2.15 "
                               f"({', '.join(FRAMEWORKS)}){did_you_mean(subject, _SUBJECTS)}", text)
    return Requirement(text=text.strip(), subject=subject, bound=bound)


def _is_specifier(bound: str) -> bool:
    try:
        versions.within("1", bound)
    except versions.Incomparable:
        return False
    return True


def together(asked: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Return the requirements; raise `RequirementError` naming two of the cards that nothing meets together.

    Bounds on one number that have nothing in common: then two of them have nothing in common, or one alone.
    """
    listed = tuple(asked)
    of_cards = [one for one in listed if one.subject.startswith("gpu")]
    for one, other in itertools.combinations_with_replacement(of_cards, 2):
        if one.subject == other.subject and not _in_common(one.bound or _AT_LEAST_ONE,
                                                           other.bound or _AT_LEAST_ONE):
            raise RequirementError(" contradict one another: no machine meets them" if one != other
                                   else ": no machine meets it", one.text, other.text)
    return listed


def _in_common(*bounds: str) -> bool:
    """Say whether a whole number of 0 or more is within all bounds; at one next to a bound it would be."""
    sizes = [size for bound in bounds if (size := cards.size(bound)) is not None]
    near = {int(size) + step for size in sizes for step in (-1, 0, 1)}
    return any(number >= 0 and all(cards.within(bound, Known(value=number, source=_SOURCE)) is True
                                   for bound in bounds) for number in near)


def parse_all(texts: Sequence[str]) -> tuple[Requirement, ...]:
    """Return the requirements; raise `RequirementError` where nothing meets them all, naming the fewest."""
    found = together(map(parse, texts))
    for subject in FRAMEWORKS:
        mine = [requirement for requirement in found if requirement.subject == subject]
        if not _can_be_met(mine):
            fewest = next(some for count in range(1, len(mine) + 1)
                          for some in itertools.combinations(mine, count) if not _can_be_met(some))
            raise RequirementError(": no release meets it" if len(fewest) == 1 else
                                   " contradict one another: no release meets them",
                                   *(one.text for one in fewest))
    return found


def _can_be_met(requirements: Sequence[Requirement]) -> bool:
    """Return whether some version is within every bound: one that is named there, or just beside one."""
    parts = [part.strip() for one in requirements for part in one.bound.split(",") if part.strip()]
    named_there = [part.lstrip("=<>!~ ").removesuffix(".*") for part in parts]
    known = ["0", *named_there, *(f"{name.partition('+')[0]}{beside}"
                                  for name in named_there for beside in ("", ".0.1", ".1"))]
    return not parts or any(versions.meets(version, parts) for version in known)


def derivations(snapshot: Snapshot) -> Mapping[str, Derivation]:
    """Return the derivations of `require.*`; cards and frameworks are those of the snapshot."""
    return {
        "require.unmet": lambda view: _unmet(view, snapshot),
        "require.without_wheel": lambda view: _without_wheel(view, snapshot),
        "require.wheel_pythons": lambda view: _wheel_pythons(view, snapshot),
        "require.wheel_release": lambda view: _wheel_release(view, snapshot),
        "require.newest_python": _newest_python,
        "require.wheel_requirement": lambda view: _wheel_requirement(view, snapshot),
        "require.python_beyond_tables": _python_beyond_tables,
        "require.wanted_otherwise": lambda view: _wanted_otherwise(view, snapshot),
    }


# -- met or not ------------------------------------------------------------------------------------

def _unmet(view: View, snapshot: Snapshot) -> Fact:
    unmet: list[str] = []
    unknown: Unknown | None = None
    for text in as_texts(view.need("require.wanted")):
        met = _is_met(parse(text), view, snapshot)
        if isinstance(met, Unknown):
            unknown = unknown or met
        elif not met:
            unmet.append(text)
    if unknown is not None and not unmet:
        return unknown
    return Known(value=tuple(unmet), source=_SOURCE)


def _is_met(requirement: Requirement, view: View, snapshot: Snapshot) -> bool | Unknown:
    if requirement.subject == _CARDS:
        return cards.within(requirement.bound or _AT_LEAST_ONE, cards.count(view))
    if requirement.subject == _MEMORY:
        return cards.every_card(requirement.bound, view, snapshot)
    if isinstance(snapshot.frameworks, Unknown):
        return snapshot.frameworks
    for framework in snapshot.frameworks:
        version = framework.get("framework.version")
        if text_of(framework, "framework.name") == requirement.subject and isinstance(version, Known):
            try:
                return versions.within(version.value, requirement.bound)
            except versions.Incomparable as error:
                return Unknown(reason=str(error))
    return False


# -- releases that would meet it -------------------------------------------------------------------

def _offers(view: View, snapshot: Snapshot) -> dict[str, list[Row]]:
    """Return what no wheel for this Python meets, each with the releases that do.

    That are the unmet requirements, and what is assumed to be installed: pip would not have installed it.
    """
    python = versions.minor_of(view.need_text("python.version"))
    return {text: rows for text, rows in (*_wished(view, snapshot), *_assumed(view, snapshot))
            if rows and all(python not in as_texts(row.get("python")) for row in rows)}


def _wished(view: View, snapshot: Snapshot) -> Iterator[tuple[str, list[Row]]]:
    """Yield the requirements that are not met, each with the releases that would meet it."""
    for text in as_texts(view.need("require.wanted")):
        requirement = parse(text)
        listed = _releases(view, requirement.subject)
        if not listed:
            continue
        met = _is_met(requirement, view, snapshot)
        if isinstance(met, Unknown):
            raise NotKnown(met)
        if not met:
            yield text, [row for row in listed if _meets(row, requirement)]


def _assumed(view: View, snapshot: Snapshot) -> Iterator[tuple[str, list[Row]]]:
    """Yield the releases that nobody installed, each with its rows that name the Pythons of its wheels."""
    for facts in () if isinstance(snapshot.frameworks, Unknown) else snapshot.frameworks:
        name, under, version = text_of(facts, _NAME), text_of(facts, _DISTRIBUTION), facts.get(_VERSION)
        if name and isinstance(version, Known) and version.source == ASSUMED:
            platform = platform_of(view)
            listed = (published.jax_releases(platform, view.tables) if name == "jax" else
                      (*published.rows_under(under or name, name, view.tables),
                       *published.indexed_rows(name, platform, view.tables)))
            yield f"{name}=={version.value}", [row for row in listed if row.get("platform") == platform
                                               and row["version"] == version.value and "python" in row]


def _releases(view: View, name: str) -> Sequence[Row]:
    """Return what is known of the releases of a framework, each with its Pythons; of else nothing."""
    if name == "jax":
        return published.jax_releases(platform_of(view), view.tables)
    return [*release_rows(view, name)] if name in view.tables else []


def _meets(row: Row, requirement: Requirement) -> bool:
    version = str(row["version"])
    return not versions.parse(version).is_prerelease and versions.within(version, requirement.bound)


def _without_wheel(view: View, snapshot: Snapshot) -> Fact:
    return Known(value=tuple(_offers(view, snapshot)), source=f"release tables for {platform_of(view)}")


def _first_offer(view: View, snapshot: Snapshot) -> tuple[str, Row] | None:
    """Return the first such requirement's framework and the newest release that meets it."""
    for text, rows in _offers(view, snapshot).items():
        return parse(text).subject, max(rows, key=lambda row: versions.parse(str(row["version"])))
    return None


def _wheel_pythons(view: View, snapshot: Snapshot) -> Fact:
    offer = _first_offer(view, snapshot)
    return Known(value=() if offer is None else as_texts(offer[1].get("python")), source="release tables")


def _wheel_release(view: View, snapshot: Snapshot) -> Fact:
    offer = _first_offer(view, snapshot)
    if offer is None:
        return Absent(source=_SOURCE)
    return Known(value=f"{offer[0]}=={offer[1]['version']}", source=str(offer[1]["source"]))


def _newest_python(view: View) -> Fact:
    newest = max(as_texts(view.need("require.wheel_pythons")), key=versions.parse, default=None)
    return Absent(source=_SOURCE) if newest is None else Known(value=newest, source="release tables")


def _wheel_requirement(view: View, snapshot: Snapshot) -> Fact:
    offer = _first_offer(view, snapshot)
    if offer is None:
        return Absent(source=_SOURCE)
    name, row = offer
    if "index" in row:
        return Absent(source=f"it is on another index, {row['index']}")
    of_jax = _jax_for_cuda(view, str(row["version"]), snapshot) if name == "jax" else None
    return Known(value=of_jax or installing(name, row), source=str(row["source"]))


def installing(name: str, row: Row) -> str:
    """Return what pip is to be told for a release with its CUDA libraries; of JAX without the extra."""
    extra = "[and-cuda]" if name == "tensorflow" and row.get("requires_nvidia") else ""
    return f"{published.name_of(name, row)}{extra}=={row['version']}"


def _jax_for_cuda(view: View, version: str, snapshot: Snapshot) -> str | None:
    """Return a release of JAX with the newest CUDA that driver and cards run, else with its oldest."""
    tables, ceiling = view.tables, view.value("driver.cuda_ceiling")
    listed = () if isinstance(snapshot.gpus, Unknown) else snapshot.gpus
    here = [str(fact.value) for card in listed
            if isinstance(fact := card.get("gpu.compute_capability"), Known)]
    builds = [one for one in stacks_of("jax", platform_of(view), tables) if one.version == version]
    running = [one for one in builds if one.serves(here, tables) and (
        ceiling is None or versions.parse(one.cuda or "0").major <= versions.parse(str(ceiling)).major)]
    return next((one.requirement for one in (*running, *builds[-1:])), None)


def _python_beyond_tables(view: View) -> Fact:
    """Return whether this Python is so new that the tables, not the index, may lack the wheel."""
    known = {python for name in FRAMEWORKS if name in view.tables
             for row in view.tables[name].rows for python in as_texts(row.get("python"))}
    newest = max(known, key=versions.parse, default="0")
    python = versions.minor_of(view.need_text("python.version"))
    beyond = versions.parse(python) > versions.parse(newest)
    return Known(value=beyond, source=f"release tables up to {newest}")


def _wanted_otherwise(view: View, snapshot: Snapshot) -> Fact:
    """Return what is still asked for once there is an environment with a Python that has the wheel."""
    without = _offers(view, snapshot)
    return Known(value=tuple(text for text in as_texts(view.need("require.wanted")) if text not in without),
                 source=_SOURCE)
