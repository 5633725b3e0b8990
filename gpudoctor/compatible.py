"""What newer versions of Python brought and Python 3.10 lacks, under one name for all."""

import sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["tomllib"]
