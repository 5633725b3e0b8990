"""Every collector by itself: what runs inside the zipapp, in places where gpudoctor is not installed.

`python probe.pyz [--timeout SECONDS] [--depth static|import|smoke] > raw.json`, judged anywhere with
`gpudoctor check --from raw.json`. Python 3.6 or newer, standard library only. Each collector runs in a child
of its own session, killed at the limit; a thread each drains its streams, so that it cannot block.
"""

import argparse
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

from . import standalone_courses

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Tuple

SCHEMA = "gpudoctor.raw/1"
READING = ("system", "driver", "container", "toolkit", "loader", "environment", "frameworks")
ASKING = ("nvml", "cuda")
ANSWER_LIMIT_BYTES = 64 << 20
NOISE_LIMIT_BYTES = 1 << 16
EXIT_OUTPUT = 4
_CHILDREN = []  # type: List[Any]
_STARTING = threading.Lock()  # held while a child is started, and for good once everything is to end


def main(argv: "List[str]", program: str) -> int:
    """Collect everything and print the raw document; return the exit status."""
    parser = argparse.ArgumentParser(
        prog=os.path.basename(program), description="Look at this machine for gpudoctor.")
    parser.add_argument("--timeout", type=float, default=20.0, metavar="SECONDS", help="limit of each probe")
    parser.add_argument("--depth", choices=("static", "import", "smoke"), default="static",
                        help="how far to look")
    parser.add_argument("--smoke-timeout", type=float, default=120.0, metavar="SECONDS",
                        help="limit of a framework's import and of each of its stages")
    options = parser.parse_args(argv)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _interrupted)
    try:
        document = {"schema": SCHEMA, "probes": collect(program, options)}
    except KeyboardInterrupt as signalled:
        _STARTING.acquire(timeout=2)  # a child that is just being started is in the list then
        for child in _CHILDREN:
            _kill(child)
        # threads still wait for the dead
        os._exit(128 + (signalled.args[0] if signalled.args else signal.SIGINT))
    try:
        json.dump(document, sys.stdout)
        sys.stdout.write("\n")
        sys.stdout.flush()
    except (OSError, AttributeError) as error:  # a full disk, a closed pipe, no standard output at all
        sys.stderr.write("standard output cannot be written: %s\n" % error)
        sys.stderr.flush()
        os._exit(EXIT_OUTPUT)  # an ordinary end would try to write it once more
    return 0


def _interrupted(number: int, _frame: "Any") -> None:
    """Turn a signal that ends us into what Ctrl-C raises: children in their own sessions do not hear it."""
    raise KeyboardInterrupt(number)


def collect(program: str, options: "Any") -> "Dict[str, Any]":
    """Return each collector's end: those that read files, then what loads the driver, then frameworks."""
    timeout, depth = options.timeout, options.depth
    answers = _wave(program, READING, timeout, depth)
    answers.update(_wave(program, ASKING, timeout, depth))
    if depth == "smoke":
        answers.update(_wave(program, ("smoke",), timeout, depth))
    else:
        answers["smoke"] = {"outcome": "not-asked", "seconds": 0.0, "data": None,
                            "detail": "no kernel is run at depth " + depth}
    if depth == "static":
        answers["stages"] = {"outcome": "not-asked", "seconds": 0.0, "data": None,
                             "detail": "no framework is imported at depth static"}
    else:
        answers["stages"] = _stages(program, answers, depth, options.smoke_timeout)
    return answers


def _stages(program: str, answers: "Dict[str, Any]", depth: str, limit: float) -> "Dict[str, Any]":
    """Run every installed framework through its stages, on the first card that this environment shows."""
    begun = time.time()
    found = []
    for course in standalone_courses.courses(answers, depth, os.environ.get("CUDA_VISIBLE_DEVICES")):
        environment = dict(os.environ)
        if course["visible"] is not None:
            environment["CUDA_VISIBLE_DEVICES"] = course["visible"]
        pending = course["stages"]
        while True:
            request = standalone_courses.request(course, pending, limit)
            seconds = limit * (len(pending) + 1) + 10.0
            ended = _run(program, "stages", request, seconds, environment)
            course["rounds"].append(ended)
            left = standalone_courses.remaining(pending, ended["journal"])
            if not left or len(left) == len(pending):
                break
            pending = left
        found.append(course)
    return _end("ok", begun, "", {"courses": found})


def _wave(program: str, names: "Tuple[str, ...]", timeout: float, depth: str) -> "Dict[str, Any]":
    answers: Dict[str, Any] = {}

    def one(name: str) -> None:
        begun = time.time()
        try:
            answers[name] = _collected(program, name, timeout, depth)
        except Exception as error:  # noqa: BLE001 - no more threads, no more memory: the others still answer
            answers[name] = _end("not-started", begun, "%s: %s" % (type(error).__name__, error), None)

    threads = [threading.Thread(target=one, args=(name,)) for name in names]
    for thread, name in zip(threads, names):
        try:
            thread.start()
        except RuntimeError:  # the limit on processes counts threads: then one after the other
            one(name)
    for thread in threads:
        while thread.is_alive():  # in short turns, so that a signal is heard
            thread.join(0.1)
    return answers


