"""`python -m gpudoctor`: the interpreter that runs it is the one it examines.

`python -m` puts the current folder first on sys.path. A `random.py` that lies there is a finding, and must
not stop the finder: the folder is taken off before anything else is imported.
"""

import os
import sys


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


if sys.path[0] in ("", _current_folder()):
    del sys.path[0]

from gpudoctor.cli import main  # noqa: E402

main()
