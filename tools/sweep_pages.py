"""The pages of docs/matrix/: a row for releases that fare alike, a column for each compute capability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpudoctor.model import RuleDatabase
from tools.sweep_states import Card, Release, Verdict

Rows = Sequence[tuple[Release, Mapping[Card, Verdict]]]
TITLES = {"tensorflow": "TensorFlow", "torch": "PyTorch", "jax": "JAX", "paddle": "PaddlePaddle"}
GENERATED = "<!-- Written by tools/sweep.py from rules/: do not edit. -->"
MARKS = {"part": "+", "jit": " JIT", "runs": ""}
UNKNOWN = "?"
PLATFORM_NAMES = {"linux_x86_64": "Linux, x86_64", "linux_aarch64": "Linux, aarch64 (GH200, GB200, GB10)"}


def page(framework: str, parts: Mapping[str, Rows], database: RuleDatabase) -> str:
    """Return the page of one framework."""
    lines = [GENERATED, "", f"# {TITLES[framework]}: which release runs on which card", "",
             *_notes(framework), ""]
    for platform, rows in parts.items():
        lines += [f"## {PLATFORM_NAMES[platform]}", "", *_table(rows), ""]
    lines += _legend([verdict for rows in parts.values() for _, row in rows for verdict in row.values()], database)
    return "\n".join(lines).rstrip() + "\n"


def _notes(framework: str) -> list[str]:
    own = {
        "tensorflow": "Wheels of `tensorflow` with the libraries of their `and-cuda` extra in the versions that pip "
                      "chooses today; before the extra (2.14), with the CUDA libraries of the system.",
        "torch": "Wheels of `torch` from PyPI, which has one CUDA for each release; other indexes have more.",
        "jax": "JAX's CUDA plugins (`jax[cuda12]`, `jax[cuda13]`) with the libraries that pip chooses for them "
               "today. Listed are the releases whose device code was read: one of each minor release.",
        "paddle": "Wheels of `paddlepaddle-gpu` from PyPI, which ended at 2.6; later ones are on Paddle's own index "
                  "and were not read. Listed are the releases whose device code was read: one of each minor "
                  "release. They bring no CUDA libraries: these come from the system.",
    }[framework]
    return [own, "", "How to read it: [README.md](README.md)."]


# -- the table -----------------------------------------------------------------------------------------


def _table(rows: Rows) -> list[str]:
    columns = list(rows[0][1])
    head = ["release", "CUDA", *(card.capability for card in columns)]
    lines = [_line(head), _line(["---"] * len(head))]
    for group in _groups(rows):
        newest, verdicts = group[0]
        name = newest.version if len(group) == 1 else f"{group[-1][0].version} to {newest.version}"
        lines.append(_line([name, _cuda(newest), *(cell(verdicts[card]) for card in columns)]))
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cuda(release: Release) -> str:
    return str(release.row.get("cuda", UNKNOWN))


def _groups(rows: Rows) -> list[list[tuple[Release, Mapping[Card, Verdict]]]]:
    """Return releases that follow one another and fare alike together."""
    groups: list[list[tuple[Release, Mapping[Card, Verdict]]]] = []
    for release, verdicts in rows:
        if groups and _cells(groups[-1][0]) == _cells((release, verdicts)):
            groups[-1].append((release, verdicts))
        else:
            groups.append([(release, verdicts)])
    return groups


def _cells(row: tuple[Release, Mapping[Card, Verdict]]) -> tuple[str, ...]:
    release, verdicts = row
    kind = release.version.partition(" ")[2]
    return (kind, _cuda(release), *(cell(verdict) for verdict in verdicts.values()))


def cell(verdict: Verdict) -> str:
    """Return the oldest driver branch and how it runs, or the sign of what keeps it from it."""
    if verdict.causes:
        return f"[{verdict.kind}]"
    if verdict.kind == "open":
        return UNKNOWN
    return f"{verdict.driver.partition('.')[0]}{MARKS[verdict.kind]}"


# -- words ---------------------------------------------------------------------------------------------


def _legend(verdicts: Sequence[Verdict], database: RuleDatabase) -> list[str]:
    kinds = sorted({verdict.kind for verdict in verdicts if verdict.causes})
    lines = ["## What the causes mean", ""]
    for kind in kinds:
        rules = [rule for rule in database.rules if rule.cause == kind and rule.told]
        told = rules[0].told if rules else ""
        lines.append(f"- `{kind}`: {told or 'see its page'} ({', '.join(rule.id for rule in rules)})")
    return lines if kinds else []


def index(names: Sequence[str], cards: Sequence[Card], database: RuleDatabase) -> str:
    """Return the page that says how to read the others."""
    return "\n".join([GENERATED, ""])
