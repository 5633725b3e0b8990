"""What the kernel calls itself."""

import os


def name() -> "os.uname_result":
    """Return what uname says; empty texts where a filter of system calls refuses the question."""
    try:
        return os.uname()
    except OSError:
        return os.uname_result(("", "", "", "", ""))
