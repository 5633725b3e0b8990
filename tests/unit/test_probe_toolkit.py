"""The toolkit probe: versions from a toolkit's own files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from gpudoctor.model import Absent, Unknown
from gpudoctor.probes import toolkit
from gpudoctor.probes.raw import Answer
from tests.unit.file_answers import JSON, OUTCOMES, ask, assert_total, good, interpreter, spoiled, value

VERSION_JSON = '{"cuda" : {"name" : "CUDA SDK", "version" : "12.4.1"}, "cuda_nvcc" : {"version" : "12.4.9"}}'
MISSING: dict[str, Any] = {"missing": True}
INSTALL: dict[str, Any] = {
    "path": "/usr/local/cuda", "real_path": "/usr/local/cuda-12.4", "because": "disk", "listing_error": None,
    "version_json": {"text": VERSION_JSON}, "version_txt": MISSING, "cuda_h": MISSING, "nvcc": True}
SAMPLE: dict[str, Any] = {"installs": [INSTALL], "nvcc": "/usr/local/cuda/bin/nvcc"}


@pytest.mark.parametrize(("files", "expected"), [
    ({}, ("12.4.1", "version.json")),
    ({"version_json": MISSING, "version_txt": {"text": "CUDA Version 10.2.89"}}, ("10.2.89", "version.txt")),
    ({"version_json": {"text": "{broken"}, "cuda_h": {"number": "12040"}}, ("12.4", "cuda.h")),
    ({"version_json": {"text": "[" * 100000}, "cuda_h": {"number": "9020"}}, ("9.2", "cuda.h")),
    ({"version_json": {"text": '{"cuda": {"version": "new"}}'}}, None),
    ({"version_json": MISSING, "cuda_h": {"number": None}}, None),
])
def test_where_a_version_comes_from(files: dict[str, Any], expected: tuple[str, str] | None) -> None:
    """The most exact file that can be read."""
    assert toolkit.version_of({**INSTALL, **files}) == expected


def test_toolkits_are_records() -> None:
    """With path, version and where it was read."""
    facts = toolkit.read(good(SAMPLE))
    assert value(facts["toolkit.installs"]) == ({
        "path": "/usr/local/cuda", "real_path": "/usr/local/cuda-12.4", "version": "12.4.1",
        "version_source": "version.json", "nvcc": True},)
    assert value(facts["toolkit.nvcc"]) == "/usr/local/cuda/bin/nvcc"


def test_a_folder_that_is_no_toolkit_is_none() -> None:
    """The folder above a wrapper called nvcc, or a folder of samples."""
    bare = {**INSTALL, "version_json": MISSING}
    for install in ({**bare, "because": "nvcc"}, {**bare, "nvcc": False}):
        facts = toolkit.read(good({"installs": [install], "nvcc": None}))
        assert isinstance(facts["toolkit.installs"], Absent)
    assert isinstance(toolkit.read(good({"installs": None}))["toolkit.installs"], Unknown)


@pytest.mark.parametrize("version", ["3.6", "3.13"])
def test_a_toolkit_named_by_the_environment(tmp_path: Path, version: str) -> None:
    """CUDA_HOME counts wherever it points, once."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "cuda.h").write_text("/* x */\n#define CUDA_VERSION 11080\n")
    environment = {"CUDA_HOME": str(tmp_path), "CUDA_PATH": f"{tmp_path}/"}
    answer = ask("toolkit", interpreter=interpreter(version), environment=environment)
    installs = value(toolkit.read(answer)["toolkit.installs"])
    assert isinstance(installs, tuple)
    mine = [install for install in installs if install["real_path"] == str(tmp_path)]
    assert mine == [{
        "path": str(tmp_path), "real_path": str(tmp_path), "version": "11.8", "version_source": "cuda.h",
        "nvcc": False}]
    nvcc = toolkit.read(answer)["toolkit.nvcc"]
    assert isinstance(nvcc, Absent) if shutil.which("nvcc") is None else value(nvcc) == shutil.which("nvcc")


@given(data=JSON, outcome=OUTCOMES)
def test_any_json_is_read(data: Any, outcome: str) -> None:
    """No exception, and every promised name, whatever comes."""
    assert_total(toolkit, "toolkit", Answer(outcome=outcome, seconds=0.0, data=data))


@given(data=spoiled(SAMPLE))
def test_any_json_inside_a_good_answer_is_read(data: Any) -> None:
    """The same with one place of a good answer spoiled."""
    assert_total(toolkit, "toolkit", good(data))
