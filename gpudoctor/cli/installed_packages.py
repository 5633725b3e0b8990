"""Which packages the system holds, and the commands of its package manager that bring that state back."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpudoctor.frozen import frozen
from gpudoctor.host import Host, Names, Text

_SECONDS = 60.0
_CACHE = "/var/cache/pacman/pkg"
_STREAMS = "/etc/dnf/modules.d"  # a file for each module whose stream was ever chosen
_LOCKS = "/etc/dnf/plugins/versionlock.list"  # where the plugin of dnf 4 has its list, if not told otherwise
_LINE = re.compile(r"(\S+)\t(\S*)\t(\S+)(?:\t(.)(.).*)?")
_GONE = "nc"  # states of dpkg: not installed, and only its configuration files are left
_KEY = "(none)"  # the architecture of a key, which rpm lists as a package
_QUERY = ("dpkg-query", "-W", "-f=${Package}\\t${Architecture}\\t${Version}\\t${db:Status-Abbrev}\\n")
_RPM = ("rpm", "-qa", "--qf", "%{NAME}\\t%{ARCH}\\t%|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\\n")


@frozen
class Package:
    """One package that is installed; a name may be there for two architectures, or in two versions."""

    name: str
    architecture: str
    version: str

    @property
    def key(self) -> tuple[str, str]:
        """Return what an update replaces."""
        return self.name, self.architecture


@frozen
class State:
    """What is installed; `automatic` are the names of those that came for others alone, as far as known.

    `streams` are dnf's modules with the stream of each that is enabled: packages of others it does not see.
    `locks` are the versions that it keeps in place.
    """

    packages: frozenset[Package]
    automatic: frozenset[str] = frozenset()
    streams: frozenset[tuple[str, str]] = frozenset()
    locks: frozenset[str] = frozenset()


@frozen
class Difference:
    """What two states differ in: what is no longer there, what is there in its place or beside it."""

    gone: Sequence[Package]
    new: Sequence[Package]
    before: State
    after: State


@frozen
class Manager:
    """A package manager: what of its words change packages, how to list them, how a state comes back.

    `holds` are those that keep versions in place, which have to go before others come back.
    """

    name: str
    changes: re.Pattern[str]
    listing: tuple[str, ...]
    automatic: tuple[str, ...]
    back: Callable[[Difference], Iterator[str]]
    holds: re.Pattern[str] | None = None

    def frees(self, command: str) -> bool:
        """Say whether a command is about what keeps versions in place."""
        return self.holds is not None and self.holds.search(command) is not None


def manager_of(commands: Iterable[str]) -> Manager | None:
    """Return the package manager by which commands change packages, None where none does."""
    return next((one for one in _MANAGERS for command in commands if one.changes.search(command)), None)


def installed(manager: Manager) -> State | None:
    """Return what is installed, None where the package manager does not say: an empty list is an answer."""
    listed, automatic = _said(manager.listing), _said(manager.automatic) if manager.automatic else ""
    if listed is None or automatic is None:
        return None
    found = [Package(name=match[1], architecture=match[2], version=match[3]) for line in listed.splitlines()
             if (match := _LINE.fullmatch(line.replace(" ", "\t\t") if manager.name == "pacman" else line))
             and (match[5] or "i") not in _GONE and match[2] != _KEY]
    return State(packages=frozenset(found), automatic=frozenset(automatic.split()),
                 streams=frozenset(_streams() if manager.name == "dnf" else ()),
                 locks=frozenset(_locks() if manager.name == "dnf" else ()))


def undo(manager: Manager, before: State, after: State) -> tuple[str, ...]:
    """Return the commands that make `after` into `before` again."""
    gone = sorted(before.packages - after.packages, key=lambda one: (one.key, one.version))
    replaced = {one.key for one in gone}
    new = sorted((one for one in after.packages - before.packages if one.key not in replaced),
                 key=lambda one: (one.key, one.version))
    difference = Difference(gone=gone, new=new, before=before, after=after)
    same = (before.streams, before.locks) == (after.streams, after.locks)
    return () if same and not gone and not new else tuple(manager.back(difference))


def listed(state: State) -> tuple[str, ...]:
    """Return a state as lines."""
    return tuple(" ".join(part for part in (one.name, one.architecture, one.version) if part)
                 for one in sorted(state.packages, key=lambda one: (one.key, one.version)))


def _said(command: Sequence[str]) -> str | None:
    """Return what a command says; a signal that ends us later does not reach it."""
    try:
        ended = subprocess.run(command, env={**os.environ, "LC_ALL": "C"}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=_SECONDS,
                               check=False, start_new_session=True)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout.decode("utf-8", "replace") if ended.returncode == 0 else None


def _streams() -> Iterator[tuple[str, str]]:
    """Yield the modules of dnf and their streams; of one that was reset the file has an empty stream."""
    found = Host().list_folder(_STREAMS)
    for name in found.names if isinstance(found, Names) else ():
        text = Host().read_text(f"{_STREAMS}/{name}")
        stream = re.search(r"^stream *= *(\S+)$", text.text, re.MULTILINE) if isinstance(text, Text) else None
        if stream is not None:
            yield name.removesuffix(".module"), stream[1]


def _locks() -> Iterator[str]:
    """Yield what dnf's plugin holds in place."""
    text = Host().read_text(_LOCKS)
    lines = text.text.splitlines() if isinstance(text, Text) else []
    yield from (line.strip() for line in lines if line.strip() and not line.startswith("#"))


