"""One card's part of a sum over cards that a framework makes between processes; see stage_peers.py."""

import faulthandler
import json
import os

from .stage_adapter import said
from .stages import ADAPTERS, limit_seconds


def journal(request, descriptor):
    """Write a line when the framework is imported, and one with the result or with why there is none."""
    faulthandler.dump_traceback_later(limit_seconds(request), exit=True, file=2)
    with os.fdopen(descriptor, "w", closefd=False) as book:
        try:
            adapter = ADAPTERS[request["framework"]]()
            os.environ.update(adapter.variables(request))
            adapter.load(request)
            adapter.gpus()
            _write(book, {"ready": True})
            told = adapter.told(adapter.part_of_sum(request["rank"], request["endpoints"], request["part"]))
            _write(book, {"values": told.values, "device": told.device, "proof": told.proof})
        except BaseException as error:  # noqa: BLE001 - a framework may raise anything, SystemExit too
            _write(book, {"failed": said(error)})
            os.write(2, b"gpudoctor: GPU %d of the sum: %s\n" % (  # the others may wait for it without an end
                request["rank"], said(error).encode("ascii", "backslashreplace")))


def _write(book, line):
    book.write(json.dumps(line, default=str) + "\n")
    book.flush()
