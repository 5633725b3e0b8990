"""docs/accuracy.md: the figures of both parts, per cause and platform, and every wrong answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpudoctor.compatible import tomllib

if TYPE_CHECKING:
    from benchmarks.explain_accuracy import Outcome

_HEAD = """# How often `gpudoctor explain` is right

Measured by `python -m benchmarks.explain_accuracy --write` on reports of real failures, each labelled with
the cause that was established in it. Each is fed as `explain -` would be given it: its log, a line for each
stated version, and its platform. Top-1: the first answer is the cause, or another that counts as right. A
false alarm is a harmless text that is called a fault; a miss is a fault that is answered with nothing or as
harmless. "Cannot be decided" are cases that their log alone does not decide: there the cause has to be among
the candidates (at most five), with the question that decides.

## What to expect of a text that nobody here has seen

{unseen}

The newest rows count most. Each set taught the next one little: what is missed are single messages of
programs that nobody had looked at, and which of several causes is meant that share a message. A third to a
half of the labels are the collector's own conclusion, from excerpts of threads; a reader who was given
three of these sets by number, and no labels, named the cause first in 96.6 to 100 %, and among three in
99.2 to 100 %. Of what cannot be decided nine in ten had the cause among the candidates until 2026-11-28,
19 of 27 in those of 2026-11-29. Four answers of all were certain and wrong: two of the 78 of 2026-11-23,
two of the last 140 of 2026-11-28. People's own words alone, without a line of a program, are answered worst
(one in five in the batches of 2026-11-23).

What these sets showed has been learnt from since. So all figures below are of cases that the rules know: they
say that nothing was lost, and no more. The next figure that counts needs new cases.
"""
_UNSEEN = Path(__file__).with_name("unseen.toml")


def _unseen() -> str:
    """Return the table of the sets that were answered before anybody had looked at them."""
    lines = ["| Day | Reports | Of what | First | Among three | False alarms | Misses |",
             "|---|---|---|---|---|---|---|"]
    for one in tomllib.loads(_UNSEEN.read_text("utf-8"))["set"]:
        columns = (one[name] for name in ("reports", "of", "first", "among_three", "false_alarms", "misses"))
        lines += [f"| {one['day']} | {' | '.join(map(str, row))} |" for row in zip(*columns, strict=True)]
    return "\n".join(lines)


def figures(outcomes: Sequence[Outcome]) -> str:
    """Return the figures of some cases in a line."""
    count = len(outcomes)
    if not count:
        return "no cases"
    open_cases = [one for one in outcomes if not one.case["observable_from_log"] and not one.case["benign"]]
    among = sum(one.is_right(99) for one in open_cases)
    return (f"{count} cases, top-1 {_share(sum(one.is_right(1) for one in outcomes), count)}, "
            f"top-3 {_share(sum(one.is_right(3) for one in outcomes), count)}, "
            f"among the candidates {_share(sum(one.is_right(99) for one in outcomes), count)}, "
            f"false alarms {sum(one.is_false_alarm for one in outcomes)}, "
            f"misses {sum(one.is_miss for one in outcomes)}, "
            f"certain and wrong {sum(one.is_confidently_wrong for one in outcomes)}; cannot be decided: "
            f"{len(open_cases)}, cause among the candidates {_share(among, len(open_cases))}")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def page(parts: Mapping[str, Sequence[Outcome]]) -> str:
    """Return the whole page."""
    text = _HEAD.format(unseen=_unseen())
    for name, outcomes in parts.items():
        part = "the rules were built with" if name == "built with" else "held out at first"
        text += f"\n## The part {part}\n\n"
        text += f"{figures(outcomes)}.\n"
        text += _table("Platform", _grouped(outcomes, "platform"))
        text += _table("Cause", _grouped(outcomes, "cause"))
        text += _wrong(outcomes)
    return text


def _grouped(outcomes: Sequence[Outcome], key: str) -> Mapping[str, Sequence[Outcome]]:
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        groups[one.case[key]].append(one)
    return dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])))


def _table(head: str, groups: Mapping[str, Sequence[Outcome]]) -> str:
    if not groups:
        return ""
    lines = ["", f"| {head} | Cases | Top-1 | Top-3 |", "|---|---|---|---|"]
    lines += [f"| {name} | {len(found)} | {sum(one.is_right(1) for one in found)} | "
              f"{sum(one.is_right(3) for one in found)} |" for name, found in groups.items()]
    return "\n".join(lines) + "\n"


def _wrong(outcomes: Sequence[Outcome]) -> str:
    confused = Counter((one.case["cause"], (one.answers or ("nothing",))[0], one.is_right(3))
                       for one in outcomes if not one.is_right(1))
    if not confused:
        return ""
    lines = ["", "| Cause | Was answered first | Cases | Among the first three |", "|---|---|---|---|"]
    lines += [f"| {cause} | {answer} | {count} | {'yes' if third else 'no'} |"
              for (cause, answer, third), count in confused.most_common()]
    return "\n".join(lines) + "\n"
