"""Variables as a shell, a Dockerfile, conda, systemd or a Jupyter kernel reads them.

Every value is quoted for its reader, so that it stays one value whatever it holds. What a reader cannot hold
is refused with the reason; nothing is ever changed to fit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from gpudoctor.exported import exported, powershell_text
from gpudoctor.frozen import frozen

Variables: TypeAlias = Mapping[str, str | None]  # None unsets a variable

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_LINE_ENDS = re.compile(r"[\n\x0b\x0c\r\x85\u2028\u2029]")
# what is kept is x and the value from before; nothing where the variable was not set
_KEEP = """\
if [ -z "${_GPUDOCTOR_BEFORE_NAME+x}" ]; then export _GPUDOCTOR_BEFORE_NAME="${NAME+x}${NAME-}"; fi
"""
_BRING_BACK = """\
if [ -n "${_GPUDOCTOR_BEFORE_NAME+x}" ]; then
  if [ -n "$_GPUDOCTOR_BEFORE_NAME" ]; then export NAME="${_GPUDOCTOR_BEFORE_NAME#x}"; else unset NAME; fi
  unset _GPUDOCTOR_BEFORE_NAME
fi
"""
_LAUNCHER = ("-m", "ipykernel_launcher", "-f", "{connection_file}")


@frozen
class Written:
    """The lines, and what could not be written in them: variable and reason."""

    text: str
    refused: tuple[str, ...]

PLACES = {
    "dockerfile": "these lines belong into the Dockerfile, behind its FROM",
    "conda": ("these lines belong into $CONDA_PREFIX/etc/conda/activate.d/gpudoctor.sh, and those of --shell "
              "conda-deactivate into deactivate.d/gpudoctor.sh beside; write both, then activate it anew"),
    "conda-deactivate": ("these lines belong into $CONDA_PREFIX/etc/conda/deactivate.d/gpudoctor.sh: they "
                         "bring back what those of --shell conda in activate.d change"),
    "systemd": "these lines belong into the unit: systemctl edit NAME; then restart it",
    "kernelspec": "this belongs into the kernel.json of the kernel; then restart it",
}


def write(variables: Variables, shell: str, python: str) -> Written:
    """Return the variables in the words of a shell; `python` is the interpreter of a kernel."""
    reasons = {name: _unfit(name, value, shell) for name, value in variables.items()}
    fit = {name: value for name, value in variables.items() if not reasons[name]}
    refused = tuple(f"{name}: {why}" for name, why in reasons.items() if why)
    return Written(text=SHELLS[shell](fit, python) if fit else "", refused=refused)


def _unfit(name: str, value: str | None, shell: str) -> str:
    """Return why a variable cannot be written, "" where it can."""
    if _NAME.match(name) is None:
        return "this is no name of a variable"
    if value is None:
        return ("a Dockerfile cannot unset a variable that its base sets: start the program with "
                f"`env -u {name}`") if shell == "dockerfile" else ""
    if _CONTROL.search(value):
        return "its value would hold control characters"
    if "\ufffd" in value or not _is_text(value):
        return "its value would hold bytes that are no text"
    if shell == "dockerfile" and _LINE_ENDS.search(value):
        return "its value would hold a line end, which no line of a Dockerfile can"
    return ""


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _lines(variables: Variables, set_: Callable[[str, str], str], unset: Callable[[str], str]) -> str:
    return "".join(f"{unset(name) if value is None else set_(name, value)}\n"
                   for name, value in variables.items())


def _posix(variables: Variables, _: str) -> str:
    return _lines(variables, exported, lambda name: f"unset {name}")


def _conda(variables: Variables, python: str) -> str:
    """Return a script for activate.d: what was there before is kept, and kept once however often it runs."""
    return "".join(_KEEP.replace("NAME", name) for name in variables) + _posix(variables, python)


def _conda_deactivate(variables: Variables, _: str) -> str:
    """Return a script for deactivate.d: each variable is as it was, and not set if it was not."""
    return "".join(_BRING_BACK.replace("NAME", name) for name in variables)


def _fish(variables: Variables, _: str) -> str:
    """Return lines for fish, in whose single quotes a backslash protects itself and the quote."""
    def quoted(value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    return _lines(variables, lambda name, value: f"set -gx {name} {quoted(value)};",
                  lambda name: f"set -q {name}; and set -e {name}; or true;")


def _powershell(variables: Variables, _: str) -> str:
    return _lines(variables, lambda name, value: f"$env:{name} = {powershell_text(value)}",
                  lambda name: f"Remove-Item -LiteralPath Env:{name} -ErrorAction SilentlyContinue")


def _dockerfile(variables: Variables, _: str) -> str:
    """Return ENV lines: within double quotes a backslash protects itself, the quote and the dollar."""
    def quoted(value: str) -> str:
        return '"' + re.sub(r'([\\"$])', r"\\\1", value) + '"'

    return _lines(variables, lambda name, value: f"ENV {name}={quoted(value)}", lambda _: "")


def _systemd(variables: Variables, _: str) -> str:
    """Return a drop-in of a unit, where % stands for itself when doubled, and C's escapes are known."""
    def quoted(name: str, value: str) -> str:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
        return f'"{name}={_escape_line_ends(escaped)}"'

    return "[Service]\n" + _lines(variables, lambda name, value: f"Environment={quoted(name, value)}",
                                  lambda name: f"UnsetEnvironment={name}")


def _escape_line_ends(text: str) -> str:
    return text.replace("\n", "\\n").replace("\t", "\\t")


def _kernelspec(variables: Variables, python: str) -> str:
    """Return what goes into kernel.json. Jupyter fills in ${NAME} there, so a dollar is doubled.

    A kernel cannot take away what it inherits, so what is to be unset is taken away by its first word.
    """
    spec: dict[str, object] = {}
    unset: Sequence[str] = [name for name, value in variables.items() if value is None]
    if unset:
        removals = [word for name in unset for word in ("-u", name)]
        spec["argv"] = ["env", *removals, python, *_LAUNCHER]
    values = {name: value.replace("$", "$$") for name, value in variables.items() if value is not None}
    if values:
        spec["env"] = values
    return json.dumps(spec, indent=1) + "\n"


# conda sources what lies in etc/conda/activate.d, and in deactivate.d when the environment is left; what
# `conda env config vars set` is given it puts into the shell's words as it is, and loses what stands behind a
# dollar (https://github.com/conda/conda/issues/10126)
SHELLS: Mapping[str, Callable[[Variables, str], str]] = {
    **dict.fromkeys(("sh", "bash", "zsh", "dash"), _posix), "conda": _conda,
    "conda-deactivate": _conda_deactivate, "fish": _fish,
    "powershell": _powershell, "dockerfile": _dockerfile, "systemd": _systemd, "kernelspec": _kernelspec,
}
