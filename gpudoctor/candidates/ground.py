"""What stays as it is: the machine, with an environment in which nothing is installed yet."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace

from gpudoctor import derive, remedy, versions
from gpudoctor.assume import lay, unobserved
from gpudoctor.candidates import unrun
from gpudoctor.candidates.wishes import WishError
from gpudoctor.consequences import Key, key_of
from gpudoctor.derive.branches import is_left_out
from gpudoctor.derive.lazy import ASSUMED
from gpudoctor.derive.remembered import of_same
from gpudoctor.derive.view import as_records, as_texts, text_in
from gpudoctor.engine import evaluate
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Absent, Fact, Facts, Finding, Judgement, Known, RuleDatabase, Scope, Snapshot, Subjects, Unknown, Value,
    value_of,
)

WINDOWS = "windows"  # begins the name of its platform
NEW_ENVIRONMENT = "gpu-environment"
HERE = "$PWD"  # stands before what lies in the folder where the commands are typed
_SOURCE = "a new environment"
_VERSION = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})")
_OWN = ("venv", "conda")  # environments that are somebody's own: pip may install there
# What was installed, or seen of a process: nothing of it is there in an environment without packages.
_EMPTY = ("python.nvidia_distributions", "python.planned_distributions", "python.collisions",
          "python.colliding_distributions", "python.incomplete_distributions", "python.shadowing_files",
          "require.wanted")
_GONE = ("python.numpy", "python.protobuf", "process.id", "process.command", "process.libraries",
         "python.chosen_because")
_SYSTEMS = ("system.os", "system.architecture", "system.distribution", "system.jetson")
_HIDING = "environment.CUDA_VISIBLE_DEVICES"

@frozen
class Place:
    """The environment that the commands install into, and how it is made where it is not there yet."""

    python: str  # major and minor
    executable: str
    site_packages: str
    maker: str | None  # the Python that makes it; None where it is there
    has_pip: bool = True  # uv makes environments without
    is_windows: bool = False

    @property
    def in_words(self) -> str:
        """Return which environment it is."""
        if self.maker is None:
            return f"the environment of {self.executable}, which holds no framework yet"
        return f"a new environment, {NEW_ENVIRONMENT}"


@frozen
class Ground:
    """A machine to lay candidates over: what was wrong with it before counts against none of them."""

    snapshot: Snapshot
    place: Place
    platform: str
    database: RuleDatabase
    before: Judgement
    subjects: Subjects

    @property
    def had(self) -> frozenset[Key]:
        """Return the findings that were there before, and what could not be judged."""
        said = (self.before.findings, self.before.undecided)
        return frozenset(key_of(one) for some in said for one in some)

    @property
    def driver(self) -> str | None:
        """Return the driver's version, None where there is none."""
        return version_of(self.fact("driver.version"))

    @property
    def takes_server_wheels(self) -> bool:
        """Return whether the builds that tables know may be for this machine: not for an older Jetson."""
        fact = self.fact("system.takes_server_wheels")
        return not (isinstance(fact, Known) and fact.value is False)

    def fact(self, name: str) -> Fact:
        """Return a fact of the host."""
        return self.subjects[Scope.HOST][0].fact(name)


def ground_of(snapshot: Snapshot, database: RuleDatabase, python: str | None = None,
              judged: RuleDatabase | None = None) -> Ground:
    """Return the machine without what is installed in its Python, or in one of the version `python`.

    Only rules that can make a candidate wrong or worth a note are kept: `judged`, where that is known.
    """
    if judged is None:
        some = (rule for rule in database.rules if rule.detect and rule.withdrawn is None
                and rule.severity.is_fault)
        judged = replace(database, rules=unrun.speaking(some, snapshot, database))
    place = _place(snapshot, python)
    facts = {**_of_environment(place, python), **_abi(snapshot, place), **_of_loader(snapshot)}
    bare = replace(unobserved(snapshot, tuple(facts), framework=None), frameworks=())
    bare = lay(bare, facts, database.tables, source=_SOURCE)
    subjects = derive.subjects(bare, judged)
    hides = subjects[Scope.HOST][0].fact("cuda.hides_every_device")
    before = evaluate(subjects, judged.rules, judged.tables)
    if isinstance(hides, Known) and hides.value is True:  # told as a fault; the next shell will not have it
        bare = lay(bare, {_HIDING: Absent(source=_SOURCE)}, database.tables, source=_SOURCE)
        subjects = derive.subjects(bare, judged)
    return Ground(snapshot=bare, place=place, platform=platform_of(bare), database=judged, before=before,
                  subjects=subjects)


