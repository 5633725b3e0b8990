"""What is asked for: `tensorflow==2.15.*`, several of one framework joined, each against what is known."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Sequence

from gpudoctor import versions
from gpudoctor.derive import planned
from gpudoctor.derive.requirements import RequirementError
from gpudoctor.derive.stacks import Stack, known_versions, stacks_of
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.frozen import frozen
from gpudoctor.model import Tables

_FORM = re.compile(
    r"\s*([A-Za-z][A-Za-z0-9_.-]{0,40})\s*(?:\[\s*([\w.-]{1,20})\s*\])?\s*((?:>=|<=|===?|!=|~=|>|<).{1,80})?\s*\Z",
    re.ASCII)
_OTHER_NAMES = {"tf": "tensorflow", "pytorch": "torch", "paddlepaddle": "paddle",
                "paddlepaddle-gpu": "paddle"}
_PLATFORMS = ("linux_x86_64", "linux_aarch64")
_NEAREST = 3
_LONGEST = 80


class WishError(RequirementError):
    """A wish cannot be fulfilled by anything that is known; one line that says why and what would do."""


@frozen
class Wish:
    """A framework, the bounds on its version as they were written, and the extra that was named."""

    framework: str
    bounds: tuple[str, ...] = ()
    extra: str = ""

    @property
    def text(self) -> str:
        """Return the wish as pip would be told."""
        return f"{self.framework}{f'[{self.extra}]' if self.extra else ''}{','.join(self.bounds)}"

    @property
    def is_exact(self) -> bool:
        """Return whether one release is named, so that it is told of even where little is known of it."""
        return any(bound.startswith("==") and not bound.endswith("*") for bound in self.bounds)

    def allows(self, version: str) -> bool:
        """Return whether a final release meets the bounds; a local label is a matter of the index."""
        return not versions.parse(version).is_prerelease and _meets(version, self.bounds)

    def admits(self, stack: Stack) -> bool:
        """Return whether a stack is what is wished for."""
        labelled = stack.release.partition("==")[2]
        return self.extra in ("", stack.extra) and all(versions.within(labelled, b) for b in self.bounds)


def parse(texts: Iterable[str], tables: Tables, *, pre: bool = False) -> tuple[Wish, ...]:
    """Return one wish for each framework that the texts name; raise `WishError`."""
    joined: dict[str, Wish] = {}
    for text in texts:
        wish = _parse_one(text)
        before = joined.get(wish.framework, Wish(framework=wish.framework))
        if before.extra and wish.extra and before.extra != wish.extra:
            raise WishError(f"{wish.framework}[{before.extra}] and {wish.framework}[{wish.extra}] contradict "
                            "one another: one environment holds one of them")
        bounds = tuple(dict.fromkeys((*before.bounds, *wish.bounds)))
        joined[wish.framework] = Wish(framework=wish.framework, bounds=bounds,
                                      extra=wish.extra or before.extra)
    for wish in joined.values():
        _require_known(wish, tables, pre=pre)
        _require_extra(wish, tables)
    return tuple(joined.values())


def _parse_one(text: str) -> Wish:
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    match = _FORM.match(text[:4 * _LONGEST])
    if match is None:
        raise WishError(f"{shown!r} is no framework: write NAME or NAME==VERSION, for example "
                        "tensorflow==2.15.*")
    name = versions.distribution_name(match[1])
    framework = _OTHER_NAMES.get(name, name)
    if framework not in FRAMEWORKS:
        near = difflib.get_close_matches(name, (*FRAMEWORKS, *_OTHER_NAMES), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise WishError(f"unknown framework {match[1]!r}{hint} (known: {', '.join(FRAMEWORKS)})")
    bounds = tuple(part.strip() for part in (match[3] or "").split(",") if part.strip())
    for bound in bounds:
        try:
            versions.within("1", bound)
        except versions.Incomparable:
            raise WishError(f"{shown!r}: {bound!r} is no bound on a version; write ==2.15.* or >=2.14"
                            ) from None
    return Wish(framework=framework, bounds=bounds, extra=planned.extra_name(match[2] or ""))


# -- what is known -------------------------------------------------------------------------------------------


def _require_known(wish: Wish, tables: Tables, *, pre: bool) -> None:
    """Raise `WishError` where no release that is known meets the bounds, naming the fewest that clash."""
    known = known_versions(wish.framework, tables)
    meeting = [version for version in known if _meets(version, wish.bounds)]
    if any(pre or not versions.parse(version).is_prerelease for version in meeting):
        return
    if meeting:
        raise WishError(f"{wish.text}: only pre-releases meet it ({', '.join(meeting[:_NEAREST])}); "
                        "add --pre to have them considered")
    for bound in wish.bounds:
        if not any(_meets(version, (bound,)) for version in known):
            near = _nearest(bound, known)
            are = "is" if len(near) == 1 else "are"
            raise WishError(f"{wish.framework}{bound}: these rules know no such release; the nearest {are} "
                            f"{', '.join(near)} (newer rules: pip install --upgrade gpudoctor-rules)")
    clash = _smallest_clash(wish.bounds, known)
    raise WishError(f"{' and '.join(f'{wish.framework}{bound}' for bound in clash)} contradict one another: "
                    "no release that these rules know meets them all")


def _require_extra(wish: Wish, tables: Tables) -> None:
    """Raise `WishError` where no release that is wished for has the extra that was named."""
    every = [stack for platform in _PLATFORMS for stack in stacks_of(wish.framework, platform, tables)]
    if not wish.extra or any(wish.admits(stack) for stack in every):
        return
    having = [one.version for one in every if one.extra == wish.extra and not one.is_prerelease]
    if having:
        ends = sorted(set(having), key=versions.parse)
        raise WishError(f"{wish.text}: no such release has the extra {wish.extra}; {ends[0]} to {ends[-1]} "
                        "have it")
    known = ", ".join(sorted({stack.extra for stack in every} - {""}))
    raise WishError(f"{wish.framework}[{wish.extra}]: {wish.framework} has no such extra that brings CUDA"
                    f"{f' (known: {known})' if known else ', and needs none'}")


def _smallest_clash(bounds: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    for count in range(2, len(bounds)):
        for some in itertools.combinations(bounds, count):
            if not any(_meets(version, some) for version in known):
                return some
    return tuple(bounds)


def _meets(version: str, bounds: Sequence[str]) -> bool:
    """Return whether a version meets every bound; a local label is a matter of the index."""
    return all(versions.within(version, bound.partition("+")[0]) for bound in bounds)


def _nearest(bound: str, known: Sequence[str]) -> list[str]:
    """Return the final releases next to the version that a bound names, the newest first."""
    final = [version for version in known if not versions.parse(version).is_prerelease]
    wanted = bound.lstrip("=<>!~ ").partition("+")[0].removesuffix(".*")
    try:
        middle = versions.parse(wanted)
    except versions.Incomparable:
        return final[:_NEAREST]
    below = [version for version in final if versions.parse(version) < middle]
    above = [version for version in final if versions.parse(version) > middle]
    spread = [*above[-1:], *below[:_NEAREST - len(above[-1:])]]
    return spread or final[:_NEAREST]
