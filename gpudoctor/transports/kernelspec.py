"""Find a Jupyter kernel as jupyter_client does: which Python it starts, and with which variables.

The order is that of jupyter_core 5 and jupyter_client 8: JUPYTER_PATH; the user's folders and those of
Jupyter's own environment (these first in a virtual environment that is the user's); the system's. What a
jupyter_config.py changes (kernel_dirs, allowed_kernelspecs) is code, and is not run.
"""

from __future__ import annotations

import posixpath
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from gpudoctor import codec, patient
from gpudoctor.frozen import frozen
from gpudoctor.host import Data, Host, Kind, Missing, Names, Refused, Text
from gpudoctor.patient import Patient

_SYSTEM = ("/usr/local/share/jupyter", "/usr/share/jupyter")
_PROGRAMS = ("jupyter", "jupyter-lab", "jupyter-notebook", "jupyter-server")
_NATIVE = "python3"
_FALSE = ("no", "n", "false", "off", "0", "0.0")
_LISTED = 20
_START = re.compile(rb"#!\s*(/[^\s\0]*python[^\s\0]*)|#!/bin/sh\n'''exec'\s+\"?(/[^\"\n]*python[^\"\s]*)")
_PLACEHOLDER = re.compile(r"\{([A-Za-z0-9_]+)\}")


@frozen
class Jupyter:
    """The Python that Jupyter runs under, as far as can be seen from outside, and why this one."""

    executable: str
    prefix: str
    is_virtual: bool
    because: str


@frozen
class Kernel:
    """What a kernelspec starts: the interpreter, and its whole environment."""

    patient: Patient
    environment: Mapping[str, str] = field(repr=False)


@frozen
class NoKernel:
    """There is no such kernel, or its kernelspec cannot be used; one line says why."""

    reason: str


def find(name: str, *, environment: Mapping[str, str], default: Patient, folder: str, user_id: int,
         host: Host | None = None) -> Kernel | NoKernel:
    """Return the kernel of that name; `default` is the Python to take for Jupyter's where none is on PATH."""
    host = host or Host()
    jupyter = find_jupyter(environment, default, folder, host)
    folders = kernel_folders(jupyter, environment, folder, user_id, host)
    found = kernels(folders, host)
    place = found.get(name.lower())
    if place is None and name.lower() == _NATIVE and _has_package(jupyter, "ipykernel", host):
        return _checked(jupyter.executable, environment, host,
                        f"--kernel {name}: no kernel.json, so it is Jupyter's own Python ({jupyter.because})")
    if place is None:
        listed = ", ".join(list(found)[:_LISTED]) + (", ..." if len(found) > _LISTED else "") or "none"
        return _no(f"there is no Jupyter kernel {name}; found: {listed}; looked in {', '.join(folders)}; if "
                   "Jupyter has its own environment, activate it or name its share/jupyter in JUPYTER_PATH")
    path = posixpath.join(place, "kernel.json")
    try:
        return _read(name, path, jupyter, environment, folder, host)
    except codec.CodecError as error:
        return _no(f"{error}; write it anew: {jupyter.executable} -m ipykernel install --user --name {name}")


def kernel_folders(jupyter: Jupyter, environment: Mapping[str, str], folder: str, user_id: int,
                   host: Host) -> tuple[str, ...]:
    """Return the folders in which Jupyter looks for kernels, in its order."""
    home = environment.get("HOME") or "/"
    real = host.real_path(home)
    home = real.text if isinstance(real, Text) else home
    data = environment.get("JUPYTER_DATA_DIR") or posixpath.join(
        environment.get("XDG_DATA_HOME") or posixpath.join(home, ".local", "share"), "jupyter")
    user = [data]
    if _user_site(jupyter, environment, host):
        base = environment.get("PYTHONUSERBASE") or posixpath.join(environment.get("HOME") or "/", ".local")
        user += [posixpath.join(base, "share", "jupyter")]
    own = [posixpath.join(jupyter.prefix, "share", "jupyter")]
    system = list(_SYSTEM)
    if _said_yes(environment, "JUPYTER_PLATFORM_DIRS"):
        shared = environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
        system = [posixpath.join(entry, "jupyter") for entry in shared.split(":") if entry]
    own = [path for path in own if path not in system]
    named = [entry.rstrip("/") for entry in (environment.get("JUPYTER_PATH") or "").split(":") if entry]
    middle = own + user if _prefers_own(jupyter, environment, user_id, host) else user + own
    paths = [posixpath.join(path, "kernels") for path in (*named, *middle, *system)]
    if _has_package(jupyter, "IPython", host):
        ipython = environment.get("IPYTHONDIR") or posixpath.join(home, ".ipython")
        paths.append(posixpath.join(ipython, "kernels"))
    return tuple(dict.fromkeys(posixpath.join(folder, path) for path in paths))


