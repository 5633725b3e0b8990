"""What `pip inspect` prints: packages and the interpreter, and nothing that a README says."""

from __future__ import annotations

import json

import pytest

from gpudoctor import ruledb, texts
from gpudoctor.sources.inspections import without_prose
from tests.sources.stating import stated, value


def inspection(**metadata: str) -> str:
    """Return what `pip inspect` (of pip 26.3) prints of one package, shortened."""
    return json.dumps({
        "version": "1", "pip_version": "26.3",
        "installed": [{"metadata": {"metadata_version": "2.4", **metadata}, "installer": "pip"}],
        "environment": {"os_name": "posix", "platform_machine": "x86_64",
                        "platform_release": "6.1.0-28-amd64",
                        "platform_system": "Linux", "python_full_version": "3.11.7", "python_version": "3.11",
                        "sys_platform": "linux"}}, indent=2) + "\n"


def test_pip_inspect_tells_of_packages_and_not_what_packages_say() -> None:
    """Regression: a README's "conda install", "Windows" and errors were taken for those of the machine."""
    text = inspection(name="torch", version="2.6.0+cu124", description=(
        "RuntimeError: No CUDA GPUs are available\nconda install pytorch -c conda-forge\n## Windows 11"))
    found = texts.read_text(text, ruledb.load_shipped("told"))
    assert (found.said, found.suspicious) == ((), ())
    assert value(found.text, "text.packages") == ("torch==2.6.0+cu124",)
    assert value(found.text, "text.places") == ("linux",)
    assert [value(found.host, name) for name in (
        "python.version", "python.pip_version", "system.os", "system.architecture", "system.kernel")] == [
        "3.11.7", "26.3", "Linux", "x86_64", "6.1.0-28-amd64"]


@pytest.mark.parametrize("text", [
    inspection(name="torch", version="2.6.0")[:-40],
    '{"version": "1", "pip_version": "26.3", "installed": 7}\n',
    '{"version": "1", "pip_version": "26.3", "installed": [{"metadata": {}}]}\n',
])
def test_a_document_of_pip_that_is_cut_off_is_read_as_it_stands(text: str) -> None:
    """Nothing of it is lost, and nothing is raised."""
    assert b"".join(without_prose(text.encode(), ())) == text.encode()


@pytest.mark.parametrize("text", ['[{"name": "tree-sitter-powershell", "version": "0.26.3"}]\n',
                                  "tree-sitter-powershell 0.26.3\n", "tree-sitter-powershell==0.26.3\n"])
def test_the_name_of_a_package_is_no_place(text: str) -> None:
    """Regression: a machine with tree-sitter-powershell was one with Windows."""
    assert not value(stated(text).text, "text.places")
