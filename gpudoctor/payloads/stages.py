"""Import one framework and run small checked computations in it; keep a journal that a crash cannot take.

A line of JSON for each event, written at once: "importing", "imported" or "import-failed", "libraries", and
for each stage "begun", perhaps "compiling" (as long as it goes on), and "ended". A watchdog thread of the
interpreter's own, which needs no lock, ends the process when the import or a stage outlasts its limit, and
writes where it was, as plain text. So does the handler for fatal signals.

A result counts as "passed" only with the driver's word that it lies on a card, and where this process cannot
read it. The framework's own word for the device only says what it claims.
"""

import faulthandler
import json
import os
import sys
import threading
import time

from . import stage_libraries, stage_proof, stage_work
from .stage_adapter import WORDS_LIMIT, Skipped, Told, said, told
from .stage_jax import Jax
from .stage_paddle import Paddle
from .stage_tensorflow import TensorFlow
from .stage_torch import Torch

ADAPTERS = {"tensorflow": TensorFlow, "torch": Torch, "jax": Jax, "paddle": Paddle}
LIMIT_SECONDS = 120.0
# Without these NCCL keeps its reasons to itself, or says them on standard output, which nobody keeps.
_OF_NCCL = {"NCCL_DEBUG": "WARN", "NCCL_DEBUG_FILE": "/dev/stderr"}
_WORST_FIRST = ("wrong-result", "no-proof", "ran-on-cpu", "passed")


def journal(request, descriptor):
    """Write the journal of one framework to the descriptor; never raises. See the module's docstring."""
    book = _Book(descriptor)
    request = request if isinstance(request, dict) else {}
    try:
        adapter = ADAPTERS[request.get("framework")]()
    except (KeyError, TypeError):
        book.write("import-failed", kind="KeyError", seconds=0.0,
                   words="no stages are known for the framework %r" % (request.get("framework"),))
        return
    limit = limit_seconds(request)
    try:
        if _imported(adapter, request, limit, book) and not request.get("import_only"):
            _Stages(adapter, request, limit, book).run()
            _say_libraries(request, book)
    finally:
        _arm(descriptor, limit)  # the last of a framework may hang, too
        adapter.close()


def limit_seconds(request):
    """Return the limit of the import and of each stage."""
    limit = request.get("limit_seconds")
    good = isinstance(limit, (int, float)) and not isinstance(limit, bool) and 0 < limit < 86400
    return float(limit) if good else LIMIT_SECONDS


def _arm(descriptor, limit):
    """Have a fatal signal, and an end of the limit, written down; a framework may have taken the signals."""
    faulthandler.disable()
    faulthandler.enable(file=descriptor, all_threads=True)
    faulthandler.dump_traceback_later(limit, exit=True, file=descriptor)


