"""Run node-problem-detector beside what stands in for Kubernetes' API server, until a condition comes.

    python node_conditions.py CONDITION PROGRAM ARGUMENT...

The server knows one node and takes what is patched into its status; the condition is printed as JSON. It is
the detector's own client that speaks with it. Nothing but Python's own library is imported: it runs in a
machine.
"""

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NODE, SECONDS = "node-1", 90
FOUND = threading.Event()
CONDITIONS: list[dict[str, object]] = []


class Server(BaseHTTPRequestHandler):
    """What answers for the node."""

    def do_GET(self) -> None:
        """Tell of the node, which has no condition yet."""
        self._answer({"kind": "Node", "apiVersion": "v1", "metadata": {"name": NODE}, "status": {}})

    def do_POST(self) -> None:
        """Take an event, as it came."""
        self._answer(self._sent())

    def do_PATCH(self) -> None:
        """Keep the conditions that are asked for."""
        sent = self._sent()
        CONDITIONS.extend(sent.get("status", {}).get("conditions", []))
        if any(one["type"] == sys.argv[1] for one in CONDITIONS):
            FOUND.set()
        self.do_GET()

    def _sent(self) -> "dict[str, dict[str, list[dict[str, object]]]]":
        found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert isinstance(found, dict)
        return found

    def _answer(self, content: object) -> None:
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: object) -> None:
        """Say nothing: the output is the condition alone."""


def main() -> int:
    """Print the condition; 1 where none comes, with what the program said."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}?inClusterConfig=false"
    with open("/tmp/node-problem-detector.log", "w+b") as log:
        program = subprocess.Popen(
            [*sys.argv[2:], f"--apiserver-override={address}", f"--hostname-override={NODE}",
             "--port=0", "--prometheus-port=0"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        came = FOUND.wait(SECONDS)
        program.kill()
        program.wait()
        log.seek(0)
        said = log.read().decode("utf-8", "replace")
    if not came:
        sys.stderr.write(said[-4000:])
        return 1
    sys.stdout.write(json.dumps([one for one in CONDITIONS if one["type"] == sys.argv[1]][-1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
