"""What people say of CUDA's libraries beside the one that cannot be opened: which are there, and where.

One library is asked for and another of its family lies on the disk; the very one lies in a folder that nobody
looks in, or among the packages of pip. Each sentence says half of it, so the halves are put together here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gpudoctor.explanation.answers import Answered
from gpudoctor.explanation.sonames import MAJOR_ALONE
from gpudoctor.frozen import frozen
from gpudoctor.lazily import Pattern

MISSING, MISSING_DLL = "{}: cannot open shared object file", "{} cannot be found on Windows: {}"
OTHER = "another version of {} is there: {} is asked for, {} is found"
ON_DISK = "{} is asked for, and lies in a folder: {}"
IN_WHEELS = "{} is asked for, and lies among the packages of pip"
TWO_NCCL = "two versions of NCCL speak to one another"
PART = "a part of cuDNN is missing while another is there: {}, {}"
_FAMILIES = "cudart|cublas|cufft|curand|cusolver|cusparse|cudnn|nccl|nvrtc"
_FILE = Pattern(  # its family, the rest of its name, its version
    rf"(?<![a-z])(?P<name>(?P<stem>(?:lib)?(?P<family>{_FAMILIES})(?:Lt|Mg|w)?(?:_[a-z]+){{0,4}})"
    rf"(?:\.so\.(?P<so>[0-9]+(?:\.[0-9]+)*)|64_(?P<dll>[0-9]{{1,3}})(?:\.dll)?))", re.IGNORECASE)
_FOLDER_BEFORE = Pattern(r"[^\s'\"`=:(,;]{0,200}[/\\]$")
# cuDNN as a version in words, a package of Debian, one of pip, and a part of an image's name.
_CUDNN = Pattern(r"\blibcudnn(?P<deb>[0-9]{1,2})\b|"
                 r"\bnvidia-cudnn-cu[0-9][0-9]\b[ =:/\t-]{0,40}v?(?P<wheel>[0-9]+)\.[0-9]|"
                 r"(?<!lib)(?<![\w-])cudnn(?:[ -]?(?:version|v)?[ .:=]?)(?P<words>[0-9])(?:\.[0-9]+)*"
                 r"(?![\w-])|cuda:\S{0,40}-cudnn(?P<image>[0-9])", re.IGNORECASE)
_WHEEL = Pattern(r"\bnvidia-(?P<wheel>cuda-runtime|cublas|cufft|curand|cusolver|cusparse|cudnn|nccl|"
                 r"cuda-nvrtc)-cu(?P<cuda>[0-9][0-9])\b", re.IGNORECASE)
_BARE = Pattern(r"\b(?:v|version |newest |latest )(?P<number>[0-9])\.[0-9]+\b", re.IGNORECASE)
_ASKED = Pattern(r"\b(?:asks? for|asking for|needs?|requires?|wants?|expects?|looks? for|looking for)"
                 r" (?:cudnn )?(?:version )?v?(?P<number>[0-9])(?:\.[0-9]+){0,3}(?![\w.])", re.IGNORECASE)
_CLAUSES = Pattern(r"[;,]\s|\.\s+|[()\u2192]|\s(?:but|although|though|while|whereas|and|yet|&|however)\s|"
                   r" (?:--|\u2014|-) ", re.IGNORECASE)
_ABSENT = Pattern(
    r"cannot open|can'?t open|(?:not|n't) (?:be )?(?:found|load|open|find|dlopen|locate)|not found|"
    r"no such file|\bmissing\b|(?:cannot|can'?t|unable to|failed to|fails? to|could ?n[o']t) (?:be )?(?:load|"
    r"open|find|dlopen|locate)|error loading", re.IGNORECASE)
_BARE_ERROR = Pattern(r"\b(?:ImportError|OSError|import error)\b\W{1,3}$", re.IGNORECASE)
_WANTED = Pattern(r"\b(?:needs?|requires?|required|wants?|asks? for|expects?|looks? for|looking for|"
                  r"requested|depends on|tries to|make sure|compiled (?:with|against)|built (?:with|"
                  r"against))\b", re.IGNORECASE)
_THERE = Pattern(
    r"\b(?:have|has|had|got|contains?|holds?|is in|are in|exists?|there'?s|there (?:is|are)|installed|"
    r"present|in place|lies|sits|located|shows?|downloaded|copied|from apt|brings|ships|opened|is at|file in|"
    r"put|is found|my|host|only)\b|'ve\b|^\s*ii\s|=> ?/|\(0x|-> ?\S|[0-9][0-9]:[0-9][0-9] ", re.IGNORECASE)
_DENIED = Pattern(r"\b(?:no|not|never|without|nothing|none|isn'?t|doesn'?t|don'?t|didn'?t)\b|"
                  r"n't\b", re.IGNORECASE)
_OF_PIP = Pattern(r"(?:site|dist)-packages|nvidia[/\\](?:\*|cu\w+|nccl)[/\\](?:lib|bin)", re.IGNORECASE)
_OTHER_THINGS = Pattern(r"cuda|driver|python|tensorflow|torch|\btf\b|ubuntu|windows", re.IGNORECASE)
_OPENED = Pattern(r"undefined symbol|not defined|link time reference|required by|"
                  r"relocation error|init failure: [0-9]", re.IGNORECASE)
# What the loader says so of was opened, however the line begins: "Could not load library X. Error: ...".
_OPENED_IN_VAIN = Pattern(r"undefined symbol:|not defined in file|with link time reference")
_NCCL = Pattern(r"\bNCCL version ([0-9]+\.[0-9]+)")
_NCCLS = Pattern(r"\bdifferent nccl versions?\b|\bdifferent versions of nccl\b|"
                 r"\bnccl versions? (?:differ|mismatch)",
                 re.IGNORECASE)
_SEARCHED = Pattern(r"LD_LIBRARY_PATH\W{0,3}[:=]")  # the folders behind it were looked in
_LONGEST, _MOST = 600, 200


@frozen
class _Mention:
    """A library that a line names: its family, its version, whether it is there (False: it is missing)."""

    family: str
    version: tuple[int, ...]
    name: str
    line: int
    is_there: bool
    folder: str = ""
    of_pip: bool = False
    stem: str = ""  # of a file


def libraries(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield a line for each library that is missing, and for what is said to be there of its family."""
    found = list(_mentions(lines))
    missing = {(one.family, one.version): one for one in found if not one.is_there}
    for one in missing.values():
        if one.stem:
            dll = MISSING_DLL.format(_owner(one), one.name.lower())
            yield Answered(text=MISSING.format(one.name) if ".so." in one.name else dll, line=one.line)
        same = [other for other in found if other.is_there and other.family == one.family]
        yield from _beside(one, same)
    yield from _two_of_nccl(lines)


