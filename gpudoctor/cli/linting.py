"""What `gpudoctor lint` does: read the files and what they name, judge them, print, put right."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace

from gpudoctor import __version__, host, versions
from gpudoctor.assume import assumed, parse_assumption
from gpudoctor.cli import lint_host, showing, sources
from gpudoctor.cli.errors import InputError, UsageError
from gpudoctor.examine import EXIT_FINDINGS, EXIT_HEALTHY, EXIT_INPUT, EXIT_UNDECIDED
from gpudoctor.frozen import frozen
from gpudoctor.host import Host, Text
from gpudoctor.manifests import constraints, kinds, rewrites
from gpudoctor.manifests.judging import Linter, Verdicts
from gpudoctor.manifests.left_open import Note
from gpudoctor.manifests.report import LintReport, encode
from gpudoctor.manifests.spans import ManifestError, Place, Source
from gpudoctor.manifests.statements import Build, Environment
from gpudoctor.model import RuleDatabase, Severity, Verdict

_MAX_BYTES, _MAX_BYTES_OF_LOCK = 1 << 20, 1 << 23
_PYTHON = "python"
_WITHOUT_DIFF = ("sarif", "junit")


@frozen
class Asked:
    """The options of `gpudoctor lint`."""

    files: tuple[str, ...]
    gpu: bool = False
    fix: bool = False
    write: bool = False
    recorded: str | None = None
    assume: tuple[str, ...] = ()
    format: str = "text"
    output: str | None = None
    fail_on: str = "error"
    allow_undecided: bool = False
    build_arguments: tuple[str, ...] = ()
    timeout: float = 20.0
    rules: str | None = None


def lint(asked: Asked) -> int:
    """Judge files, print what was found and return the exit code."""
    if asked.write and not asked.fix:
        raise UsageError("--write says what to do with the changes of --fix: give both")
    if asked.fix and asked.format in _WITHOUT_DIFF:
        raise UsageError(f"--format {asked.format} has no place for the diff of --fix: give one of them")
    showing.refuse_lost_output(asked.output)
    database = sources.announced_database(asked.rules, "whole" if asked.format == "sarif" else "judged")
    pairs = [parse_assumption(text) for text in asked.assume]
    refused: dict[str, ManifestError] = {}
    texts = {name: text for name in dict.fromkeys(asked.files) if (text := _text(name, refused)) is not None}
    python = next((str(value) for name, value in pairs if name == _PYTHON), None)
    build = Build(arguments=dict(_argument(text) for text in asked.build_arguments))
    described = _described(texts, python, build, refused)
    if not texts.keys() - refused.keys():  # before anything else: nothing is left to be judged
        raise InputError("; ".join(map(str, refused.values())))
    texts = {name: text for name, text in texts.items() if name not in refused}
    host_of = lint_host.lint_host(asked.recorded, assumed(pairs), asked.timeout, database)
    linter = Linter(host_of.machine, database, wants_gpu=asked.gpu, supposes_gpu=lint_host.names_a_gpu(pairs),
                    observed=host_of.observed, host_faults=host_of.faults)
    verdicts = linter.judge([one for some in described.values() for one in some])
    verdicts = replace(verdicts, notes=(*verdicts.notes, *map(_refusal, refused, refused.values())))
    report = _report(asked, texts, verdicts, database, host_of.in_words)
    if refused:
        report = replace(report, exit_code=EXIT_INPUT)
    if asked.fix:
        report = _fixed(asked, texts, report, linter, python, build)
    sources.write(_rendered(report, asked, database), asked.output)
    return report.exit_code


# -- files -------------------------------------------------------------------------------------------------


def _text(name: str, refused: dict[str, ManifestError]) -> str | None:
    """Return the text of a file; None where it cannot be read, and `refused` then says why."""
    try:
        return _read(name)
    except ManifestError as error:
        refused[name] = error
        return None


def _refusal(name: str, error: ManifestError) -> Note:
    """Return what is said of a file that could not be read; it may be for another that it takes over."""
    is_here = isinstance(error.where, Place) and error.where.file == name
    place = error.where if isinstance(error.where, Place) and is_here else Source(name, "").place(0)
    reason = error.said if is_here or error.where == name else str(error)
    return Note(place=place, matters=True, said=f"the file cannot be read, and was not judged: {reason}")


def _read(name: str) -> str:
    if name == "-":
        raise ManifestError(name, "lint reads no standard input, for a file's name tells what it is: "
                                  "name files")
    limit = _limit(name)
    match Host().read_bytes(os.path.abspath(name), limit_bytes=limit):
        case host.Data(truncated=True):
            raise ManifestError(name, f"larger than {limit >> 20} MiB, which no such file is")
        case host.Data(data=data):
            try:
                return data.decode("utf-8")
            except UnicodeDecodeError as error:
                before = Source(name, data[:error.start].decode("utf-8"))
                raise before.error(len(before.text), "is no UTF-8 text") from None
        case host.Missing():
            raise ManifestError(name, "no such file")
        case host.Refused(reason=reason):
            raise ManifestError(name, f"cannot be read: {reason}")


def _limit(name: str) -> int:
    """Return how many bytes of a file are read: a lock has thousands of lines that nobody wrote."""
    return _MAX_BYTES_OF_LOCK if name.endswith(".lock") else _MAX_BYTES


def _described(texts: Mapping[str, str], python: str | None, build: Build | None = None,
               refused: dict[str, ManifestError] | None = None) -> dict[str, list[Environment]]:
    """Return the environments of each file; a list that another file takes in is judged with that one.

    Those that are of no kind, or broken, are left out and go to `refused`; without it the first ends it.
    """
    taken: set[str] = set()
    named = {os.path.realpath(name): name for name in texts}

    def reader(of: str) -> kinds.Reader:
        folder, here = os.path.realpath(os.path.dirname(os.path.abspath(of))), os.path.realpath(os.curdir)
        if folder.startswith(f"{here.rstrip('/')}/"):
            folder = here  # `docker build -f docker/Dockerfile .` copies from here

        def read(name: str) -> Source | None:
            path = os.path.realpath(name)
            if not path.startswith(f"{folder.rstrip('/')}/"):
                return None  # what lies outside of its folder is no part of what is built
            if path in named:
                taken.add(named[path])
                return Source(named[path], texts[named[path]])
            found = Host().read_text(path, limit_bytes=_limit(name))
            return Source(name, found.text) if isinstance(found, Text) and not found.truncated else None

        return read

    found: dict[str, list[Environment]] = {}
    for name, text in texts.items():
        before = set(taken)
        try:
            found[name] = kinds.environments(Source(name, text), reader(name), build)
        except ManifestError as error:
            if refused is None:
                raise
            refused[name] = error
            taken = before  # what it would have taken in is judged by itself
    kept = {name: some for name, some in found.items() if name not in taken or len(some) != 1
            or some[0].in_container or some[0].constrains}
    kept = constraints.beside(kept)
    return {name: [one if one.python or python is None else replace(one, python=_minor(python))
                   for one in some] for name, some in kept.items()}


def _argument(text: str) -> tuple[str, str]:
    """Return name and value of a `--build-arg`."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"--build-arg {text}: write NAME=VALUE")
    return name, value


