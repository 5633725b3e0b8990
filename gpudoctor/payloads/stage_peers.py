"""Processes beside this one, for a framework that takes one for each card: started, heard and ended.

Each runs the collector `stage_peer` and writes lines of JSON: one when it has imported the framework, one at
its end. They stay in this process's group, so that whoever ends the group ends them too.
"""

import json
import os
import select
import subprocess
import sys

_LINE_LIMIT_BYTES = 1 << 20
_WAIT_SECONDS = 1.0


class Peers:
    """One process for each request; a with statement ends them."""

    def __init__(self, requests):
        self._processes, self._books = [], []
        try:
            for request in requests:
                self._start(request)
        except BaseException:  # whatever ends it here, those that were started must not live on
            self.end()
            raise

    def _start(self, request):
        reading, writing = os.pipe()
        self._books.append(os.fdopen(reading, "rb"))
        # this process was started as `... stages DESCRIPTOR REQUEST`, be it from a folder or from one file
        command = [sys.executable, *sys.argv[:-3], "stage_peer", str(writing), json.dumps(request)]
        try:
            self._processes.append(subprocess.Popen(
                command, pass_fds=(writing,), stdin=subprocess.DEVNULL))
        finally:
            os.close(writing)

    def hear(self):
        """Return the next line of each; raise with the words of the first that failed or came to its end."""
        return [self._heard(number) for number in range(len(self._books))]

    def _heard(self, number):
        line = self._books[number].readline(_LINE_LIMIT_BYTES)
        if not line.endswith(b"\n"):
            status = self._processes[number].wait()
            raise RuntimeError("the process for GPU %d of the sum ended with code %d before it had said what "
                               "it came to" % (number + 1, status))
        told = json.loads(line.decode("utf-8"))
        if "failed" in told:
            raise RuntimeError("in the process for GPU %d of the sum: %s" % (number + 1, told["failed"]))
        return told

    def hear_why(self, error):
        """Raise with the words of one that failed, if one says so soon; else with those of the error itself.

        What happens to one shows in the others as a connection that was closed.
        """
        for number, book in enumerate(self._books):
            if select.select([book], [], [], _WAIT_SECONDS)[0]:
                self._heard(number)
        raise error

    def end(self):
        """End them, whatever they are doing."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        for book in self._books:
            book.close()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.end()
