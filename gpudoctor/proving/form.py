"""What a rule page must look like: names, types, operands, words, sources."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from gpudoctor import meaning
from gpudoctor.facts import CATALOGUE
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.model import Case, Certainty, Fix, Rule, RuleDatabase, Scope, Severity, Value
from gpudoctor.proving.sections import section_problems, text_problems
from gpudoctor.skeleton import UNFINISHED
from gpudoctor.table_meaning import PINNED, is_day
from gpudoctor.words import placeholders

_ID = re.compile(r"GPD[X0-9][0-9]{3,4}\Z")
_UNDOCUMENTED = re.compile(r"^No documentation: *\S", re.MULTILINE)
# Some are information, some about gpudoctor itself: what it foretold did not come true, its rules are old.
# The last four are seen before anything failed: who shares no memory, starts no container or compiles nothing
# at run time never notices.
_NO_FAULT_OF_THE_MACHINE = (
    "framework-came-along", "framework-not-installed", "unknown-card", "other-accelerator",
    "loader-trace-differs", "rules-older-than-machine", "rules-package-refused", "shm-too-small",
    "nvidia-container-toolkit-missing", "podman-drops-gpu-request", "image-asks-newer-driver")
_AS_ROOT = re.compile(r"\b(?:sudo|reboot|poweroff)\b")


def form_problems(rule: Rule, database: RuleDatabase) -> Iterator[str]:
    """Yield every problem of a rule's form."""
    yield from _identity(rule)
    yield from _blocks(rule, database)
    yield from _asks(rule)
    yield from _fixes(rule)
    yield from _leaves(rule)
    yield from (fault.problem for fault in meaning.of_page(rule, database))
    yield from section_problems(rule)
    yield from text_problems(rule, database)
    yield from _sources(rule)
    if places := meaning.unfinished(rule):
        yield f"places that are still to be filled in: {places}; they say {UNFINISHED!r}"


def _identity(rule: Rule) -> Iterator[str]:
    if not _ID.match(rule.id):
        yield f"the id {rule.id!r} is not GPDnnnn"
    if rule.path.rpartition("/")[2] != f"{rule.id}-{rule.cause}.md":
        yield f"the file must be called {rule.id}-{rule.cause}.md"
    mild = rule.severity in (Severity.BENIGN, Severity.INFO)
    if mild and not rule.cause.startswith("benign-") and rule.cause not in _NO_FAULT_OF_THE_MACHINE:
        yield "a cause that is not benign-* is at least a warning"
    if not rule.case:
        yield "no [[case]]"
    yield from (f"case {case.name!r} {problem}" for case in rule.case for problem in _case(case))


def _case(case: Case) -> Iterator[str]:
    if case.log is None:
        if case.expect == "first":
            yield "expects to be first, which only the cause of a log can be"
    elif case.facts or case.absent or case.unknown or case.block is not None or case.offers is not None:
        yield "has a log, so it has neither facts nor a block, and is offered no fix"
    elif case.expect == "undecided":
        yield "has a log: it expects match, first or clear"


def suspected_causes(database: RuleDatabase) -> frozenset[str]:
    """Return the causes that some symptom suspects."""
    return frozenset(suspect.cause for symptom in database.symptoms for suspect in symptom.suspects)


def _blocks(rule: Rule, database: RuleDatabase) -> Iterator[str]:
    if not rule.detect:
        yield from _told(rule, database)
    for name, count in Counter(block.name for block in rule.detect).items():
        if count > 1:
            yield f"two blocks are called {name!r}"
    if any(block.certainty is Certainty.LIKELY for block in rule.detect) and not rule.ask:
        yield "a block is only likely, but no [[ask]] says what would decide"


def _told(rule: Rule, database: RuleDatabase) -> Iterator[str]:
    """Yield what a page lacks whose cause only a text can show."""
    if rule.cause not in suspected_causes(database):
        yield "no [[detect]] block, and no symptom suspects its cause"
    if not rule.ask:
        yield "no [[detect]] block, and no [[ask]] that says what would decide"
    if rule.scope is not Scope.HOST:
        yield "no [[detect]] block, so its scope is \"host\""
    yield from (f"case {case.name!r} has no log, and the page no [[detect]] block"
                for case in rule.case if case.log is None)
    if not any(case.log is not None and case.expect != "clear" for case in rule.case):
        yield "no case with a log that shows the cause"
    if not any(case.log is not None and case.expect == "clear" for case in rule.case):
        yield "no case with a log that does not show the cause"


# known wherever anything is judged: no question needs another one in case it is not
_ALWAYS_KNOWN = "container.check_command"
_IMPORTED = re.compile(rf"\b(?:import|from) ({'|'.join(FRAMEWORKS)})\b")


