"""What must stay from release to release: an id means one cause for ever."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpudoctor.model import RuleDatabase


def released_problems(database: RuleDatabase, released: Mapping[str, str]) -> Iterator[str]:
    """Yield every id of the last release that is gone, or that means something else now.

    People have it in their notes and scripts in their `allow` lists: a page may be withdrawn, never deleted,
    and its id is not free for another cause.
    """
    causes = {rule.id: rule.cause for rule in database.rules}
    for identifier, cause in sorted(released.items()):
        now = causes.get(identifier)
        if now is None:
            yield (f"{identifier}: the last release has it ({cause}): keep the page, "
                   "with `withdrawn = \"why\"` if it is no longer true")
        elif now != cause:
            yield f"{identifier}: in the last release it meant {cause}, and an id is never used again"
