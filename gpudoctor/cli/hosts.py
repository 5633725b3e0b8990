"""For which machine something is asked: this one or a recorded one, with what is assumed of it."""

from __future__ import annotations

import re

from gpudoctor.assume import parse_assumption, supposed
from gpudoctor.cli import sources, visits
from gpudoctor.cli.errors import UsageError
from gpudoctor.frozen import frozen
from gpudoctor.model import RuleDatabase, Snapshot

_VERSION = re.compile(r"([0-9]{1,2}\.[0-9]{1,3})(?:\.[0-9]{1,5})?\Z")
_PYTHON = "python"


@frozen
class Host:
    """The options that say which machine is meant; `python` is a version or an interpreter."""

    python: str | None = None
    recorded: str | None = None
    assume: tuple[str, ...] = ()
    timeout: float = 20.0

    def wanted_python(self) -> tuple[str | None, str | None]:
        """Return the interpreter to examine and the version that is wanted; each may be left open."""
        assumed_versions = [text.partition("=")[2].strip() for text in self.assume if is_python(text)]
        said = list(dict.fromkeys([*([f"--python {self.python}"] if self.python is not None else []),
                                   *(f"--assume python={version}" for version in assumed_versions)]))
        if len({text.replace("=", " ").split()[-1] for text in said}) > 1:
            raise UsageError(f"{said[0]} and {said[-1]} contradict one another")
        wanted = self.python or next(iter(assumed_versions), None)
        match = _VERSION.match(wanted) if wanted is not None else None
        if match is not None:
            return None, match[1]
        if assumed_versions:
            raise UsageError(f"--assume python={assumed_versions[0]}: write a version such as 3.12")
        if wanted is not None and self.recorded is not None:
            raise UsageError(f"--from and --python {wanted} exclude one another: with a recorded machine "
                             "only a version can be named, such as --python 3.12")
        return wanted, None

    def seen(self, interpreter: str | None, database: RuleDatabase) -> Snapshot:
        """Return the machine, seen or recorded, with what is assumed of it."""
        pairs = [parse_assumption(text) for text in self.assume]
        if self.recorded is not None:
            snapshot = sources.read_snapshot(self.recorded)
        else:
            from gpudoctor.probes import snapshot as snapshots
            from gpudoctor.transports import local

            snapshot = snapshots.read(local.collect(visits.visit_here(interpreter, "static", self.timeout)))
        return supposed(snapshot, [pair for pair in pairs if pair[0] != _PYTHON], database.tables)


def is_python(assumption: str) -> bool:
    """Say whether an assumption is of the Python: it chooses among releases and is no fact of a machine."""
    return assumption.partition("=")[0].strip() == _PYTHON
