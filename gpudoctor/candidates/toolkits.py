"""The CUDA toolkit that a release opens, laid over the machine, for one whose libraries no package has."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudoctor import versions
from gpudoctor.assume import lay
from gpudoctor.derive.stacks import Stack
from gpudoctor.derive.view import as_records, as_texts
from gpudoctor.frozen import frozen
from gpudoctor.model import Known, Record, Snapshot, Subject, Tables, Value

_SOURCE = "a toolkit"
_RUNTIME = re.compile(r"libcudart\.so\.([0-9]+\.[0-9]+)\Z")
_FOLDER = "/usr/local/cuda-{version}"  # where NVIDIA's own packages and installers put it


@frozen
class Toolkit:
    """The toolkit for a stack: the version that it was built with, and the libraries that it opens.

    `cudnn_floor` is the oldest cuDNN that will do, where that is known.
    """

    stack: Stack
    version: str
    libraries: tuple[str, ...]
    cudnn_floor: str | None = None

    @property
    def folder(self) -> str:
        """Return where its libraries are to lie, cuDNN's among them."""
        return f"{_FOLDER.format(version=self.version)}/lib64"

    @property
    def in_words(self) -> str:
        """Return what is to be installed, and where."""
        cudnn = f" and cuDNN {self.stack.row['cudnn']}" if "cudnn" in self.stack.row else ""
        if cudnn and self.cudnn_floor is not None:
            cudnn += f" ({self.cudnn_floor} or newer)"
        name = f"{self.stack.framework} {self.stack.version}"
        return (f"{name} brings no CUDA libraries, and no package has them that would suit: "
                f"install CUDA {self.version}{cudnn} so that {self.folder} holds {', '.join(self.libraries)}")


def wanted(stacks: Sequence[Stack], frameworks: Sequence[Subject]) -> Toolkit | None:
    """Return the toolkit that would bring what is missing to the first stack that brings no libraries."""
    missing = {subject.name: subject for subject in frameworks
               if isinstance(fact := subject.fact("framework.libraries_missing"), Known) and fact.value}
    for stack in stacks:
        opened = as_texts(stack.row.get("loads"))
        version = next((_version(match[1], stack) for name in opened
                        if (match := _RUNTIME.match(name))), None)
        if stack.framework in missing and version is not None and not stack.row.get("requires_nvidia"):
            floor = missing[stack.framework].fact("framework.cudnn_floor")
            return Toolkit(stack=stack, version=version, libraries=opened,
                           cudnn_floor=str(floor.value) if isinstance(floor, Known) else None)
    return None


def _version(named: str, stack: Stack) -> str:
    """Return the release's CUDA: what its build says, unless the runtime's name tells more or another one.

    All of CUDA 11 has a runtime called 11.0, and 11.0 itself lacks libraries that builds for 11.2 open.
    """
    stated = str(stack.row.get("cuda", named))
    runtime, built = versions.parse(named), versions.parse(stated)
    return stated if built.major == runtime.major and built > runtime else named


def laid(snapshot: Snapshot, toolkit: Toolkit, tables: Tables) -> Snapshot:
    """Return the machine with the toolkit installed and its folder named in LD_LIBRARY_PATH."""
    files: tuple[Record, ...] = tuple({"path": f"{toolkit.folder}/{name}", "soname": name, "machine": ""}
                                      for name in toolkit.libraries)
    install: Record = {"path": _FOLDER.format(version=toolkit.version), "version": toolkit.version}
    before = {name: fact.value if isinstance(fact := snapshot.host.get(name), Known) else ()
              for name in ("loader.files", "loader.library_path", "toolkit.installs")}
    values: dict[str, Value] = {
        "loader.files": (*as_records(before["loader.files"]), *files),
        "loader.library_path": (toolkit.folder, *as_texts(before["loader.library_path"])),
        "toolkit.installs": (*as_records(before["toolkit.installs"]), install)}
    return lay(snapshot, {name: Known(value=value, source=_SOURCE) for name, value in values.items()}, tables,
               source=_SOURCE)
