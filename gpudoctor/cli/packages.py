"""Which distributions an environment holds, and the commands that bring an earlier state of it back."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from gpudoctor import versions
from gpudoctor.derive.view import as_texts
from gpudoctor.host import Entry, Host, Names
from gpudoctor.model import Facts, value_of
from gpudoctor.planning.undoing import exactly

_FOLDER = re.compile(r"([^-/]+)-([^-/]+)\.dist-info\Z")
Installed = Mapping[str, str]


def installed(facts: Facts) -> dict[str, str]:
    """Return name -> version of the distributions in the patient's package folders.

    A folder in which pip left something behind that it did not lay down is none.
    """
    found: dict[str, str] = {}
    for folder in as_texts(value_of(facts, "python.site_packages")):
        listed = Host().list_folder(folder)
        for name in listed.names if isinstance(listed, Names) else ():
            match = _FOLDER.match(name)
            if match is not None and isinstance(Host().entry(f"{folder}/{name}/METADATA"), Entry):
                found.setdefault(versions.distribution_name(match[1]), match[2])
    return found


def undo(before: Installed, after: Installed, commands: Sequence[str],
         indexes: Mapping[str, str]) -> tuple[str, ...]:
    """Return the commands of pip that make `after` into `before` again; `indexes` are those of labels."""
    if len(commands) != 2:
        return ()
    install, uninstall = commands
    return tuple(_undo(before, after, install, uninstall, indexes))


def _undo(before: Installed, after: Installed, install: str, uninstall: str,
          indexes: Mapping[str, str]) -> Iterator[str]:
    new = sorted(set(after) - set(before))
    if new:
        yield f"{uninstall} {' '.join(map(shlex.quote, new))}"
    other = {name: version for name, version in sorted(before.items()) if after.get(name) != version}
    if other:
        yield f"{install} --no-deps {shlex.join(exactly(other, indexes))}"
