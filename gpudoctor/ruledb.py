"""Find and read the rule database: the compiled files that ship with the package, or a folder of pages.

The first of these that is there: `--rules DIR`, GPUDOCTOR_RULES, an installed `gpudoctor-rules` that is newer
than the shipped rules and admissible, the shipped ones. GPUDOCTOR_RULES_EXTRA adds a site's own pages to
whichever it is. A folder that was named and cannot be used is an error, never a silent return to another one.
"""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudoctor import compiled, rule_packages
from gpudoctor.compiled import Extent, RuleDatabaseError
from gpudoctor.model import RuleDatabase, Snapshot

if TYPE_CHECKING:  # slow to import, and a check with the shipped rules needs none
    from pathlib import Path

__all__ = ["RuleDatabaseError", "load", "load_compiled", "load_pages", "load_shipped", "shipped_folder"]


def shipped_folder() -> str:
    """Return where the shipped rules lie: inside the installed package, or beside it in a checkout."""
    package = os.path.dirname(os.path.realpath(__file__))
    packaged = os.path.join(package, "_rules")
    return packaged if os.path.isdir(packaged) else os.path.join(os.path.dirname(package), "rules")


def load_shipped(extent: Extent = "judged") -> RuleDatabase:
    """Return the rules that came with this gpudoctor, as much of them as is asked for."""
    return load_compiled(shipped_folder(), extent)


def load(folder: str | None = None, extra: str | None = None, extent: Extent = "judged", *,
         for_proof: bool = False) -> RuleDatabase:
    """Return the rules in `folder`, or the newest here; with the pages of `extra` added.

    A folder of pages is always read whole; `extent` says how much of compiled rules is. Pages by which
    nothing can be judged are refused but `for_proof`, which names their problems itself.
    """
    database = _newest(extent) if folder is None else _named(folder, extent, for_proof=for_proof)
    return database if extra is None else _with_site(database, extra, for_proof=for_proof)


def _with_site(database: RuleDatabase, extra: str, *, for_proof: bool) -> RuleDatabase:
    site = load_pages(extra, base=database.base, for_proof=for_proof)
    _refuse_taken_ids(extra, site, database)
    import hashlib  # slow to import, and seldom needed

    sha256 = hashlib.sha256((database.sha256 + site.sha256).encode()).hexdigest()
    both = replace(database, version=f"{database.version}+{site.version}", sha256=sha256,
                   rules=database.rules + site.rules, tables={**database.tables, **site.tables},
                   symptoms=(*database.symptoms, *site.symptoms) if site.symptoms else database.symptoms,
                   origin=f"{database.origin} and {extra}")
    if not for_proof:
        _require_meaning(extra, site, both)
    return both


def _require_meaning(folder: str, pages: RuleDatabase, database: RuleDatabase) -> None:
    from pathlib import Path

    from gpudoctor import page_folder

    page_folder.require_meaning(Path(folder), pages, database)


def _refuse_taken_ids(folder: str, pages: RuleDatabase, database: RuleDatabase) -> None:
    from pathlib import Path

    from gpudoctor import page_folder

    page_folder.refuse_taken_ids(Path(folder), pages, database)


def _newest(extent: Extent) -> RuleDatabase:
    choice = rule_packages.choose(shipped_folder())
    return replace(load_compiled(choice.folder, extent), refused=choice.refused, origin=choice.folder)


def _named(folder: str, extent: Extent, *, for_proof: bool) -> RuleDatabase:
    """Return the rules in a folder that somebody named: pages, or the files that were compiled from some."""
    has = [os.path.isfile(os.path.join(folder, name)) for name in ("db.toml", compiled.HEAD_NAME)]
    if has != [False, True]:
        pages = replace(load_pages(folder, for_proof=for_proof), origin=folder)
        if not for_proof:
            _require_head(folder)
            _require_meaning(folder, pages, pages)
        return pages
    problem = rule_packages.objection(folder)
    if problem is not None:
        raise RuleDatabaseError(problem)
    return replace(load_compiled(folder, extent), origin=folder)


def _require_head(folder: str) -> None:
    """Refuse pages without a head where they replace all the others: a site's own are found among few."""
    if not os.path.isfile(os.path.join(folder, "db.toml")):
        raise RuleDatabaseError(
            f"{folder}/db.toml: there is none, and rules that replace the others have one. If it holds a "
            f"site's own pages, add them: GPUDOCTOR_RULES_EXTRA={folder}. To judge by them alone, write "
            f'version = "YYYY.MM.N" and schema = {compiled.NEWEST_SCHEMA} into it')


def load_pages(root: Path | str, base: Snapshot | None = None, *, for_proof: bool = True) -> RuleDatabase:
    """Return the database of pages below `root`; raise `RuleDatabaseError` with every problem at once.

    But `for_proof`, the columns of its tables are held against those of the shipped ones.
    """
    from pathlib import Path

    from gpudoctor import page_folder

    shipped = None if for_proof else load_shipped()
    return page_folder.read(Path(root), base, lambda: load_shipped().base, shipped)


# -- the compiled files ----------------------------------------------------------------------------

def load_compiled(folder: Path | str, extent: Extent = "judged") -> RuleDatabase:
    """Return the database in a folder's compiled files, as much of it as is asked for."""
    return compiled.decode(lambda name: _read_compiled(os.path.join(folder, name)), extent)


def _read_compiled(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
            raise  # the machine has too little left; the file may be as it should
        raise RuleDatabaseError(f"{path}: cannot be read ({error}); reinstall gpudoctor-cli") from None
