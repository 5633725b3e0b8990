"""Whether pip can install releases into one environment, and what it would then be told."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpudoctor import versions
from gpudoctor.derive import planned, published
from gpudoctor.derive.stacks import Stack
from gpudoctor.derive.view import as_texts
from gpudoctor.frozen import frozen
from gpudoctor.model import Rejection, Row, RuleDatabase, rows_of

UNMET, _SAME_FILES = "python-deps-abi", "wheel-file-collision"
_NEXT = ("", ".0.1", ".1")  # of a bound that is excluded, versions just beside it


@frozen
class Asked:
    """What one release asks of a distribution."""

    framework: str
    distribution: str
    bounds: str


def rule_of(cause: str, database: RuleDatabase) -> str:
    """Return the id of the rule for a cause, the cause itself where the rules have none."""
    return next((rule.id for rule in database.rules if rule.cause == cause), cause)


def left_open(rule: str, why: str, about: str = "") -> Rejection:
    """Return that a candidate could not be judged, by the rule that would have judged it."""
    said = f" ({about})" if about else ""
    return Rejection(rule=rule, message=f"could not be judged{said}: {why}", is_open=True)


class Together:
    """Says of releases whether pip can install them together; what was worked out is kept."""

    def __init__(self, database: RuleDatabase) -> None:
        self._database = database
        self._listed: dict[str, Mapping[str, set[str]]] = {}
        self._asked: dict[str, dict[str, Asked]] = {}
        self._shared: dict[frozenset[str], Row] = {}  # of those that share several files, the first
        for row in rows_of(database.tables, "nvidia_shared_files"):
            names = frozenset(planned.names(as_texts(row["distributions"])))
            self._shared.setdefault(names, row)
        self._asks: dict[str, frozenset[tuple[str, str]]] = {}
        self._meeting: dict[tuple[str, ...], bool] = {}
        self._clashes: dict[tuple[str, ...], Rejection | None] = {}

    def clash(self, stacks: Sequence[Stack], added: Mapping[str, Sequence[str]] | None = None
              ) -> Rejection | None:
        """Return why pip cannot install these together, None where it can as far as the tables know.

        `added` are the requirements that a framework needs beside what its release asks for.
        """
        if added:
            return self._clash(stacks, added)
        key = tuple([stack.release for stack in stacks])
        if key not in self._clashes:
            self._clashes[key] = self._clash(stacks, {})
        return self._clashes[key]

    def _clash(self, stacks: Sequence[Stack], added: Mapping[str, Sequence[str]]) -> Rejection | None:
        wanted = [self._of(stack, added.get(stack.framework, ())) for stack in stacks]
        for name in dict.fromkeys(name for one in wanted for name in one):
            asked = [one[name] for one in wanted if name in one]
            if len(asked) > 1 and not self._some_version(name, asked, str(stacks[0].row["platform"])):
                said = ", ".join(f"{one.framework} asks for {name}{one.bounds}" for one in asked)
                return Rejection(rule=rule_of(UNMET, self._database),
                                 message=f"no version meets both: {said}")
        return self._same_files(wanted)

    def lasting_clash(self, stacks: Sequence[Stack], framework: str, added: Sequence[str]) -> Stack | None:
        """Return of which release a package writes the files of one that is `added` for a framework.

        Whatever is added besides, it still does.
        """
        wanted = [self._of(stack, added if stack.framework == framework else ()) for stack in stacks]
        own = dict(zip((stack.framework for stack in stacks), wanted, strict=True)).get(framework, {})
        return next((stack for one, stack in zip(wanted, stacks, strict=True)
                     if stack.framework != framework and self._same_files([own, one]) is not None), None)

    def brings_any(self, stack: Stack, texts: Iterable[str]) -> bool:
        """Return whether a release asks for one of the distributions that requirements name."""
        return not self._of(stack, ()).keys().isdisjoint(planned.names(texts))

    def asks(self, stack: Stack) -> frozenset[tuple[str, str]]:
        """Return what a release asks for of each distribution."""
        if stack.release not in self._asks:
            self._asks[stack.release] = frozenset(
                (one.distribution, one.bounds) for one in self._of(stack, ()).values())
        return self._asks[stack.release]

    def _of(self, stack: Stack, added: Sequence[str]) -> dict[str, Asked]:
        if stack.release not in self._asked:
            self._asked[stack.release] = {
                one.distribution: one for column in ("requires_nvidia", "requires")
                for one in _asked(stack, as_texts(stack.row.get(column)))}
        return {**self._asked[stack.release], **{one.distribution: one for one in _asked(stack, added)}}

    def _some_version(self, name: str, asked: Sequence[Asked], platform: str) -> bool:
        """Return whether a version is known, or named in the bounds, that meets them all."""
        key = (platform, name, *(one.bounds for one in asked))
        if key not in self._meeting:
            bounds = [bound for one in asked for bound in one.bounds.split(",") if bound]
            named = [bound.lstrip("=<>!~ ").removesuffix(".*") for bound in bounds]
            beside = (f"{version}{end}" for version in named for end in _NEXT)
            known = itertools.chain(beside, self._published(platform).get(name, ()))
            self._meeting[key] = not bounds or any(versions.meets(version, bounds) for version in known)
        return self._meeting[key]

    def _published(self, platform: str) -> Mapping[str, set[str]]:
        """Return versions of NVIDIA's packages that there are for a platform, by name."""
        if platform not in self._listed:
            table = self._database.tables.get(published.nvidia_table(platform))
            found: dict[str, set[str]] = {}
            for row in published.for_platform(table, platform).rows if table else ():
                ends = {str(row["since"]), str(row["version"])}
                found.setdefault(str(row["distribution"]), set()).update(ends)
            self._listed[platform] = found
        return self._listed[platform]

    def _same_files(self, wanted: Sequence[dict[str, Asked]]) -> Rejection | None:
        """Return the two packages of two releases that write the same files, of which the last would win."""
        for shared, row in self._shared.items():
            owned = sorted({(name, one[name].framework) for one in wanted for name in shared & one.keys()})
            for one, other in itertools.combinations(owned, 2):
                if one[0] != other[0] and one[1] != other[1]:
                    said = " and ".join(f"{name} ({framework})" for name, framework in (one, other))
                    return Rejection(rule=rule_of(_SAME_FILES, self._database),
                                     message=f"{said} both write {row['folder']}/{row['library']}")
        return None


def _asked(stack: Stack, texts: Iterable[str]) -> Iterator[Asked]:
    for requirement in planned.parse(texts):
        yield Asked(framework=f"{stack.framework} {stack.version}", bounds=str(requirement.specifier),
                    distribution=requirement.name.lower())


def merged(texts: Iterable[str]) -> tuple[str, ...]:
    """Return requirements with all bounds on one distribution in one, as pip resolves them."""
    bounds: dict[str, list[str]] = {}
    for requirement in planned.parse(texts):
        bounds.setdefault(requirement.name.lower(), []).append(str(requirement.specifier))
    return tuple(name + versions.tightest(",".join(filter(None, parts))) for name, parts in bounds.items())
