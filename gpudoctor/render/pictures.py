"""Pictures of a report as SVG: which folder each library comes from, and where the time went.

The words of the report hold all of it too. Texts are cut to their room; a title has them whole.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from html import escape

from gpudoctor.derive.view import as_records, text_in
from gpudoctor.model import Facts, Known, ProbeRun, Record
from gpudoctor.render.plain import printable

_ROW, _CHARACTER = 26, 7.3  # height of a row, width of a character of the monospaced font, in pixels
_LEFT, _GAP, _RIGHT = 290, 170, 460
_WIDTH = _LEFT + _GAP + _RIGHT
_NOWHERE = "found nowhere"
_BAR = 480  # pixels of the longest bar


def loader_trace(framework: Facts) -> str:
    """Return each library with a line to the folder that the loader takes it from; "" without a trace."""
    listed = framework.get("framework.libraries")
    records = as_records(listed.value) if isinstance(listed, Known) else ()
    if not records:
        return ""
    folders = list(dict.fromkeys(_folder(record) for record in records))
    height = max(len(records), len(folders)) * _ROW
    spread = height / len(folders)
    middles = {folder: (place + 0.5) * spread for place, folder in enumerate(folders)}
    parts = [_library(record, number, middles) for number, record in enumerate(records)]
    parts += [_box(_LEFT + _GAP, middle, _RIGHT, folder, "lost" if folder == _NOWHERE else "folder")
              for folder, middle in middles.items()]
    return _svg(_WIDTH, height, "Where the loader takes each library from", parts)


def _folder(record: Record) -> str:
    path = printable(text_in(record, "path"), 400)
    return posixpath.dirname(path) if path else _NOWHERE


def _library(record: Record, number: int, middles: dict[str, float]) -> str:
    """Return the box of a library and the line from it, which says why that file was taken."""
    folder, middle = _folder(record), (number + 0.5) * _ROW
    is_bad = folder == _NOWHERE or bool(text_in(record, "error"))
    end, why = middles[folder], printable(text_in(record, "error") or text_in(record, "why"), 400)
    line = (f"<path class=\"{'bad' if is_bad else 'good'}\" d=\"M{_LEFT} {middle:.1f} "
            f"C{_LEFT + 80} {middle:.1f} {_LEFT + 90} {end:.1f} {_LEFT + _GAP} {end:.1f}\">"
            f"<title>{escape(why)}</title></path>")
    name = printable(text_in(record, "soname"))
    return line + _box(0, middle, _LEFT, name, "lost" if is_bad else "library")


def _box(left: float, middle: float, width: int, said: str, kind: str) -> str:
    room = int((width - 16) / _CHARACTER)
    shown = said if len(said) <= room else f"…{said[1 - room:]}"
    return (f"<g class=\"{kind}\"><title>{escape(said)}</title>"
            f"<rect x=\"{left}\" y=\"{middle - 11:.1f}\" width=\"{width}\" height=\"22\" rx=\"4\"/>"
            f"<text x=\"{left + 8}\" y=\"{middle + 4:.1f}\">{escape(shown)}</text></g>")


def timings(probes: Sequence[ProbeRun]) -> str:
    """Return a bar for each probe, the longest first; they run side by side, so the bars do not add up."""
    longest = max((probe.seconds for probe in probes), default=0.0)
    if longest <= 0:
        return ""
    parts = [_bar(probe, number, longest) for number, probe in enumerate(
        sorted(probes, key=lambda probe: (-probe.seconds, probe.probe)))]
    return _svg(_LEFT + _BAR + 150, len(parts) * _ROW, "How long each probe took", parts)


def _bar(probe: ProbeRun, number: int, longest: float) -> str:
    top, length = number * _ROW, max(1.0, probe.seconds / longest * _BAR)
    kind = "good" if probe.outcome in ("ok", "not-asked") else "bad"
    how = "" if probe.outcome == "ok" else f", {printable(probe.outcome)}"
    said, name = f"{probe.seconds * 1000:.0f} ms{how}", printable(probe.probe, 38)
    return (f"<g class=\"bar {kind}\"><text x=\"0\" y=\"{top + 17}\">{escape(name)}</text>"
            f"<rect x=\"{_LEFT}\" y=\"{top + 4}\" width=\"{length:.1f}\" height=\"18\" rx=\"3\"/>"
            f"<text x=\"{_LEFT + length + 8:.1f}\" y=\"{top + 17}\">{escape(said)}</text></g>")


def _svg(width: int, height: float, title: str, parts: Sequence[str]) -> str:
    return (f"<svg viewBox=\"0 0 {width} {height:.0f}\" width=\"{width}\" role=\"img\" "
            f"aria-label=\"{escape(title)}\">{''.join(parts)}</svg>")
