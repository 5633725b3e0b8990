"""What importers find while they read: a growing collection, settled into one answer by `settle.py`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gpudoctor.facts import CATALOGUE
from gpudoctor.model import Facts, Known, Snapshot, Tables, Value
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank, Statement
from gpudoctor.sources.values import cuda_of_suffix, says_nothing
from gpudoctor.versions import cuda_of_post, distribution_name, is_version

MOST = 4000  # statements, packages and cards each; a text with more repeats itself
NAMES = {  # distribution -> framework.name
    "tensorflow": "tensorflow", "tensorflow-gpu": "tensorflow", "tensorflow-cpu": "tensorflow",
    "tensorflow-intel": "tensorflow", "tensorflow-base": "tensorflow", "tf-nightly": "tensorflow",
    "tf-nightly-gpu": "tensorflow", "tensorflow-macos": "tensorflow", "tensorflow-aarch64": "tensorflow",
    "tensorflow-cpu-aws": "tensorflow", "nvidia-tensorflow": "tensorflow", "torch": "torch",
    "pytorch": "torch",
    "pytorch-gpu": "torch", "pytorch-cpu": "torch", "jax": "jax", "paddlepaddle": "paddle",
    "paddlepaddle-gpu": "paddle",
}
# A distribution that is there beside the one that provides the package says nothing of its version.
_SECONDARY = frozenset({"tensorflow-intel", "tensorflow-base"})


def _fits(fact: str, value: Value) -> bool:
    """Say whether a version is one: "2A.4.6" is not."""
    is_meant = CATALOGUE[fact.partition(":")[0]].type.value.endswith(("_version", "_capability"))
    return not is_meant or is_version(str(value))


class Found:
    """Statements, lists and cards, each with the line that says them.

    `known` are the cards of the table, `machines` the processors of machines that people name, `generations`
    the words for generations of cards, `tables` what single importers look up more in.
    """

    def __init__(self, known: Mapping[str, frozenset[str]], machines: Mapping[str, str],
                 generations: Collection[str] = (), tables: Tables | None = None) -> None:
        self.known = known
        self.machines = machines
        self.generations = generations
        self.tables: Tables = tables or {}
        self.statements: list[Statement] = []
        self.mentions: dict[str, dict[str, str]] = {}
        self.absences: dict[str, str] = {}
        self.packages: dict[tuple[str, str], str] = {}
        self.whole_list: str | None = None  # where a list of all packages of an environment stands
        self.cards: list[tuple[Rank, tuple[Facts, ...]]] = []
        self.no_cards: str | None = None
        self.frameworks: dict[str, list[Statement]] = {}
        self.snapshot: Snapshot | None = None

    def say(self, fact: str, value: Value | None, source: str, rank: Rank = Rank.REPORTED) -> None:
        """Note a scalar fact, unless there is no value, or none of its type."""
        if value is not None and value != "" and len(self.statements) < MOST and _fits(fact, value):
            self.statements.append(Statement(fact=fact, value=value, source=source, rank=rank))

    def deny(self, fact: str, source: str) -> None:
        """Note that a line shows that there is none; a statement of one outranks it."""
        self.absences.setdefault(fact, source)

    def mention(self, fact: str, value: str, source: str) -> None:
        """Note one item of a list; the first line that has it is the source."""
        listed = self.mentions.setdefault(fact, {})
        if len(listed) < MOST:
            listed.setdefault(value, source)

    def card(self, facts: Mapping[str, Value | None], source: str) -> Facts:
        """Return the facts of one card; those without a value are left out."""
        return {name: Known(value=value, source=source) for name, value in facts.items() if value is not None}

    def list_cards(self, cards: list[Facts], rank: Rank = Rank.REPORTED) -> None:
        """Note the cards that one report lists, in its order."""
        if cards and len(self.cards) < MOST:
            self.cards.append((rank, tuple(cards[:64])))

    def framework(self, name: str, fact: str, value: Value | None, source: str,
                  rank: Rank = Rank.REPORTED) -> None:
        """Note a fact of a framework (tensorflow, torch, jax, paddle)."""
        if value is not None and _fits(fact, value) and len(self.frameworks.setdefault(name, [])) < MOST:
            self.frameworks[name].append(Statement(fact=fact, value=value, source=source, rank=rank))

    def package(self, name: str, version: str, source: str) -> None:
        """Note an installed distribution, and what it says of a framework."""
        name = distribution_name(name)
        if len(self.packages) >= MOST or says_nothing(version) or (name, version) in self.packages:
            return
        self.packages[name, version] = source
        framework = NAMES.get(name)
        if framework is not None and name not in _SECONDARY:
            self.framework(framework, "framework.distribution", name, source)
            self.framework_version(framework, version, source)
        self._package_facts(name, version, source)

    def _package_facts(self, name: str, version: str, source: str) -> None:
        if name == "pip":
            self.say("python.pip_version", version, source)
        elif name in ("numpy", "protobuf"):
            self.say(f"python.{name}", version, source)
        elif name == "python":
            self.say("python.version", version, source)
        elif name in ("cudatoolkit", "cudnn"):  # conda's
            self.say("text.cuda" if name == "cudatoolkit" else "text.cudnn", version, source)

    def framework_version(self, framework: str, version: str, source: str,
                          rank: Rank = Rank.REPORTED) -> None:
        """Note a framework's version, and its build where the version names it."""
        self.framework(framework, "framework.version", version, source, rank)
        cuda = cuda_of_post(version) if framework == "paddle" else None
        build = ("cuda", cuda) if cuda is not None else cuda_of_suffix(version)
        if build is not None:
            self.framework(framework, "framework.build", build[0], source, rank)
            self.framework(framework, "framework.cuda", build[1], source, rank)


def after(text: Text, index: int, marks: tuple[str, ...]) -> str | None:
    """Return what follows the first of `marks` in a line, None if it has none of them."""
    line = text.lines[index]
    for mark in marks:
        position = line.find(mark)
        if position >= 0:
            return line[position + len(mark):].strip()
    return None
