"""What a shell's command has pip, uv, poetry or conda install, as far as it is one of their plain forms."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from gpudoctor.frozen import frozen
from gpudoctor.manifests import lost_bounds, project_options
from gpudoctor.manifests.groups import Groups, groups_of
from gpudoctor.manifests.shellwords import Command, Redirection
from gpudoctor.manifests.spans import Word

UNINSTALL = "uninstall"  # in place of a tool: what is taken out again
_PIP = re.compile(r"pip([0-9]?(?:\.[0-9]+)?)\Z")
_PYTHON = re.compile(r"python([0-9]?(?:\.[0-9]+)?)\Z")
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_WRAPPERS = frozenset({"sudo", "env", "nice", "command", "eatmydata", "nohup", "gosu", "exec"})
_WRAPPER_VALUED = frozenset({"-u", "-g", "--user", "--group", "-n", "--name", "-p", "--prefix", "--cwd"})
_CONDA = frozenset({"conda", "mamba", "micromamba"})
# what fills an environment from a project's own file, and what adds to it
_PROJECTS = {"uv": frozenset({"sync"}), "poetry": frozenset({"install", "sync"}),
             "pdm": frozenset({"install", "sync"}), "pipenv": frozenset({"install", "sync"})}
_EXPORTS = ("uv", "poetry")
_ADDS = {"uv": "add", "poetry": "add", "pdm": "add", "pipenv": "install"}
# by which pip and uv do not leave what is there, or go elsewhere
_FRESH = frozenset("-U --upgrade --force-reinstall -I --ignore-installed --reinstall --exact -t --target "
                   "--prefix --root --python -p".split())
PYTORCH, BACKEND = "https://download.pytorch.org/whl/", re.compile(r"(?:cpu|cu[0-9]{2,3}|auto)\Z")
_HERE = re.compile(r"(?:\.|\./)(?:\[([A-Za-z0-9,._ -]*)\])?\Z")
_CONSTRAINTS, _OVERRIDES = ("-c", "--constraint", "--constraints"), ("--override", "--overrides")
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
    "--global-option --extra --with --without --only --only-group --no-group --no-extra --extras -E -G "
    "--categories --source".split())
_CONDA_VALUED = frozenset("-n --name -p --prefix -c --channel -f --file --solver --subdir --revision".split())


@frozen
class Install:
    """What one command installs: `requirements` by their words, `files` with more, and the indexes.

    `python` is the version in the command's own name (python3.11 -m pip), "" where it has none. `project` is
    the word that has the project's own file filled in, with these of its `groups`, of the project in
    `folder` ("" where none is named). `links` are pages of wheels, `overrides` lists of what uv installs in
    place of anything else. `then` is what uv runs afterwards, and `written` the file that a
    project's requirements are only written to, "-" for standard output. `layered` and `layered_files` are
    what uv installs for one command alone, in an environment of its own.
    """

    tool: str
    requirements: tuple[Word, ...] = ()
    files: tuple[Word, ...] = ()
    index: Word | None = None
    extra_indexes: tuple[Word, ...] = ()
    python: str = ""
    lost: tuple[tuple[Word, str], ...] = ()
    no_dependencies: bool = False
    constraints: tuple[Word, ...] = ()
    overrides: tuple[Word, ...] = ()
    links: tuple[Word, ...] = ()
    project: Word | None = None
    groups: Groups = Groups()
    folder: str = ""
    then: Command | None = None
    written: str = ""
    layered: tuple[Word, ...] = ()
    layered_files: tuple[Word, ...] = ()
    is_kept: bool = False
    into: str | None = None


def install_of(command: Command) -> Install | None:
    """Return what a command installs, None where it is none that does.

    `lost` are the words whose bound the shell takes for a redirection, each with what was meant.
    `is_kept`: it leaves in place what the system's Python has and what meets its words; `into` is where its
    program lies, in whose environment it does so, None where it takes everything anew.
    """
    found = _install_of(command)
    lost = tuple(lost_bounds.lost_of(command, found.requirements)) if found is not None else ()
    if found is None or not lost:
        return found
    starts, ends = [one.start for one, _ in lost], list(accumulate((one.end for one, _ in lost), max))
    kept = []  # without the versions that stand apart, which became words of their own
    for word in found.requirements:
        before = bisect_left(starts, word.start)
        if not before or ends[before - 1] <= word.start:
            kept.append(word)
    return replace(found, requirements=tuple(kept), lost=lost)


def _install_of(command: Command) -> Install | None:
    words = list(command.words)
    if (first := behind_wrappers(words)) == len(words) or not words[first].known:
        return None
    name = posixpath.basename(words[first].text)
    if name in _CONDA and words[first + 1:] and words[first + 1].text == "run":
        return _install_of(replace(command, words=tuple(words[first + 2 + _options(words[first + 2:]):])))
    if name in _CONDA:
        return _conda(words[first + 1:])
    if name == "uv":
        words = [*words[:first + 1],
                 *words[first + 1 + project_options.behind_options(name, words[first + 1:]):]]
    given = command.words[first + 1:]
    if (begun := _pip_arguments(name, words, first)) is None:
        found = _project(name, words[first + 1:], command.redirections)
        return None if found is None else replace(found, folder=project_options.folder_of(name, given))
    python, start = begun
    while start < len(words) and words[start].text.startswith("-"):
        start += 2 if words[start].text in _VALUED else 1
    verb = words[start].text if start < len(words) else ""
    if verb == "sync" and name == "uv":
        return Install(tool="uv", files=tuple(_arguments(words[start + 1:], "").requirements))
    if verb == "uninstall":
        return replace(_arguments(words[start + 1:], python), tool=UNINSTALL, files=(), project=None)
    if verb != "install":
        return None
    found = replace(_arguments(words[start + 1:], python), tool="uv" if "uv" in (
        name, *(word.text for word in words[first + 1:start])) else "pip")
    # uv pip goes into one folder, and heeds no other that has a project
    moved = posixpath.join("", *project_options.values(given, "--directory"))
    options = {word.text.partition("=")[0] for word in words[start + 1:]}
    is_kept = not options & _FRESH and "/" not in words[first].text and (
        found.tool == "pip" or "--system" in options)
    into = None if options & _FRESH else posixpath.dirname(words[first].text) or "."
    return replace(found, folder=moved, is_kept=is_kept, into=into, files=tuple(
        one if one.text == "-" else _shortened(one, posixpath.join(moved, one.text)) for one in found.files))


def _options(words: Sequence[Word]) -> int:
    """Return how many words are options, with what they take."""
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if words[at].text in _WRAPPER_VALUED else 1
    return at


def _project(name: str, words: Sequence[Word], redirections: Sequence[Redirection]) -> Install | None:
    """Return what a tool for projects fills in from the project's file, or adds to it."""
    if name == "uvx":
        return _layered(words)
    at = project_options.behind_options(name, words)
    if at == len(words) or name not in _PROJECTS:
        return None
    verb, rest = words[at], words[at + 1:]
    if name == "uv" and [verb.text, *(word.text for word in rest[:1])] == ["tool", "run"]:
        return _layered(rest[1:])
    if name == "uv" and verb.text == "run":
        return _run(verb, rest)
    if verb.text == "export" and name in _EXPORTS:
        target = next((one.target.text for one in redirections if one.operator == ">" and one.target), None)
        file = project_options.written(rest, target)
        groups = groups_of(name, "export", rest)
        groups = replace(groups, defaults=groups.defaults and name == "uv")  # poetry leaves every group out
        return Install(tool=name, project=verb, groups=groups, written=file) if file else None
    found = _arguments(rest, "")
    if verb.text == _ADDS[name] and found.requirements:
        return replace(found, tool="uv" if name == "uv" else "pip", project=None)
    if verb.text not in _PROJECTS[name]:
        return None
    return Install(tool=name, project=verb, groups=groups_of(name, verb.text, rest))


