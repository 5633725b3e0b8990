"""What a shell's command has pip, uv or conda install; what is not one of their plain forms is nothing."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from itertools import islice

from gpudoctor.frozen import frozen
from gpudoctor.manifests.shellwords import Command, Redirection
from gpudoctor.manifests.spans import Word

_PIP = re.compile(r"pip(\d?(?:\.\d+)?)\Z")
_PYTHON = re.compile(r"python(\d?(?:\.\d+)?)\Z")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_SPEC = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9,._ -]*\])?(?:[=!~<>]=?[0-9A-Za-z.*+-]*,?)*\Z")
_BOUND = re.compile(r"=?[0-9][0-9A-Za-z.*+!-]*(?:,\S*)?\Z")
_WRAPPERS = frozenset({"sudo", "env", "nice", "command", "eatmydata"})
_CONDA = frozenset({"conda", "mamba", "micromamba"})
# options of pip and uv that take the next word
_VALUED = frozenset(
    "-r --requirement --requirements -c --constraint --constraints -i --index-url --default-index --index "
    "--extra-index-url -f --find-links -t --target --prefix --root --src -e --editable --python-version "
    "--platform --implementation --abi --only-binary --no-binary --timeout --retries --proxy --cert "
    "--client-cert --trusted-host --cache-dir --log --progress-bar --upgrade-strategy --report --python -p "
    "--python-platform --index-strategy --keyring-provider --resolution --prerelease --exclude-newer "
    "--link-mode --torch-backend --override --overrides --config-setting --config-settings -C --group --hash "
    "--root-user-action --no-build-isolation-package --refresh-package --reinstall-package --upgrade-package "
    "-P --directory --project --use-feature --use-deprecated --exists-action -b --build --build-constraint "
    "--global-option".split())
_CONDA_VALUED = frozenset("-n --name -p --prefix -c --channel --file --solver --subdir --revision".split())


@frozen
class Install:
    """What one command installs: `requirements` by their words, `files` with more, and the indexes.

    `python` is the version in the command's own name (python3.11 -m pip), "" where it has none.
    """

    tool: str
    requirements: tuple[Word, ...] = ()
    files: tuple[Word, ...] = ()
    index: Word | None = None
    extra_indexes: tuple[Word, ...] = ()
    python: str = ""
    lost: tuple[tuple[Word, str], ...] = ()
    no_dependencies: bool = False


def install_of(command: Command) -> Install | None:
    """Return what a command installs, None where it is none that does.

    `lost` are the words whose bound the shell takes for a redirection, each with what was meant.
    """
    words = list(command.words)
    first = _behind_wrappers(words)
    if first == len(words) or not words[first].known:
        return None
    name = posixpath.basename(words[first].text)
    if name in _CONDA:
        return _conda(words[first + 1:])
    begun = _pip_arguments(name, words, first)
    if begun is None:
        return None
    python, start = begun
    while start < len(words) and words[start].text.startswith("-"):
        start += 2 if words[start].text in _VALUED else 1
    if start >= len(words) or words[start].text != "install":
        return None
    found = _arguments(words[start + 1:], python)
    lost = tuple(pair for at in range(len(command.redirections))
                 if (pair := _lost(command.redirections, at, words, start)) is not None)
    return found if not lost else Install(
        tool=found.tool, requirements=found.requirements, files=found.files, index=found.index, lost=lost,
        extra_indexes=found.extra_indexes, python=found.python, no_dependencies=found.no_dependencies)


def _behind_wrappers(words: Sequence[Word]) -> int:
    first = 0
    while first < len(words):
        text = words[first].text
        if not (_ASSIGNMENT.match(text) or text in _WRAPPERS or (first and text.startswith("-"))):
            break
        first += 1
    return first


def _pip_arguments(name: str, words: Sequence[Word], first: int) -> tuple[str, int] | None:
    """Return the Python that the name of pip says, and where pip's own words begin."""
    following = [word.text for word in words[first + 1:first + 3]]
    if (match := _PIP.match(name)) is not None:
        return match[1], first + 1
    if (match := _PYTHON.match(name)) is not None and following == ["-m", "pip"]:
        return match[1], first + 3
    if name == "uv" and following[:1] == ["pip"]:
        return "", first + 2
    return None


def _arguments(words: Sequence[Word], python: str) -> Install:
    requirements: list[Word] = []
    options: dict[str, list[Word]] = {}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        option, equals, value = word.text.partition("=")
        if not word.text.startswith("-"):
            requirements.append(word)
        elif option.startswith("--") and equals:
            options.setdefault(option, []).append(_shortened(word, value))
        elif word.text in _VALUED and at < len(words):
            options.setdefault(word.text, []).append(words[at])
            at += 1
        elif word.text[:2] in ("-r", "-c", "-i", "-f") and len(word.text) > 2:
            options.setdefault(word.text[:2], []).append(_shortened(word, word.text[2:]))
        else:
            options.setdefault(word.text, [])
    indexes = [*options.get("-i", ()), *options.get("--index-url", ()), *options.get("--default-index", ())]
    extra = (*options.get("--extra-index-url", ()), *options.get("--index", ()))
    files = (*options.get("-r", ()), *options.get("--requirement", ()), *options.get("--requirements", ()))
    return Install(tool="pip", requirements=tuple(requirements), files=files, extra_indexes=extra,
                   index=indexes[-1] if indexes else None, python=python,
                   no_dependencies="--no-deps" in options)


def _shortened(word: Word, value: str) -> Word:
    return Word(text=value, start=word.start, end=word.end, known=word.known, plain=word.plain)


def _lost(redirections: Sequence[Redirection], number: int, words: Sequence[Word], start: int
          ) -> tuple[Word, str] | None:
    """Return the requirement whose bound became a file's name, and what was meant; None for another file."""
    first = redirections[number]
    if first.after - 1 <= start or not first.glued or not _is_bound(first):
        return None
    word = words[first.after - 1]
    if not (word.known and _SPEC.match(word.text)):
        return None
    meant, end, plain = [word.text], word.end, word.plain
    for one in islice(redirections, number, None):
        if one.start != end or one.target is None or not _is_bound(one):
            break
        meant += [one.operator, one.target.text]
        end, plain = one.target.end, plain and one.target.plain
    return Word(text=word.text, start=word.start, end=end, plain=plain), "".join(meant)


def _is_bound(one: Redirection) -> bool:
    """Return whether a redirection looks like a bound on a version: nobody names a file so."""
    target = one.target
    return (one.operator in ("<", ">") and one.target_glued and target is not None and target.known
            and _BOUND.match(target.text) is not None)


def _conda(words: Sequence[Word]) -> Install | None:
    """Return the packages that conda is asked for."""
    if not words or words[0].text not in ("install", "create"):
        return None
    packages: list[Word] = []
    at = 1
    while at < len(words):
        word = words[at]
        at += 2 if word.text in _CONDA_VALUED else 1
        if not word.text.startswith("-"):
            packages.append(word)
    return Install(tool="conda", requirements=tuple(packages))
