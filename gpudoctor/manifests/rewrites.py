"""What can be put right in a file without asking anybody: each change small, and proven by judging again."""

from __future__ import annotations

import difflib
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from gpudoctor.frozen import frozen
from gpudoctor.manifests import releases
from gpudoctor.manifests.choices import Chosen
from gpudoctor.manifests.judging import Located, Verdicts
from gpudoctor.manifests.otherwise import Offer
from gpudoctor.manifests.spans import ManifestError, Place, Source
from gpudoctor.manifests.statements import Asked, Environment

_JAX_EXTRA = re.compile(r"jax\[(cuda[0-9]+)\]")
_OF_CUDA = re.compile(r"[-\[+]cu(?:da)?(1[0-9])")
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_CAPABILITIES = "NVIDIA_DRIVER_CAPABILITIES"
_FORGOTTEN = ("pip-nvidia-libs-not-installed", "pip-nvidia-libs-not-found")
_DRIVERS = ("driver-in-image", "driver-in-image-newer")
_DRIVER_INSTEAD = "file.driver_instead"
_UNKNOWN = "a release that these rules do not know"  # counted as if a rule said so
_UNREADABLE = "a file that is none of its kind any more"
_NO_END = "\\ No newline at end of file"
_NEEDED = ("compute", "utility")
_ITEM = re.compile(r"[ \t]*-[ \t]+['\"]?\Z")  # what stands before an item on a line of its own


@frozen
class Rewrite:
    """A text to put in place of what stands somewhere, and the rule whose finding that cures.

    `meanwhile` are rules that then warn until what is to be changed by hand is changed as well.
    """

    place: Place
    rule: str
    text: str
    meanwhile: frozenset[str] = frozenset()


def proven(findings: Sequence[Located], texts: Mapping[str, str],
           judge_again: Callable[[Mapping[str, str]], Verdicts]) -> tuple[Rewrite, ...]:
    """Return the changes after which what they are for is gone and nothing else has come."""
    def after(rewrites: Sequence[Rewrite]) -> Counter[str]:
        try:
            return _counted(judge_again(applied(texts, rewrites)))
        except ManifestError:  # as of brackets in a list of YAML that stands in brackets
            return Counter({_UNREADABLE: 1})

    kept: list[Rewrite] = []
    now = _counted(judge_again(texts))
    every = [one for finding in findings for one in _rewrites(finding, texts)]
    left = _apart(every)
    wanted = Counter(one.rule for one in left)
    then = after(left) if left else now
    if not _more(then, now, left) and all(then.get(rule, 0) + count <= now.get(rule, 0)
                                    for rule, count in wanted.items()):
        return tuple(left)
    is_changed = True
    while is_changed:  # what is not proven by itself may be beside another change
        is_changed = False
        for rewrite in every:
            if any(_touch(rewrite, other) for other in kept):
                continue
            then = after([*kept, rewrite])
            if then.get(rewrite.rule, 0) < now.get(rewrite.rule, 0) and not _more(then, now, [rewrite]):
                kept.append(rewrite)
                now, is_changed = then, True
    return tuple(kept)


def _counted(verdicts: Verdicts) -> Counter[str]:
    """Return how often each rule speaks, and how many releases are asked for that nobody knows."""
    return Counter([*(one.finding.rule for one in verdicts.findings),
                    *(_UNKNOWN for note in verdicts.notes if note.is_unknown)])


def _more(then: Mapping[str, int], now: Mapping[str, int], rewrites: Sequence[Rewrite]) -> bool:
    meanwhile = frozenset().union(*(one.meanwhile for one in rewrites))
    return any(count > now.get(rule, 0) for rule, count in then.items() if rule not in meanwhile)


def _apart(rewrites: Sequence[Rewrite]) -> list[Rewrite]:
    """Return changes of which no two touch one another, the first of each kept."""
    found: list[Rewrite] = []
    for one in rewrites:
        if not any(_touch(one, other) for other in found):
            found.append(one)
    return found


def _touch(one: Rewrite, other: Rewrite) -> bool:
    return (one.place.file == other.place.file and one.place.start < other.place.end
            and other.place.start < one.place.end)