@of_same
def causes(base: Ground) -> tuple[Finding, ...]:
    """Return what was found before, without what only follows from another of these, as `check` folds it."""
    found = base.before.findings
    if len(found) < 2:
        return found
    folded = remedy.diagnose(base.snapshot, base.database).findings
    follow = {key_of(one) for cause in folded for one in cause.consequences}
    return tuple(one for one in found if key_of(one) not in follow)


def with_facts(base: Ground, facts: Mapping[str, Fact]) -> Ground:
    """Return the machine as it would be with other facts."""
    changed = lay(base.snapshot, facts, base.database.tables, source="a change")
    subjects = derive.subjects(changed, base.database)
    return replace(base, snapshot=changed, subjects=subjects,
                   before=evaluate(subjects, base.database.rules, base.database.tables))


def platform_of(snapshot: Snapshot) -> str:
    """Return the platform as the tables write it: linux_x86_64."""
    names = (value_of(snapshot.host, "system.os"), value_of(snapshot.host, "system.architecture"))
    system, architecture = (str(name or "unknown") for name in names)
    return f"{system.lower()}_{architecture}"


def can_be_made(python: str) -> bool:
    """Say whether the commands can make an environment of it: Python 2 has no venv, and uv refuses it."""
    return versions.parse(python).major >= 3


def require_made(place: Place) -> None:
    """Raise `WishError` where no command can make the environment that would be filled."""
    if not can_be_made(place.python):
        raise WishError(f"Python {place.python}: neither venv nor uv makes an environment of it; "
                        "Python 3 has venv")


def require_abi(snapshot: Snapshot, place: Place) -> None:
    """Raise `WishError` where the kind of another Python was assumed than the one that is asked for."""
    abi = snapshot.host.get("python.abi")
    if isinstance(abi, Known) and abi.source == ASSUMED and not _is_of(str(abi.value), place):
        raise WishError(f"--assume python.abi={abi.value} and Python {place.python} contradict one another; "
                        "name its version by --python")


def _place(snapshot: Snapshot, wanted: str | None) -> Place:
    own = _VERSION.match(str(value_of(snapshot.host, "python.version") or ""))
    if wanted is None and own is None:
        raise WishError("which Python is there could not be seen; name its version: --python 3.12")
    python = wanted or (own[0] if own else "")
    executable = value_of(snapshot.host, "python.executable")
    packages = value_of(snapshot.host, "python.site_packages")
    if snapshot.redacted or _is_elsewhere(snapshot):  # a stand-in is no name, and this one is not there
        executable = None
    is_own = wanted is None or (own is not None and own[0] == wanted)
    folders = as_texts(packages)
    if is_own and executable is not None and folders and _is_empty(snapshot):
        return Place(python=python, executable=str(executable), site_packages=folders[0], maker=None,
                     has_pip=not isinstance(snapshot.host.get("python.pip_version"), Absent),
                     is_windows=platform_of(snapshot).startswith(WINDOWS))
    own_maker = str(executable) if is_own and executable is not None else None
    if platform_of(snapshot).startswith(WINDOWS):
        return Place(python=python, executable=f"{NEW_ENVIRONMENT}\\Scripts\\python.exe",
                     site_packages=f"{HERE}/{NEW_ENVIRONMENT}/Lib/site-packages", maker=own_maker or "py",
                     is_windows=True)
    maker = own_maker or f"python{python}"
    inside = f"{NEW_ENVIRONMENT}/lib/python{python}/site-packages"
    return Place(python=python, executable=f"{NEW_ENVIRONMENT}/bin/python", maker=maker,
                 site_packages=f"{HERE}/{inside}")