# -- how each brings a state back --------------------------------------------------------------------------


def _by_apt(one: Difference) -> Iterator[str]:
    """Yield one command of apt-get, https://manpages.debian.org/bookworm/apt/apt-get.8.en.html, and marks."""
    own = next((package.architecture for package in one.before.packages if package.name == "dpkg"), "")

    def named(package: Package) -> str:
        is_own = package.architecture in (own, "all")
        return package.name if is_own else f"{package.name}:{package.architecture}"

    words = [*(f"{named(package)}={package.version}" for package in one.gone),
             *(f"{named(package)}-" for package in one.new)]
    yield ("sudo apt-get install --allow-downgrades --no-install-recommends --purge "
           f"{shlex.join(words)}")
    automatic = [named(package) for package in one.gone if named(package) in one.before.automatic]
    if automatic:
        yield f"sudo apt-mark auto {shlex.join(automatic)}"


def _by_dnf(one: Difference) -> Iterator[str]:
    """Yield commands of dnf, which takes an exact version of an enabled stream, whatever is installed.

    What is new goes last: what was there all the time may need it until the other is back.
    https://manpages.debian.org/bookworm/dnf/dnf.8.en.html
    """
    if locked := sorted(one.after.locks - one.before.locks):
        yield f"sudo dnf versionlock delete {shlex.join(locked)}"
    had = dict(one.before.streams)
    for module in sorted({module for module, _ in one.before.streams ^ one.after.streams}):
        yield f"sudo dnf module reset {shlex.quote(module)}"
        if module in had:
            yield f"sudo dnf module enable {shlex.quote(f'{module}:{had[module]}')}"
    if one.gone:
        yield f"sudo dnf install --allowerasing {shlex.join(map(_as_dnf, one.gone))}"
    if one.new:
        yield ("sudo dnf remove --setopt=clean_requirements_on_remove=False "
               f"{shlex.join(map(_as_dnf, one.new))}")


def _as_dnf(package: Package) -> str:
    return f"{package.name}-{package.version}.{package.architecture}"


def _by_zypper(one: Difference) -> Iterator[str]:
    """Yield one command of zypper, where a hyphen before a name removes it, behind `--` alone.

    https://manpages.debian.org/bookworm/zypper/zypper.8.en.html
    """
    words = [*map(_as_zypper, one.gone), *(f"-{_as_zypper(package)}" for package in one.new)]
    if words:
        yield f"sudo zypper install --oldpackage -- {shlex.join(words)}"


def _as_zypper(package: Package) -> str:
    return f"{package.name}.{package.architecture}={package.version}"


def _by_pacman(one: Difference) -> Iterator[str]:
    """Yield commands of pacman, which has older versions in its cache alone.

    They come first: versions that are there now may need what is new. What is in their way goes with them.
    https://manpages.debian.org/bookworm/pacman-package-manager/pacman.8.en.html
    """
    found = Host().list_folder(_CACHE)
    names = found.names if isinstance(found, Names) else ()
    files = {package: next((name for name in names if name.startswith(f"{package.name}-{package.version}-")
                            and not name.endswith(".sig")), None) for package in one.gone}
    kept = [f"{_CACHE}/{name}" for name in files.values() if name is not None]
    if kept:
        yield f"sudo pacman -U {shlex.join(kept)}"
    new = shlex.join(package.name for package in one.new)
    if new:
        yield f"sudo pacman -R $(pacman -Qq {new} 2> /dev/null)" if kept else f"sudo pacman -R {new}"
    lost = [f"{package.name} {package.version}" for package, name in files.items() if name is None]
    if lost:
        yield f"# no longer in {_CACHE}: {', '.join(lost)}"


def _changing(programs: str, verbs: str) -> re.Pattern[str]:
    """Return what finds a command of these programs with one of these words behind it."""
    return re.compile(rf"(?:^|[\s;&|(])(?:{programs})\s(?:[^;&|]*\s)?(?:{verbs})(?=\s|$)")


_CHANGES: Mapping[str, re.Pattern[str]] = {
    "apt": _changing("apt-get|apt|aptitude|dpkg|ubuntu-drivers",
                     "install|reinstall|remove|purge|autoremove|upgrade|-i|--install|-r|-P"),
    "dnf": _changing("dnf|yum", r"install|reinstall|remove|erase|autoremove|upgrade|update|downgrade|"
                     r"module\s\S+"),
    "zypper": _changing("zypper", "install|in|remove|rm|update|up|patch|dup"),
    "pacman": _changing("pacman", r"-[SRU]\w*"),
}
_MANAGERS = (
    Manager(name="apt", changes=_CHANGES["apt"], listing=_QUERY, automatic=("apt-mark", "showauto"),
            back=_by_apt),
    Manager(name="dnf", changes=_CHANGES["dnf"], listing=_RPM, automatic=(), back=_by_dnf,
            holds=re.compile(r"\bdnf versionlock ")),
    Manager(name="zypper", changes=_CHANGES["zypper"], listing=_RPM, automatic=(), back=_by_zypper),
    Manager(name="pacman", changes=_CHANGES["pacman"], listing=("pacman", "-Q"), automatic=(),
            back=_by_pacman),
)
