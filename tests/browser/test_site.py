"""The documentation site in a real browser, from a server that notes what it is asked for."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gpudoctor.frozen import frozen
from tests.browser.chromium import BROWSER, DARK, browse, first_pixel
from tests.harness.site import build, gather

pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Debian's chromium-headless-shell")
PAGES = ("index.html", "rules/library/GPD4010-pip-nvidia-libs-not-installed.html", "facts.html",
         "docs/matrix/tensorflow.html")
# Whatever is not on this machine is not found, and the browser complains of it.
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


@frozen
class Site:
    """The folder of a site, the address of its server, and what that was asked for: (path, status)."""

    folder: Path
    address: str
    asked: list[tuple[str, int]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Yield the site while it is served."""
    folder = tmp_path_factory.mktemp("site")
    gather(folder / "texts")
    assert build(folder / "texts", folder / "site").returncode == 0
    asked: list[tuple[str, int]] = []

    class Noting(SimpleHTTPRequestHandler):
        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:  # noqa: ARG002
            asked.append((self.path, int(code)))

        def log_message(self, format: str, *words: object) -> None:  # noqa: A002, ARG002
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Noting, directory=str(folder / "site"))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Site(folder=folder / "site", address=f"http://127.0.0.1:{server.server_port}", asked=asked)
        server.shutdown()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_all_that_it_asks_for(site: Site, page: str) -> None:
    """No request fails, none leaves the machine, and the browser complains of nothing."""
    site.asked.clear()
    said = browse("--dump-dom", "--virtual-time-budget=5000", ALONE, f"{site.address}/{page}")
    assert "<h1" in said
    assert {status for _, status in site.asked} == {200}
    paths = {path.partition("?")[0] for path, _ in site.asked}
    assert {f"/{page}", "/css/base.css", "/css/site.css", "/search/main.js"} <= paths


def test_a_search_that_cannot_work_is_not_offered(site: Site) -> None:
    """Regression: of a page that was opened as a file the search did nothing. A served one has it."""
    script = ("<script>onload = () => { document.body.dataset.shown = [...document.querySelectorAll("
              "\"[data-bs-target='#mkdocs_search_modal']\")].map(one => one.offsetParent !== null); }"
              "</script></body>")
    copy = site.folder / "searched.html"
    copy.write_text((site.folder / PAGES[0]).read_text("utf-8").replace("</body>", script), encoding="utf-8")
    shown = {address: re.search(r"data-shown=\"(\w+)\"", browse(
        "--dump-dom", "--window-size=1200,900", ALONE, address)) for address in (
            copy.as_uri(), f"{site.address}/{copy.name}")}
    assert [found and found[1] for found in shown.values()] == ["false", "true"]


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("page", PAGES)
def test_nothing_hangs_over_the_edge(site: Site, page: str, width: int) -> None:
    """A page never has to be pushed sideways: wide tables and commands are, in their own frames."""
    original = site.folder / page
    script = ("<script>onload = () => { document.body.dataset.over = "
              "[innerWidth, document.scrollingElement.scrollWidth - innerWidth]; }</script></body>")
    copy = original.with_name(f"measured-{width}.html")
    copy.write_text(original.read_text("utf-8").replace("</body>", script), encoding="utf-8")
    said = browse("--dump-dom", f"--window-size={width},900", ALONE,
                  f"{site.address}/{copy.relative_to(site.folder)}")
    found = re.search(r"data-over=\"(\d+),(-?\d+)\"", said)
    assert found is not None
    assert (int(found[1]), int(found[2]) <= 0) == (width, True)


def test_light_and_dark_as_the_reader_has_it(site: Site, tmp_path: Path) -> None:
    """The paper below the heading is light, and dark for who prefers that."""
    seen = {}
    for name, options in (("light", ()), ("dark", (DARK,))):
        shot = tmp_path / f"{name}.png"
        page = (site.folder / PAGES[1]).read_text("utf-8")
        bare = site.folder / "rules" / "library" / f"{name}.html"
        bare.write_text(page.replace("</head>", "<style>.navbar { display: none !important }</style></head>"))
        browse(f"--screenshot={shot}", "--window-size=800,600", ALONE, *options,
               f"{site.address}/rules/library/{bare.name}")
        seen[name] = first_pixel(shot)
    assert min(seen["light"]) > 240
    assert max(seen["dark"]) < 60
