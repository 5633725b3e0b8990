"""What was asked of a check, as it was written; it is read by what judges, which is imported later."""

from __future__ import annotations

from gpudoctor.frozen import frozen


@frozen
class Asked:
    """The options of `gpudoctor check`; `given` are the names of those that stood on the command line."""

    given: frozenset[str] = frozenset()
    python: str | None = None
    kernel: str | None = None
    pid: int | None = None
    image: str | None = None
    container: str | None = None
    pull: bool = False
    recorded: str | None = None
    depth: str = "smoke"
    timeout: float = 20.0
    gpu: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    smoke_timeout: float = 120.0  # courses.DEFAULT_LIMIT_SECONDS, whose module would take long to import
    format: str = "text"
    output: str | None = None
    fail_on: str = "error"
    allow_undecided: bool = False
    require: tuple[str, ...] = ()
    assume: tuple[str, ...] = ()
    rules: str | None = None
    verbose: int = 0
