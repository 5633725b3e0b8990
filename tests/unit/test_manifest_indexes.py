"""Where a requirement comes from: the default index may be written out, PyTorch's have no other releases."""

from __future__ import annotations

import pytest

from gpudoctor.manifests import torch_indexes
from gpudoctor.manifests.releases import from_default
from gpudoctor.manifests.spans import Place
from gpudoctor.manifests.statements import Asked
from tests.unit.test_manifest_troubles import causes, database, docker, judged

DEFAULT = "https://py" + "pi.org/simple"
PYTORCHS = "https://download.pytorch.org/whl/cu124"
NO_WHEEL = "python-version-unsupported"


@pytest.mark.parametrize("options", [
    f"--index-url {DEFAULT}", f"-i {DEFAULT}/", f"--extra-index-url {PYTORCHS}",
    f"--index-url {PYTORCHS} --extra-index-url {DEFAULT}"])
def test_a_python_without_wheel_is_told_whatever_is_written_of_these_indexes(options: str) -> None:
    """Regression: with the default index written out, or PyTorch's beside it, it was not judged."""
    found = judged(docker("FROM python:3.13-slim", f"RUN pip install {options} tensorflow==2.17.0"))
    assert causes(found) == [NO_WHEEL]


def test_pytorchs_index_has_no_wheel_for_a_python_that_the_release_has_none_for() -> None:
    line = f"RUN pip install torch==2.4.1 --index-url {PYTORCHS}"
    assert causes(judged(docker("FROM python:3.13-slim", line))) == [NO_WHEEL]
    assert causes(judged(docker("FROM python:3.12-slim", line))) == []
    other = f"RUN pip install torch==2.4.1 --index-url {PYTORCHS.replace('whl', 'whl/nightly')}"
    assert causes(judged(docker("FROM python:3.13-slim", other))) == []


@pytest.mark.parametrize(("tool", "index", "extra", "expected"), [
    ("pip", DEFAULT, (), (None, ())), ("pip", DEFAULT, (PYTORCHS,), (None, (PYTORCHS,))),
    ("pip", PYTORCHS, (DEFAULT,), (None, (PYTORCHS,))), ("uv", PYTORCHS, (DEFAULT,), (None, ())),
    ("pip", PYTORCHS, (), (PYTORCHS, ())), ("pip", None, (DEFAULT, PYTORCHS), (None, (PYTORCHS,)))])
def test_the_default_index_is_none(tool: str, index: str | None, extra: tuple[str, ...],
                                   expected: tuple[str | None, tuple[str, ...]]) -> None:
    place = Place(file="r.txt", line=1, column=1, start=0, end=5)
    found = from_default(Asked(text="torch", place=place, tool=tool, index=index, extra_indexes=extra))
    assert (found.index, found.extra_indexes) == expected


def test_a_label_for_the_cpu_is_one_whatever_indexes_are_beside() -> None:
    """Regression: `torch==2.6.0+cpu` with PyTorch's index beside the default one was not judged."""
    lines = ("FROM python:3.12-slim", f"ENV PIP_EXTRA_INDEX_URL={PYTORCHS.replace('cu124', 'cpu')}")
    found = judged(docker(*lines, "RUN pip install torch==2.6.0+cpu"), gpu=True)
    assert causes(found) == ["cpu-only-build"]


@pytest.mark.parametrize(("written", "near"), [
    ("torch==2.6.0 --index-url https://download.pytorch.org/whl/cu999", "cu132, cu130, cu129"),
    ("torch==2.6.0 --index-url https://download.pytorch.org/whl/cu99999", "cu132, cu130, cu129"),
    ("torch==2.6.0 --index-url https://download.pytorch.org/whl/cu0", "cu102, cu113, cu116"),
    ("torch==2.6.0+cu0", "cu102, cu113, cu116"),
    ("torch --index-url https://download.pytorch.org/whl/cu127/", "cu126, cu128, cu129"),
    ("torch==2.6.0+cu127", "cu126, cu128, cu129"),
])
def test_an_index_that_is_not_known_is_said_to_be_none(written: str, near: str) -> None:
    """Regression: CUDA 99.9 was held against the driver, which was told to be too old."""
    lines = docker("FROM python:3.12-slim", f"RUN pip install {written}")
    found = judged(lines, "driver=535.104.05", "cc=8.9")
    assert causes(found) == []
    [note] = found.notes
    assert note.matters
    assert note.said.endswith(f"; the nearest that they know are {near}")


def test_an_index_that_is_not_known_is_judged_by_its_cuda_where_there_is_one() -> None:
    line = "RUN pip install torch==1.9.0 --index-url https://download.pytorch.org/whl/cu111"
    old = judged(docker("FROM python:3.9-slim", line), "driver=410.48", "cc=7.0")
    assert "driver-too-old" in causes(old)
    found = judged(docker("FROM python:3.9-slim", line), "driver=535.104.05", "cc=8.0")
    assert any("no index of PyTorch for cu111; the nearest" in note.said for note in found.notes)


def test_an_index_beside_the_default_one_that_is_not_known_is_said_to_be_unknown() -> None:
    """Regression: it named CUDA 99.9 to the rules, which held it against the driver."""
    line = "RUN pip install torch==2.6.0 --extra-index-url https://download.pytorch.org/whl/cu999"
    found = judged(docker("FROM python:3.12-slim", line), "driver=580.95.05", "cc=8.9")
    assert any("cu999 as well, of which nothing is known" in note.said for note in found.notes)


def test_a_source_whose_index_nothing_names_is_not_judged() -> None:
    """uv ends there, unless the workspace that the project belongs to has the index; it passed in silence."""
    text = ('[project]\ndependencies = ["torch==2.8.0"]\n[[tool.uv.index]]\nname = "pytorch"\n'
            'url = "https://download.pytorch.org/whl/cu128"\n[tool.uv.sources]\ntorch = {{ index = "{}" }}\n')
    found = judged({"pyproject.toml": text.format("pytorhc")}, "driver=610.11", "cc=8.9", gpu=True)
    [note] = [one for one in found.notes if "tool.uv.index" in one.said]
    assert (str(note.place), note.matters) == ("pyproject.toml:7:1", True)
    assert "is called pytorhc, so where torch comes from was not judged; did you mean pytorch?" in note.said
    named = judged({"pyproject.toml": text.format("pytorch")}, "driver=610.11", "cc=8.9", gpu=True)
    assert not any("tool.uv.index" in one.said for one in named.notes)


def test_rules_without_tables_of_indexes_call_none_unknown() -> None:
    """Somebody's own rules: the note would name no index that is nearer."""
    place = Place(file="r.txt", line=1, column=1, start=0, end=1)
    asked = Asked(text="torch==2.6.0+cu127", place=place, index=PYTORCHS.replace("cu124", "cu999"))
    known = database().tables
    assert [torch_indexes.unknown(asked, tables) is None for tables in (known, {})] == [False, True]
    assert [torch_indexes.is_of_no_cuda(asked, tables) for tables in (known, {})] == [True, False]
