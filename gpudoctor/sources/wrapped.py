"""Put lines together again that a narrow window or a mail broke, where it is plain that they were broken.

A window breaks at one column, in the middle of words: many lines are exactly as long as the longest, and few
are nearly so, as they would be in prose. A mail breaks at blanks: a row of a table ends without the bar that
it began with, a bracket is closed on the next line, or a line stands out among indented ones.
What is not plain stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

_NARROWEST, _WIDEST = 40, 320
_FEWEST = 3  # lines of the full width, where their rests could be lines of their own
_USUAL = (80, 100, 120, 132, 160)  # columns of windows: there one line is enough that shows it
_NEARLY = 8  # columns
_SHORTEST_OF_MAIL = 72
_LONGEST_RUN = 3  # on average: longer runs are rows that were cut off at the window, not broken
_MOST_PARTS = 400
_BARS = "|+\u2502\u2503\u2551\u256d\u256e\u2570\u256f\u251c\u2524\u250c\u2510\u2514\u2518"
_BRACKETS = (("(", ")"), ("[", "]"))
_CLOSING = "}])"  # alone at the margin they end a document of JSON, and nothing that a mail broke

Places = list[int]


def rejoined(lines: Sequence[str]) -> tuple[list[str], Places] | None:
    """Return whole lines, each with the place of its first part; None where nothing was broken."""
    longest = max(map(len, lines), default=0)
    breaks = _are_broken(lines, longest)
    found: list[str] = []
    places: Places = []
    index = 0
    while index < len(lines):
        whole, after = _broken(lines, index, longest) if breaks else _folded(lines, index, longest)
        found.append(whole)
        places.append(index)
        index = after
    return (found, places) if len(found) < len(lines) else None


def _are_broken(lines: Sequence[str], width: int) -> bool:
    """Say whether a window of this width broke the lines."""
    if not _NARROWEST <= width <= _WIDEST:
        return False
    full = [index for index, line in enumerate(lines[:-1]) if len(line) == width and not _is_whole(line)]
    if not full:
        return False
    if width in _USUAL and all(_shows_a_break(lines, index) for index in full):
        return True
    nearly = sum(width - _NEARLY <= len(line) < width and not _is_whole(line) for line in lines)
    runs = sum(len(lines[index + 1]) < width for index in full)
    is_cut_off = len(full) > _LONGEST_RUN * runs and lines[full[0]][:1] not in "[{"
    return len(full) >= max(_FEWEST, nearly + 1) and not is_cut_off


def _shows_a_break(lines: Sequence[str], index: int) -> bool:
    """Say whether the line after a full one is its rest by its own look."""
    following = lines[index + 1]
    begins_within = following[:1] == " " and following[1:2].strip() != ""
    return begins_within or _closes(lines[index], following) or _stands_out(lines, index + 1)


def _is_whole(line: str) -> bool:
    """Say whether a line is a row of a table from bar to bar, or a ruler: these are as long as they are."""
    bare = line.strip()
    return line[-1] in _BARS if bare[:1] in _BARS else len(set(bare)) < 3


def _closes(line: str, following: str) -> bool:
    """Say whether a bracket that a line leaves open is closed on the next one."""
    for opening, closing in _BRACKETS:
        is_open = line.rfind(opening) > line.rfind(closing)
        end = following.find(closing)
        if is_open and end >= 0 and opening not in following[:end]:
            return True
    return False


def _broken(lines: Sequence[str], index: int, width: int) -> tuple[str, int]:
    """Return the line that begins here, and the place behind its last part."""
    parts = [lines[index]]
    after = index + 1
    while (len(parts[-1]) == width and not _is_whole(parts[0]) and after < len(lines)
           and _goes_on(lines[after]) and len(parts) < _MOST_PARTS):
        parts.append(lines[after])
        after += 1
    return "".join(parts), after


def _goes_on(line: str) -> bool:
    """Say whether a line may be the rest of another: one that is set in has a beginning of its own."""
    return line.strip() != "" and (not line.startswith("  ") or line.rstrip()[-1] in _BARS)


def _stands_out(lines: Sequence[str], index: int) -> bool:
    """Say whether a line begins at the margin, between two that do not."""
    around = (lines[index - 1], lines[index + 1] if index + 1 < len(lines) else " ")
    begins = lines[index][:1].strip()
    return begins not in ("", *_CLOSING) and all(line[:1] in (" ", "\t") for line in around)


def _folded(lines: Sequence[str], index: int, longest: int) -> tuple[str, int]:
    """Return the line that begins here, with what a mail put on the next one.

    Where a window may have broken it within a word, nobody knows whether a blank stood there: what the
    bracket holds, or the value, is left out.
    """
    line = lines[index].rstrip()
    following = lines[index + 1].rstrip() if index + 1 < len(lines) else ""
    if not following or not line:
        return lines[index], index + 1
    if line[0] == "|":
        is_open = line[-1] != "|" or line.count("|") > 2
        is_rest, kept = is_open and following[-1] == "|" and following.lstrip()[0] != "|", len(line)
    elif ":" in line and ":" not in following and _stands_out(lines, index + 1):
        is_rest, kept = True, line.find(":") + 1
    else:
        reach = len(line) + 1 + len(following.split(None, 1)[0])
        is_rest = reach > _SHORTEST_OF_MAIL and not following[0].isspace() and _closes(line, following)
        kept = max(map(line.rfind, "(["))
    if not is_rest:
        return lines[index], index + 1
    if len(line) == longest and line[0] != "|":
        return line[:kept], index + 2
    return f"{line} {following.lstrip()}", index + 2
