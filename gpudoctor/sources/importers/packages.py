"""Lists of packages: pip list, freeze and show, what pip says while it installs, conda list; JSON of both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from gpudoctor.lazily import Pattern
from gpudoctor.sources.found import NAMES, Found
from gpudoctor.sources.lines import Text
from gpudoctor.sources.stated import Rank
from gpudoctor.versions import distribution_name

_LIST_LINES = 3000
_WHOLE = 12  # rows: a shorter list was filtered, or cut out by hand
# pip sorts its lists: one whose last name comes before this was cut off above what its absence would tell.
_LAST_THAT_TELLS = "nvidia-~"
_PARTIAL = Pattern(r"\bpip[0-9.]{0,5} list\b.{0,80}(?:\||\s-(?!v\b|-verbose|-format|-disable|-no-)[a-z-])")
_LEGACY = Pattern(r"[ \t]{0,8}([A-Za-z0-9_][A-Za-z0-9._-]{0,80}) "
                  r"\(([0-9][A-Za-z0-9.!+_-]{0,60})(?:, [^()]{1,200})?\)\s{0,4}")
_LEGACY_ROWS = 3  # so many below one another are a list of pip's before 18, which has no heading
_NAME = Pattern(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,80}")
_VERSION = Pattern(r"[0-9][A-Za-z0-9.!+_-]{0,60}")
_FREEZE = Pattern(r"[ \t*+-]{0,12}(?:\[(?:pip[23]?|conda)\][ \t]{1,4})?"
                  r"([A-Za-z0-9_][A-Za-z0-9._-]{0,80})={2,3}([0-9][A-Za-z0-9.!+_-]{0,60})[ \t\\]{0,8}")
_INSTALLED = "Successfully installed "
_SATISFIED = "Requirement already satisfied: "
_INCOMPATIBLE = Pattern(
    r"(?:ERROR: )?([A-Za-z0-9._-]{1,80}) ([0-9][A-Za-z0-9.+!-]{0,60}) (?:requires|has requirement) ")
_BUT_HAVE = Pattern(r"but you(?:'ll)? have ([A-Za-z0-9._-]{1,80}) ([0-9][A-Za-z0-9.+!-]{0,60})")
# Rows without a heading (pip list | grep ...) are taken for packages that matter here.
_PREFIXES = ("nvidia-", "jax", "tensorflow", "torch", "keras", "cupy", "onnxruntime", "cuda", "paddle",
             "tf-nightly", "ctranslate2", "bitsandbytes", "vllm")
_PLAIN = frozenset(
    {"numpy", "protobuf", "cudnn", "nccl", "pip", "triton", "pytorch", "libtensorflow", "tensorrt"})
_OF_PACMAN = Pattern(r"-[0-9]{1,4}(?:\.[0-9]{1,3})?\Z")  # of rows that `pacman` reads
_BUILD = Pattern(r"(?:py|<pip>|pypi)|[A-Za-z0-9_.]{0,40}_[0-9]{1,4}")


def read(text: Text, found: Found) -> None:
    """Read every list and every line that names an installed package with its version."""
    listing_until = -1
    for index, line in enumerate(text.lines):
        if "==" in line:
            row = _FREEZE.fullmatch(line)
            if row:
                if not _is_taken_away(text, index):
                    _package(text, found, index, row[1], row[2])
                continue
        start = line.lstrip()[:24]
        if index <= listing_until:
            continue
        if start.startswith(("Package ", "# Name", "Name  ")) and "ersion" in line:
            listing_until = _listing(text, found, index)
        elif start[:1].isalpha() or start.startswith(("[conda]", "[pip")):
            _row(text, found, index, line)
    _legacy(text, found)
    _said_by_pip(text, found)
    _shown(text, found)


def _package(text: Text, found: Found, index: int, name: str, version: str) -> None:
    if (distribution_name(name), version) in found.packages:
        return  # said before; its line need not be worked out
    found.package(name, version, text.source(index))


def _listing(text: Text, found: Found, heading: int) -> int:
    """Read the rows below a heading until one that is none; return the last line of the list."""
    is_conda = "uild" in text.lines[heading]
    blanks = rows = 0
    index = heading
    last = ""
    for index in range(heading + 1, min(heading + _LIST_LINES, len(text.lines))):
        words = text.lines[index].split()
        if not words:
            blanks += 1
            if blanks > 1:
                break
            continue
        if set(words[0]) <= {"-", "=", "\u2500"} or words[0] == "#":
            continue
        if len(words) < 2 or not (_NAME.fullmatch(words[0]) and _VERSION.fullmatch(words[1])):
            break
        _package(text, found, index, words[0], words[1])
        last, rows = distribution_name(words[0]), rows + 1
        if is_conda and len(words) > 2:
            _conda_build(found, words[0], words[2], text.source(index))
    if not is_conda and rows >= _WHOLE and last > _LAST_THAT_TELLS and not _is_partial(text, heading):
        found.whole_list = text.source(heading)
    return index - 1


def _is_partial(text: Text, heading: int) -> bool:
    """Say whether the list shows some packages alone: those that are outdated, or that a command chose."""
    asked = any(_PARTIAL.search(line[:400]) for line in text.lines[max(0, heading - 2):heading])
    return asked or "Latest" in text.lines[heading]


def _legacy(text: Text, found: Found) -> None:
    """Read lists of `name (version)`, as pip printed them before 18."""
    end = -1
    for first in text.having(" ("):
        if first <= end:
            continue
        below = text.lines[first:first + _LIST_LINES]
        rows = [row for row in takewhile(bool, map(_LEGACY.fullmatch, below)) if row]
        end = first + len(rows) - 1
        if len(rows) < _LEGACY_ROWS:
            continue
        for index, row in enumerate(rows, start=first):
            _package(text, found, index, row[1], row[2])
        if len(rows) >= _WHOLE and distribution_name(rows[-1][1]) > _LAST_THAT_TELLS:
            found.whole_list = text.source(first)


def _is_taken_away(text: Text, index: int) -> bool:
    """Say whether uv says of a line " - name==version" that it uninstalled it, as lines around it show."""
    if not text.lines[index].startswith(" - "):
        return False
    around = text.lines[max(0, index - 1):index + 2]
    return any(line.startswith((" + ", "Uninstalled ")) for line in around)


def _row(text: Text, found: Found, index: int, line: str) -> None:
    """Read a row by itself: NAME VERSION, or conda's NAME VERSION BUILD CHANNEL."""
    words = line.split(None, 6)
    is_conda = words[0] == "[conda]"
    words = words[1:] if words[0] in ("[conda]", "[pip3]", "[pip]") else words
    if not 2 <= len(words) <= 5 or not _matters(words[0].lower()) or not _VERSION.fullmatch(words[1]):
        return
    if "." not in words[1] or not _NAME.fullmatch(words[0]) or _OF_PACMAN.search(words[1]):
        return
    if len(words) == 2 and words[0].lower() == "cuda":  # a column of a report, and no distribution
        found.say("text.cuda", words[1], text.source(index), Rank.STATED)
    elif len(words) == 2 or is_conda or _BUILD.match(words[2]):
        _package(text, found, index, words[0], words[1])
        if len(words) > 2:
            _conda_build(found, words[0], words[2], text.source(index))


