"""Write rules/released.toml: the ids that releases have used, so that none is ever used for another cause.

Run when the rules are released; the linter then asks for every one of them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gpudoctor import ruledb
from gpudoctor.cli.rule_folder import RELEASED_NAME, released
from tools.wheel_cache import write_atomically

SHIPPED_RULES = Path(__file__).resolve().parent.parent / "rules"
_HEAD = "# Written by tools/record_release.py with each release: do not edit. Ids that were used once.\n"


def record(rules: Path) -> str:
    """Write the ids of the folder's pages beside those of earlier releases; return what was written."""
    database = ruledb.load_pages(rules)
    ids = {**released(str(rules)), **{rule.id: rule.cause for rule in database.rules}}
    lines = "".join(f'{identifier} = "{cause}"\n' for identifier, cause in sorted(ids.items()))
    text = f'{_HEAD}version = "{database.version}"\n\n[ids]\n{lines}'
    write_atomically(rules / RELEASED_NAME, text)
    return text


def main(arguments: list[str]) -> int:
    """Record the pages of the named folder, or the repository's own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rules", type=Path, nargs="?", default=SHIPPED_RULES, help="a folder of rule pages")
    record(parser.parse_args(arguments).rules)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
