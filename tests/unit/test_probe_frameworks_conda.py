"""The frameworks probe in environments of conda, whose packages lay their files elsewhere than wheels do."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.model import Absent, Known, Unknown
from gpudoctor.probes import frameworks
from tests.harness.elf import place_standin
from tests.unit.file_answers import value
from tests.unit.test_fatbin import SASS, entry, fat_binary
from tests.unit.test_probe_frameworks import examine, new_patient, read, records


def test_conda_is_the_installer_where_its_records_say_so(tmp_path: Path) -> None:
    """conda's packages often come without INSTALLER; torch is called pytorch there."""
    patient = new_patient(tmp_path)
    patient.install("torch", "2.6.0", libraries="none")
    patient.remove("torch-2.6.0.dist-info/INSTALLER")
    assert isinstance(read(examine(patient))["torch"]["framework.installer"], Absent)
    records_folder = patient.prefix / "conda-meta"
    records_folder.mkdir()
    (records_folder / "pytorch-2.6.0-py3.12_cuda12.4_cudnn9.1.0_0.json").write_text("{}")
    assert value(read(examine(patient))["torch"]["framework.installer"]) == "conda"


def test_the_cuda_library_of_condas_torch_lies_apart_from_the_package(tmp_path: Path) -> None:
    """In PREFIX/lib, beside NVIDIA's libraries; no RECORD lists it, and what it needs is named."""
    patient = new_patient(tmp_path)
    patient.install("torch", "2.6.0", libraries="none")
    patient.remove("torch-2.6.0.dist-info/RECORD")
    library = patient.prefix / "lib/libtorch_cuda.so"
    place_standin(library, needed=("libcudart.so.12", "libcudnn.so.9"), rpath="$ORIGIN")
    for name in ("libcudart.so.12", "libcudnn.so.9"):
        place_standin(patient.prefix / "lib" / name)
    answer = examine(patient, scan_code=True)
    facts = read(answer)["torch"]
    assert value(facts["framework.loader"]) == str(library)
    assert value(facts["framework.loader_needed"]) == ("libcudart.so.12", "libcudnn.so.9")
    assert str(patient.prefix / "lib/libcudnn.so.9") in {
        str(found["path"]) for found in frameworks.library_files(answer)
    }
    library.write_bytes(b"...." + fat_binary(entry(SASS, 90)))
    [walked] = records(read(examine(patient, scan_code=True))["torch"]["framework.code"])
    assert walked["sass"] == ("9.0",)


def test_device_code_that_is_nowhere_to_be_found_is_no_failure(tmp_path: Path) -> None:
    """Nothing follows from not finding it, so nothing is left undecided."""
    patient = new_patient(tmp_path)
    patient.install("torch", "2.6.0", libraries="none")
    patient.remove("torch-2.6.0.dist-info/RECORD")
    code = read(examine(patient, scan_code=True))["torch"]["framework.code"]
    assert isinstance(code, Unknown)
    assert not code.asked


@pytest.mark.parametrize(
    ("built", "kind", "cuda"),
    [
        ("cuda112py312h1111111_200", "cuda", "11.2"),
        ("cuda126py312h2222222_0", "cuda", "12.6"),
        ("py312_cuda_0", "cuda", None),
        ("cpu_py312h3333333_0", "cpu", None),
        ("py312h4444444_0", None, None),
    ],
)
def test_condas_jaxlib_has_cuda_inside(
    tmp_path: Path, built: str, kind: str | None, cuda: str | None
) -> None:
    """It needs no plugin; its build string says for what it was built, or nobody knows."""
    patient = new_patient(tmp_path)
    patient.install_with_dependencies("jax", "0.10.2", only=r"jaxlib")
    records_folder = patient.prefix / "conda-meta"
    records_folder.mkdir()
    (records_folder / f"jaxlib-0.10.2-{built}.json").write_text("{}")
    facts = read(examine(patient))["jax"]
    found = facts["framework.build"], facts["framework.cuda"]
    assert tuple(fact.value if isinstance(fact, Known) else None for fact in found) == (kind, cuda)
