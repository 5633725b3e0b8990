"""Run the real collector and spoil its answer: `python spoil.py KIND COLLECTOR REAL_PYTHON ARGUMENTS...`.

ARGUMENTS are those of the child in whose place this runs, in the machine, started by interpreter.c; behind
the collector's name stand the descriptor of the answer and the request. Of a child that answers for several
collectors, only what COLLECTOR says is spoilt.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

DEPTH = 200_000
HUGE = 10**400


def mapped(value: Any, scalar: Callable[[Any], Any]) -> Any:
    """Return the answer with `scalar` applied to everything in it that is no object and no array."""
    if isinstance(value, dict):
        return {key: mapped(entry, scalar) for key, entry in value.items()}
    if isinstance(value, list):
        return [mapped(entry, scalar) for entry in value]
    return scalar(value)


def of_another_type(value: Any) -> Any:
    """Return a value of another type than this one."""
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, list):
        return {str(number): entry for number, entry in enumerate(value)}
    if isinstance(value, str):
        return [value]
    return {"value": value}


def turned(value: Any, depth: int = 0) -> Any:
    """Return the answer with the members of its members of other types, under their own names."""
    if isinstance(value, dict) and depth < 2:
        return {key: turned(entry, depth + 1) for key, entry in value.items()}
    return of_another_type(value)


def is_number(value: Any) -> bool:
    """Say whether a value is a number and no flag."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def escaped(text: Any) -> Any:
    """Return a text that does things to a terminal that prints it."""
    return f"\x1b[2J\x1b]0;owned\x07{text}\r\n\u202e\u0000" if isinstance(text, str) else text


SPOILERS: dict[str, Callable[[Any], str]] = {
    "wrong-types": lambda answer: json.dumps(turned(answer)),
    "huge-numbers": lambda answer: json.dumps(mapped(answer, lambda v: HUGE if is_number(v) else v)),
    "negative-numbers": lambda answer: json.dumps(mapped(answer, lambda v: -7 if is_number(v) else v)),
    "no-numbers": lambda answer: json.dumps(mapped(answer, lambda v: float("nan") if is_number(v) else v)),
    "empty-object": lambda _: "{}",
    "list": lambda answer: json.dumps([answer]),
    "text": lambda answer: json.dumps(json.dumps(answer)),
    "deep": lambda _: '{"calls":' * DEPTH + "1" + "}" * DEPTH,
    "escapes": lambda answer: json.dumps(mapped(answer, escaped)),
    "half-characters": lambda answer: json.dumps(
        mapped(answer, lambda v: f"{v}\ud800" if isinstance(v, str) else v)),
    "long-texts": lambda answer: json.dumps(
        mapped(answer, lambda v: v + "x" * 100_000 if isinstance(v, str) else v)),
    "truncated": lambda answer: json.dumps(answer)[: len(json.dumps(answer)) // 2],
    "twice": lambda answer: json.dumps(answer) * 2,
}


def spoilt(line: str, kind: str, collector: str) -> str:
    """Return one line of the answer, spoilt if it is this collector's."""
    whole = json.loads(line)
    if not isinstance(whole, dict) or "answer" not in whole:
        return SPOILERS[kind](whole)
    if collector == "series":
        return SPOILERS[kind](whole)
    if whole["collector"] != collector:
        return line
    inner = SPOILERS[kind](whole.pop("answer"))
    return json.dumps(whole)[:-1] + f', "answer": {inner}}}'


def main() -> None:
    """Ask the real interpreter, under the name that this one has, and pass on what is left of its answer."""
    kind, collector, real, *arguments = sys.argv[1:]
    reading, writing = os.pipe()
    payload = [int(word.rpartition("/")[2]) for word in arguments if word.startswith("/proc/self/fd/")]
    at = 2 + next(at for at, word in enumerate(arguments)
                  if word == "--collect" or word.endswith("/payloads/__main__.py"))
    descriptor, arguments[at] = int(arguments[at]), str(writing)
    with subprocess.Popen([sys.executable, *arguments], executable=real, pass_fds=(writing, *payload)):
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8", errors="surrogateescape") as answer:
            lines = answer.read().splitlines()
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as out:
        out.write("\n".join(spoilt(line, kind, collector) for line in lines))


if __name__ == "__main__":
    main()
