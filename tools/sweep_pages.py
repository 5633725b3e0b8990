"""The pages of docs/matrix/: a row for releases that fare alike, a column for each compute capability."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpudoctor import versions
from gpudoctor.derive.releases import with_minor
from gpudoctor.derive.view import as_texts
from gpudoctor.model import RuleDatabase
from tools.sweep_states import Card, Release, Verdict, drivers, products

Fares = tuple[Release, Mapping[Card, Verdict]]
TITLES = {"tensorflow": "TensorFlow", "torch": "PyTorch", "jax": "JAX", "paddle": "PaddlePaddle",
          "cupy": "CuPy"}
GENERATED = "<!-- Written by tools/sweep.py from rules/: do not edit. -->"
MARKS = {"part": "+", "jit": " JIT", "runs": ""}
SHORT = {
    "gpu-too-old-for-build": "old", "gpu-too-new-for-build": "new", "driver-too-old": "driver",
    "driver-dropped-gpu": "driver", "cudnn-dropped-gpu": "cuDNN",
    "ptx-isa-newer-than-driver": "PTX", "pip-nvidia-libs-not-found": "path",
}
UNKNOWN = "?"
PLATFORM_NAMES = {"linux_x86_64": "Linux, x86_64", "linux_aarch64": "Linux, aarch64 (GH200, GB200, GB10)"}
EXAMPLES = 4
NOTES = {
    "tensorflow": """\
Wheels of `tensorflow` with the libraries of their `and-cuda` extra in the versions that pip chooses today;
before the extra (2.14), with the CUDA libraries of the system. Those with `gpu` are of `tensorflow-gpu`: of
2.0 there is no other build for CUDA; listed is the release of each minor whose device code was read.""",
    "torch": "Wheels of `torch` from PyPI, which has one CUDA for each release; PyTorch's index has more.",
    "jax": """\
JAX's CUDA plugins (`jax[cuda12]`, `jax[cuda13]`) with the libraries that pip chooses for them today. Listed
are all whose wheels are on PyPI: the device code of each was read. What XLA compiles for a card while a
program runs is not in a wheel, and not in this table.""",
    "paddle": """\
Wheels of `paddlepaddle-gpu` from PyPI, which ended at 2.6; later ones are on Paddle's own index and were not
read. Those for Linux were all looked into. They bring no CUDA libraries: these come from the system. None has
PTX, so none runs on a card of a later generation than it was built for.""",
    "cupy": """\
Wheels of `cupy-cuda*`, of which there are some for each CUDA. A cell is about the driver and the code that
the wheel holds: sorting, scans and some reductions (cub, thrust), and random numbers. All other kernels are
compiled by NVRTC when they are first used: for the card itself or, where that NVRTC is older than the card,
for the newest one that it knows (`cupy/cuda/compiler.py` of 14.2). Where a cell says `old` or `new`, those
may run all the same, if NVRTC and driver of the machine serve the card, which no wheel tells. The CUDA
libraries come from the system, or from packages that pip adds.""",
}


def page(framework: str, parts: Mapping[str, Sequence[Fares]], database: RuleDatabase) -> str:
    """Return the page of one framework."""
    lines = [GENERATED, "", f"# {TITLES[framework]}: which release runs on which card", "",
             NOTES[framework], "", "How to read it: [README.md](README.md).", ""]
    causes = {rule.id: rule.cause for rule in database.rules}
    for platform, rows in parts.items():
        lines += [f"## {PLATFORM_NAMES[platform]}", "", *_table(rows, causes), ""]
    verdicts = [verdict for rows in parts.values() for _, row in rows for verdict in row.values()]
    lines += [*_legend(verdicts, database), *_refused(framework, database)]
    return "\n".join(lines).rstrip() + "\n"


# -- the table -----------------------------------------------------------------------------------------


def _table(rows: Sequence[Fares], causes: Mapping[str, str]) -> Iterator[str]:
    columns = list(rows[0][1])
    head = ["release", "CUDA", *(card.capability for card in columns)]
    yield _line(head)
    yield _line(["---"] * len(head))
    for group in _groups(rows, causes):
        (newest, verdicts), oldest = group[0], group[-1][0]
        name = newest.version if len(group) == 1 else f"{oldest.version} to {newest.version}"
        yield _line([name, _cuda(newest), *(cell(verdicts[card], causes) for card in columns)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cuda(release: Release) -> str:
    return with_minor(str(release.row.get("cuda", UNKNOWN)), release.row)


def _groups(rows: Sequence[Fares], causes: Mapping[str, str]) -> list[list[Fares]]:
    """Return releases that follow one another and fare alike together; those for each CUDA apart."""
    groups: list[list[Fares]] = []
    ordered = sorted(rows, key=lambda row: _order(row[0]), reverse=True)
    for row in ordered:
        if groups and _cells(groups[-1][0], causes) == _cells(row, causes):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _order(release: Release) -> tuple[bool, tuple[int, ...]]:
    """Return what to order by: Paddle's old builds for one CUDA each (1.8.5.post107) end its table.

    So do TensorFlow's under its other name.
    """
    label = release.version.partition(".post")[2] if release.framework == "paddle" else ""
    return not label and _kind(release) != "gpu", _cuda_of_kind(label or _kind(release))


def _kind(release: Release) -> str:
    return release.version.partition(" ")[2]


def _cuda_of_kind(kind: str) -> tuple[int, ...]:
    """Return the CUDA in a kind of build, to order by: 13 of cuda13 and cuda13x, 11.5 of cuda115."""
    digits = "".join(character for character in kind if character.isdecimal())
    if kind.endswith("x") or not digits:
        return int(digits or 0), 99
    return (int(digits[:-1]), int(digits[-1])) if len(digits) > 2 or int(digits) > 20 else (int(digits), 0)


def _cells(row: Fares, causes: Mapping[str, str]) -> tuple[str, ...]:
    release, verdicts = row
    return (_kind(release), _cuda(release), *(cell(verdict, causes) for verdict in verdicts.values()))


def cell(verdict: Verdict, causes: Mapping[str, str]) -> str:
    """Return the oldest driver branch and how it runs, or the word for what keeps it from the card."""
    if verdict.kind == "stopped":
        return _word(verdict.rule, causes)
    if verdict.kind == "open":
        return UNKNOWN
    cured = "".join(f" [{_word(rule, causes)}]" for rule in verdict.cured)
    return f"{verdict.driver.partition('.')[0]}{MARKS[verdict.kind]}{cured}"


def _word(rule: str, causes: Mapping[str, str]) -> str:
    return SHORT.get(causes[rule], causes[rule])


# -- words ---------------------------------------------------------------------------------------------


def _legend(verdicts: Sequence[Verdict], database: RuleDatabase) -> list[str]:
    """Return what the words in the cells mean, with the pages that were at work."""
    named = {verdict.rule for verdict in verdicts if verdict.kind == "stopped"}
    named |= {rule for verdict in verdicts for rule in verdict.cured}
    found = sorted((rule for rule in database.rules if rule.id in named), key=lambda rule: rule.id)
    causes = {rule.id: rule.cause for rule in database.rules}
    lines = [f"- {_word(rule.id, causes)}: `{rule.cause}`, [{rule.id}](../../rules/{rule.path}) "
             f"({rule.title})" for rule in found]
    return ["## What the words mean", "", *lines, ""] if lines else []


def _refused(framework: str, database: RuleDatabase) -> list[str]:
    rows = [row for row in database.tables["broken_extras"].rows if row["framework"] == framework]
    if not rows:
        return []
    lines = [f"- {row['version']}, Python {', '.join(as_texts(row['python']))}: {row['reason']}"
             for row in rows]
    return ["## What pip refuses to install with its CUDA extra", "", *lines]


INDEX = """\
# Which release runs on which card

