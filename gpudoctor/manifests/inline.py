"""A Dockerfile in a compose file: its lines as compose fills them in, each character with its place.

https://docs.docker.com/reference/compose-file/build/#dockerfile_inline
"""

from __future__ import annotations

import re

from gpudoctor.manifests import scalars
from gpudoctor.manifests.spans import Part, Source, Traced
from gpudoctor.manifests.yaml_files import Node, filled

TOLD_BY = ("in dockerfile_inline compose fills it in before the builder does: write $$ for a variable of the "
           "builder, and lint what `docker compose config` prints for one of compose")
_VARIABLE = re.compile(r"\$(?:\$|\{[^{}]*\}|[A-Za-z_]\w*)")
_LITERAL = "|"


def inline(node: Node, source: Source) -> Part | None:
    """Return a text as the Dockerfile that it is, None where it is not found where it stands."""
    text = node.text or ""
    if node.style == _LITERAL:
        written = [line for line in source.lines() if line[0] > node.place.start]
        lines = []
        for (start, line), value in zip(written, text.split("\n"), strict=False):
            begin = start + len(line) - len(value) if value else start
            lines.append(_filled(Traced(text=value, at=range(begin, begin + len(value) + 1))))
        return Part(source, lines)
    found = scalars.lines(node, source)
    return Part(source, [_filled(line) for line in found]) if found is not None else None


def _filled(line: Traced) -> Traced:
    """Return a line with what compose puts in place of variables; a value that is not known stays unknown."""
    text, at, done = "", list[int](), 0
    for match in _VARIABLE.finditer(line.text):
        value = "$" if match[0] == "$$" else filled(match[0])
        value = f"$({match[0].strip('${}')})" if value is None else value
        first, last = line.at[match.start()], line.at[match.end() - 1]
        text += line.text[done:match.start()] + value
        at += [*line.at[done:match.start()], *[first] * (len(value) - 1), *[last] * bool(value)]
        done = match.end()
    return Traced(text=text + line.text[done:], at=[*at, *line.at[done:]])
