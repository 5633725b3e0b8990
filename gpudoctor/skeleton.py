"""A new rule page: its id and a skeleton that is refused by the linter until it is finished. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

UNFINISHED = "FILL IN"
OF_A_SITE = "GPDX"  # how the ids of a site's own pages begin
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
_FILE = re.compile(r"(GPD[X0-9])([0-9]{3,4})-(.*)\.md\Z")
_STEP = 10  # between two pages there is room for a third that belongs there
_NUMBERS = {OF_A_SITE: (1, 9999, 4)}  # of a site's own pages: first, last and how many digits
_OF_A_FAMILY = (0, 999, 3)


class SkeletonError(ValueError):
    """No page can be begun under this name; one line says why."""


def is_name(text: str) -> bool:
    """Say whether a family or a cause can be called so: small letters and digits, joined with hyphens."""
    return _NAME.match(text) is not None


def is_page(file: str) -> bool:
    """Say whether a "FAMILY/GPDnnnn-CAUSE.md" is called like a page."""
    return cause_of(file) is not None


def cause_of(file: str) -> str | None:
    """Return the cause in the name of a page; None for a file that is none."""
    found = _FILE.match(file.partition("/")[2])
    return None if found is None else found[3]


def next_id(family: str, files: Sequence[str], retired: Iterable[str] = ()) -> str:
    """Return the next free id in the range of a family; `files` are the "FAMILY/GPDnnnn-CAUSE.md" of all.

    A folder without pages of the shipped ranges is a site's own, whose ids begin with GPDX. Ids in `retired`
    were used once and are never used again.
    """
    found = [(name.partition("/")[0], match) for name in files
             if (match := _FILE.match(name.partition("/")[2])) is not None]
    prefixes = Counter(match[1] for of, match in found if of == family)
    if prefixes:
        prefix = prefixes.most_common(1)[0][0]
    elif all(match[1] == OF_A_SITE for _, match in found):
        prefix = OF_A_SITE
    else:
        known = ", ".join(sorted({of for of, _ in found}))
        raise SkeletonError(f"there is no family {family}; there are: {known}")
    own = [int(match[2]) for of, match in found if of == family and match[1] == prefix]
    taken = {f"{match[1]}{match[2]}" for _, match in found} | set(retired)
    first, last, digits = _NUMBERS.get(prefix, _OF_A_FAMILY)
    for number in _candidates(max(own, default=0), first, last):
        identifier = f"{prefix}{number:0{digits}}"
        if identifier not in taken:
            return identifier
    ends = " to ".join(f"{prefix}{number:0{digits}}" for number in (first, last))
    raise SkeletonError(f"the range of {family} is full: {ends}")


def _candidates(latest: int, first: int, last: int) -> Iterator[int]:
    """Yield numbers behind the family's last page, then between its pages, tens before others."""
    step = _STEP if first == 0 else 1
    yield from range((latest // step + 1) * step, last + 1, step)
    yield from range(first, last + 1, step)
    yield from range(first, last + 1)


def page(identifier: str, cause: str, since: str) -> str:
    """Return the text of a page on which everything that only its author knows is still to be filled in."""
    return _PAGE.format(id=identifier, cause=cause, since=since, fill_in=UNFINISHED)


# `gpudoctor facts` names the facts; CONTRIBUTING.md says what the parts are for.
_PAGE = '''```toml
id = "{id}"
cause = "{cause}"
severity = "error"
scope = "host"
summary = "{fill_in}: what was seen, in one clause; facts stand in braces"
since = "{since}"

[[detect]]
name = "{fill_in}: what tells this cause from others"
when = [
  {{ fact = "{fill_in}: a name that `gpudoctor facts` prints", op = "equals", value = "{fill_in}" }},
]

[[fix]]
kind = "system"
title = "{fill_in}: what to do, as an order"
risk = "safe"
commands = ["{fill_in}: a command; without one leave this line out"]
effect = [{{ fact = "{fill_in}: the probed fact that this changes", value = "{fill_in}: to what" }}]

[[source]]
url = "{fill_in}: https://..., or pypi:NAME==VERSION, which needs no day"
accessed = "{fill_in}: the day it was read, YYYY-MM-DD"

[[case]]
name = "{fill_in}: a machine that has this cause"
expect = "match"
block = "{fill_in}: the name of the block above"
facts = {{ cc = "9.0", driver = "580.95.05" }}

[[case]]
name = "{fill_in}: the machine most like it that does not have it"
expect = "clear"
facts = {{ cc = "9.0", driver = "580.95.05" }}

[[case]]
name = "{fill_in}: a machine of which too little is known"
expect = "undecided"
unknown = []
```

# {fill_in}: what to do, in a few words

## What was seen

{fill_in}

## Why it breaks

{fill_in}

## What to do

{fill_in}

Common wrong advice: {fill_in}

## How to check

{fill_in}

## Versions it applies to

{fill_in}: which systems, drivers, frameworks and releases; "every release" where it is true
'''