def applied(texts: Mapping[str, str], rewrites: Sequence[Rewrite]) -> dict[str, str]:
    """Return the texts with the changes made."""
    changed = dict(texts)
    for one in sorted(rewrites, key=lambda rewrite: -rewrite.place.start):
        text = changed[one.place.file]
        changed[one.place.file] = text[:one.place.start] + one.text + text[one.place.end:]
    return changed


def diff(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Return the changes as a unified diff, as patch and git take it."""
    found: list[str] = []
    for name, text in before.items():
        if after[name] != text:
            shown = name.lstrip("/")
            lines = difflib.unified_diff(_lines(text), _lines(after[name]), f"a/{shown}", f"b/{shown}")
            found += [line if line.endswith("\n") else f"{line}\n{_NO_END}\n" for line in lines]
    return "".join(found)


def _lines(text: str) -> list[str]:
    """Return lines with their ends, which are line feeds alone, as for patch."""
    parts = text.split("\n")
    return [*(f"{part}\n" for part in parts[:-1]), *([parts[-1]] if parts[-1] else [])]


# -- what to write instead ---------------------------------------------------------------------------------


def _rewrites(located: Located, texts: Mapping[str, str]) -> Iterator[Rewrite]:
    """Yield what may be written in place of a statement, the best first."""
    index = _other_index(located, texts)
    if index is not None:
        yield index
        return
    commands = [command for fix in located.finding.fixes for command in fix.commands]
    extras = [match[1] for command in commands if (match := _JAX_EXTRA.search(command))]
    for extra in extras or ("",):
        text = _instead(located, texts, extra)
        if text is not None:
            yield Rewrite(place=located.place, rule=located.finding.rule, text=text,
                          meanwhile=located.offer.meanwhile if located.offer else frozenset())


def _instead(located: Located, texts: Mapping[str, str], extra: str) -> str | None:
    cause, environment = located.finding.cause, located.environment
    if cause == "requirement-not-quoted":
        lost = next((one for one in environment.lost if one.place == located.place), None)
        return shlex.quote(lost.meant) if lost is not None and lost.rewritable else None
    if cause == "docker-driver-capabilities":
        return _capabilities(located, texts)
    if cause in _DRIVERS:
        return _without_driver(located, texts)
    chosen = _chosen(located)
    if chosen is None or not chosen.asked.rewritable:
        return None
    if located.offer is not None:
        return (_other_build(chosen.asked, located.offer, texts)
                or _without_release(cause, chosen, located.offer, texts))
    if cause == "pip-nvidia-libs-not-installed" and chosen.distribution == "tensorflow" and chosen.stack:
        return _with_extra(chosen.asked, chosen.stack.extra, texts)
    if cause == "jax-cuda-plugin-missing":
        return _with_extra(chosen.asked, _fitting(extra, chosen.asked, environment), texts)
    return None


def _chosen(located: Located) -> Chosen | None:
    """Return what is asked for at the place of a finding."""
    chosen = located.laid.chosen if located.laid is not None else ()
    return next((one for one in chosen if one.asked.place == located.place), None)


def _fitting(extra: str, asked: Asked, environment: Environment) -> str:
    """Return an extra for the CUDA that other requirements name; "" where they name several."""
    majors = {match[1] for one in environment.asked if one is not asked
              and (match := _OF_CUDA.search(one.text))}
    return extra if not majors else f"cuda{majors.pop()}" if len(majors) == 1 else ""


def _without_release(cause: str, chosen: Chosen, offer: Offer, texts: Mapping[str, str]) -> str | None:
    """Return a requirement that leaves the release to pip without the one that forgets its libraries."""
    is_exact = any(bound.operator in ("==", "===") and not bound.version.endswith(".*")
                   for bound in chosen.requirement.specifier)
    if cause not in _FORGOTTEN or is_exact or chosen.stack is None or offer.stack is None or (
            not releases.admits(chosen.requirement, offer.stack.version)):
        return None
    return _with_extra(chosen.asked, offer.stack.extra, texts, without=chosen.stack.version)


def _with_extra(asked: Asked, extra: str, texts: Mapping[str, str], *, without: str = "") -> str | None:
    """Return a requirement with one extra more, in the quotes in which it stood; `without` one release."""
    requirement, name = releases.requirement_of(asked), _NAME.match(asked.text.strip())
    if requirement is None or name is None or not extra:
        return None
    kept = {one for one in requirement.extras if not one.startswith("cuda")}  # one that the release lacks
    extras = ",".join(sorted({*kept, extra}))
    rest = re.sub(r"\A\s*\[[^\]]*\]", "", asked.text.strip()[name.end():])
    bounds, semicolon, marker = rest.partition(";")
    if without and not bounds.lstrip().startswith("("):
        own = bounds.rstrip()
        rest = f"{own}{',' if own else ''}!={without}{bounds[len(own):]}{semicolon}{marker}"
    new = f"{name[0]}[{extras}]{rest}"
    written = texts[asked.place.file][asked.place.start:asked.place.end]
    if written == asked.text.strip():
        return shlex.quote(new) if asked.in_shell else new
    return f"{written[0]}{new}{written[0]}" if written[:1] in ("'", '"') else None


def _other_index(located: Located, texts: Mapping[str, str]) -> Rewrite | None:
    """Return the address of PyTorch's index for another CUDA, where it has the release that is asked for.

    Only one that stands there once, as nothing else in the file is for its CUDA; a label would name the old.
    """
    offer, chosen = located.offer, _chosen(located)
    stack = offer.stack if offer is not None else None
    if offer is None or stack is None or stack.index is None or not offer.is_same or chosen is None:
        return None
    text, written = texts.get(located.place.file, ""), (chosen.asked.index or "").rstrip("/")
    label, other = written.rpartition("/")[2], stack.index.rstrip("/")
    if not written or text.count(written) != 1 or text.count(label) != 1 or (
            written.rpartition("/")[0] != other.rpartition("/")[0]):
        return None
    at = text.index(written)
    place = Source(located.place.file, text).place(at, at + len(written))
    return Rewrite(place=place, rule=located.finding.rule, text=other, meanwhile=offer.meanwhile)


def _other_build(asked: Asked, offer: Offer, texts: Mapping[str, str]) -> str | None:
    """Return a requirement on the same release of JAX for another CUDA; its bounds stay as they were."""
    is_jax = offer.is_same and offer.stack is not None and offer.stack.framework == "jax"
    own = [extra for extra in releases.extras_of(asked) if extra.startswith("cuda")]
    return _with_extra(asked, offer.stack.extra, texts) if is_jax and own and offer.stack else None


def _without_driver(located: Located, texts: Mapping[str, str]) -> str | None:
    """Return the package that brings the same CUDA without a driver, as the one with it is written."""
    written = texts[located.place.file][located.place.start:located.place.end]
    package = next((one for one in located.environment.packages if one.place == located.place), None)
    instead = located.said.get(_DRIVER_INSTEAD)
    if package is None or not isinstance(instead, str):
        return None
    quote = written[:1] if written[:1] in ("'", '"') else ""
    return f"{quote}{instead}{quote}" if written == f"{quote}{package.text}{quote}" else None


def _capabilities(located: Located, texts: Mapping[str, str]) -> str | None:
    setting = located.environment.settings.get(_CAPABILITIES)
    if setting is None or setting.value is None or setting.place != located.place:
        return None
    written = texts[located.place.file][located.place.start:located.place.end]
    own = [part.strip() for part in setting.value.split(",") if part.strip()]
    if setting.is_listed:
        return _with_items([name for name in _NEEDED if name not in own], located.place, texts)
    value = ",".join(dict.fromkeys((*_NEEDED, *own)))
    found = re.fullmatch(rf"({_CAPABILITIES}[= ]\s*|)(['\"]?){re.escape(setting.value)}\2", written)
    return f"{found[1]}{found[2]}{value}{found[2]}" if found else None


def _with_items(more: Sequence[str], place: Place, texts: Mapping[str, str]) -> str:
    """Return an item of a list in YAML with others before it, written as it is; what is behind it stays."""
    text = texts[place.file]
    before = text[text.rfind("\n", 0, place.start) + 1:place.start]
    end = "\r\n" if "\r\n" in text else "\n"
    quote = before[-1:] if before[-1:] in ("'", '"') else ""
    between = f"{quote}{end}{before}" if _ITEM.match(before) else f"{quote}, {quote}"
    return between.join((*more, text[place.start:place.end]))
