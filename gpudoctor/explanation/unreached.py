"""Why libraries are not reached, as people say it: no toolkit, packages of pip, a process of another kind.

"Only the driver is on this box", "import torch before it helps", "from cron it fails, in the shell it works":
none of this is a fault by itself, so a line is given only where the text misses a library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.explanation import entries
from gpudoctor.explanation.answers import Answered
from gpudoctor.lazily import Pattern

NO_TOOLKIT = "no CUDA toolkit is said to be installed"
OF_PIP = "NVIDIA's packages of pip are said to be there"
CURED = "a path to NVIDIA's packages of pip is said to cure it"
ELSEWHERE = "it is said to work in another kind of process"
_MISSED = Pattern(
    r"(?:lib)?(?:cudart|cublas|cufft|curand|cusolver|cusparse|cudnn|nvrtc|nvvm)\S{0,40}(?=.{0,200}?(?:cannot|"
    r"can'?t|not |no such|missing|couldn'?t|only in))|(?:cannot|can'?t|could not|couldn'?t|unable to|"
    r"failed to) (?:load|open|find|dlopen).{0,60}?(?:cudart|cublas|cufft|curand|cusolver|cusparse|cudnn|"
    r"nvrtc|nvvm|gpu libraries)|importerror: lib(?:cu|nv)",
    re.IGNORECASE)
_END = (r"(?=\s*(?:[.,;)\u2014]|$|anywhere|here\b|there\b|at all|on (?:the|this|my|that|it)|installed|and\b|"
        r"or\b|either|yet))")
_NO_TOOLKIT = (
    Pattern(r"\b(?:no|without|never install(?:ed|ing)|(?:have|has|had|did|do)(?:n'?t|"
            r" not)(?: \w+){0,2} install(?:ed)?) (?:the |any |"
            r"a )?(?:nvidia )?(?:(?:cuda )?toolkit|cuda)" + _END, re.IGNORECASE),
    Pattern(r"\b(?:only|just|nothing\b.{0,50}?\bbut) (?:the |a )?(?:nvidia )?driver\b|\bdriver only\b|"
            r"\bshows? only libcuda1\b", re.IGNORECASE),
    Pattern(r"\bno /usr/local/cuda|/usr/local/cuda\S{0,6}'?(?:: no such file| (?:does not|doesn'?t) exist|"
            r" is (?:empty|missing|not there))", re.IGNORECASE),
)
_LOOKED = Pattern(r"[$#] ?ls (?:-\w+ )?/usr/local(?:/cuda\S*| ?\| ?grep -?i? ?cuda)\s*$")
_PACKAGES = Pattern(
    r"\bnvidia[- ](?:\w+[- ])?(?:wheels?|packages?|libs|libraries)\b(?=.{0,60}?\b(?:in|installed|unpacked|"
    r"collected|present|there|under|are)\b)|\bnvidia-(?:cudnn|cublas|cuda-runtime|cuda-nvcc|cuda-nvrtc|cufft|"
    r"cusparse|cusolver)-cu[0-9][0-9]\S{0,3}\s{0,40}(?:==)?\s{0,40}v?[0-9]+\.[0-9]+|(?:site|"
    r"dist)-packages/nvidia/\w+/(?:lib|bin)|\br(?:un)?path\b.{0,40}\bnvidia\b", re.IGNORECASE)
_WAY = Pattern(
    r"LD_LIBRARY_PATH|\bln -s|\bsym-?link|\bCUDNN_PATH\b|\bCUDA_HOME\b|\bPATH\b|preload_dlls|"
    r"\badd_dll_directory|\bimport(?:ing)? torch (?:before|first)", re.IGNORECASE)
_TO_PIP = Pattern(r"(?:site|dist)-packages|nvidia[./](?:\*|\w+)[./](?:lib|bin|__)|\bnvidia\.(?:cudnn|cublas)|"
                  r"\bnvidia (?:wheels?|packages?)|CUDNN_PATH|preload_dlls|"
                  r"import(?:ing)? torch", re.IGNORECASE)
_CURES = Pattern(r"\b(?:fix(?:es|ed)|helps?|helped|cure[sd]?|solve[sd]?|resolve[sd]?|works?|worked|finds?|"
                 r"is fine|gone)\b", re.IGNORECASE)
_DENIED = Pattern(r"(?:\bnot|n't|\bno|\bnever|\bnothing|\bstill)\b[^.,;]{0,24}$", re.IGNORECASE)
# Kinds of process that do not read what a shell reads at its start.
_OTHER_PROCESS = Pattern(
    r"\b(?:jupyter\w*|notebook|systemd|\w+\.service|service|cron\w*|vs ?code|pycharm|spyder|rstudio|eclipse|"
    r"debugger|sudo|ssh|ide|supervisor\w*|gunicorn|uwsgi|daemon|launchd|airflow|jenkins|"
    r"task scheduler)\b", re.IGNORECASE)
_SHELL = Pattern(r"\b(?:shell|terminal|console|by hand|interactive\w*|command line|manually|bash|cmd|prompt|"
                 r"without sudo|locally|logged in)\b", re.IGNORECASE)
_GOES_WELL = Pattern(r"\b(?:works?|worked|fine|finds?|found|sees?|ok(?:ay)?|imports|= ?gpu|there'?s gpu|"
                     r"has gpu|uses? the gpu|gpu is (?:used|found|seen)|succeeds|"
                     r"no problem)\b", re.IGNORECASE)
_LONGEST = 500


def unreached(lines: Sequence[str]) -> Iterator[Answered]:
    """Yield what a text that misses a library says of where libraries are."""
    said = [line[:_LONGEST] for line in lines]
    if not any(_MISSED.search(line) and not entries.speaks_of_none(line) for line in said if _may_miss(line)):
        return
    for text, says in ((NO_TOOLKIT, _says_no_toolkit), (OF_PIP, _has_packages), (CURED, _says_cured),
                       (ELSEWHERE, _works_elsewhere)):
        number = next((number for number, line in enumerate(said, start=1) if line and says(line)), None)
        if number is not None:
            yield Answered(text=text, line=number)
    for number, (line, below) in enumerate(zip(said, [*said[1:], "$"], strict=True), start=1):
        is_empty = below.strip() in ("$", "#", "") or "No such file" in below
        if is_empty and "ls " in line and _LOOKED.search(line):
            yield Answered(text=NO_TOOLKIT, line=number)
            return


def _may_miss(line: str) -> bool:
    return _names_any(line, "cu", "nvvm", "gpu libraries")


def _names_any(line: str, *words: str) -> bool:
    """Say whether a line may be worth an expression: without one of these words none of it can match."""
    folded = line.lower()
    return any(word in folded for word in words)


def _says_no_toolkit(line: str) -> bool:
    return _names_any(line, "toolkit", "cuda", "driver") and any(
        saying.search(line) for saying in _NO_TOOLKIT)


def _has_packages(line: str) -> bool:
    found = _names_any(line, "nvidia") and _PACKAGES.search(line)
    return bool(found) and "LD_LIBRARY_PATH:" not in line


def _says_cured(line: str) -> bool:
    """Say whether a line names a way to the packages of pip, and says that it helps."""
    may_name = _names_any(line, "packages", "nvidia", "cudnn_path", "preload", "torch")
    if not (may_name and _WAY.search(line) and _TO_PIP.search(line)):
        return False
    return any(not _DENIED.search(line[:found.start()]) for found in _CURES.finditer(line))


def _works_elsewhere(line: str) -> bool:
    """Say whether a line tells a process that the shell does not start from the shell, where it goes well."""
    shell = _SHELL.search(line)
    if shell is None or not _OTHER_PROCESS.search(line):
        return False
    around = line[max(0, shell.start() - 40):shell.end() + 40]
    return _GOES_WELL.search(around) is not None
