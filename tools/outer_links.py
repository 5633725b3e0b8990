"""Check the links that lead out of the project: their form always, and with --ask whether somebody answers.

    python -m tools.outer_links            # the form, without network
    python -m tools.outer_links --ask      # also asks each address once, by hand: sites come and go

They stand in the texts that people read (README, docs, integrations, the pages of rules) and as sources of
rules, tables and symptoms. What programs say in examples is quoted, and no link of ours.
"""

from __future__ import annotations

import argparse
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from gpudoctor import ruledb
from gpudoctor.home import REPOSITORY

ROOT = Path(__file__).parents[1]
TEXTS = ("*.md", "docs/**/*.md", "integrations/**/*.md", "rules/**/*.md", "tests/**/*.md", "benchmarks/*.md")
SECONDS = 20.0
_CODE = re.compile(r"^[ ]*(?P<fence>`{3,}|~{3,})[^\n]*\n.*?^[ ]*(?P=fence)[ ]*$|`[^`\n]*`",
                   re.MULTILINE | re.DOTALL)
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s<>\"'|]+", re.IGNORECASE)
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}\Z")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_LAST_OF_SENTENCE = ".,;:!?*_"


def in_text(text: str) -> Iterator[str]:
    """Yield the addresses of a page, without those in code and without what ends a sentence behind one."""
    for match in _ADDRESS.finditer(_CODE.sub(" ", text)):
        yield _without_end(match[0])


def _without_end(address: str) -> str:
    """Return an address without the end of the sentence, or the bracket, that stands behind it."""
    shorter = address.rstrip(_LAST_OF_SENTENCE)
    for opening, closing in ("()", "[]"):
        if shorter.count(closing) > shorter.count(opening):
            shorter = shorter[:shorter.rindex(closing)]
    return shorter if shorter == address else _without_end(shorter)


def problems(address: str) -> Iterator[str]:
    """Yield what is wrong with the form of an address."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        named = parts.username or parts.port
    except ValueError as error:
        yield str(error)
        return
    if parts.scheme != "https":
        yield f"the scheme is {parts.scheme}, not https"
    if not _HOST.match(host):
        yield f"{host!r} is no name of a host that everybody can reach"
    if named:
        yield "it names a user or a port"
    if not address.isascii() or _BAD_ESCAPE.search(address) or re.search(r"[\s\\^`{|}]", address):
        yield "it holds a character that has to be escaped"
    if "//" in parts.path.replace("://", ":"):
        yield "it has two slashes where one is meant"


def everywhere() -> Mapping[str, str]:
    """Return each address of ours with the first place that names it."""
    found: dict[str, str] = {}
    for pattern in TEXTS:
        for path in sorted(ROOT.glob(pattern)):
            for address in in_text(path.read_text("utf-8")):
                found.setdefault(address, str(path.relative_to(ROOT)))
    for source, place in _sources():
        for word in source.split():  # of several, or behind a wheel
            if "://" in word:
                found.setdefault(word, place)
    return found


def _sources() -> Iterator[tuple[str, str]]:
    """Yield what stands as a source in the data, with its file."""
    database = ruledb.load_pages(ROOT / "rules")
    for rule in database.rules:
        yield from ((source.url, rule.path) for source in rule.source)
    for symptom in database.symptoms:
        yield from ((source, symptom.path) for source in symptom.source)
    for name, table in database.tables.items():
        for row in table.rows:
            source = row.get("source")
            listed = source if isinstance(source, tuple) else (source,)
            yield from ((one, f"rules/tables/{name}.toml") for one in listed if isinstance(one, str))


def answer(address: str, seconds: float = SECONDS) -> str:
    """Return "" where the address is answered, else what came instead."""
    request = urllib.request.Request(address.partition("#")[0], headers={"User-Agent": "gpudoctor-links"})
    try:
        with urllib.request.urlopen(request, timeout=seconds) as response:
            response.read(1)
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.reason}"
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def main() -> int:
    """Print what is wrong; the exit code is 1 where something is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--ask", action="store_true", help="ask each address once")
    wanted = parser.parse_args()
    links = everywhere()
    faults = [f"{place}: {address}: {problem}" for address, place in links.items()
              for problem in problems(address)]
    if wanted.ask:
        faults += [f"{place}: {address}: {said}" for address, place in links.items()
                   if not address.startswith(REPOSITORY) and (said := answer(address))]
    sys.stdout.writelines(f"{fault}\n" for fault in faults)
    print(f"{len(links)} addresses, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
