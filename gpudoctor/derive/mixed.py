"""Libraries of one family from two places: parts of NVIDIA's cuDNN or cuBLAS that were not made together.

What a run had loaded counts; where nothing was run, the loader trace.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping

from gpudoctor.derive.libraries import trace_all
from gpudoctor.derive.loader_trace import certainly
from gpudoctor.derive.view import NotKnown, View, text_in
from gpudoctor.frozen import frozen
from gpudoctor.model import Fact, Known, Unknown

Derivation = Callable[[View], Fact]
CUDNN = re.compile(r"libcudnn(?:_[a-z_]+)?\.so\.([0-9]+)((?:\.[0-9]+)*)\Z")
CUBLAS = re.compile(r"libcublas(?:Lt)?\.so\.([0-9]+)((?:\.[0-9]+)*)\Z")


@frozen
class _File:
    """A library of a family: its path, the major version in its name, its whole version where known."""

    path: str
    major: str
    version: str

    @property
    def folder(self) -> str:
        return posixpath.dirname(self.path)


def mixed(family: re.Pattern[str]) -> Derivation:
    """Return a derivation of the files of a family that come from more than one folder or version."""

    def derivation(view: View) -> Fact:
        loaded = view.fact("framework.loaded_libraries")
        if isinstance(loaded, Known):
            return Known(value=_mixed(_loaded(view, family)), source="what was loaded when it was run")
        try:
            foretold = _mixed(_foretold(view, family))
        except NotKnown:
            foretold = ()
            if not isinstance(loaded, Unknown) or not loaded.asked:
                raise
        if not foretold and isinstance(loaded, Unknown) and loaded.asked:
            return loaded  # a run may load what the trace does not foretell
        return Known(value=foretold, source="the loader trace")

    return derivation


def _mixed(found: Iterator[_File]) -> tuple[str, ...]:
    files = [*found]
    return tuple(dict.fromkeys(path for major in dict.fromkeys(file.major for file in files)
                               for path in _of_two_makes([f for f in files if f.major == major])))


def _of_two_makes(files: list[_File]) -> Iterator[str]:
    """Yield the paths unless all files are of one version or, where that is silent, of one folder."""
    versions = {file.version for file in files}
    alike = len(versions) == 1 if "" not in versions else len({file.folder for file in files}) == 1
    if not alike:
        yield from (file.path for file in files)


def _loaded(view: View, family: re.Pattern[str]) -> Iterator[_File]:
    """Yield what was loaded; links are followed there, so that Debian's files carry their whole version."""
    for record in view.records("framework.loaded_libraries"):
        path = text_in(record, "path")
        match = family.match(posixpath.basename(path))
        if match is not None:
            whole = f"{match[1]}{match[2]}" if match[2] else ""
            yield _File(path=path, major=match[1], version=whole)


def _foretold(view: View, family: re.Pattern[str]) -> Iterator[_File]:
    """Yield what the trace finds; a file that cannot be loaded is the subject of others."""
    steps, inputs = trace_all(view)
    for step in certainly(step for step in steps if step.path and family.match(step.soname)):
        match = family.match(step.soname)
        if match is not None and step.path and not step.error:
            version = text_in(inputs.files.get(step.path, {}), "version")
            yield _File(path=step.path, major=match[1], version=version)


DERIVATIONS: Mapping[str, Derivation] = {
    "framework.mixed_cudnn": mixed(CUDNN),
    "framework.mixed_cublas": mixed(CUBLAS),
}
