"""How a Dockerfile is built, as it was asked for; it is read before anything is looked at."""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor.cli.errors import UsageError
from gpudoctor.frozen import frozen
from gpudoctor.render.plain import printable


@frozen
class Build:
    """How it is built: arguments (`NAME=VALUE`), the limit, and the folder of the files that are copied."""

    arguments: tuple[str, ...]
    limit_seconds: float
    folder: str
    wheel: str | None
    tag: str | None

    def parsed(self) -> Mapping[str, str]:
        """Return the arguments by name; raise `UsageError` for one that is none."""
        pairs = [text.partition("=") for text in self.arguments]
        for text, (name, equals, _) in zip(self.arguments, pairs, strict=True):
            if not (equals and name.isidentifier() and text.isprintable()):
                raise UsageError(f"--build-arg {printable(text, 80)}: write NAME=VALUE")
        return {name: value for name, _, value in pairs}
