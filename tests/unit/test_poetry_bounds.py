"""What Poetry says of where a requirement counts, in the words of pip."""

from __future__ import annotations

import pytest

from gpudoctor.manifests.poetry_bounds import marker_of
from tests.unit.test_manifest_troubles import causes, judged

BY_PYTHON = ('[tool.poetry.dependencies]\npython = "^3.10"\n'
             'torch = [{version = "2.7.0", python = "<3.11"}, {version = "2.8.0", python = ">=3.11"}]\n')


@pytest.mark.parametrize(("python", "marker"), [
    ("<3.11", "(python_version < '3.11')"),
    ("3.10", "(python_version == '3.10')"),
    ("^3.8", "(python_version >= '3.8' and python_version < '4')"),
    ("<3.9 || >=3.11.2", "(python_version < '3.9' or python_full_version >= '3.11.2')"),
    ("*", ""),
])
def test_a_bound_on_python_says_where_a_requirement_counts(python: str, marker: str) -> None:
    """As the key of a requirement."""
    assert marker_of({"version": "2.7.0", "python": python}) == marker


@pytest.mark.parametrize("assumed", [(), ("python=3.10",), ("python=3.12",)])
def test_a_release_for_each_python_is_no_contradiction(assumed: tuple[str, ...]) -> None:
    """Regression: both were taken for one environment, an error."""
    found = judged({"pyproject.toml": BY_PYTHON}, "driver=580.65.06", "cc=8.0", *assumed)
    assert causes(found) == []
