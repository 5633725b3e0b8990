"""From all that importers found to one answer: which statement counts where several speak of one fact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gpudoctor.facts import CATALOGUE, LISTS
from gpudoctor.model import Absent, Fact, Facts, Known, Snapshot, Unknown
from gpudoctor.sources import places
from gpudoctor.sources.cards import capabilities_named, capability_named, maker_is_nvidia
from gpudoctor.sources.found import Found
from gpudoctor.sources.frameworks import CATALOGUED, STATED_NAME
from gpudoctor.sources.installed import conclude
from gpudoctor.sources.stated import Rank, Stated, Statement

# The same thing said of the machine and of the text.
_ALSO = {"driver.version": "text.driver", "driver.cuda_ceiling": "text.driver_ceiling",
         "python.version": "text.python"}
_IMPLIED = (("system.wsl", 2, "wsl2"), ("system.wsl", 1, "wsl1"), ("system.os", "Linux", "linux"),
            ("system.os", "Windows", "windows"), ("system.os", "Darwin", "macos"))
_VERSION_OF = "text.framework_version:"
_OTHERS = 40


def settle(found: Found) -> Stated:
    """Return the answer."""
    conclude(found)
    chosen: dict[str, Statement] = {}
    others: list[Statement] = []
    for fact, statements in _by_fact(found.statements).items():
        best, lost = choose(statements, first=fact == "text.framework")
        others += lost
        if best is not None:
            chosen[fact] = best
    frameworks = _frameworks(found)
    host, text = _scalars(chosen, frameworks)
    for fact, source in found.absences.items():
        host.setdefault(fact, Absent(source=source))
    gpus = _cards(found)
    _lists(found, host, text, gpus, frameworks)
    stated = Stated(host=host, text=text, gpus=gpus, frameworks=frameworks,
                    others=_named(others, text)[:_OTHERS], snapshot=found.snapshot)
    return stated if found.snapshot is None else _with_snapshot(stated, found.snapshot)


def _named(others: Sequence[Statement], text: Facts) -> tuple[Statement, ...]:
    """Return statements by names of the catalogue, without versions of frameworks the text is not about."""
    main = text.get("text.framework")
    own = f"{_VERSION_OF}{main.value}" if isinstance(main, Known) else ""
    return tuple(replace(other, fact="text.framework_version") if other.fact == own else other
                 for other in others if other.fact == own or not other.fact.startswith(_VERSION_OF))


def _by_fact(statements: Iterable[Statement]) -> Mapping[str, list[Statement]]:
    grouped: dict[str, list[Statement]] = {}
    for statement in statements:
        grouped.setdefault(statement.fact, []).append(statement)
    return grouped


def choose(statements: Sequence[Statement], *,
           first: bool = False) -> tuple[Statement | None, list[Statement]]:
    """Return the statement that counts, and those that say something else.

    The best founded one counts, among equals the later (with `first` the earlier), and of values that do not
    contradict one another the most exact. What is only said or shown in passing counts if all of it agrees.
    """
    highest = max(statement.rank for statement in statements)
    equals = [statement for statement in statements if statement.rank is highest]
    if highest <= Rank.SAID and not _agree(equals):
        return None, _distinct(statements)
    best = equals[0] if first else equals[-1]
    for statement in statements:
        if statement.rank >= min(highest, Rank.STATED) and _refines(statement, best):
            best = statement
    return best, _distinct(statement for statement in statements if not _compatible(statement, best))


def _agree(statements: Sequence[Statement]) -> bool:
    longest = max(statements, key=lambda statement: len(str(statement.value)))
    return all(_compatible(statement, longest) for statement in statements)


def _compatible(left: Statement, right: Statement) -> bool:
    if left.value == right.value:
        return True
    if left.fact == "text.os":  # "Windows 11 WSL2 Ubuntu 22.04" says all that "Ubuntu 22.04" does
        return str(left.value) in str(right.value) or str(right.value) in str(left.value)
    return _begins(left.value, right.value) or _begins(right.value, left.value)


def _begins(short: object, long: object) -> bool:
    return isinstance(short, str) and isinstance(long, str) and long.startswith((f"{short}.", f"{short}+"))


def _refines(statement: Statement, best: Statement) -> bool:
    return _begins(best.value, statement.value)


def _distinct(statements: Iterable[Statement]) -> list[Statement]:
    return list({(statement.fact, repr(statement.value)): statement for statement in statements}.values())


def _known(statement: Statement) -> Known:
    return Known(value=statement.value, source=statement.source)


def _scalars(chosen: Mapping[str, Statement], frameworks: tuple[Facts, ...] | None
             ) -> tuple[dict[str, Fact], dict[str, Fact]]:
    host: dict[str, Fact] = {}
    text: dict[str, Fact] = {}
    for fact, statement in chosen.items():
        if fact.startswith("text."):
            if not fact.startswith(_VERSION_OF):
                text[fact] = _known(statement)
        else:
            host[fact] = _known(statement)
            if fact in _ALSO:
                text[_ALSO[fact]] = _known(statement)
    main = text.get("text.framework")
    if main is None and frameworks is not None and len(frameworks) == 1:
        name = frameworks[0]["framework.name"]
        if isinstance(name, Known):
            main = text["text.framework"] = Known(value=STATED_NAME[str(name.value)], source=name.source)
    if isinstance(main, Known):
        version = chosen.get(f"{_VERSION_OF}{main.value}")
        installed = _installed(frameworks, str(main.value), "framework.version")
        if version is not None and (installed is None or version.rank >= Rank.STATED):
            text["text.framework_version"] = _known(version)
        elif installed is not None:
            text["text.framework_version"] = installed
        if cuda := _installed(frameworks, str(main.value), "framework.cuda"):
            text["text.build_cuda"] = cuda
    return host, text


def _installed(frameworks: tuple[Facts, ...] | None, name: str, fact: str) -> Known | None:
    """Return what is known of the installed framework that `text.framework` calls so."""
    for facts in frameworks or ():
        own, found = facts["framework.name"], facts.get(fact)
        if isinstance(own, Known) and own.value == CATALOGUED.get(name) and isinstance(found, Known):
            return found
    return None


def _frameworks(found: Found) -> tuple[Facts, ...] | None:
    """Return each framework of which something well founded is known; None without any."""
    listed: list[Facts] = []
    for framework, statements in found.frameworks.items():
        best = {fact: choose(group)[0] for fact, group in _by_fact(statements).items()}
        facts = {fact: _known(statement) for fact, statement in best.items() if statement is not None}
        if facts:
            first = next(iter(facts.values()))
            listed.append({"framework.name": Known(value=framework, source=first.source), **facts})
    return tuple(listed) if listed else None


def _cards(found: Found) -> tuple[Facts, ...] | None:
    """Return the cards of the best founded list, the latest of equals, with what other lists say of them."""
    if not found.cards:
        return () if found.no_cards is not None else None
    highest = max(rank for rank, _ in found.cards)
    lists = [cards for rank, cards in found.cards if rank is highest]
    most = max(len(cards) for cards in lists)
    base = next(cards for cards in reversed(lists) if len(cards) == most)
    return tuple(
        _completed(found, card, [other for _, cards in found.cards for other in _same(card, cards, most)])
        for card in base)


def _same(card: Facts, cards: Sequence[Facts], count: int) -> list[Facts]:
    """Return the card of another list that is this one: by bus id, by number, or where each lists one."""
    for name in ("gpu.bus_id", "gpu.uuid", "gpu.index"):
        own = card.get(name)
        if isinstance(own, Known):
            matches = [other for other in cards
                       if isinstance(fact := other.get(name), Known) and fact.value == own.value]
            if matches:
                return matches
    return list(cards) if len(cards) == count == 1 else []


def _completed(found: Found, card: Facts, others: Sequence[Facts]) -> Facts:
    """Return a card with what other lists say of it beside, and with its compute capability looked up."""
    facts = dict(card)
    for other in others:
        if _name_fits(facts, other):
            for key, fact in other.items():
                facts.setdefault(key, fact)
            if _is_cut(facts) and not _is_cut(other) and "gpu.name" in other:
                facts["gpu.name"] = other["gpu.name"]
    name = facts.get("gpu.name")
    if "gpu.compute_capability" not in facts and isinstance(name, Known):
        capability = capability_named(str(name.value), found.known)
        if capability is not None and maker_is_nvidia(str(name.value), found.known):
            source = f"{name.source} (by the table of products)"
            facts["gpu.compute_capability"] = Known(value=capability, source=source)
    return facts


def _is_cut(facts: Mapping[str, Fact]) -> bool:
    name = facts.get("gpu.name")
    return isinstance(name, Known) and "..." in str(name.value)


def _name_fits(card: Mapping[str, Fact], other: Mapping[str, Fact]) -> bool:
    """Say whether two cards may be the same by name: equal words, or one of them cut short or shortened."""
    one, two = card.get("gpu.name"), other.get("gpu.name")
    if not isinstance(one, Known) or not isinstance(two, Known):
        return True
    left, right = (str(name.value).lower().replace("nvidia ", "").replace("...", "").strip()
                   for name in (one, two))
    return left in right or right in left


def _lists(found: Found, host: dict[str, Fact], text: dict[str, Fact], gpus: tuple[Facts, ...] | None,
           frameworks: tuple[Facts, ...] | None) -> None:
    mentions = {fact: dict(items) for fact, items in found.mentions.items()}
    _system_places(host, mentions)
    if "text.places" in mentions:
        mentions["text.places"] = places.settled(mentions["text.places"])
    packages = mentions.setdefault("text.packages", {})
    packages |= {f"{name}=={version}": source for (name, version), source in found.packages.items()}
    stated = mentions.setdefault("text.frameworks", {})
    main = text.get("text.framework")
    if isinstance(main, Known):
        mentions["text.frameworks"] = {str(main.value): main.source, **stated}
    for facts in frameworks or ():
        own = facts["framework.name"]
        if isinstance(own, Known):
            mentions["text.frameworks"].setdefault(STATED_NAME[str(own.value)], own.source)
    _card_lists(found, text, gpus, mentions)
    for fact, items in mentions.items():
        if items and CATALOGUE[fact].type in LISTS:
            known = Known(value=tuple(items), source="; ".join(list(dict.fromkeys(items.values()))[:3]))
            (text if fact.startswith("text.") else host)[fact] = known


def _system_places(host: Mapping[str, Fact], mentions: dict[str, dict[str, str]]) -> None:
    """Add the places that facts of the system imply."""
    for fact, value, place in _IMPLIED:
        stated = host.get(fact)
        if isinstance(stated, Known) and stated.value == value:
            mentions.setdefault("text.places", {}).setdefault(place, stated.source)


def _card_lists(found: Found, text: dict[str, Fact], gpus: tuple[Facts, ...] | None,
                mentions: dict[str, dict[str, str]]) -> None:
    names = [fact for card in gpus or () if isinstance(fact := card.get("gpu.name"), Known)]
    makers = {maker_is_nvidia(str(name.value), found.known): name.source for name in names}
    if True in makers:
        text["text.nvidia_card"] = Known(value=True, source=makers[True])
    elif False in makers and None not in makers:
        text["text.nvidia_card"] = Known(value=False, source=makers[False])
    elif found.no_cards is not None and not names:
        text["text.nvidia_card"] = Known(value=False, source=found.no_cards)
    mentions["text.cards"] = {str(name.value): name.source for name in names}
    capabilities = mentions.setdefault("text.capabilities", {})
    for card in gpus or ():
        capability = card.get("gpu.compute_capability")
        if isinstance(capability, Known):
            capabilities.setdefault(str(capability.value), capability.source)
    if not capabilities and len(names) == 1 and True in makers:
        name, source = str(names[0].value), names[0].source
        mentions["text.possible_capabilities"] = dict.fromkeys(
            sorted(capabilities_named(name, found.known)), source)
        if name.lower() in found.generations:
            text["text.generation"] = Known(value=name.lower(), source=source)


def _with_snapshot(stated: Stated, snapshot: Snapshot) -> Stated:
    """Return the answer with the facts of a machine that gpudoctor has looked at: they outrank words."""
    looked_at = {name: fact for name, fact in snapshot.host.items() if not isinstance(fact, Unknown)}
    gpus = stated.gpus if isinstance(snapshot.gpus, Unknown) else snapshot.gpus
    frameworks = stated.frameworks if isinstance(snapshot.frameworks, Unknown) else snapshot.frameworks
    return replace(stated, host={**stated.host, **looked_at}, gpus=gpus, frameworks=frameworks)


