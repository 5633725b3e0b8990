"""Which file a list is that an image has elsewhere, under another name, from another stage, or changed."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import SLIM, SLIM_11, Files, causes, docker, judged

CPU = "tensorflow-cpu==2.18.0\n"
OTHERS = {"a.txt": CPU, "sub/list.txt": CPU, "list.txt": "torch==2.6.0\n"}
PROJECT = """[tool.poetry.dependencies]
python = "3.11.*"
tensorflow-cpu = "2.18.0"
[tool.poetry.group.dev.dependencies]
jax = "0.5.0"
"""


def built(*lines: str) -> Files:
    return {**docker(SLIM_11, *lines), **OTHERS}


@pytest.mark.parametrize("lines", [
    ("COPY a.txt /b.txt", "RUN pip install -r /b.txt"),
    ("WORKDIR /app", "COPY a.txt list.txt", "RUN pip install -r list.txt"),
    ("COPY . .", "COPY a.txt list.txt", "RUN pip install -r list.txt"),
    ("COPY a.txt /tmp/", "RUN pip install -r /tmp/a.txt"),
    ("COPY a*.txt /tmp/", "RUN pip install -r /tmp/a.txt"),
    ("COPY /a.txt list.txt /tmp/", "RUN pip install -r /tmp/a.txt"),
    ("COPY sub /srv", "RUN cd /srv && pip install -r list.txt"),
    ("COPY . /srv", "RUN cd /srv/sub && pip install -r list.txt"),
    ("WORKDIR /srv", "WORKDIR x", "COPY sub .", "RUN pip install -r /srv/x/list.txt"),
    ("RUN --mount=type=bind,source=a.txt,target=/tmp/r.txt pip install -r /tmp/r.txt",)])
def test_a_list_is_read_from_where_copy_took_it(lines: tuple[str, ...]) -> None:
    """Regression: by its name alone, so that another list was judged, or none was there to be read."""
    found = judged(built(*lines), gpu=True)
    assert (causes(found), [note.said for note in found.notes]) == (["cpu-only-build"], [])


@pytest.mark.parametrize("lines", [
    ("COPY a.txt /x/", SLIM, "COPY --from=0 /x/a.txt /y.txt", "RUN pip install -r /y.txt"),
    ("COPY . /x", SLIM, "COPY --from=0 /x/sub /y", "RUN pip install -r /y/list.txt"),
    ("COPY pyproject.toml .", "RUN poetry export -f requirements.txt --output r.txt --without-hashes",
     SLIM_11, "COPY --from=0 /r.txt /y.txt", "RUN pip install -r /y.txt"),
    ("COPY pyproject.toml .", "RUN poetry export > r.txt && pip install -r r.txt")])
def test_a_list_of_another_stage_is_read(lines: tuple[str, ...]) -> None:
    found = judged({**built(*lines), "pyproject.toml": PROJECT}, gpu=True)
    assert (causes(found), [note.said for note in found.notes]) == (["cpu-only-build"], [])


@pytest.mark.parametrize("lines", [
    ("COPY a.txt .", "RUN sed -i '/torch/d' a.txt", "RUN pip install -r a.txt"),
    ("COPY a.txt .", "RUN sed -i \"/$X/d\" a.txt && pip install -r a.txt"),
    ("COPY a.txt .", "RUN grep -v torch a.txt > list.txt && pip install -r list.txt"),
    ("COPY a.txt .", "RUN echo jax | tee -a a.txt && pip install -r a.txt"),
    ("ADD https://mirror.example/a.txt /a.txt", "RUN pip install -r /a.txt"),
    ("COPY --from=mine/image:1 /a.txt /a.txt", "RUN pip install -r /a.txt"),
    ("COPY <<EOF /a.txt", "jax==$V", "EOF", "RUN pip install -r /a.txt")])
def test_a_list_that_is_no_longer_what_lies_beside_is_left_open(lines: tuple[str, ...]) -> None:
    """Regression: torch was judged although the command before takes it out."""
    found = judged(built(*lines), gpu=True)
    assert causes(found) == []
    assert [note.matters for note in found.notes] == [True]


def test_a_list_that_is_changed_in_what_is_not_judged_is_read() -> None:
    lines = ("COPY a.txt .", "RUN sed -i s/opencv-python/opencv-python-headless/ a.txt",
             "RUN cd /tmp && echo 1 > x", "RUN pip install -r a.txt")
    assert causes(judged(built(*lines), gpu=True)) == ["cpu-only-build"]


@pytest.mark.parametrize("lines", [
    ("COPY --from=0 /a/r.txt /r.txt", "RUN pip install -r /r.txt"),
    ("COPY --from=0 /a /", "RUN pip install -r /r.txt"),
    (*(line for number in range(60) for line in (
        f"FROM python:3.11 AS s{number}", f"COPY --from=s{number - 1} / /",
        f"COPY --from=s{number - 1} /a /a")), "RUN pip install -r /a/r.txt")])
def test_no_chain_of_stages_is_gone_through_twice(lines: tuple[str, ...]) -> None:
    """A stage that copies from itself ended the command; of sixty stages each would double the way."""
    found = judged(docker(SLIM_11, *lines), gpu=True)
    assert [note.matters for note in found.notes] == [True]
