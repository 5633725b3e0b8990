"""One card's part of a sum over cards that Paddle makes between processes; see stage_peers.py."""

import faulthandler
import json
import os

from .stage_adapter import said, told
from .stage_paddle import Paddle
from .stages import limit_seconds


def journal(request, descriptor):
    """Write a line when Paddle is imported, and one with the result or with why there is none."""
    faulthandler.dump_traceback_later(limit_seconds(request), exit=True, file=2)
    with os.fdopen(descriptor, "w", closefd=False) as book:
        try:
            adapter = Paddle()
            os.environ.update(adapter.variables(request))
            adapter.load(request)
            adapter.gpus()
            _write(book, {"ready": True})
            tensor = adapter.part_of_sum(request["rank"], request["endpoints"], request["part"])
            _write(book, vars(told(adapter, tensor)))
        except BaseException as error:  # noqa: BLE001 - a framework may raise anything, SystemExit too
            _write(book, {"failed": said(error)})
            os.write(2, b"gpudoctor: GPU %d of the sum: %s\n" % (  # the others may wait for it without an end
                request["rank"], said(error).encode("ascii", "backslashreplace")))


def _write(book, line):
    book.write(json.dumps(line, default=str) + "\n")
    book.flush()
