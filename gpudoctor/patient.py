"""Choose the patient: the Python interpreter under examination, which is not always gpudoctor's own.

Nothing is run here. What is no Python is recognised by its bytes: `--python train.py` must start no training.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.frozen import frozen
from gpudoctor.host import Data, Host, Kind, Missing, Refused

NONE_ON_PATH = "there is none on its PATH"
_ENVIRONMENT_VARIABLES = ("VIRTUAL_ENV", "CONDA_PREFIX")
_NAMES_ON_PATH = ("python3", "python")
# what engines give a container whose image sets none
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PYTHON_NAME = re.compile(r"(?:python|pypy)[0-9.]*[a-z]?")
_ELF, _SCRIPT = b"\x7fELF", b"#!"
_API = (b"Py_", b"pypy")  # in the symbols of every interpreter, because extension modules need them
_PROGRAM_LIMIT_BYTES = 64 << 20


@frozen
class Patient:
    """The interpreter to examine, and why this one."""

    executable: str
    because: str


@frozen
class NoPatient:
    """The interpreter that was asked for cannot be examined; one line says why."""

    reason: str


@frozen
class Own:
    """The interpreter gpudoctor runs on: `folders` are those of its sys.path; `as_module` for `python -m`."""

    executable: str
    prefix: str
    folders: tuple[str, ...]
    as_module: bool = False


def choose(
    *,
    explicit: str | None,
    environment: Mapping[str, str],
    own: Own,
    folder: str,
    host: Host | None = None,
) -> Patient | NoPatient:
    """Return the patient: `explicit` (a path, an environment, a name on PATH), else the first that is usable.

    `folder` is the current one. Without `explicit` there always is a patient, in the end gpudoctor's own.
    """
    host = host or Host()
    if explicit is not None:
        return _explicit(explicit, environment, folder, host)
    if own.as_module:
        return Patient(executable=own.executable, because="gpudoctor runs under it (python -m gpudoctor)")
    installed = _installed(own, host)
    if installed is not None:
        return Patient(
            executable=own.executable, because=f"gpudoctor's own environment has {installed} installed"
        )
    passed_over: list[str] = []
    for executable, because in _candidates(environment, own, folder):
        why_not = refused(executable, host)
        if why_not is None:
            return Patient(executable=executable, because=one_line("; ".join([because, *passed_over])))
        if because.startswith(_ENVIRONMENT_VARIABLES):
            passed_over.append(f"{because.partition(' ')[0]} was passed over: {why_not}")
    because = "; ".join(["gpudoctor's own, as no other Python was found", *passed_over])
    return Patient(executable=own.executable, because=one_line(because))


def inside(explicit: str | None, environment: Mapping[str, str], folder: str,
           files: Host) -> Patient | NoPatient:
    """Return the interpreter in a container: `explicit`, its environment's, else the first on its PATH.

    gpudoctor's own is none of them: it lies elsewhere.
    """
    if explicit is not None:
        return _explicit(explicit, environment, folder, files)
    nowhere = Own(executable="", prefix="/gpudoctor-is-not-here", folders=())
    why_not = NONE_ON_PATH
    for executable, because in _candidates({"PATH": _DEFAULT_PATH, **environment}, nowhere, folder):
        refusal = refused(executable, files)
        if refusal is None:
            return Patient(executable=executable, because=one_line(because))
        if not isinstance(files.entry(executable), Missing):
            why_not = one_line(refusal)
    return NoPatient(reason=why_not)


def _explicit(said: str, environment: Mapping[str, str], folder: str, host: Host) -> Patient | NoPatient:
    if not said.strip() or "\0" in said:
        return NoPatient(reason="it names nothing")
    path, because = _located(said, environment, folder, host), f"--python {said}"
    if path is None:
        whole = posixpath.join(folder, said)
        return NoPatient(reason=one_line(f"there is no {whole}, and no {said} on PATH"))
    if _is_folder(path, host):
        inside = posixpath.join(posixpath.normpath(path), "bin", "python")
        if isinstance(host.entry(inside), Missing):
            return NoPatient(
                reason=one_line(f"{path} is a folder and no Python environment: it has no bin/python")
            )
        path = inside
    why_not = refused(path, host)
    if why_not:
        return NoPatient(reason=one_line(why_not))
    return Patient(executable=path, because=one_line(because))


def _located(said: str, environment: Mapping[str, str], folder: str, host: Host) -> str | None:
    """Return the path that is meant: a bare name is looked for on PATH, then in the current folder."""
    if "/" not in said:
        for path in (*_on_path(said, environment, folder), posixpath.join(folder, said)):
            if not isinstance(host.entry(path), Missing | Refused):
                return path
        return None
    home = environment.get("HOME", "")
    return posixpath.join(folder, home + said[1:] if home and said.startswith("~/") else said)


def _is_folder(path: str, host: Host) -> bool:
    entry = host.entry(path)
    return not isinstance(entry, Missing | Refused) and entry.kind is Kind.FOLDER


def one_line(text: str) -> str:
    """Return the text as one line that does nothing to a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _installed(own: Own, host: Host) -> str | None:
    """Return the first framework in gpudoctor's own environment."""
    for package in FRAMEWORKS:
        for folder in own.folders:
            found = host.entry(posixpath.join(folder, package, "__init__.py"))
            if posixpath.isabs(folder) and not isinstance(found, Missing | Refused):
                return package
    return None


