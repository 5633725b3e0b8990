"""`assert_never`, which Python 3.10 lacks; apart from what is slow to import."""

import sys

if sys.version_info >= (3, 11):
    from typing import assert_never
else:
    from typing_extensions import assert_never

__all__ = ["assert_never"]
