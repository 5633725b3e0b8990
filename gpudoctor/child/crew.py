"""Watch several children at once, and leave none behind when the caller is interrupted."""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from gpudoctor.child.values import REAP_SECONDS, Job, Outcome, Run

_TICK_SECONDS = 0.1
_SHORT_TICK_SECONDS = 0.005
_SLACK_SECONDS = 10.0  # for a machine under load: a watcher later than this is stuck itself

Attempt = Callable[[Job, Callable[[], bool]], Run]  # the question: does nobody want it any more?


@contextlib.contextmanager
def ending_signals_raised() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the caller where nobody else handles them: children do not hear them."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers, and only there are signals raised
        return
    unhandled = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) == signal.SIG_DFL]
    # A launcher's ignored SIGCHLD is inherited, and would lose every exit status.
    deaf = signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN
    try:
        for number in unhandled:
            signal.signal(number, _leave)
        if deaf:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        yield
    finally:
        for number in unhandled:
            signal.signal(number, signal.SIG_DFL)
        if deaf:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


class _Watched:
    """One job and what is known of it."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.added_at = time.monotonic()
        self.begun = False
        self.ended: Run | BaseException | None = None


class Crew:
    """One watching thread per job, so that no signal can interrupt the start or the burial of a child.

    The caller's thread only waits. It takes no lock that a watcher needs and joins no thread: an exception
    inside either could leave it in a false state. All it must know is in `_all`, which only grows: a watcher
    adds the jobs that follow its own before it says that its own has ended.
    """

    def __init__(
        self, jobs: Sequence[Job], attempt: Attempt, *, slack_seconds: float = _SLACK_SECONDS
    ) -> None:
        self._first = list(jobs)
        self._attempt = attempt
        self._slack_seconds = slack_seconds
        self._all: list[_Watched] = []
        self._stop = False
        self._news = threading.Lock()  # held until the last watcher has ended
        self._news.acquire()

    def results(self, meanwhile: Callable[[], object] | None = None) -> list[Run]:
        """Start all, wait for all; what a watcher or `meanwhile` raised is raised here."""
        try:
            self._add(self._first)
            if meanwhile is not None:
                meanwhile()
            while not self._have_all_ended():
                self._news.acquire(timeout=_TICK_SECONDS)
                self._give_up_overdue()
        except BaseException:  # whatever it was, the children go first
            self._stop = True
            self._wait_for_burials()
            raise
        for watched in self._all:
            if isinstance(watched.ended, BaseException):
                raise watched.ended
        return [watched.ended for watched in self._all if isinstance(watched.ended, Run)]

    def _add(self, jobs: Sequence[Job]) -> None:
        more = [_Watched(job) for job in jobs]
        self._all.extend(more)
        for watched in more:
            self._start_watcher(watched)

    def _have_all_ended(self) -> bool:
        return all(watched.ended for watched in self._all)

    def _has_unburied(self) -> bool:
        return any(watched.begun and watched.ended is None for watched in self._all)

    def _start_watcher(self, watched: _Watched) -> None:
        # Nobody waits for its end, because one that is stuck in the kernel must not keep the interpreter from
        # leaving; nor for its beginning, as threading does: without memory that may never come.
        try:
            _thread.start_new_thread(self._watch, (watched,))
        except RuntimeError as error:  # the limit on processes counts threads too
            watched.ended = Run(outcome=Outcome.NOT_STARTED, seconds=0.0, detail=str(error))

    def _watch(self, watched: _Watched) -> None:
        watched.begun = True  # before asking whether to stop: the caller sets and asks in the other order
        ended: Run | BaseException
        try:
            ended = self._attempt(watched.job, lambda: self._stop)
            if watched.job.then is not None and not self._stop and watched.ended is None:
                self._add(watched.job.then(ended))
        except BaseException as error:  # noqa: BLE001  a fault of ours must not vanish with its thread
            ended = error
        watched.ended = ended
        if self._have_all_ended():
            with contextlib.suppress(RuntimeError):  # two were last at the same time
                self._news.release()

    def _give_up_overdue(self) -> None:
        """Answer for watchers that are stuck: starting a program on a dead network folder never returns."""
        now = time.monotonic()
        for watched in self._all:
            seconds = now - watched.added_at
            overdue = seconds > watched.job.timeout_seconds + REAP_SECONDS + self._slack_seconds
            if watched.ended is None and overdue:
                detail = "the system did not come back from starting or ending it"
                watched.ended = Run(outcome=Outcome.UNKILLABLE, seconds=seconds, detail=detail)

    def _wait_for_burials(self) -> None:
        """Wait, bounded and deaf to a second Ctrl-C, until every watcher that began has buried its child."""
        deadline = time.monotonic() + REAP_SECONDS + self._slack_seconds
        waiting = True
        while waiting:
            with contextlib.suppress(KeyboardInterrupt, SystemExit):
                while self._has_unburied() and time.monotonic() < deadline:  # signals fall where it turns
                    time.sleep(_SHORT_TICK_SECONDS)
                waiting = False
