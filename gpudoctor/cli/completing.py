"""What a shell is offered for words that are no fixed choice: rules, tables, frameworks, stages.

Typer keeps of these what begins as the word does. A shell that asks must be answered: rules that cannot be
read have no names to offer.
"""

from __future__ import annotations

_ID = "GP"  # with it every rule's id begins
_Offered = list[tuple[str, str]]  # each with what it means, which zsh and fish show beside it


def rules() -> _Offered:
    """Return the ids and the causes of all rules."""
    return [*{name: title for *names, title in _rules() for name in names}.items()]


def ids(incomplete: str) -> _Offered:
    """Return the ids of all rules where the word begins as one: it may be a file's name as well."""
    return [(identifier, title) for identifier, _, title in _rules()] if incomplete.startswith(_ID) else []


def tables() -> _Offered:
    """Return the names of the reference tables."""
    from gpudoctor.cli import sources

    try:
        return [(name, "") for name in sorted(sources.database(None, "told").tables)]
    except ValueError:
        return []


def frameworks() -> _Offered:
    """Return the names of the frameworks."""
    from gpudoctor.frameworks import FRAMEWORKS

    return [(name, "") for name in FRAMEWORKS]


def stages() -> _Offered:
    """Return the names of the stages in which a framework is run."""
    from gpudoctor.courses import STAGES

    return [(name, "") for name in STAGES]


def _rules() -> list[tuple[str, str, str]]:
    from gpudoctor.cli import sources

    try:
        return [(rule.id, rule.cause, rule.title) for rule in sources.database(None, "told").rules]
    except ValueError:
        return []