def _matters(name: str) -> bool:
    return name in NAMES or name in _PLAIN or name.startswith(_PREFIXES)


def _conda_build(found: Found, name: str, build: str, source: str) -> None:
    """Read what a build of conda's says: gpu_py38, py3.8_cuda11.1_cudnn8.0.5_0, cuda112py39, cpu_mkl, ..."""
    framework, build = NAMES.get(name.lower()), build.lower()
    found.mention("text.places", "conda", source)
    if framework is None or build.startswith(("pypi", "<pip>")):
        return
    dotted = re.search(r"cuda_?([0-9]{1,2}\.[0-9])", build)
    digits = re.search(r"cuda_?([0-9]{2})([0-9])(?![0-9])", build)
    cudnn = re.search(r"cudnn_?([0-9]{1,2}(?:\.[0-9]{1,2}){1,3})", build)
    cuda = dotted[1] if dotted else f"{digits[1]}.{digits[2]}" if digits else None
    found.framework(framework, "framework.installer", "conda", source)
    found.framework(framework, "framework.cuda", cuda, source)
    found.framework(framework, "framework.cudnn", cudnn[1] if cudnn else None, source)
    if "cuda" in build or build.startswith("gpu"):
        found.framework(framework, "framework.build", "cuda", source)
    elif "cpu" in build or build.startswith(("mkl", "eigen")):
        found.framework(framework, "framework.build", "cpu", source)


