"""What the text of a page must say, and which causes may do without wrong advice, each for a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpudoctor.model import Rule, RuleDatabase
from gpudoctor.skeleton import OF_A_SITE  # nothing circulates about what only one place has
from gpudoctor.words import placeholders

SECTIONS = ("What was seen", "Why it breaks", "What to do", "How to check", "Versions it applies to")
_NAMED = re.compile(r"\bGPDX?[0-9]{4}\b")
_ADVICE = re.compile(r"^(?:Common wrong advice: *\S|## Wrong advice\n+[^#\s])", re.MULTILINE)
# By cause: why nothing that circulates can be named. An entry that its page has no need of is a problem.
WITHOUT_ADVICE: Mapping[str, str] = {
    "framework-import-failed": "stands for what no other page knows, so no advice is about it",
    "framework-crashed": "stands for what no other page knows, so no advice is about it",
    "framework-fails-on-gpu": "stands for what no other page knows, so no advice is about it",
    "wrong-result": "nobody but gpudoctor compares results, so nobody advises on it",
    "gpu-execution-unproven": "a verdict of gpudoctor's own",
    "loader-trace-differs": "a fault of gpudoctor's own",
    "framework-not-installed": "information, not a fault",
    "requirement-not-met": "repeats what the caller asked for",
    "tf-min-multiprocessor": "TensorFlow's own line names the remedy; no other was found in its reports",
}


def section_problems(rule: Rule) -> Iterator[str]:
    """Yield what the text of a page lacks: its sections, what is wrongly advised."""
    for section in SECTIONS:
        if not re.search(rf"^## {section}\n+[^#\s]", rule.page, re.MULTILINE):
            yield f"the page lacks the section \"## {section}\", or the section is empty"
    said = _ADVICE.search(rule.page) is not None
    excused = WITHOUT_ADVICE.get(rule.cause)
    if not said and excused is None and not rule.id.startswith(OF_A_SITE):
        yield ("the page names no wrong advice: a line \"Common wrong advice: ...\" or a section "
               "\"## Wrong advice\"; a cause of which none is known stands in WITHOUT_ADVICE with the reason")
    if said and excused is not None:
        yield f"the page names wrong advice, so {rule.cause} has no place in WITHOUT_ADVICE"


def text_problems(rule: Rule, database: RuleDatabase) -> Iterator[str]:
    """Yield what nobody can follow in the text of a page: pages that there are not, facts in braces."""
    known = {other.id for other in database.rules}
    yield from (f"its text names {name}, which is no page"
                for name in sorted(set(_NAMED.findall(rule.page)) - known))
    yield from (f"its text has {{{name}}}, which is filled in in summaries, fixes and questions alone"
                for name in placeholders(f"{rule.title}\n{rule.page}"))
