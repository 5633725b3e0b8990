"""What `gpudoctor recommend` does, once its words are understood: look, lay candidates over it, print."""

from __future__ import annotations

import json
import re
import sys

from gpudoctor import candidates
from gpudoctor.assume import assumed, lay, parse_assumption, unobserved
from gpudoctor.cli import showing, sources, visits
from gpudoctor.cli.errors import UsageError
from gpudoctor.derive.lazy import ASSUMED
from gpudoctor.frozen import frozen
from gpudoctor.model import Recommendation, RuleDatabase, Snapshot

_VERSION = re.compile(r"(\d{1,2}\.\d{1,3})(?:\.\d{1,5})?\Z")
_PYTHON = "python"


@frozen
class Wish:
    """The options of `gpudoctor recommend`."""

    frameworks: tuple[str, ...] = ()
    python: str | None = None
    image: bool = False
    may_change: str | None = None
    why: tuple[str, ...] = ()
    pre: bool = False
    recorded: str | None = None
    assume: tuple[str, ...] = ()
    format: str = "text"
    output: str | None = None
    timeout: float = 20.0
    rules: str | None = None


def recommend(wish: Wish) -> int:
    """Print what fits and return the exit code."""
    showing.refuse_lost_output(wish.output)
    interpreter, version = _python(wish)
    database = sources.announced_database(wish.rules, "judged")
    changes = tuple(part.strip() for part in (wish.may_change or "").split(",") if part.strip())
    asked = candidates.Asked(
        frameworks=wish.frameworks, why=wish.why, python=version, image=wish.image, pre=wish.pre,
        may_change=changes, assumptions=wish.assume)
    candidates.refuse(asked, database)  # before anything is looked at
    seen = _seen(wish, interpreter, database)
    said = candidates.recommend(seen, database, asked)
    sources.write(_rendered(said, wish), wish.output)
    return said.exit_code


def _python(wish: Wish) -> tuple[str | None, str | None]:
    """Return the interpreter to examine and the version to recommend for; each may be left open."""
    assumed_versions = [text.partition("=")[2].strip() for text in wish.assume
                        if text.partition("=")[0].strip() == _PYTHON]
    said = list(dict.fromkeys([*([f"--python {wish.python}"] if wish.python is not None else []),
                               *(f"--assume python={version}" for version in assumed_versions)]))
    if len({text.replace("=", " ").split()[-1] for text in said}) > 1:
        raise UsageError(f"{said[0]} and {said[-1]} contradict one another")
    wanted = wish.python or next(iter(assumed_versions), None)
    match = _VERSION.match(wanted) if wanted is not None else None
    if match is not None:
        return None, match[1]
    if assumed_versions:
        raise UsageError(f"--assume python={assumed_versions[0]}: write a version such as 3.12")
    if wanted is not None and wish.recorded is not None:
        raise UsageError(f"--from and --python {wanted} exclude one another: with a recorded machine only a "
                         "version can be named, such as --python 3.12")
    return wanted, None


def _seen(wish: Wish, interpreter: str | None, database: RuleDatabase) -> Snapshot:
    """Return the machine, seen or recorded, with what is assumed of it."""
    pairs = [parse_assumption(text) for text in wish.assume]
    if wish.recorded is not None:
        snapshot = sources.read_snapshot(wish.recorded)
    else:
        from gpudoctor.probes import snapshot as snapshots
        from gpudoctor.transports import local

        snapshot = snapshots.read(local.collect(visits.visit_here(interpreter, "static", wish.timeout)))
    facts = assumed([pair for pair in pairs if pair[0] != _PYTHON])
    return lay(unobserved(snapshot, facts, framework=None), facts, database.tables, source=ASSUMED)


def _rendered(said: Recommendation, wish: Wish) -> str:
    if wish.format == "json":
        from gpudoctor.candidates import document

        return json.dumps(document.encode(said), indent=2) + "\n"
    from gpudoctor.render import recommendation

    terminal = sys.stdout.isatty() and wish.output is None
    return recommendation.render(said, width=showing.width(terminal), colour=terminal and showing.colour())
