"""The page of a report in a real browser: light and dark, wide and narrow, nothing loaded."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from gpudoctor import ruledb
from gpudoctor.assume import assumed, lay
from gpudoctor.examine import Policy, examine
from gpudoctor.model import Known, ProbeRun, Report
from gpudoctor.render import html
from tests.browser.chromium import BROWSER, DARK, browse, first_pixel

pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Debian's chromium-headless-shell")


@cache
def report() -> Report:
    """Return a report with findings, a trace in which a library is found nowhere, and probes."""
    database = ruledb.load()
    facts = assumed([("cc", "9.0"), ("driver", "450.80.02"), ("release", "tensorflow==2.21.0")])
    laid = lay(database.base, facts, database.tables, source="a test")
    probes = (ProbeRun(probe="driver", outcome="ok", seconds=0.2),
              ProbeRun(probe="nvml", outcome="timed out", seconds=1.5, detail="nothing was said"))
    found = examine(replace(laid, probes=probes), database, Policy())
    frameworks = found.snapshot.frameworks
    assert isinstance(frameworks, tuple)
    trace = ({"soname": "libcudart.so.12", "path": "/opt/cuda/lib/libcudart.so.12", "why": "LD_LIBRARY_PATH",
              "error": "", "version": ""},
             {"soname": "libcudnn.so.9", "path": "", "why": "", "error": "", "version": ""})
    traced = {**frameworks[0], "framework.libraries": Known(value=trace, source="a test")}
    return replace(found, snapshot=replace(found.snapshot, frameworks=(traced,)))


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Return the page as a file."""
    file = tmp_path / "report.html"
    file.write_text(html.render(report()), encoding="utf-8")
    return file


def test_light_and_dark_as_the_reader_has_it(page: Path, tmp_path: Path) -> None:
    """The paper is white, and dark for who prefers that."""
    seen = {}
    for name, options in (("light", ()), ("dark", (DARK,))):
        shot = tmp_path / f"{name}.png"
        browse(f"--screenshot={shot}", "--window-size=800,600", *options, page.as_uri())
        seen[name] = first_pixel(shot)
    assert min(seen["light"]) > 240
    assert max(seen["dark"]) < 40


def measured(page: Path, width: int, value: str) -> str:
    """Return what a script says that is let into a copy of the page, `value` in a window of such a width."""
    text = page.read_text(encoding="utf-8")
    policy = re.search(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", text)
    assert policy is not None
    script = f"<script>onload = () => {{ document.body.dataset.measured = {value}; }}</script>"
    copy = page.with_name(f"measured-{width}.html")
    copy.write_text(text.replace(policy[0], script), encoding="utf-8")
    said = browse("--dump-dom", f"--window-size={width},900", copy.as_uri())
    found = re.search(r"data-measured=\"([^\"]*)\"", said)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("width", [360, 800, 1900])
def test_nothing_hangs_over_the_edge(page: Path, width: int) -> None:
    """The page never has to be pushed sideways; a long command and a picture are, in their own frames."""
    window, over = measured(
        page, width, "[innerWidth, document.scrollingElement.scrollWidth - innerWidth]").split(",")
    assert (int(window), int(over) <= 0) == (width, True)


@pytest.mark.parametrize("width", [360, 800])
def test_a_label_stands_in_one_line(page: Path, width: int) -> None:
    """Regression: the name of a framework was broken into "tensorflo" and "w"."""
    broken = measured(page, width, (
        "[...document.querySelectorAll('main > table th, article th')].filter(label => {"
        " const text = document.createRange(); text.selectNodeContents(label);"
        " return new Set([...text.getClientRects()].map(line => line.top)).size > 1;"
        "}).map(label => label.textContent).join(', ')"))
    assert broken == ""


def test_a_label_and_its_words_are_no_broken_sentence(page: Path) -> None:
    """Regression: the columns read "follows" and "from it: driver-too-old"."""
    said = measured(page, 800, (
        "[...document.querySelectorAll('article th')].filter(label => label.textContent == 'follows')"
        ".map(label => label.nextElementSibling.textContent).join(' | ')"))
    assert said == "driver-too-old [GPU 0]"


def test_the_picture_shows_the_trace(page: Path) -> None:
    """Each library is drawn with its folder, and the one that is found nowhere stands out."""
    drawn = measured(page, 1200, (
        "[...document.querySelectorAll('svg[aria-label^=Where] path')].map("
        "path => getComputedStyle(path).strokeDasharray).join(' | ')"))
    assert drawn == "none | 4px, 3px"
    boxes = measured(page, 1200, (
        "[...document.querySelectorAll('svg[aria-label^=Where] g text')].map("
        "text => text.textContent).join(' | ')"))
    assert boxes == "libcudart.so.12 | libcudnn.so.9 | /opt/cuda/lib | found nowhere"


def test_no_label_runs_out_of_its_box(page: Path) -> None:
    """Whatever the font of the reader is, the names fit into the boxes that they stand in."""
    widest = measured(page, 1200, (
        "Math.max(...[...document.querySelectorAll('svg[aria-label^=Where] g')].map(g => "
        "g.querySelector('text').getBBox().width - g.querySelector('rect').getBBox().width))"))
    assert float(widest) < 0


def test_a_script_in_the_page_is_not_run(tmp_path: Path) -> None:
    """Even if markup of a machine came through, the page's own policy keeps it from running or loading."""
    text = html.render(report()).replace("</main>", "<script>document.title = 'run'</script></main>")
    file = tmp_path / "hostile.html"
    file.write_text(text, encoding="utf-8")
    assert BROWSER is not None
    said = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=120, check=True).stdout
    assert "<title>gpudoctor: " in said


# labels in which a line ends where no word does
_BROKEN_WORDS = """[...document.querySelectorAll('th')].filter(label => {
  const texts = document.createTreeWalker(label, NodeFilter.SHOW_TEXT);
  let line = null, before = '';
  for (let text = texts.nextNode(); text; text = texts.nextNode())
    for (let at = 0; at < text.length; at++) {
      const range = document.createRange();
      range.setStart(text, at); range.setEnd(text, at + 1);
      const [box] = range.getClientRects();
      if (line !== null && box && box.top > line + 2 && !/[._ ]/.test(before)) return true;
      line = box ? box.top : line; before = text.data[at];
    }
  return false;
}).map(label => label.textContent).join(', ')"""
RECORDED = Path(__file__).parents[1] / "gpu" / "recorded"


@pytest.mark.parametrize("width", [390, 800])
def test_no_name_stands_over_its_value(width: int, tmp_path: Path) -> None:
    """Of many machines, rows are named after facts: such a name is wider than a label."""
    page = tmp_path / "many.html"
    subprocess.run([sys.executable, "-m", "gpudoctor", "report", str(RECORDED), "--format", "html",
                    "-o", str(page)], timeout=120, check=False)
    wide = "[...document.querySelectorAll('th')].filter(th => th.scrollWidth > th.clientWidth).length"
    count = "document.querySelectorAll('th').length"
    over, heads = measured(page, width, f"[{wide}, {count}]").split(",")
    assert (int(over), int(heads) > 0) == (0, True)
    assert measured(page, width, _BROKEN_WORDS) == ""
