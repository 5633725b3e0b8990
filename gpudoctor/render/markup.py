"""Text from a machine in Markdown and in XML: shown as it is, never obeyed as markup."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*_\[\]|~])")
_FIRST = re.compile(r"\A([0-9]*)([-+#>.)=])")  # begins a list, a heading or a quotation where a line begins
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def markdown(text: str) -> str:
    """Return text as Markdown shows it: no link, no markup, nobody mentioned."""
    said = text.strip().replace("&", "&amp;").replace("<", "&lt;")
    said = _FIRST.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", said))
    said = said.replace("://", "&#58;//").replace("www.", "www&#46;")
    return said.replace("@", "@<!-- -->")  # the comment keeps a site from reading it as somebody's name


def code(text: str) -> str:
    """Return text as a Markdown code span; a pipe would end the cell of a table."""
    ticks = _fence(text, 1)
    pad = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) or not text else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def block(lines: tuple[str, ...], language: str) -> str:
    """Return lines as a fenced Markdown block."""
    text = "\n".join(lines)
    ticks = _fence(text, 3)
    return f"{ticks}{language}\n{text}\n{ticks}\n"


def _fence(text: str, least: int) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)


def xml(text: str) -> str:
    """Return text without the characters that no XML document may hold."""
    return _NO_XML.sub("\ufffd", text)