def _two_of_nccl(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield a line where processes of one run tell two versions of NCCL, or a sentence says so."""
    versions: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if "nccl" not in line[:_LONGEST].lower():
            continue
        versions.update(_NCCL.findall(line[:_LONGEST]))
        if len(versions) > 1 or _NCCLS.search(line[:_LONGEST]):
            yield Answered(text=TWO_NCCL, line=number)
            return


def _beside(missing: _Mention, there: Sequence[_Mention]) -> Iterator[Answered]:
    """Yield what is there of the family of a missing library: the same version in a folder, or another."""
    fitting = [one for one in there if _is_same(missing, one)]
    itself = [one for one in fitting if one.stem in ("", missing.stem)]
    of_pip = next((one for one in itself if one.of_pip), None)
    in_folder = next((one for one in itself if one.folder and not one.of_pip), None)
    if of_pip is not None:
        yield Answered(text=IN_WHEELS.format(missing.name), line=of_pip.line)
    if in_folder is not None:
        yield Answered(text=ON_DISK.format(missing.name, in_folder.folder), line=in_folder.line)
    if fitting and "_" in missing.stem and not itself:
        yield Answered(text=PART.format(missing.name, fitting[0].name), line=missing.line)
    elif there and not fitting:
        yield Answered(text=OTHER.format(_owner(missing), missing.name, there[0].name), line=there[0].line)


def _owner(mention: _Mention) -> str:
    return {"cudnn": "cuDNN", "nccl": "NCCL"}.get(mention.family, "CUDA")


def _is_same(one: _Mention, other: _Mention) -> bool:
    """Say whether two files of one family stand for one another: before CUDA 11 the minor counts too."""
    parts = 1 if one.family in ("cudnn", "nccl") or one.version[0] >= MAJOR_ALONE else 2
    return all(left == right for left, right in
               zip(one.version[:parts], other.version[:parts], strict=False))


def _mentions(lines: Sequence[str]) -> Iterator[_Mention]:
    given = 0
    for number, line in enumerate(lines, start=1):
        folded = line[:_LONGEST].lower()
        if not any(mark in folded for mark in _FAMILIES_OF) or _OPENED_IN_VAIN.search(line[:_LONGEST]):
            continue
        family = ""
        for clause in _clauses(line[:_LONGEST]):
            for one in (*_files(clause, number), *_cudnns(clause, number, family)):
                given += 1
                yield one
            family = "cudnn" if "cudnn" in clause.lower() else family
        if given > _MOST:
            return


_FAMILIES_OF = (*_FAMILIES.split("|"), "cuda-runtime")


def _clauses(line: str) -> Iterator[str]:
    """Yield the parts of a line that each say one thing."""
    ends = [0, *(match.start() for match in _CLAUSES.finditer(line)), len(line)]
    yield from (line[start:end] for start, end in pairwise(ends) if end - start > 2)


def _is_there(clause: str, *, by_itself: bool) -> bool | None:
    """Say whether a clause says that what it names is there, or missing; None for neither.

    What was opened and does not suit is neither.
    """
    if _OPENED.search(clause):
        return None
    if _ABSENT.search(clause) or _WANTED.search(clause):
        return False
    if _DENIED.search(clause):
        return None
    return True if by_itself or _THERE.search(clause) else None


def _files(clause: str, line: int) -> Iterator[_Mention]:
    said = _SEARCHED.split(clause, maxsplit=1)[0]
    for match in _FILE.finditer(said):
        before = said[:match.start()]
        folder = _FOLDER_BEFORE.search(before[-200:])
        is_there = _is_there(said, by_itself=folder is not None)
        if is_there is None and _BARE_ERROR.search(before):
            is_there = False
        if is_there is not None:
            yield _Mention(family=match["family"].lower(), version=_version(match), name=match["name"],
                           line=line, is_there=is_there, folder=folder[0] if folder else _folder(said),
                           of_pip=_OF_PIP.search(said) is not None, stem=match["stem"].lower())


def _folder(clause: str) -> str:
    """Return the folder that a clause names beside a file."""
    named = re.search(r"(?<![\w.])(?:/|~/|[A-Za-z]:\\)[\w.+-]+[/\\][^\s'\"`]*", clause)
    return named[0] if named else ""


def _version(match: re.Match[str]) -> tuple[int, ...]:
    if match["so"]:
        return tuple(int(part) for part in match["so"].split(".")[:2])
    number = int(match["dll"])
    return (number // 10, number % 10) if number >= 80 else (number,)


def _cudnns(clause: str, line: int, family: str) -> Iterator[_Mention]:
    """Yield what a clause says of cuDNN without naming a file, and of NVIDIA's packages.

    A number alone is cuDNN's where the clause before it spoke of cuDNN, which `family` says.
    """
    for match in _CUDNN.finditer(clause):
        number = next(value for value in match.groups() if value)
        by_itself = match["deb"] is not None or match["wheel"] is not None or match["image"] is not None
        is_there = _is_there(clause, by_itself=by_itself)
        if is_there is not None and (is_there or not by_itself):  # what a package asks for is no missing file
            yield _cudnn(number, match[0].strip(), line, is_there=is_there, of_pip=match["wheel"] is not None)
    for match in _WHEEL.finditer(clause):
        wheel = match["wheel"].lower().replace("cuda-runtime", "cudart").replace("cuda-nvrtc", "nvrtc")
        # of these alone the CUDA in the name is the version in the files' names
        if wheel in ("cudart", "cublas", "nvrtc") and _is_there(clause, by_itself=_is_listed(clause)):
            yield _Mention(family=wheel, version=(int(match["cuda"]),), name=match[0], line=line,
                           is_there=True, of_pip=True)
    asked = _ASKED.search(clause) if family == "cudnn" or "cudnn" in clause.lower() else None
    if asked is not None and not _CUDNN.search(clause) and not _FILE.search(clause):
        yield _cudnn(asked["number"], f"cuDNN {asked['number']}", line, is_there=False)
    bare = _BARE.search(clause) if family == "cudnn" else None
    if bare is not None and not _OTHER_THINGS.search(clause) and _is_there(clause, by_itself=False):
        yield _cudnn(bare["number"], f"cuDNN {bare['number']}", line, is_there=True)


def _cudnn(number: str, name: str, line: int, *, is_there: bool, of_pip: bool = False) -> _Mention:
    return _Mention(family="cudnn", version=(int(number),), name=name, line=line, is_there=is_there,
                    of_pip=of_pip)


def _is_listed(clause: str) -> bool:
    """Say whether a clause is the line of a list of packages, or says which version is there."""
    return re.search(r"nvidia-\S+-cu[0-9][0-9]\s*(?:==|\s)\s*[0-9]+\.[0-9]", clause) is not None
