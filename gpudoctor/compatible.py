"""What newer versions of Python brought and Python 3.10 lacks, under one name for all."""

import sys

if sys.version_info >= (3, 11):
    import tomllib
    from importlib.resources.abc import Traversable
    from typing import assert_never
else:
    from importlib.abc import Traversable

    import tomli as tomllib
    from typing_extensions import assert_never

__all__ = ["Traversable", "assert_never", "tomllib"]