def _run(verb: Word, rest: Sequence[Word]) -> Install:
    """Return what `uv run` installs before it runs a command, which is behind its own options."""
    at = project_options.behind_options("uv", rest, _VALUED)
    behind = rest[at + (rest[at:at + 1] != [] and rest[at].text == "--"):]
    return replace(_layered(rest), project=verb if project_options.is_synced(rest[:at]) else None,
                   groups=groups_of("uv", "run", rest[:at]),
                   then=Command(words=tuple(behind)) if behind else None)


def _layered(words: Sequence[Word]) -> Install:
    """Return what uv installs for one command alone, by the options that stand before it."""
    own = words[:project_options.behind_options("uv", words, {*_VALUED, "--from"})]
    return Install(tool="uv", layered=project_options.valued(own, "--with", "-w", "--from"),
                   layered_files=project_options.valued(own, "--with-requirements"))


def behind_wrappers(words: Sequence[Word]) -> int:
    """Return how many words stand before a command that only set variables, or run it in another way."""
    first = 0
    while first < len(words):
        text = words[first].text
        if first and text.startswith("-"):
            first += _options(words[first:])
        elif ASSIGNMENT.match(text) or text in _WRAPPERS:
            first += 1
        else:
            break
    return min(first, len(words))


def _pip_arguments(name: str, words: Sequence[Word], first: int) -> tuple[str, int] | None:
    """Return the Python that the name of pip says, and where pip's own words begin."""
    following = [word.text for word in words[first + 1:first + 3]]
    if (match := _PIP.match(name)) is not None:
        return match[1], first + 1
    if (match := _PYTHON.match(name)) is not None and following == ["-m", "pip"]:
        return match[1], first + 3
    if match is not None and following == ["-m", "uv"] and words[first + 3:first + 4] and (
            words[first + 3].text == "pip"):
        return match[1], first + 4
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
        elif word.text[:2] in ("-r", "-c", "-i", "-f", "-e") and len(word.text) > 2:
            options.setdefault(word.text[:2], []).append(_shortened(word, word.text[2:]))
        else:
            options.setdefault(word.text, [])
    indexes = [*options.get("-i", ()), *options.get("--index-url", ()), *options.get("--default-index", ())]
    extra = (*options.get("--extra-index-url", ()), *options.get("--index", ()))
    backends = [_shortened(word, f"{PYTORCH}{word.text}") for word in options.get("--torch-backend", ())
                if BACKEND.match(word.text)]
    constraints, overrides = (tuple(word for name in some for word in options.get(name, ()))
                              for some in (_CONSTRAINTS, _OVERRIDES))
    editable = (*options.get("-e", ()), *options.get("--editable", ()))
    project = next((word for word in (*requirements, *editable) if _HERE.match(word.text)), None)
    extras, groups = _HERE.match(project.text) if project else None, groups_of("pip", "install", words)
    return Install(
        tool="pip", requirements=tuple(word for word in requirements if word is not project),
        files=(*options.get("-r", ()), *options.get("--requirement", ()), *options.get("--requirements", ())),
        extra_indexes=extra, index=next(iter((*indexes[::-1], *backends)), None), python=python,
        constraints=constraints, overrides=overrides,
        links=(*options.get("-f", ()), *options.get("--find-links", ())), project=project,
        groups=Groups(everything=groups.everything, named=groups.named | frozenset(
            ((extras and extras[1]) or "").replace(" ", "").split(","))),
        no_dependencies="--no-deps" in options)