def _candidates(environment: Mapping[str, str], own: Own, folder: str) -> Iterator[tuple[str, str]]:
    """Yield (interpreter, why) in order of preference."""
    for variable in _ENVIRONMENT_VARIABLES:
        prefix = environment.get(variable, "")
        if posixpath.isabs(prefix):
            yield posixpath.join(prefix, "bin", "python"), f"{variable} names its environment"
    own_programs = posixpath.join(own.prefix, "bin")
    for name in _NAMES_ON_PATH:
        for path in _on_path(name, environment, folder):
            # uvx puts the folder of its throw-away environment, which holds gpudoctor alone, first on PATH.
            if posixpath.normpath(posixpath.dirname(path)) != posixpath.normpath(own_programs):
                yield path, f"the first {name} on PATH outside gpudoctor's own environment"


def _on_path(name: str, environment: Mapping[str, str], folder: str) -> Iterator[str]:
    for entry in environment.get("PATH", "").split(":"):
        if entry:
            yield posixpath.join(folder, entry, name)


def refused(path: str, host: Host) -> str | None:
    """Return why the file at `path` cannot be the patient, None if it can."""
    entry = host.entry(path)
    if isinstance(entry, Missing):
        return f"there is no {path}"
    if isinstance(entry, Refused):
        return f"{path}: {entry.reason}"
    if entry.kind is not Kind.FILE:
        return f"{path} is no Python: it is a {entry.kind.value}"
    access = host.access(path)
    if isinstance(access, Missing | Refused) or not access.executable:
        return f"{path} cannot be run: this user has no permission to execute it"
    return _not_python(path, host) if access.readable else None


def _not_python(path: str, host: Host) -> str | None:
    """Return why the program at `path` is no Python, by its first bytes, its name and its symbols."""
    is_named_so = _PYTHON_NAME.fullmatch(posixpath.basename(path)) is not None
    head = host.read_bytes(path, limit_bytes=4)
    start = head.data if isinstance(head, Data) else b""
    if start.startswith(_SCRIPT):
        return None if is_named_so else f"{path} is no Python: it is a script"
    if start != _ELF:
        return f"{path} is no Python: it is neither a program nor a script"
    if is_named_so:
        return None
    program = host.read_bytes(path, limit_bytes=_PROGRAM_LIMIT_BYTES)
    if isinstance(program, Data) and any(word in program.data for word in _API):
        return None
    return f"{path} is no Python: it is some other program"