def _asks(rule: Rule) -> Iterator[str]:
    """Yield questions that nobody is asked, or in the words of another framework; any fact may be named."""
    for rest, ask in zip(range(len(rule.ask) - 1, -1, -1), rule.ask, strict=True):
        said = f"question {ask.question!r}"
        words = (ask.question, ask.command, *ask.answers.values())
        named = [name for text in words for name in placeholders(text) if name != _ALWAYS_KNOWN]
        if rest and not (ask.when or named):
            yield f"{said} always holds: it is the last"
        if not rest and (ask.when or named):
            yield f"the last {said} has conditions or names facts: add one that always holds"
        owners = {condition.right.value for condition in ask.when
                  if (condition.fact, condition.op) == ("framework.name", "equals") and condition.right}
        yield from (f"{said} imports {framework}, whatever the framework is"
                    for framework in _IMPORTED.findall(ask.command) if framework not in owners)


_LEAVES = re.compile(
    r"\bgpudoctor (?:check|snapshot)\b(?! (?:--pull )?--(?:image|container)\b| on the host\b)")


def _leaves(rule: Rule) -> Iterator[str]:
    """Yield what sends a person to the machine who had an image or a container examined.

    What is asked or done only where none was named may: a condition says so, or a question for all images
    stands before it.
    """
    said = [("the summary", rule.summary)]
    for ask in rule.ask:
        if [(one.fact, one.op) for one in ask.when] == [("image.reference", "exists")]:
            break
        said += [(f"question {ask.question!r}", text)
                 for text in (ask.question, ask.command, *ask.answers.values())]
    for fix in rule.fix:
        if not any((one.fact, one.op) == ("image.reference", "missing") for one in fix.when):
            said += [(f"fix {fix.title!r}", text) for text in (fix.title, *fix.commands)]
    yield from (f"{where} leaves the image that was examined: write {{{_ALWAYS_KNOWN}}} for gpudoctor check"
                for where, text in said if _LEAVES.search(text))


_BLANK = re.compile(r"(?<![\w$%-])(?:COMMAND|FILE|IMAGE|NAME|PROGRAM)(?![\w=])")

# a container that is started by --gpus, unless the fix has just set Docker up for that
_BY_GPUS, _SETS_UP = re.compile(r"\brun\b.* --gpus\b"), "--runtime=docker"


def _fixes(rule: Rule) -> Iterator[str]:
    for fix in rule.fix:
        if not fix.effect and rule.detect:
            yield f"fix {fix.title!r} has no effect, so nothing can prove it"
        if rule.detect and not fix.by_hand and fix.kind not in ("container", "image"):
            yield from (f"fix {fix.title!r} has a blank for a person to fill in ({blank[0]}): by_hand = true"
                        for command in fix.commands if (blank := _BLANK.search(command)))
        if not any(_SETS_UP in command for command in fix.commands):
            yield from (f"fix {fix.title!r} asks for GPUs as not every engine takes them: write "
                        "{container.run_command} for docker run --gpus all"
                        for command in fix.commands if _BY_GPUS.search(command))
        if fix.risk in ("safe", "reinstall") and any(map(_AS_ROOT.search, fix.commands)):
            yield f"fix {fix.title!r} acts as root or restarts the machine: its risk is admin or restart"
        yield from (f"fix {fix.title!r} is not proven as it is printed: {name} is {said!r} in it, and in its "
                    f"effect {proven!r}" for name, said, proven in printed_otherwise(fix))


def printed_otherwise(fix: Fix) -> Iterator[tuple[str, Value, Value]]:
    """Yield the variables that a proven fix sets or unsets, and that its effect leaves or changes otherwise.

    No effect can have a value that is put together from a fact and more.
    """
    effects = {effect.fact: effect.right for effect in fix.effect}
    unset = (name for command in fix.commands if command.startswith("unset ") for name in command.split()[1:])
    for name, said in {**dict.fromkeys(unset, ""), **fix.env}.items() if fix.effect else ():
        place = "loader.library_path" if name == "LD_LIBRARY_PATH" else f"environment.{name}"
        right = effects.get(place)
        proven = (f"{{{right.other}}}" if right.other else right.value or "") if right else ""
        if place in CATALOGUE and (proven != said if place in effects else not placeholders(said)):
            yield name, said, proven if place in effects else "not in it"


def _sources(rule: Rule) -> Iterator[str]:
    if not rule.source:
        yield "no [[source]]"
    for source in rule.source:
        if PINNED.match(source.url):
            continue
        if not source.url.startswith("https://"):
            yield f"source {source.url!r} is neither https:// nor pypi:NAME==VERSION"
        elif not is_day(source.accessed or ""):
            yield f"source {source.url} lacks the day it was read (accessed = \"YYYY-MM-DD\")"
    if all(PINNED.match(one.url) for one in rule.source) and not _UNDOCUMENTED.search(rule.page):
        yield ("wheels are its only sources: name a document, or say why there is none in a line "
               "\"No documentation: ...\"")
