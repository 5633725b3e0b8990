"""What `gpudoctor recommend` does, once its words are understood: look, lay candidates over it, print."""

from __future__ import annotations

import json
import sys

from gpudoctor import candidates
from gpudoctor.cli import again, showing, sources
from gpudoctor.cli.hosts import Host
from gpudoctor.frozen import frozen
from gpudoctor.model import Recommendation


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
    host = Host(python=wish.python, recorded=wish.recorded, assume=wish.assume, timeout=wish.timeout)
    interpreter, version = host.wanted_python()
    database = sources.announced_database(wish.rules, "judged")
    changes = () if wish.may_change is None else tuple(
        part.strip() for part in wish.may_change.split(",") if part.strip()) or (wish.may_change,)
    asked = candidates.Asked(
        frameworks=wish.frameworks, why=wish.why, python=version, image=wish.image, pre=wish.pre,
        only_python=version if wish.python is not None else None, may_change=changes,
        assumptions=wish.assume)
    candidates.refuse(asked, database)  # before anything is looked at
    said = candidates.recommend(host.seen(interpreter, database), database, asked)
    check = again.of_host("check", interpreter, wish.recorded, wish.assume, wish.rules)
    sources.write(_rendered(said, wish, check), wish.output)
    return said.exit_code


def _rendered(said: Recommendation, wish: Wish, check: str) -> str:
    if wish.format == "json":
        from gpudoctor.candidates import document

        return json.dumps(document.encode(said), indent=2) + "\n"
    from gpudoctor.render import recommendation

    terminal = sys.stdout.isatty() and wish.output is None
    return recommendation.render(said, width=showing.width(terminal), colour=terminal and showing.colour(),
                                 check=check)