def kernels(folders: Sequence[str], host: Host) -> dict[str, str]:
    """Return name -> folder of every kernelspec; the first folder that has a name wins."""
    found: dict[str, str] = {}
    for folder in folders:
        listed = host.list_folder(folder)
        for name in listed.names if isinstance(listed, Names) else ():
            place = posixpath.join(folder, name)
            entry = host.entry(posixpath.join(place, "kernel.json"))
            if not isinstance(entry, Missing | Refused) and entry.kind is Kind.FILE:
                found.setdefault(name.lower(), place)
    return found


def find_jupyter(environment: Mapping[str, str], default: Patient, folder: str, host: Host) -> Jupyter:
    """Return the Python of the first `jupyter` on PATH, by its first line; else the default."""
    for program in _PROGRAMS:
        for entry in environment.get("PATH", "").split(":"):
            path = posixpath.join(folder, entry, program)
            head = host.read_bytes(path, limit_bytes=1024) if entry else Missing()
            start = _START.match(head.data) if isinstance(head, Data) else None
            executable = (start.group(1) or start.group(2)).decode("utf-8", "replace") if start else ""
            if executable and patient.refused(executable, host) is None:
                return _of(executable, f"{path} runs under it", host)
    return _of(default.executable, f"no jupyter was found on PATH; {default.because}", host)


def _of(executable: str, because: str, host: Host) -> Jupyter:
    prefix = posixpath.dirname(posixpath.dirname(executable))
    is_virtual = not isinstance(host.entry(posixpath.join(prefix, "pyvenv.cfg")), Missing | Refused)
    real = host.real_path(executable)
    if not is_virtual and isinstance(real, Text):
        prefix = posixpath.dirname(posixpath.dirname(real.text))
    return Jupyter(executable=executable, prefix=prefix, is_virtual=is_virtual, because=because)


def _prefers_own(jupyter: Jupyter, environment: Mapping[str, str], user_id: int, host: Host) -> bool:
    """Return whether the folders of Jupyter's environment come before the user's."""
    if "JUPYTER_PREFER_ENV_PATH" in environment:
        return _said_yes(environment, "JUPYTER_PREFER_ENV_PATH")
    conda = environment.get("CONDA_PREFIX")
    in_conda = (conda is not None and jupyter.prefix.startswith(conda)
                and environment.get("CONDA_DEFAULT_ENV", "base") != "base")
    entry = host.entry(jupyter.prefix)
    is_ours = not isinstance(entry, Missing | Refused) and entry.owner == user_id
    return (jupyter.is_virtual or in_conda) and is_ours


def _said_yes(environment: Mapping[str, str], variable: str) -> bool:
    return variable in environment and environment[variable].lower() not in _FALSE


def _user_site(jupyter: Jupyter, environment: Mapping[str, str], host: Host) -> bool:
    """Return whether that Python also uses the user's own package folder."""
    if environment.get("PYTHONNOUSERSITE"):
        return False
    config = host.read_text(posixpath.join(jupyter.prefix, "pyvenv.cfg"))
    if not jupyter.is_virtual or not isinstance(config, Text):
        return True
    return re.search(r"^include-system-site-packages\s*=\s*true\s*$", config.text, re.I | re.M) is not None


def _has_package(jupyter: Jupyter, name: str, host: Host) -> bool:
    return any(not isinstance(host.entry(posixpath.join(folder, name, "__init__.py")), Missing | Refused)
               for folder in _package_folders(jupyter, host))