What gpudoctor's engine says of every release of a framework on every generation of cards with every driver
branch, worked out from the tables in `rules/tables/`, which were read out of the published wheels. Nothing
here was typed in, and nothing of it was run on these cards: it is what the device code, the libraries and
the drivers' versions say. What surprised in it is in [findings.md](../findings.md). Ask of one combination:

    gpudoctor check --depth static --assume cc=9.0 --assume driver=550.54.14 \\
        --assume "release=tensorflow==2.20.0"

[TensorFlow](tensorflow.md), [PyTorch](torch.md), [JAX](jax.md), [PaddlePaddle](paddle.md),
[CuPy](cupy.md) (which `--assume release=` does not take)

## How to read a cell

- `525`: runs, from driver branch 525 on, up to the newest that serves the card. Each branch stands for its
  release that is named below.
- `555+`: runs from 555 on; part of the code is PTX, which the driver compiles when it is first used.
- `530 JIT`: runs from 530 on; there is no machine code for the card, so the first start takes many minutes.
- `525 [path]`: runs so after the safe fix that the page of that word gives: a variable (path), or an older
  cuDNN (cuDNN).
- a word (`old`, `new`, `driver`): does not run with any driver of the card; what it means is said below the
  table.
- `?`: the tables do not say enough.

Left out: Windows and WSL, Jetson boards (their frameworks are NVIDIA's own wheels), conda, NVIDIA's images.
"""


DATA_TYPES = """\
## Reduced precision and MIG

A program asks for a reduced precision (mixed precision, a bfloat16 model); the card decides what comes of it.
Where the second column lacks it, it is computed in software or refused. The third column is what the tensor
cores take, from 7.5 on by the table of NVIDIA's programming guide: where it lacks a type, that type saves
memory and hardly any time. A dash means that the tables have nothing about it.
"""


def _data_types(cards: Sequence[Card], database: RuleDatabase) -> list[str]:
    """Return what each generation computes in, and which cards can be cut up."""
    lines = [DATA_TYPES, "| compute capability | computes in | tensor cores | MIG |",
             "| --- | --- | --- | --- |"]
    for card in cards:
        own = [str(row["precision"]) for row in database.tables["precisions"].rows
               if versions.parse(str(row["first_compute_capability"])) <= versions.parse(card.capability)]
        lines.append(_line([card.capability, ", ".join(own) or "-", _feature(card, "tensor core", database),
                            _feature(card, "mig", database)]))
    return lines


def _feature(card: Card, name: str, database: RuleDatabase) -> str:
    rows = [row for row in database.tables["architecture_features"].rows
            if row["compute_capability"] == card.capability and str(row["feature"]).startswith(name)]
    values = [value for row in rows for value in as_texts(row["values"])]
    return ", ".join(values) or "-"


def index(cards: Sequence[Card], database: RuleDatabase) -> str:
    """Return the page that says how to read the others."""
    sold = products(database)
    lines = [GENERATED, "", INDEX, "## Cards", "",
             "| compute capability | generation | for example | drivers |", "| --- | --- | --- | --- |"]
    for card in cards:
        names = sorted(sold[card.capability], key=lambda name: (len(name), name))[:EXAMPLES]
        first, last = (version.partition(".")[0] for version in (card.drivers[0], card.drivers[-1]))
        lines.append(_line([card.capability, card.generation, ", ".join(names), f"{first} to {last}"]))
    lines += ["", *_data_types(cards, database)]
    lines += ["", "## Drivers", "", f"{', '.join(drivers(database))}.", "",
              f"Rules {database.version}."]
    return "\n".join(lines) + "\n"
