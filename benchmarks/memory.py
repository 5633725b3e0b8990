"""The peak memory of gpudoctor's own process, its children apart."""

from __future__ import annotations

import subprocess

from benchmarks.comparisons import REPORTED, check
from benchmarks.environments import Environments
from benchmarks.timing import Failed

AT_MOST_MEGABYTES = 80
_SCRIPT = """
import resource, sys
from gpudoctor.cli import run
sys.argv[0] = "gpudoctor"
code = run()
sys.stderr.write("\\n%d" % resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
sys.exit(code)
"""


def peak_megabytes(environments: Environments) -> float:
    """Return the peak of a check of an environment with frameworks, which has the most to hold."""
    command = check(environments, environments.frameworks)
    argv = [str(environments.doctor / "python"), "-c", _SCRIPT, *command.argv[1:]]
    ended = subprocess.run(argv, cwd=command.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, text=True, check=False)
    if ended.returncode not in REPORTED:
        raise Failed(f"{' '.join(argv)} ended with {ended.returncode}: {ended.stderr[-400:]}")
    return int(ended.stderr.rsplit("\n", 1)[1]) * 1024 / 1e6  # Linux counts in KiB