def _package_folders(jupyter: Jupyter, host: Host) -> Iterator[str]:
    for library in ("lib", "lib64"):
        listed = host.list_folder(posixpath.join(jupyter.prefix, library))
        for name in listed.names if isinstance(listed, Names) else ():
            if name.startswith("python"):
                yield posixpath.join(jupyter.prefix, library, name, "site-packages")
                yield posixpath.join(jupyter.prefix, library, name, "dist-packages")


def _read(name: str, path: str, jupyter: Jupyter, environment: Mapping[str, str], folder: str,
          host: Host) -> Kernel | NoKernel:
    """Return the kernel that a kernel.json describes; raise `CodecError`."""
    answer = host.read_text(path)
    if not isinstance(answer, Text):
        raise codec.CodecError(f"{path}: cannot be read" + (
            f": {answer.reason}" if isinstance(answer, Refused) else ""))
    if answer.truncated:
        raise codec.CodecError(f"{path}: larger than any kernelspec is")
    spec = codec.parse_json(answer.text, path)
    called, added = _argv(spec, path), _env(spec, path)
    variables = {**environment, **{
        key: string.Template(value).safe_substitute(environment) for key, value in added.items()}}
    language = spec.get("language")
    if isinstance(language, str) and language.lower().startswith("python"):
        variables.pop("PYTHONEXECUTABLE", None)  # Jupyter does so too
    values = {"prefix": jupyter.prefix, "resource_dir": posixpath.dirname(path)}
    program = _PLACEHOLDER.sub(lambda found: values.get(found.group(1), found.group()), called)
    because = f"--kernel {name}: {path} starts it"
    if _is_jupyters(program, jupyter, host):
        program, because = jupyter.executable, (
            f"--kernel {name}: {path} says {called}, which is Jupyter's own Python ({jupyter.because})")
    if added:
        because += f"; it sets {', '.join(added)}"
    return _checked(_located(program, variables, folder, host), variables, host, because)


def _argv(spec: Any, path: str) -> str:
    """Return the program that a kernelspec starts."""
    argv = spec.get("argv") if isinstance(spec, dict) else None
    if not isinstance(argv, list) or not argv or not isinstance(argv[0], str) or not argv[0].strip():
        raise codec.CodecError(f"{path}: needs \"argv\", a list that begins with a program")
    return argv[0]


def _env(spec: Any, path: str) -> dict[str, str]:
    added = spec.get("env", {})
    if not isinstance(added, dict) or not all(
            isinstance(value, str) and "\0" not in key + value and "=" not in key and key
            for key, value in added.items()):
        raise codec.CodecError(f"{path}: \"env\" must give variables texts")
    return added


def _is_jupyters(program: str, jupyter: Jupyter, host: Host) -> bool:
    """Return whether Jupyter takes its own Python for a program of this name, whatever PATH says."""
    if program in ("python", "python3"):
        return True
    return re.fullmatch(r"python3\.[0-9]+", program) is not None and not isinstance(
        host.entry(posixpath.join(jupyter.prefix, "lib", program)), Missing | Refused)


def _located(program: str, variables: Mapping[str, str], folder: str, host: Host) -> str:
    """Return the path of a program as it is started with these variables."""
    if "/" in program:
        return posixpath.join(folder, program)
    entries = variables.get("PATH", "").split(":")
    places = (posixpath.join(folder, entry, program) for entry in entries if entry)
    return next((path for path in places if not isinstance(host.entry(path), Missing | Refused)), program)


def _checked(executable: str, variables: Mapping[str, str], host: Host, because: str) -> Kernel | NoKernel:
    why_not = patient.refused(executable, host) if executable.startswith("/") else f"no {executable} on PATH"
    if why_not is None:
        chosen = Patient(executable=executable, because=patient.one_line(because))
        return Kernel(patient=chosen, environment=variables)
    return _no(f"{because}, but {why_not}; if the kernel runs, examine it: gpudoctor check --pid PID")


def _no(reason: str) -> NoKernel:
    return NoKernel(reason=patient.one_line(reason))
