"""The documentation site: every cause has a page, no link is dead, nothing is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from gpudoctor import ruledb
from gpudoctor.facts import CATALOGUE
from gpudoctor.frozen import frozen
from gpudoctor.home import REPOSITORY
from tests.contract.checkout import ROOT
from tests.harness.site import build, gather
from tools.site_links import DeadLink, Links
from tools.site_rules import prose


class Page(HTMLParser):
    """Gathers the anchors of a page, its links, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in an element."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if tag in ("link", "script", "img", "iframe", "source", "object"):
            self.loads |= {given[name] for name in ("href", "src", "srcset", "data") if name in given}


@frozen
class Site:
    """The folder of a site, and what stands in each of its pages."""

    folder: Path
    pages: Mapping[Path, Page]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Return the site."""
    folder = tmp_path_factory.mktemp("site")
    gather(folder / "texts")
    done = build(folder / "texts", folder / "site")
    assert done.returncode == 0, done.stderr
    found = {path: Page() for path in (folder / "site").rglob("*.html")}
    for path, page in found.items():
        page.feed(path.read_text("utf-8"))
    return Site(folder=folder / "site", pages=found)


def test_every_link_leads_to_a_page_and_an_anchor_of_it(site: Site) -> None:
    """Also those of the theme, and none to a folder: the site can be read without a server."""
    dead = []
    for path, page in site.pages.items():
        for link in page.links | page.loads:
            address = urlsplit(link)
            if address.scheme or path.name == "404.html":
                continue  # that page counts its links from the top of a server
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            anchored = not address.fragment or target not in site.pages or (
                unquote(address.fragment) in site.pages[target].anchors)
            if not target.is_file() or not anchored:
                dead.append(f"{path.relative_to(site.folder)}: {link}")
    assert dead == []
    assert len(site.pages) > len([*(ROOT / "rules").glob("*/GPD*.md")])


def test_nothing_is_loaded_from_elsewhere(site: Site) -> None:
    """No font, script or picture: pages, styles and scripts name no address but their own."""
    assert {load for page in site.pages.values() for load in page.loads if urlsplit(load).netloc} == set()
    assert [path for path in site.folder.rglob("*.css") if "url(http" in path.read_text("utf-8")
            or "url(//" in path.read_text("utf-8") or "@import" in path.read_text("utf-8")] == []


def test_every_cause_has_its_page(site: Site) -> None:
    """With what decides, its fixes and its sources, and the list of causes leads to it."""
    listed = site.pages[site.folder / "rules" / "index.html"].links
    for rule in ruledb.load_shipped("whole").rules:
        page = Path(rule.path).with_suffix(".html")
        assert page.as_posix() in listed
        text = (site.folder / "rules" / page).read_text("utf-8")
        wanted = [rule.id, rule.cause, *(source.url for source in rule.source if "&" not in source.url)]
        wanted += ["<h2 id=\"fixes\">"] * bool(rule.fix) + ["<h2 id=\"what-decides\">"] * bool(rule.detect)
        assert [one for one in wanted if one not in text] == []


def test_every_fact_is_in_the_catalogue(site: Site) -> None:
    """Under its own name, so that conditions can point at it."""
    assert set(CATALOGUE) <= site.pages[site.folder / "facts.html"].anchors


@pytest.mark.parametrize("text", ["[x](nowhere.md)", "[x](README.md#no-such-heading)"])
def test_a_dead_link_ends_the_build(text: str, tmp_path: Path) -> None:
    """Whoever writes it learns of it: a page that is not there, and a heading."""
    gather(tmp_path / "texts")
    with (tmp_path / "texts" / "README.md").open("a") as readme:
        readme.write(f"\n{text}\n")
    done = build(tmp_path / "texts", tmp_path / "site")
    assert (done.returncode, "README.md" in done.stderr) == (1, True)


RULE = "rules/x/GPD2010-x.md"
LINKS = Links(root=ROOT, pages=frozenset({"README.md", "docs/a.md", "docs/matrix/README.md", RULE}),
              rules={"GPD2010": RULE})


@pytest.mark.parametrize(("said", "turned"), [
    ("[a](docs/a.md#b)", "[a](docs/a.md#b)"), ("[m](docs/matrix)", "[m](docs/matrix/README.md)"),
    ("[s](rules/symptoms)", f"[s]({REPOSITORY}/tree/main/rules/symptoms)"),
    ("[l](LICENSE)", f"[l]({REPOSITORY}/blob/main/LICENSE)"), ("[h](#here)", "[h](#here)"),
    ("see GPD2010.", "see [GPD2010](rules/x/GPD2010-x.md)."), ("`GPD2010` GPD9999", "`GPD2010` GPD9999"),
    ("```sh\n[a](nowhere) GPD2010\n```", "```sh\n[a](nowhere) GPD2010\n```"),
    ("https://example.org/GPD2010 <https://example.org/GPD2010>",) * 2,
    ("[rule GPD2010](docs/a.md)", "[rule GPD2010](docs/a.md)"),
])
def test_links_are_turned_and_code_is_left_alone(said: str, turned: str) -> None:
    assert LINKS.in_page(said, "README.md") == turned
    assert LINKS.in_page(turned, "README.md") == turned


@pytest.mark.parametrize("target", ["nowhere.md", "../outside", "docs/nothing/"])
def test_a_link_to_nothing_is_refused(target: str) -> None:
    with pytest.raises(DeadLink):
        LINKS.in_page(f"[x]({target})", "README.md")


def test_prose_is_no_markup() -> None:
    """What stands in data is shown as it is in any dialect of Markdown."""
    assert prose("a *b* <c> [d](e) `f` | {g}\n h") == (
        "a &#42;b&#42; &#60;c&#62; &#91;d&#93;(e) &#96;f&#96; &#124; &#123;g&#125; h")
