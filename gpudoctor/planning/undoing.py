"""How a fix is undone: exact commands where they can be known beforehand, else what is known. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from gpudoctor.derive import planned
from gpudoctor.derive.branches import major
from gpudoctor.derive.view import as_records, as_texts, text_in
from gpudoctor.exported import exported
from gpudoctor.frozen import frozen
from gpudoctor.model import Absent, Known, Remedy, Snapshot, Table, Unknown, Value, value_of
from gpudoctor.planning.taken_back import TakenBack, take_back
from gpudoctor.versions import distribution_name

PLANNED, PLUGINS = "python.planned_distributions", "framework.plugins"
RESTART = "a restart has nothing to undo"
_NEW_SHELL = "or open a new shell: variables are set in one shell alone"
_PIP = ("what pip takes along is not known beforehand: `gpudoctor fix --apply` notes every version before "
        "and after, and prints the commands that bring them back")
_AGAIN = "the same versions are laid down again: there is nothing to undo"
_NOT_KNOWN = "it cannot be undone by a command: what was there before is kept nowhere"
_IN_WINDOWS = "it is undone where it was done: in Windows"
_REPOSITORY = ("the package repository stays, since others may use it; where it was not there before: "
               "{command}")
_BRANCH = ("then restart: driver {driver} was there before, and the last command installs its branch, where "
           "its packages still exist")
_VERSION = ("to remove the packages would be too much, since driver {driver} may have come out of the same "
            "ones: `gpudoctor fix --apply` notes every version before it begins and prints the commands that "
            "bring them back, else {history}; then restart")
_RESTARTED = "then restart"
_NOTHING_LEFT = "nothing of it is left to undo"
_NO_DRIVER = "then restart: no driver was there before"
_REVISION = ("revision {number} is the environment as it is now: what {tool} changes from here on, in other "
             "steps too, is taken back; what pip installs there stays")
_CONDA = ("{tool} keeps each state: `{look} --revisions` numbers them, and `{take} --revision NUMBER` brings "
          "one back")
_OF_SYSTEM = ("driver", "system")
_NOTES = {
    "driver": "it is undone in the way that it is done: remove its packages again (NVIDIA's own installer: "
              "sudo nvidia-uninstall), bring back the driver from before, then restart",
    "system": _NOT_KNOWN, "hardware": "no command changes this machine, so none is needed", "pip": _PIP,
    "restart": RESTART, "environment": _NEW_SHELL,
    "container": "start the container as before", "image": "take the image from before",
}


@frozen
class Host:
    """What steps need to know of a machine; `indexes` has the index of each local label of a version.

    `kept_by` is the tool that keeps the environment, "" where none does.
    `driver` is the one that is there, "" where there is none; `driver_command` installs its branch, and
    `installs_driver` says whether a command installs any. `undone` is the table of what takes commands back,
    which an older rule database has not.
    """

    is_root: bool
    kept_by: str
    refuses_pip: bool
    pip_commands: tuple[str, ...]
    conda_command: str
    indexes: Mapping[str, str]
    driver: str
    driver_command: str
    installs_driver: Callable[[str], bool]
    undone: Table | None


@frozen
class WayBack:
    """The commands that undo a fix, what else is to be said of it, and what of that holds in any case."""

    commands: tuple[str, ...]
    note: str
    rest: str = ""


def undo(before: Snapshot, fix: Remedy, unset: Sequence[str], host: Host) -> WayBack:
    """Return what undoes a fix on the machine as it was before.

    What the page says comes first. A variable gets its value back, whatever the page says.
    """
    is_windows = fix.kind == "driver" and isinstance(before.host.get("system.wsl"), Known)
    note = _IN_WINDOWS if is_windows else _NOTES[fix.kind]
    variables = tuple(_variables(before, (*fix.env, *unset)))
    if fix.kind == "environment" and variables:
        return WayBack(commands=variables, note=note)
    taken = take_back(fix.commands, host.undone) if host.undone and fix.kind in _OF_SYSTEM else None
    if taken is not None and fix.commands and not is_windows:
        return _taken_back(taken, fix, host)
    if fix.undo and fix.kind != "pip":
        return WayBack(commands=tuple(dict.fromkeys((*variables, fix.undo))), note="")
    if any(command.startswith(host.conda_command) for command in fix.commands):
        return _revision(before, variables, host.conda_command)
    if fix.kind == "pip" and len(host.pip_commands) == 2:
        if lays_down_again(before, fix):
            return WayBack(commands=variables, note=_AGAIN)
        packages = _packages(before, fix, host)
        return WayBack(commands=(*variables, *([fix.undo] if fix.undo else ()), *packages), note=note)
    if fix.kind == "system" and fix.risk == "restart":
        return WayBack(commands=variables, note=RESTART)
    return WayBack(commands=(*variables, *([fix.undo] if fix.undo else ())), note=note)


def _taken_back(taken: TakenBack, fix: Remedy, host: Host) -> WayBack:
    """Return how packages are removed again, and how a driver that was there before comes back.

    Where the same branch was there before, to remove its packages would take that as well.
    """
    commands, notes = ((fix.undo, *taken.commands) if fix.undo else taken.commands), []
    if any(map(host.installs_driver, fix.commands)):
        if not host.driver:
            notes.append(_NO_DRIVER)
        elif host.driver_command and major(fix.effect.get("driver") or "") != major(host.driver):
            commands = (*commands, host.driver_command)
            notes.append(_BRANCH.format(driver=host.driver))
        else:
            commands = ()
            notes.append(_VERSION.format(driver=host.driver, history=taken.history))
    rest = [_RESTARTED] if notes else []
    if taken.repositories:
        rest.append(_REPOSITORY.format(command=" && ".join(taken.repositories)))
        notes.append(rest[-1])
    if not commands and not notes:
        notes.append(taken.history or _NOTHING_LEFT)
    return WayBack(commands=commands, note="; ".join(notes), rest="; ".join(rest))


def _revision(before: Snapshot, variables: tuple[str, ...], install: str) -> WayBack:
    """Return how conda brings the present state back: by its number, where the history told it."""
    tool, number = install.partition(" ")[0], before.host.get("python.conda_revision")
    if isinstance(number, Known):
        note = _REVISION.format(number=number.value, tool=tool)
        return WayBack(commands=(*variables, f"{install} --revision {number.value}"), note=note)
    return WayBack(commands=variables, note=_CONDA.format(
        tool=tool, look=install.replace(" install", " list", 1), take=install))


def _variables(before: Snapshot, names: Sequence[str]) -> Iterator[str]:
    """Yield what gives variables their values back, those whose value is known."""
    for name in names:
        fact = before.host.get(f"environment.{name}")
        if isinstance(fact, Known):
            yield exported(name, str(fact.value))
        elif isinstance(fact, Absent):
            yield f"unset {name}"


def _packages(before: Snapshot, fix: Remedy, host: Host) -> Iterator[str]:
    """Yield the commands that bring back what the effect names or pip removed: other versions, or nothing."""
    install, uninstall = host.pip_commands
    had = installed(before)
    removed = [name for command in fix.commands if command.startswith(f"{uninstall} ")
               for name in shlex.split(command[len(uninstall):])]
    plugins = [name for name, version in _plugins(fix.effect.get(PLUGINS)) if had.get(name) != version]
    wanted = [*newly_planned(before, fix), *removed, *plugins,
              *(text for text in (fix.effect.get("release"),) if isinstance(text, str))]
    again = {name: had[name] for name in planned.names(wanted) if name in had}
    gone = [name for name in planned.names(wanted)
            if name not in had and name not in removed and (name in plugins or _would_be_seen(name, before))]
    if gone:
        yield f"{uninstall} {' '.join(map(shlex.quote, gone))}"
    if again:
        yield f"{install} {shlex.join(exactly(again, host.indexes))}"


def exactly(versions: Mapping[str, str], indexes: Mapping[str, str]) -> tuple[str, ...]:
    """Return what pip is told for exactly these: one with a local label is on the index of that label."""
    labels = (version.partition("+")[2] for version in versions.values())
    others = dict.fromkeys(indexes[label] for label in labels if label in indexes)
    return (*(f"{name}=={version}" for name, version in versions.items()),
            *(word for index in others for word in ("--extra-index-url", index)))


def newly_planned(before: Snapshot, fix: Remedy) -> tuple[str, ...]:
    """Return the requirements that this fix installs, without those of earlier steps."""
    known = as_texts(value_of(before.host, PLANNED))
    return tuple(text for text in as_texts(fix.effect.get(PLANNED)) if text not in known)


def lays_down_again(before: Snapshot, fix: Remedy) -> bool:
    """Say whether a fix installs nothing but versions that are installed."""
    had = installed(before)
    wanted = newly_planned(before, fix)
    return bool(wanted) and "release" not in fix.effect and all(
        text == f"{name}=={had.get(name)}" for text in wanted for name in planned.names((text,)))


def _plugins(value: Value | None) -> Iterator[tuple[str, str]]:
    """Yield name and version of JAX's plugins and its jaxlib."""
    for record in as_records(value):
        yield distribution_name(text_in(record, "name")), text_in(record, "version")


def _would_be_seen(name: str, before: Snapshot) -> bool:
    """Say whether a distribution that were installed would be among those that are known."""
    return name.startswith("nvidia-") and isinstance(before.host.get("python.nvidia_distributions"), Known)


def installed(before: Snapshot) -> dict[str, str]:
    """Return name -> version of what is known to be installed."""
    found: dict[str, str] = {distribution_name(text_in(record, "name")): text_in(record, "version")
             for record in as_records(value_of(before.host, "python.nvidia_distributions"))}
    for name in ("numpy", "protobuf"):
        version = before.host.get(f"python.{name}")
        if isinstance(version, Known):
            found[distribution_name(name)] = str(version.value)
    for facts in () if isinstance(before.frameworks, Unknown) else before.frameworks:
        found.update(_plugins(value_of(facts, PLUGINS)))
        provided, version = facts.get("framework.distribution"), facts.get("framework.version")
        if isinstance(provided, Known) and isinstance(version, Known):
            found[distribution_name(str(provided.value))] = str(version.value)
    return found
