"""One run of gpudoctor on one machine, and what was seen of it; shared by all faults that it shows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property

from gpudoctor.facts import CATALOGUE
from tests.faults.doctor import COMMAND
from tests.harness.machine import Machine
from tests.harness.namespace import Completed
from tests.hosts.looking import Looked, as_user, looked

LIMITS_IN_ALL = 4  # what `check --help` promises: the whole check ends within so many times --timeout
AT_ONCE = 3
# Not the same in two runs of the same machine.
RESTLESS = frozenset({"framework.import_seconds"})
FRAMEWORKS = "frameworks"  # which there are; it stands among the facts under this name


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A command line in a machine. Two scenes with the same key are the same run.

    `machine` is only built when the scene is run. `before` stands in front of the command line. `stays`
    is what is allowed to outlive the command: words of command lines. `user`: who runs it, not root.
    `own_seconds`: what is promised beside --timeout.
    """

    key: str
    machine: Callable[[], Machine]
    depth: str = "static"
    form: str = "json"
    timeout_seconds: float = 10.0
    options: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    command: tuple[str, ...] = COMMAND
    environment: Mapping[str, str] = field(default_factory=dict)
    stays: tuple[str, ...] = ()
    user: int | None = None
    own_seconds: float = 0.0
    collect: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """Return the whole command line."""
        asked = ["--depth", self.depth, "--format", self.form, "--timeout", f"{self.timeout_seconds:g}"]
        become = as_user(self.user) if self.user is not None else []
        return [*become, *self.before, *self.command, "check", *asked, *self.options]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """How a scene ended, and after how long."""

    scene: Scene
    completed: Completed
    seconds: float

    @property
    def exit_code(self) -> int | None:
        """The exit code; negative for a signal."""
        return self.completed.returncode

    def in_time(self) -> None:
        """Hold the run to the end that --timeout promises, to silence of our code, and to leaving nobody."""
        limit = LIMITS_IN_ALL * self.scene.timeout_seconds + self.scene.own_seconds
        assert self.completed.returncode is not None, f"no end within {self.seconds:.1f} s"
        assert self.seconds < limit, f"{self.seconds:.1f} s, {limit:g} s are promised"
        said = self.completed.stdout + self.completed.stderr
        assert "Traceback" not in said, said[-3000:]
        left = [line for line in self.completed.leftover if not any(w in line for w in self.scene.stays)]
        assert left == []

    @cached_property
    def looked(self) -> Looked:
        """The report, of a run that keeps what every report promises."""
        self.in_time()
        assert self.completed.stderr == "", self.completed.stderr
        return looked(replace(self.completed, leftover=()))

    @cached_property
    def facts(self) -> dict[str, object]:
        """Every probed fact of the host, of each card ("0 gpu.name") and of each framework ("torch ...").

        And which frameworks there are: their facts may only be missing where that is not known.
        """
        return facts_of(self.looked)


def played(scene: Scene) -> Seen:
    """Run a scene."""
    machine = scene.machine()
    begun = time.monotonic()
    completed = machine.run(
        scene.arguments(), environment=scene.environment, collect=scene.collect,
        timeout=LIMITS_IN_ALL * scene.timeout_seconds + scene.own_seconds + 20,
    )
    return Seen(scene=scene, completed=completed, seconds=time.monotonic() - begun)


class Stage:
    """Plays each scene once: ahead of time and a few at once where it is told what will be wanted."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=AT_ONCE)
        self._plays: dict[str, Future[Seen]] = {}
        self._lock = threading.Lock()

    def announce(self, scenes: Iterable[Scene]) -> None:
        """Begin to play scenes that will be asked for, in this order."""
        for scene in scenes:
            self._play(scene)

    def seen(self, scene: Scene) -> Seen:
        """Return what was seen of a scene."""
        return self._play(scene).result()

    def _play(self, scene: Scene) -> Future[Seen]:
        with self._lock:
            if scene.key not in self._plays:
                self._plays[scene.key] = self._pool.submit(played, scene)
            return self._plays[scene.key]

    def close(self) -> None:
        """Forget what was announced and not begun."""
        self._pool.shutdown(cancel_futures=True)


def facts_of(look: Looked) -> dict[str, object]:
    """Return the facts of a report under flat names."""
    facts = look.facts()
    frameworks = look.report["snapshot"]["frameworks"]
    listed = frameworks if isinstance(frameworks, list) else []
    titles = [framework["framework.name"].get("value", "?") for framework in listed]
    facts[FRAMEWORKS] = titles if isinstance(frameworks, list) else "unknown"
    for title, framework in zip(titles, listed, strict=True):
        for name, fact in framework.items():
            if not CATALOGUE[name].derived and name not in RESTLESS:
                facts[f"{title} {name}"] = fact.get("value", next(key for key in fact if key != "source"))
        of_stages = facts.get(f"{title} framework.stages")
        for stage in of_stages if isinstance(of_stages, list) else []:
            stage.pop("seconds", None)
    return facts