def _collected(program: str, name: str, timeout: float, depth: str) -> "Dict[str, Any]":
    request = {"answer_within_seconds": timeout * 0.8, "because": "the probe runs under it",
               "executable": sys.executable, "names": _variable_names(), "scan_code": depth != "static"}
    environment = dict(os.environ)
    if name in ("cuda", "smoke"):
        environment.pop("CUDA_VISIBLE_DEVICES", None)
    return _run(program, name, request, timeout, environment)


def _run(program: str, name: str, request: "Dict[str, Any]", timeout: float,
         environment: "Mapping[str, str]") -> "Dict[str, Any]":
    begun = time.time()
    answering, own = os.pipe()  # apart from standard output, on which whatever starts with Python may print
    command = [sys.executable or "python3", program, "--collect", name, str(own), json.dumps(request)]
    try:
        with _STARTING:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE, pass_fds=(own,),
                                     env=environment, start_new_session=True)
            _CHILDREN.append(child)
    except OSError as error:
        os.close(answering)
        return _end("not-started", begun, str(error), None)
    finally:
        os.close(own)
    kept = {"answer": [], "noise": []}  # type: Dict[str, List[bytes]]
    readers = [_drained(os.fdopen(answering, "rb"), kept["answer"], ANSWER_LIMIT_BYTES),
               _drained(child.stderr, kept["noise"], NOISE_LIMIT_BYTES)]
    late = _wait(child, timeout)
    for reader in readers:
        reader.join(2)
    answer, noise = b"".join(kept["answer"]), b"".join(kept["noise"])
    if name == "stages":
        return _kept_journal(child.returncode, late, answer, noise, begun)
    return _judged(child.returncode, late, answer, noise, begun)


def _variable_names() -> "List[str]":
    """Return the names of the variables to look at, which stand in the zipapp."""
    names = importlib.import_module("gpudoctor_payloads.names").NAMES  # type: Tuple[str, ...]
    return list(names)


def _drained(stream: "Any", kept: "List[bytes]", limit: int) -> threading.Thread:
    """Read a stream to its end in a thread; what lies beyond the limit is read and dropped."""
    def drain() -> None:
        left = limit
        while True:
            piece = os.read(stream.fileno(), 1 << 16)
            if not piece:
                break
            kept.append(piece[:left])
            left -= len(kept[-1])

    thread = threading.Thread(target=drain)
    thread.daemon = True
    thread.start()
    return thread


def _wait(child: "Any", timeout: float) -> bool:
    """Wait for the child within its limit, then end its whole group; return whether it was late."""
    late = False
    try:
        child.wait(timeout)
    except subprocess.TimeoutExpired:
        late = True
    _kill(child)
    try:
        child.wait(2)
    except subprocess.TimeoutExpired:
        pass
    return late


def _kill(child: "Any") -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except OSError:
        pass


def _judged(status: "Optional[int]", late: bool, answer: bytes, noise: bytes,
            begun: float) -> "Dict[str, Any]":
    lines = noise.decode("utf-8", "replace").strip().splitlines()
    detail = lines[-1][:300] if lines else ""
    try:
        data = json.loads(answer.decode("utf-8"))
        stuck = data.get("stuck_in") if isinstance(data, dict) else None
        outcome, detail = ("timeout", "%s did not return" % stuck) if stuck else ("ok", "")
        return _end(outcome, begun, detail, data)
    except (ValueError, RecursionError):
        pass
    if late:
        return _end("unkillable" if status is None else "timeout", begun, detail, None)
    if status is not None and status < 0:
        if not answer:  # it ended before its collector ran, which tells nothing of what was to be asked
            return _end("not-started", begun, "before its collector ran: signal %d" % -status, None)
        return _end("signal", begun, "signal %d" % -status, None)
    return _end("exit" if status else "garbled", begun, detail, None)


def _kept_journal(status: "Optional[int]", late: bool, journal: bytes, log: bytes,
                  begun: float) -> "Dict[str, Any]":
    """Say how a child ended that kept a journal: what stands in it counts however it ended."""
    if late:
        outcome, detail = "unkillable" if status is None else "timeout", ""
    elif status is not None and status < 0:
        outcome, detail = "signal", "signal %d" % -status
    else:
        outcome, detail = ("exit", "exit status %s" % status) if status else ("ok", "")
    ended = _end(outcome, begun, detail, None)
    ended.update(journal=journal.decode("utf-8", "replace"), log=log.decode("utf-8", "replace"))
    return ended


def _end(outcome: str, begun: float, detail: str, data: "Any") -> "Dict[str, Any]":
    return {"outcome": outcome, "seconds": round(time.time() - begun, 4), "detail": detail, "data": data}
