"""The report as `gpudoctor.report/1` JSON."""

from __future__ import annotations

import json

from gpudoctor.codec import encode_report
from gpudoctor.model import Report


def render(report: Report) -> str:
    """Return the report as one JSON document."""
    return json.dumps(encode_report(report), indent=2, ensure_ascii=True) + "\n"