def _minor(version: str) -> str:
    return ".".join(str(part) for part in versions.parse(version).release[:2])


# -- the report --------------------------------------------------------------------------------------------


def _report(asked: Asked, texts: Mapping[str, str], verdicts: Verdicts, database: RuleDatabase,
            in_words: Mapping[str, str]) -> LintReport:
    fail_on = Severity(asked.fail_on)
    failing = [one for one in verdicts.findings if one.finding.severity.rank <= fail_on.rank]
    blind = (any(one.severity.rank <= fail_on.rank for _, one in verdicts.undecided)
             or any(note.matters for note in verdicts.notes))
    exit_code = EXIT_HEALTHY
    if failing:
        exit_code = EXIT_FINDINGS
    elif blind and not asked.allow_undecided:
        exit_code = EXIT_UNDECIDED
    verdict = (Verdict.FINDINGS if verdicts.findings else Verdict.UNDECIDED if blind else Verdict.HEALTHY)
    return LintReport(
        tool_version=__version__, rules_version=database.version, rules_sha256=database.sha256,
        verdict=verdict, exit_code=exit_code, assumptions=asked.assume, host=in_words, files=tuple(texts),
        findings=verdicts.findings, undecided=verdicts.undecided, notes=verdicts.notes)


def _fixed(asked: Asked, texts: dict[str, str], report: LintReport, linter: Linter, python: str | None,
           build: Build) -> LintReport:
    """Return the report with the changes that are proven; with `--write` they are made."""
    def judge_again(changed: Mapping[str, str]) -> Verdicts:
        given = {name: changed[name] for name in texts}
        return linter.judge([one for some in _described(given, python, build).values() for one in some],
                            offering=False)

    own = {one.place.file for one in report.findings} & set(texts)
    listed = [one for one in report.findings if one.place.file in own]
    changes = rewrites.proven(listed, texts, judge_again)
    after = rewrites.applied(texts, changes)
    if asked.write:
        for name, text in after.items():
            if text != texts[name]:
                refused = host.write_atomically(name, text.encode("utf-8"))
                if refused is not None:
                    raise InputError(f"{name}: cannot be written: {refused.reason}")
    return replace(report, rewrites=changes, diff=rewrites.diff(texts, after))


def _rendered(report: LintReport, asked: Asked, database: RuleDatabase) -> str:
    match asked.format:
        case "json":
            return json.dumps(encode(report), indent=2) + "\n"
        case "github":
            from gpudoctor.render import annotated

            return annotated.render(report, os.getcwd(), written=asked.write)
        case "sarif":
            from gpudoctor.render import sarif

            return sarif.render(report, database.rules, os.getcwd())
        case "markdown" | "html" | "junit" as name:
            from gpudoctor.render import manifest_formats

            if name == "junit":
                return manifest_formats.tests(report, Severity(asked.fail_on),
                                              strict=not asked.allow_undecided)
            render = manifest_formats.markdown if name == "markdown" else manifest_formats.page
            return render(report, written=asked.write)
    from gpudoctor.render import manifests

    terminal = sys.stdout.isatty() and asked.output is None
    return manifests.render(report, width=showing.width(terminal), colour=terminal and showing.colour(),
                            written=asked.write)
