"""Write the compiled files of rules/, which commands read, from its pages, tables and symptoms.

Run by `make rules`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gpudoctor import compiled
from gpudoctor.ruledb import RuleDatabaseError, load_pages
from tools.wheel_cache import write_atomically

SHIPPED_RULES = Path(__file__).resolve().parent.parent / "rules"


def compile_rules(rules: Path, output: Path) -> str:
    """Compile the folder `rules` into files in `output`; return one line that says what was written.

    db.json comes last: it names the digests of the others.
    """
    database = load_pages(rules)
    for name, data in reversed(compiled.encode(database).items()):
        write_atomically(output / name, data.decode())
    counts = (f"{len(database.rules)} rules, {len(database.tables)} tables, "
              f"{len(database.symptoms)} symptoms")
    return f"{output}: {counts}, version {database.version}"


def main(arguments: list[str]) -> int:
    """Compile the named folder, or the repository's own; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", type=Path, nargs="?", default=SHIPPED_RULES, help="a folder of rule pages")
    parser.add_argument("-o", "--output", type=Path, help="the folder to write to (default: that folder)")
    options = parser.parse_args(arguments)
    try:
        print(compile_rules(options.rules, options.output or options.rules))
    except RuleDatabaseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
