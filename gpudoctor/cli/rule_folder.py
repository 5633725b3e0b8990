"""Folders of rules on disk, as `gpudoctor rules` compares, extends and proves them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from gpudoctor import compiled, ruledb, skeleton
from gpudoctor.cli.errors import InputError, UsageError
from gpudoctor.compatible import tomllib
from gpudoctor.model import RuleDatabase

RELEASED_NAME = "released.toml"
_NO_PAGES = ("tables", "symptoms")


def named(folder: str | None) -> str:
    """Return the folder that the option or the environment names, or that of the shipped rules."""
    return folder or os.environ.get("GPUDOCTOR_RULES") or ruledb.shipped_folder()


def edition(folder: str) -> RuleDatabase:
    """Return the whole database in a folder: of its pages, or where it has none, of its compiled files."""
    if not os.path.isdir(folder):
        raise InputError(f"{folder}: no such folder; name one of rule pages, or with compiled rules in it")
    is_compiled = os.path.isfile(os.path.join(folder, compiled.RULES_NAME))
    if is_compiled and not any(_pages(folder)):
        return ruledb.load_compiled(folder, "whole")
    return ruledb.load_pages(folder)


def released(folder: str) -> Mapping[str, str]:
    """Return the ids that releases of these rules have used, each with its cause; none before the first."""
    path = os.path.join(folder, RELEASED_NAME)
    try:
        with open(path, "rb") as file:
            ids = tomllib.loads(file.read().decode("utf-8")).get("ids")
    except FileNotFoundError:
        return {}
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if not (isinstance(ids, dict) and all(isinstance(cause, str) for cause in ids.values())):
        raise InputError(f"{path}: holds [ids], and in it GPDnnnn = \"CAUSE\" for each id of a release")
    return ids


def begin(folder: str, family: str, cause: str) -> tuple[str, tuple[str, ...]]:
    """Write the skeleton of a page; return its path, and the pages of this cause that were there before.

    It is never written over a file, nor into a folder that holds something else than rules.
    """
    for word, said in ((family, "family"), (cause, "cause")):
        if not skeleton.is_name(word):
            raise UsageError(f"{word!r} cannot be a {said}: small letters and digits, joined with hyphens")
    if family in _NO_PAGES:
        raise UsageError(f"{family!r} cannot be a family: the folder of that name holds no pages")
    if not os.path.isdir(folder):
        raise InputError(f"{folder}: no such folder; --rules names the folder of rule pages (for a site's "
                         "own, make an empty one)")
    pages = sorted(_pages(folder))
    if not any(map(skeleton.is_page, pages)) and os.listdir(folder) and not _is_of_rules(folder):
        raise InputError(f"{folder}: holds no rules; name a folder with rule pages, or an empty one for a "
                         "site's own")
    try:
        identifier = skeleton.next_id(family, pages, released(folder))
    except skeleton.SkeletonError as error:
        raise UsageError(f"{folder}: {error}") from None
    path = os.path.join(folder, family, f"{identifier}-{cause}.md")
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            file.write(skeleton.page(identifier, cause, _version(folder)))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    return path, tuple(page for page in pages if skeleton.cause_of(page) == cause)


def is_of_a_site(path: str) -> bool:
    """Say whether a page is a site's own, which is judged beside the published ones."""
    return os.path.basename(path).startswith(skeleton.OF_A_SITE)


def is_of_sites(folder: str) -> bool:
    """Say whether a folder holds pages of a site's own, and no others."""
    pages = list(_pages(folder)) if os.path.isdir(folder) else []
    return bool(pages) and all(map(is_of_a_site, pages))


def beside_published(folder: str) -> RuleDatabase:
    """Return a site's pages with the published ones, whose tables they look in, to be proven."""
    return ruledb.load(os.environ.get("GPUDOCTOR_RULES") or None, folder, "whole", for_proof=True)


def _is_of_rules(folder: str) -> bool:
    return any(os.path.exists(os.path.join(folder, name)) for name in ("db.toml", *_NO_PAGES))


def _pages(folder: str) -> Iterator[str]:
    """Yield "FAMILY/FILE" of everything that is called like a page."""
    try:
        for family in os.scandir(folder):
            if family.is_dir() and family.name not in _NO_PAGES:
                names = os.listdir(family.path)
                yield from (f"{family.name}/{name}" for name in names if name.endswith(".md"))
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror}") from None


def _version(folder: str) -> str:
    """Return the version of the rules to which a page is added."""
    try:
        with open(os.path.join(folder, "db.toml"), "rb") as file:
            version = tomllib.loads(file.read().decode("utf-8")).get("version")
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        version = None
    return version if isinstance(version, str) else "site"