class _Book:
    """The journal: whole lines, written by one thread at a time."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self._one_at_a_time = threading.Lock()

    def write(self, event, **values):
        """Write one event; a parent that is gone is no reason to stop in the middle of a computation."""
        whole = {"event": event, "at": time.monotonic()}
        whole.update(values)
        line = json.dumps(whole, default=str).encode("ascii") + b"\n"
        with self._one_at_a_time:
            try:
                while line:
                    line = line[os.write(self.descriptor, line):]
            except OSError:
                pass


def _imported(adapter, request, limit, book):
    """Import the framework and let it list its GPUs; return whether the import succeeded."""
    os.environ.update(adapter.variables(request))
    if "all-reduce" in _texts(request.get("stages"), ()):
        os.environ.update(_OF_NCCL)
    book.write("importing", limit=limit, process_seconds=stage_libraries.process_seconds())
    _arm(book.descriptor, limit)
    start = time.monotonic()
    try:
        version = adapter.load(request)
    except BaseException as error:  # noqa: BLE001 - an import may raise anything, SystemExit too
        book.write("import-failed", kind=type(error).__name__, words=said(error),
                   seconds=time.monotonic() - start)
        return False
    seconds = time.monotonic() - start
    devices, words = [], ""
    try:
        devices = adapter.gpus()
    except BaseException as error:  # noqa: BLE001 - the same
        words = said(error)
    book.write("imported", version=version, gpus=len(devices), devices=devices, seconds=seconds, words=words)
    _say_libraries(request, book)
    return True


def _say_libraries(request, book):
    """Write what is mapped, and what the files that were foretold really are: links have many names."""
    foretold = _texts(request.get("predicted"), ())
    book.write("libraries", paths=stage_libraries.gpu_libraries(),
               real={path: os.path.realpath(path) for path in foretold})


def _texts(asked, known):
    """Return the texts that were asked for; all that are known when none were."""
    return [name for name in asked if isinstance(name, str)] if isinstance(asked, list) else list(known)


class _Stages:
    """The stages of one imported framework."""

    def __init__(self, adapter, request, limit, book):
        self.adapter = adapter
        self.names = _texts(request.get("stages"), STAGES)
        self.visible = _texts(request.get("visible"), ())
        self.precisions = _texts(request.get("precisions"), stage_work.SIGNIFICAND_BITS)
        self.limit = limit
        self.book = book
        self.unready = None
        self.prepared = False

    def run(self):
        """Run one after the other."""
        watch = stage_libraries.Watch(self._compiling, self.limit)
        if self.adapter.cards:  # without a card nothing is compiled for one
            watch.start()
        for name in self.names:
            watch.begin(name)
            self._staged(name)
        watch.end()

    def _compiling(self, stage, path, seconds, busy_seconds):
        self.book.write("compiling", stage=stage, library=path, seconds=seconds, busy_seconds=busy_seconds)

    def _staged(self, name):
        self._announce(name)
        _arm(self.book.descriptor, self.limit)
        start = time.monotonic()
        try:
            ended = self._outcome(name)
        except Skipped as reason:
            ended = {"outcome": "skipped", "reason": str(reason)}
        except BaseException as error:  # noqa: BLE001 - a computation may raise anything
            ended = {"outcome": "failed", "words": said(error)}
        seconds = time.monotonic() - start
        faulthandler.cancel_dump_traceback_later()
        whole = {"stage": name, "outcome": "", "device": "", "largest_error": None, "tolerance": None,
                 "seconds": seconds, "words": "", "reason": "", "proof": {}}
        whole.update(ended)
        self.book.write("ended", **whole)

    def _announce(self, name):
        self.book.write("begun", stage=name, limit=self.limit)
        try:
            sys.stderr.flush()
            os.write(2, b"gpudoctor: stage %s\n" % name.encode("ascii", "replace"))
        except (AttributeError, OSError, ValueError):  # closed, or replaced by the framework
            pass

    def _outcome(self, name):
        if name not in STAGES:
            raise Skipped("no such stage is known here")
        self._prepare()
        results = STAGES[name](self)
        worst = min(results, key=lambda result: _WORST_FIRST.index(result["outcome"]))
        same = [result for result in results if result["outcome"] == worst["outcome"]]
        return max(same, key=lambda result: (result["largest_error"], result["tolerance"]))

    def _prepare(self):
        if not self.prepared:
            self.prepared = True
            try:
                self.adapter.prepare()
            except BaseException as error:  # noqa: BLE001 - said again by each stage
                self.unready = error
        if self.unready is not None:
            raise self.unready

    def _matmul(self):
        case = stage_work.matmul()
        return [self._judged(self.adapter.matmul(*case.inputs), case)]

    def _convolution(self):
        case = stage_work.convolution(self.adapter.channels_first)
        return [self._judged(self.adapter.convolution(*case.inputs), case)]

    def _compiled(self):
        case = stage_work.curve()
        return [self._judged(self.adapter.compiled(*case.inputs), case)]

    def _all_reduce(self):
        cards = len(self.adapter.cards)
        if cards < 2:
            raise Skipped("it takes two GPUs, and the framework lists %s" % ("one" if cards else "none"))
        case = stage_work.all_reduce(cards)
        tensors = self.adapter.all_reduce(*case.inputs)
        if len(tensors) != cards:
            raise RuntimeError("%d results came back from %d GPUs" % (len(tensors), cards))
        results = [self._judged(tensor, case, every_card=True) for tensor in tensors]
        proofs = [result["proof"] for result in results]
        if all(result["outcome"] == "passed" for result in results):
            reason = stage_proof.not_on_every_card(proofs, cards)
            for result in results if reason else ():
                result.update(outcome="no-proof", reason=reason)
        ordinals = [proof.get("ordinal") for proof in proofs]
        for result in results:
            result["proof"] = dict(result["proof"], ordinals=ordinals)
        return results

    def _reduced(self):
        """Multiply in each precision; what only the CPU cannot do says nothing about a GPU."""
        results, unable = [], []
        for precision in self.precisions:
            if precision not in stage_work.SIGNIFICAND_BITS:
                unable.append("%s: not known here" % precision)
                continue
            case = stage_work.reduced(precision)
            try:
                results.append(self._judged(self.adapter.reduced(precision, *case.inputs), case))
            except Skipped as reason:
                unable.append("%s: %s" % (precision, reason))
            except Exception as error:  # a computation may raise anything; on a card it counts
                if self.adapter.cards:
                    raise RuntimeError("%s: %s" % (precision, said(error))) from error
                unable.append("%s: %s" % (precision, said(error)))
        if not results:
            raise Skipped("; ".join(unable)[:WORDS_LIMIT] or "no precision was asked for")
        for result in results:
            result["words"] = "; ".join(unable)[:WORDS_LIMIT]
        return results

    def _judged(self, tensor, case, every_card=False):
        """Compare a result with the reference and say where it lies; it has to lie on the first card."""
        of_it = tensor if isinstance(tensor, Told) else told(self.adapter, tensor)
        error, wrong = stage_work.compared(of_it.values, case.expected, case.tolerance)
        result = {"device": of_it.device, "largest_error": error, "tolerance": case.tolerance}
        if not self.adapter.cards:
            result.update(outcome="ran-on-cpu", reason="the framework lists no GPU")
        else:
            result["proof"] = of_it.proof
            reason = stage_proof.missing(of_it.proof)
            reason = reason or ("" if every_card else stage_proof.elsewhere(of_it.proof, self.visible))
            result.update(outcome="no-proof" if reason else "passed", reason=reason)
        if wrong:
            result.update(outcome="wrong-result", reason="%s: %s" % (case.name, wrong))
        return result


STAGES = {
    "matmul": _Stages._matmul,  # noqa: SLF001 - the table of the class's own methods
    "convolution": _Stages._convolution,  # noqa: SLF001
    "compiled": _Stages._compiled,  # noqa: SLF001
    "reduced-precision": _Stages._reduced,  # noqa: SLF001
    "all-reduce": _Stages._all_reduce,  # noqa: SLF001
}
