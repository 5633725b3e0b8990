"""What a rule must prove about itself before it ships. Yields one line per problem; silence is proof.

For every rule: names, types and sources are right, and nothing is left to be filled in; each case gives its
verdict, from a block as certain as the one it names; every condition was seen true and false (coverage);
hiding any fact a matching block reads leaves that block undecided (blindness); every fix is offered to a
case, clears it and makes no other rule match (cure); nothing that the summary names is unknown; pages of a
family that match together name each other; no id of the last release is gone or means something else. For
every table: each row says where it was read and when, its key is there once, and each value is one of its
column. For every symptom: its examples show it, give what they say they give, and show no other symptom that
is not named. For every log of a page: `explain` names the cause where it is to be named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudoctor import meaning
from gpudoctor.model import RuleDatabase
from gpudoctor.proving.form import form_problems
from gpudoctor.proving.kept import released_problems
from gpudoctor.proving.logs import Explained, log_problems
from gpudoctor.proving.proofs import proof_problems
from gpudoctor.proving.said import symptom_problems
from gpudoctor.proving.tabled import table_problems

__all__ = ["problems_of"]


def problems_of(database: RuleDatabase, explained: Explained, released: Mapping[str, str] | None = None
                ) -> Iterator[str]:
    """Yield every problem of every rule, table and symptom, `path: problem`.

    `explained` reads a log, which is not for this module: it gives the causes that are told, in order.
    `released` are the ids that the last release has, with their causes.
    """
    yield from released_problems(database, released or {})
    yield from (f"{rule.path}: {problem}" for rule, problem in meaning.repeated(database.rules))
    for rule in database.rules:
        problems = list(form_problems(rule, database))
        if not problems:
            problems = list(proof_problems(rule, database))
        yield from (f"{rule.path}: {problem}" for problem in problems)
    yield from table_problems(database)
    yield from symptom_problems(database)
    yield from log_problems(database, explained)