def _is_elsewhere(snapshot: Snapshot) -> bool:
    """Return whether another system is assumed than the one whose Python was chosen; an image has its own."""
    facts = map(snapshot.host.get, _SYSTEMS)
    is_another = any(isinstance(fact, Known) and fact.source == ASSUMED for fact in facts)
    return is_another and isinstance(snapshot.host.get("python.chosen_because"), Known)


def _is_empty(snapshot: Snapshot) -> bool:
    """Return whether pip may install into the patient's environment without touching what is there."""
    return (value_of(snapshot.host, "python.environment") in _OWN and snapshot.frameworks == ()
            and value_of(snapshot.host, "python.nvidia_distributions") == ())


def _of_environment(place: Place, wanted: str | None) -> dict[str, Fact]:
    """Return the facts of an environment without packages; its Python is the one wanted, or as it is."""
    values: dict[str, Value] = {
        **({} if wanted is None else {"python": f"{place.python}.0"}),
        "python.executable": place.executable, "python.environment": "venv",
        "python.site_packages": (place.site_packages,), **dict.fromkeys(_EMPTY, ())}
    known: dict[str, Fact] = {name: Known(value=value, source=_SOURCE) for name, value in values.items()}
    not_made = Unknown(reason="the environment is not made yet", asked=False)
    return {**known, "python.pip_version": not_made, **{name: Absent(source=_SOURCE) for name in _GONE}}


def _abi(snapshot: Snapshot, place: Place) -> dict[str, Fact]:
    """Return the kind of the Python, free-threaded or not, where it is known of one of that version."""
    fact = snapshot.host.get("python.abi")
    return {"python.abi": fact} if isinstance(fact, Known) and _is_of(str(fact.value), place) else {}


def _is_of(abi: str, place: Place) -> bool:
    return abi.rstrip("t") == f"cp{place.python.replace('.', '')}"


def _of_loader(snapshot: Snapshot) -> dict[str, Fact]:
    """Return the GPU libraries that there are, without those of the packages that are left out."""
    fact = snapshot.host.get("loader.files")
    if not isinstance(fact, Known):
        return {}
    old = [f"{folder}/" for folder in as_texts(value_of(snapshot.host, "python.site_packages"))]
    searched = {folder.rstrip("/") for folder in as_texts(value_of(snapshot.host, "loader.library_path"))}
    kept = tuple(record for record in as_records(fact.value)
                 if (path := text_in(record, "path")).rpartition("/")[0] in searched
                 or not any(path.startswith(folder) for folder in old))
    return {"loader.files": replace(fact, value=kept)}


def cards(base: Ground) -> tuple[Facts, ...]:
    """Return the cards, none where they could not be listed."""
    return () if isinstance(base.snapshot.gpus, Unknown) else base.snapshot.gpus


def capabilities(base: Ground) -> tuple[str, ...]:
    """Return the compute capabilities that are known of the cards."""
    found = (version_of(card.get("gpu.compute_capability")) for card in cards(base))
    return tuple(capability for capability in found if capability is not None)


def usable_capabilities(base: Ground) -> tuple[str, ...]:
    """Return those of the cards that programs use: the driver may serve some and leave out others.

    They are those of all cards where it serves none.
    """
    ready = base.fact("driver.ready")
    if not (isinstance(ready, Known) and ready.value is True):
        return capabilities(base)
    found = (version_of(subject.fact("gpu.compute_capability")) for subject in base.subjects[Scope.GPU]
             if not is_left_out(subject.facts))
    return tuple(capability for capability in found if capability is not None)


def version_of(fact: Fact | None) -> str | None:
    """Return the version that a fact holds, None where it is not known, or no version."""
    return str(fact.value) if isinstance(fact, Known) and versions.is_version(str(fact.value)) else None


def quoted(path: str) -> str:
    """Return a path as a word of a shell; what lies where the commands are typed begins with its folder."""
    if path.startswith(f"{HERE}/"):
        return f'"{HERE}"{shlex.quote(path.removeprefix(HERE))}'
    return shlex.quote(path)
