"""Fixes that a text's own words choose: the package that it names, the program that speaks."""

from __future__ import annotations

import pytest

from tests.explain.shipped import findings


def fixes(text: str, cause: str) -> list[str]:
    """Return the titles of the fixes of one cause."""
    return [fix.title for finding in findings(text) if finding.cause == cause for fix in finding.fixes]


@pytest.mark.parametrize(("line", "package"), [
    (("ValueError: Your currently installed version of Keras is Keras 3, but this is not yet supported in "
     "Transformers. Please install the backwards-compatible tf-keras package with `pip install tf-keras`."),
     "tf-keras"),
    ("AttributeError: 'MessageFactory' object has no attribute 'GetPrototype'", "protobuf"),
    ("WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:", "xformers"),
])
def test_the_fix_of_packages_that_do_not_go_together_names_the_one_at_fault(line: str, package: str) -> None:
    """Regression: every one of them was answered with "Install a NumPy"."""
    assert fixes(line, "python-deps-abi") == [
        f"Install a release of {package} that goes with the packages beside it"]


def test_where_no_package_is_named_the_page_says_what_to_do() -> None:
    """Not NumPy before anything else."""
    line = "tensorflow 2.16.1\nkeras 2.15.0\nImportError: cannot import name 'keras' from 'tensorflow'\n"
    assert not any(title.startswith("Install a NumPy") for title in fixes(line, "python-deps-abi"))


@pytest.mark.parametrize(("text", "offered"), [
    (("onnxruntime-gpu 1.18.0\nFailed to load library libonnxruntime_providers_cuda.so with error: "
     "libcublasLt.so.12: cannot open shared object file: No such file or directory"), False),
    ("ValueError: Cannot use GPU, CuPy is not installed", False),
    (("ctranslate2 4.6.0\nRuntimeError: Library libcublas.so.12 is not found or cannot be loaded\n"
     "cuda: 13.0\n"), True),
])
def test_only_users_of_ctranslate2_are_told_of_its_releases(text: str, offered: bool) -> None:
    """Regression: users of ONNX Runtime and of spaCy were."""
    found = fixes(text, "third-party-lib-bundles-old-cuda")
    assert found
    assert any("CTranslate2" in title for title in found) is offered
