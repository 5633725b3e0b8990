"""A build asked for by its label: which index has it, and where that is said; and releases yet to come."""

from __future__ import annotations

import pytest

from tests.unit.test_manifest_troubles import SLIM, causes, docker, judged

LABELLED, INDEX = "torch==2.4.0+cu118", "https://download.pytorch.org/whl/cu118"
MISSING = "release-not-published"


@pytest.mark.parametrize("lines", [
    (SLIM, f"RUN pip install {LABELLED}"), (SLIM, f"RUN uv pip install --system {LABELLED}"),
    (SLIM, "ENV PIP_NO_CACHE_DIR=1", f"RUN pip install six && pip install torchvision {LABELLED}"),
    ("FROM nvidia/cuda:11.8.0-base-ubuntu22.04", "COPY r.txt .", "RUN pip install -r r.txt"),
    (SLIM, "RUN pip install torch==2.4.0+cpu")])
def test_a_label_that_is_asked_of_the_default_index_is_found(lines: tuple[str, ...]) -> None:
    """It said nothing, and pip ends with "No matching distribution found"."""
    found = judged({**docker(*lines), "r.txt": f"six\n{LABELLED}\n"})
    [one] = [one.finding for one in found.findings if one.finding.cause == MISSING]
    assert INDEX.rpartition("/")[0] in one.message
    assert any(INDEX.rpartition("/")[0] in fix.title for fix in one.fixes)


@pytest.mark.parametrize("lines", [
    (SLIM, f"RUN pip install {LABELLED} --index-url {INDEX}"),
    (SLIM, f"RUN pip install {LABELLED} --extra-index-url {INDEX}"),
    (SLIM, f"RUN pip install {LABELLED} -f https://download.pytorch.org/whl/torch_stable.html"),
    (SLIM, f"ENV PIP_EXTRA_INDEX_URL={INDEX}", f"RUN pip install {LABELLED}"),
    (SLIM, f"RUN PIP_INDEX_URL={INDEX} pip install {LABELLED}"),
    (SLIM, "ARG PIP_INDEX_URL", f"RUN pip install {LABELLED}"),
    (SLIM, "ARG MIRROR", "ENV PIP_EXTRA_INDEX_URL=$MIRROR", f"RUN pip install {LABELLED}"),
    (SLIM, f"RUN export PIP_INDEX_URL=$MIRROR && pip install {LABELLED}"),
    (SLIM, f"RUN PIP_INDEX_URL=$MIRROR pip install {LABELLED}"),
    (SLIM, "ENV PIP_FIND_LINKS=https://example.org/wheels", f"RUN pip install {LABELLED}"),
    (SLIM, "ENV PIP_CONFIG_FILE=/a/b", f"RUN pip install {LABELLED}"),
    (SLIM, "COPY pip.conf /etc/pip.conf", f"RUN pip install {LABELLED}"),
    (SLIM, "COPY etc/ /etc/", f"RUN pip install {LABELLED}"),
    (SLIM, f"RUN pip config set global.index-url {INDEX}", f"RUN pip install {LABELLED}"),
    (SLIM, f"RUN echo '[global]\\nindex-url={INDEX}' > /etc/pip.conf && pip install {LABELLED}"),
    (SLIM, f"RUN --mount=type=secret,id=a,target=/etc/pip.conf pip install {LABELLED}"),
    (SLIM, f"RUN uv pip install --system --torch-backend=cu118 {LABELLED}"),
    (SLIM, f"RUN pip install {INDEX}/torch-2.4.0%2Bcu118-cp312-cp312-linux_x86_64.whl"),
    (SLIM, "COPY r.txt .", "RUN pip install -r r.txt"),
    ("FROM example.org/with-a-mirror:1", f"RUN pip install {LABELLED}")])
def test_a_label_whose_index_is_named_or_may_be_is_not(lines: tuple[str, ...]) -> None:
    found = judged({**docker(*lines), "r.txt": f"--extra-index-url {INDEX}\n{LABELLED}\n"})
    assert MISSING not in causes(found)


def test_a_list_by_itself_may_be_installed_with_an_index() -> None:
    def said(text: str) -> list[str]:
        found = judged({"requirements.txt": text})
        assert MISSING not in causes(found)
        return [str(one.place) for one in found.notes if f"--index-url {INDEX}" in one.said]

    assert said(f"six\n{LABELLED}\n") == ["requirements.txt:2:1"]
    assert said(f"-f {INDEX}/torch\n{LABELLED}\n") == said("torch==2.4.0\n") == []


@pytest.mark.parametrize(("text", "is_said"), [
    ("tensorflow==2.99", True), ("torch>=9", True), ("tensorflow==2.20.0", False),
    ("tensorflow>=2.10", False), ("tensorflow<2.99", False)])
def test_a_release_that_no_table_has_yet_is_said_without_a_gpu_as_well(text: str, *, is_said: bool) -> None:
    """Regression: it was told only with --gpu."""
    for files in ({"requirements.txt": f"{text}\n"}, docker(SLIM, f"RUN pip install '{text}'")):
        notes = [one for one in judged(files).notes if "newer than" in one.said]
        assert [one.matters for one in notes] == [False] * is_said
        with_gpu = [one for one in judged(files, gpu=True).notes if "newer than" in one.said]
        assert len(with_gpu) == is_said