def _shortened(word: Word, value: str) -> Word:
    return Word(text=value, start=word.start, end=word.end, known=word.known, plain=word.plain)


def _conda(words: Sequence[Word]) -> Install | None:
    """Return the packages that conda is asked for, its channels as `extra_indexes`, and its files."""
    verbs = [word for word in words if not word.text.startswith("-")]
    verb = " ".join(word.text for word in verbs[:2])
    if not verbs or verb.partition(" ")[0] not in ("install", "create", "update", "env"):
        return None
    packages: list[Word] = []
    options: dict[str, list[Word]] = {}
    at = words.index(verbs[0]) + 1
    if verbs[0].text == "env":
        if verb not in ("env create", "env update"):
            return None
        at = words.index(verbs[1]) + 1
    while at < len(words):
        word = words[at]
        option, equals, value = word.text.partition("=")
        if equals and option.startswith("--"):
            options.setdefault(option, []).append(_shortened(word, value))
        elif word.text in _CONDA_VALUED and at + 1 < len(words):
            at += 1
            options.setdefault(word.text, []).append(words[at])
        elif not word.text.startswith("-"):
            packages.append(word)
        at += 1
    return Install(tool="conda", requirements=tuple(packages),
                   files=(*options.get("-f", ()), *options.get("--file", ())),
                   extra_indexes=(*options.get("-c", ()), *options.get("--channel", ())))