def _said_by_pip(text: Text, found: Found) -> None:
    for index in text.having(_INSTALLED):
        for word in text.lines[index].partition(_INSTALLED)[2].split()[:400]:
            package, _, version = word.rpartition("-")
            if _NAME.fullmatch(package) and _VERSION.fullmatch(version):
                _package(text, found, index, package, version)
    for index in text.having(_SATISFIED):
        words = text.lines[index].partition(_SATISFIED)[2].split()
        pinned = _FREEZE.fullmatch(words[0]) if words else None
        if pinned:
            _package(text, found, index, pinned[1], pinned[2])
        elif words and words[-1].startswith("(") and _VERSION.fullmatch(words[-1].strip("()")):
            named = re.match(r"[A-Za-z0-9._-]{1,80}", words[0])
            if named:
                _package(text, found, index, named[0], words[-1].strip("()"))
    for mark in ("which is incompatible", "has requirement "):
        for index in text.having(mark):
            line = text.lines[index].strip()
            for match in (_INCOMPATIBLE.match(line), _BUT_HAVE.search(line)):
                if match:
                    _package(text, found, index, match[1], match[2].rstrip("."))


def _shown(text: Text, found: Found) -> None:
    """Read pip show: Name and Version one below the other."""
    for position in text.places("\nVersion: "):
        index = text.index_at(position + 1)
        before = text.lines[index - 1].strip() if index else ""
        version = text.lines[index].partition(": ")[2].strip()
        name = before.partition("Name: ")[2]
        if _NAME.fullmatch(name) and _VERSION.fullmatch(version):
            _package(text, found, index, name, version)


def from_document(document: object, source: str, found: Found) -> bool:
    """Read `pip list --format json`, `conda list --json` or `pip inspect`; say whether it was one."""
    if isinstance(document, dict) and isinstance(document.get("installed"), list):
        _environment(document, source, found)
        document = [item.get("metadata") for item in document["installed"] if isinstance(item, dict)]
    if not isinstance(document, list) or not document or not all(isinstance(item, dict) for item in document):
        return False
    rows = [item for item in document
            if isinstance(item.get("name"), str) and isinstance(item.get("version"), str)]
    if not rows:
        return False
    for row in rows[:_LIST_LINES]:
        if _NAME.fullmatch(row["name"]) and _VERSION.fullmatch(row["version"]):
            where = f"{source} {row['name']} {row['version']}"
            found.package(row["name"], row["version"], where)
            if isinstance(row.get("build_string"), str):
                _conda_build(found, row["name"], row["build_string"][:80], where)
    is_conda = any("build_string" in row for row in rows)
    if not is_conda and len(rows) >= _WHOLE and not any("latest_version" in row for row in rows):
        found.whole_list = source
    return True


def _environment(document: Mapping[str, Any], source: str, found: Found) -> None:
    """Read what `pip inspect` says of the interpreter."""
    stated = document.get("environment")
    stated = stated if isinstance(stated, dict) else {}
    for fact, value in (("python.pip_version", document.get("pip_version")),
                        ("python.version", stated.get("python_full_version")),
                        ("system.os", stated.get("platform_system")),
                        ("system.architecture", stated.get("platform_machine")),
                        ("system.kernel", stated.get("platform_release"))):
        if isinstance(value, str) and value:
            found.say(fact, value[:80], source)
