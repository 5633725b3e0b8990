"""Links of the documentation site: to a page of it they stay there, others lead to the repository."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from pathlib import Path

from gpudoctor.frozen import frozen
from gpudoctor.home import REPOSITORY

# In this order: what is code, a comment, an address or a link already is left as it is.
_PARTS = re.compile(r"""
    ^[ ]*(?P<fence>`{3,}|~{3,})[^\n]*\n.*?^[ ]*(?P=fence)[ ]*$
    | (?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)
    | <!--.*?-->
    | <?https?://\S+
    | \[(?P<said>[^\]]*)\]\((?P<target>[^)\s]+)\)
    | \b(?P<rule>GPD\d{4})\b
    """, re.VERBOSE | re.MULTILINE | re.DOTALL)


class DeadLink(Exception):
    """A link leads to nothing in the repository."""


@frozen
class Links:
    """The checkout, the pages that the site has of it (by their paths), and the page of each rule's id."""

    root: Path
    pages: frozenset[str]
    rules: Mapping[str, str]

    def in_page(self, text: str, path: str) -> str:
        """Return a page with its links turned to the site, and with each rule that it names made one."""
        def turned(match: re.Match[str]) -> str:
            if match["rule"]:
                page = self.rules.get(match["rule"])
                return match[0] if page in (None, path) else f"[{match['rule']}]({_from(path, page or '')})"
            if match["target"] and not match["target"].startswith(("#", "https:", "http:")):
                return f"[{match['said']}]({self._target(match['target'], path)})"
            return match[0]

        return _PARTS.sub(turned, text)

    def _target(self, target: str, path: str) -> str:
        address, hash_, anchor = target.partition("#")
        wanted = os.path.normpath(os.path.join(os.path.dirname(path), address))
        for page in (wanted, f"{wanted}/README.md"):
            if page in self.pages:
                return _from(path, page) + hash_ + anchor
        place = self.root / wanted
        if not place.exists() or wanted.startswith(".."):
            raise DeadLink(f"{path}: {target} leads nowhere")
        return f"{REPOSITORY}/{'tree' if place.is_dir() else 'blob'}/main/{wanted}{hash_}{anchor}"


def _from(path: str, page: str) -> str:
    return os.path.relpath(page, os.path.dirname(path) or ".")
