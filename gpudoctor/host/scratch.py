"""A folder for what children may leave behind; gone afterwards, whatever became of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def scratch_folder() -> Iterator[str | None]:
    """Yield a folder that is removed in the end; None where none can be made."""
    import shutil  # these two take long to import, and a check without frameworks needs neither
    import tempfile

    try:
        folder = tempfile.mkdtemp(prefix="gpudoctor-")
    except OSError:
        yield None
        return
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
