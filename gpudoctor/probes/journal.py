"""Read a journal: lines of JSON, written one by one by a child that may have ended anywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gpudoctor.frozen import frozen

_MOST_LINES = 10000


@frozen
class Journal:
    """Its events in order, and the text after the last of them (a watchdog's or a crash's traceback)."""

    events: tuple[Mapping[str, Any], ...] = ()
    rest: str = ""

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        """Return the events of one kind."""
        return [event for event in self.events if event.get("event") == kind]

    def about(self, kind: str, stage: str) -> Mapping[str, Any] | None:
        """Return the first event of one kind that is about `stage`."""
        return next((event for event in self.of(kind) if event.get("stage") == stage), None)


def read(text: object) -> Journal:
    """Return what a journal says; of anything that is none, nothing."""
    events: list[Mapping[str, Any]] = []
    rest: list[str] = []
    for line in text.splitlines()[:_MOST_LINES] if isinstance(text, str) else ():
        event = _event(line)
        if event is None:
            rest.append(line)
        else:
            events.append(event)
            rest.clear()
    return Journal(events=tuple(events), rest="\n".join(rest))


def _event(line: str) -> Mapping[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None
