"""What is said to have cured a fault: a file that was added, a variable that was set or taken away.

Whoever tells the cure tells the cause: "unset LD_LIBRARY_PATH and it works", "adding
zlibwapi.dll solved it".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.explanation.answers import Answered
from gpudoctor.lazily import Pattern

WITHOUT_PATH, ZLIB = "it is said to work without LD_LIBRARY_PATH", "it is said that zlib cured it"
CUDA_FOLDER = "it is said that the folder of libdevice cured it"
PTXAS = "it is said that another ptxas cured it"
_WORKS = (r"(?:fix(?:es|ed)|help(?:s|ed)|cure[sd]?|solve[sd]?|resolve[sd]?|works?(?: again)?|worked|is fine|"
          r"(?:prints?|gives?|returns?|is|->|=>|says?)? ?True)\b")
_DENIED = Pattern(r"(?:\bnot|n't|\bno|\bnever|\bnothing|\bstill|\bif)\b[^.,;]{0,24}$", re.IGNORECASE)
_CURED = Pattern(rf"\b{_WORKS}", re.IGNORECASE)
_WAYS: tuple[tuple[str, str, Pattern], ...] = (
    (WITHOUT_PATH, "ld_library_path", Pattern(
        r"\b(?:unset(?:ting)?|empty(?:ing)?|emptied|clear(?:ing|ed)?|remov(?:e|ing|ed)|delet(?:e|ing|ed)|"
        r"without|drop(?:ping|ped))\W(?:\w+\W+){0,3}?(?:-u )?LD_LIBRARY_PATH|env -u LD_LIBRARY_PATH|"
        r"LD_LIBRARY_PATH=(?:''|\"\"|) +python", re.IGNORECASE)),
    (ZLIB, "zlib", Pattern(r"\bzlib(?:wapi|1)?(?:\.dll|1g)?\b", re.IGNORECASE)),
    (CUDA_FOLDER, "xla_gpu_cuda_data_dir", Pattern(r"--xla_gpu_cuda_data_dir", re.IGNORECASE)),
    (PTXAS, "_ptxas", Pattern(r"\bTRITON_PTXAS(?:_BLACKWELL)?_PATH\b", re.IGNORECASE)),
)
_LONGEST = 400


def cures(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield a line for each thing that is said to have cured the fault, in its line or the next one."""
    for text, mark, way in _WAYS:
        for number, line in enumerate(lines, start=1):
            if mark in line[:_LONGEST].lower() and _says(line[:_LONGEST], lines[number:number + 1], way):
                yield Answered(text=text, line=number)
                break


def _says(line: str, below: Sequence[str], way: Pattern) -> bool:
    named = way.search(line)
    if named is None:
        return False
    if any(not _DENIED.search(line[:cured.start()]) for cured in _CURED.finditer(line, named.start())):
        return True
    return any(other.strip() == "True" for other in below)  # what Python answered
