"""cuDNN and cuBLAS of two makes: from what a run had loaded, else from the loader trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor import ruledb
from gpudoctor.model import Absent, Known, Record, RuleDatabase, Scope
from tests.unit.derived_facts import H100, NOTHING_PLANNED, RULES, Change, fact, release, value

CUDNN, CUBLAS = "framework.mixed_cudnn", "framework.mixed_cublas"
TORCH = release("torch==2.10.0")
PIP = "/venv/lib/python3.11/site-packages/nvidia"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Return the rules of this checkout."""
    return ruledb.load_pages(Path(RULES))


def loaded(*paths: str) -> Change:
    return {"framework.loaded_libraries": tuple(
        {"path": path, "soname": path.rpartition("/")[2]} for path in paths)}


def test_one_folder_is_one_make(database: RuleDatabase) -> None:
    run = loaded(f"{PIP}/cudnn/lib/libcudnn.so.9", f"{PIP}/cudnn/lib/libcudnn_ops.so.9")
    assert value(database, CUDNN, H100, TORCH, run) == ()


def test_two_folders_are_two_makes(database: RuleDatabase) -> None:
    paths = (f"{PIP}/cudnn/lib/libcudnn.so.9", "/usr/lib/libcudnn_engines_tensor_ir.so.9.23.0")
    assert value(database, CUDNN, H100, TORCH, loaded(*paths)) == paths


def test_two_versions_in_one_folder_are_two_makes(database: RuleDatabase) -> None:
    paths = ("/usr/lib/libcudnn.so.9.1.0", "/usr/lib/libcudnn_cnn.so.9.5.1")
    assert value(database, CUDNN, H100, TORCH, loaded(*paths)) == paths


def test_one_version_in_two_folders_is_one_make(database: RuleDatabase) -> None:
    paths = ("/usr/lib/libcublas.so.12.4.5.8", "/opt/cuda/lib/libcublasLt.so.12.4.5.8")
    assert value(database, CUBLAS, H100, TORCH, loaded(*paths)) == ()


def test_two_major_versions_are_two_families(database: RuleDatabase) -> None:
    """Another library in the process may bring its own cuDNN 8; its parts find one another by their names."""
    paths = ("/a/libcudnn.so.9", "/a/libcudnn_ops.so.9", "/b/libcudnn.so.8", "/b/libcudnn_ops_infer.so.8")
    assert value(database, CUDNN, H100, TORCH, loaded(*paths)) == ()


def test_cublas_is_two_libraries(database: RuleDatabase) -> None:
    paths = (f"{PIP}/cublas/lib/libcublas.so.12", "/usr/local/cuda/lib64/libcublasLt.so.12.1.3.1")
    assert value(database, CUBLAS, H100, TORCH, loaded(*paths)) == paths


def test_other_libraries_do_not_count(database: RuleDatabase) -> None:
    paths = (f"{PIP}/cublas/lib/libcublas.so.12", "/usr/lib/libnvblas.so.12", "/opt/libcublasXt.so.12")
    assert value(database, CUBLAS, H100, TORCH, loaded(*paths)) == ()


def test_where_nothing_was_run_the_trace_counts(database: RuleDatabase) -> None:
    files: tuple[Record, ...] = (
        {"path": "/opt/half/libcublasLt.so.12"}, {"path": "/opt/cuda/libcublas.so.12"},
        {"path": "/opt/cuda/libcublasLt.so.12"})
    disk: Change = {"loader.files": files, "loader.library_path": ("/opt/half", "/opt/cuda")}
    found = value(database, CUBLAS, H100, release("tensorflow==2.15.1"), NOTHING_PLANNED, disk)
    assert found == ("/opt/cuda/libcublas.so.12", "/opt/half/libcublasLt.so.12")


def test_what_was_loaded_outweighs_the_trace(database: RuleDatabase) -> None:
    files: tuple[Record, ...] = (
        {"path": "/opt/half/libcublasLt.so.12"}, {"path": "/opt/cuda/libcublas.so.12"})
    disk: Change = {"loader.files": files, "loader.library_path": ("/opt/half", "/opt/cuda")}
    run = loaded("/opt/cuda/libcublas.so.12", "/opt/cuda/libcublasLt.so.12")
    assert value(database, CUBLAS, H100, release("tensorflow==2.15.1"), NOTHING_PLANNED, disk, run) == ()


def test_without_a_trace_nothing_is_foretold(database: RuleDatabase) -> None:
    assert isinstance(fact(database, Scope.FRAMEWORK, CUDNN, H100, TORCH), Absent)


@pytest.mark.parametrize(("text", "numpy", "unmet"), [
    ("tensorflow==2.15.1", "2.1.3", "numpy<2.0.0,>=1.23.5"), ("tensorflow==2.15.1", "1.26.4", None),
    ("tensorflow==2.12.1", "1.26.4", None),  # more than it allows, but of the same major version
    ("tensorflow==2.18.1", "2.3.0", None), ("tensorflow==2.20.0", "2.3.4", None),
    ("tensorflow==2.9.3", "2.2.6", "numpy<2"),  # from before NumPy 2, and its metadata admits it
    ("tensorflow==2.14.0", "2.0.0", "numpy<2"), ("tensorflow==2.9.3", "1.26.4", None),
    # torch's metadata names no NumPy; the library in its wheel tells with which it was compiled
    ("torch==2.2.2", "2.1.3", "numpy<2"), ("torch==2.2.2", "1.26.4", None), ("torch==2.3.0", "2.1.3", None),
    ("torch==2.15.0", "1.26.4", None), ("torch==2.15.0", "3.0.0", "numpy<3"),
])
def test_numpy_of_a_later_major_version_is_told(database: RuleDatabase, text: str, numpy: str,
                                                unmet: str | None) -> None:
    installed: Change = {**NOTHING_PLANNED, "python.numpy": numpy}
    found = fact(database, Scope.FRAMEWORK, "framework.numpy_unmet", release(text), installed)
    assert (found.value if isinstance(found, Known) else None) == unmet


@pytest.mark.parametrize(("text", "protobuf", "unmet"), [
    ("tensorflow==2.20.0", "4.25.8", "protobuf>=5.28.0"), ("tensorflow==2.20.0", "5.29.5", None),
    ("tensorflow==2.15.1", "5.29.5", None),  # newer than it allows: it imports all the same
    ("tensorflow==2.18.1", "3.20.3", None),
    ("tensorflow==2.8.0", "4.21.12", "protobuf<3.20"),  # its metadata admits it
    ("tensorflow==2.9.3", "4.25.8", "protobuf<3.20"), ("tensorflow==2.9.3", "3.20.3", None),
])
def test_a_protobuf_older_than_the_generated_code_is_told(database: RuleDatabase, text: str, protobuf: str,
                                                          unmet: str | None) -> None:
    installed: Change = {**NOTHING_PLANNED, "python.protobuf": protobuf}
    found = fact(database, Scope.FRAMEWORK, "framework.protobuf_unmet", release(text), installed)
    assert (found.value if isinstance(found, Known) else None) == unmet


def test_what_a_fix_installs_is_met(database: RuleDatabase) -> None:
    """A release is installed with the NumPy that it asks for: pip sees to that."""
    found = fact(database, Scope.FRAMEWORK, "framework.numpy_unmet", {"python.numpy": "2.1.3"},
                 release("tensorflow==2.15.1"))
    assert isinstance(found, Absent)
