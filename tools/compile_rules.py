"""Write rules/rules.json, which `gpudoctor check` reads, from the rule pages and tables: `make rules`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gpudoctor.ruledb import COMPILED_NAME, RuleDatabaseError, compile_database, load_pages
from tools.wheel_cache import write_atomically

SHIPPED_RULES = Path(__file__).resolve().parent.parent / "rules"


def compile_rules(rules: Path, output: Path) -> str:
    """Compile the folder `rules` into the file `output`; return one line that says what was written."""
    database = load_pages(rules)
    write_atomically(output, compile_database(database).decode())
    counts = (f"{len(database.rules)} rules, {len(database.tables)} tables, "
              f"{len(database.symptoms)} symptoms")
    return f"{output}: {counts}, version {database.version}"


def main(arguments: list[str]) -> int:
    """Compile the named folder, or the repository's own; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", type=Path, nargs="?", default=SHIPPED_RULES, help="a folder of rule pages")
    parser.add_argument("-o", "--output", type=Path, help=f"default: {COMPILED_NAME} in that folder")
    options = parser.parse_args(arguments)
    try:
        print(compile_rules(options.rules, options.output or options.rules / COMPILED_NAME))
    except RuleDatabaseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
