"""The frameworks probe on real metadata of published wheels, in real environments of many Python versions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpudoctor.model import Absent, Facts, Known, Record, Unknown
from gpudoctor.payloads import distributions
from gpudoctor.probes import frameworks, python, requirements
from gpudoctor.probes.raw import Answer
from tests.harness.patient import Patient
from tests.unit.file_answers import ask, value
from tests.unit.test_fatbin import PTX, SASS, entry, fat_binary


def examine(patient: Patient, **request: object) -> Answer:
    answer = ask("frameworks", interpreter=str(patient.python), request=request)
    assert answer.outcome == "ok", answer
    return answer


def read(answer: Answer) -> dict[str, Facts]:
    found = frameworks.read_frameworks(answer)
    assert not isinstance(found, Unknown), found
    return {str(value(facts["framework.name"])): facts for facts in found}


def new_patient(tmp_path: Path, version: str = "3.12") -> Patient:
    return Patient.create(tmp_path / "venv", python=version)


def records(fact: object) -> tuple[Record, ...]:
    found = value(fact)  # type: ignore[arg-type]
    assert isinstance(found, tuple)
    return found


@pytest.mark.parametrize(
    ("interpreter_version", "project", "version", "name", "build", "cuda", "cudnn"),
    [
        ("3.7", "tensorflow-gpu", "2.0.4", "tensorflow", "cuda", "10", "7"),
        ("3.7", "tensorflow", "2.0.4", "tensorflow", "cpu", None, None),
        ("3.8", "tensorflow", "2.2.3", "tensorflow", "cuda", "10", "7"),
        ("3.8", "tensorflow", "2.3.4", "tensorflow", "cuda", "10.1", "7"),
        ("3.9", "tensorflow", "2.10.1", "tensorflow", "cuda", "11.2", "8"),
        ("3.9", "tensorflow-cpu", "2.12.1", "tensorflow", "cpu", None, None),
        ("3.9", "tensorflow-rocm", "2.14.0.600", "tensorflow", "rocm", None, None),
        ("3.9", "intel-tensorflow", "2.14.0", "tensorflow", "cpu", None, None),
        ("3.12", "tensorflow", "2.21.0", "tensorflow", "cuda", "12.5.1", "9"),
        ("3.12", "tensorflow", "2.22.0rc0", "tensorflow", "cuda", None, None),
        ("3.6", "torch", "1.10.2", "torch", "cuda", "10.2", None),
        ("3.10", "torch", "2.1.2", "torch", "cuda", "12.1", "8.9.2.26"),
        ("3.13", "torch", "2.15.0", "torch", "cuda", "13.2", "9.26.0.51"),
        ("3.9", "paddlepaddle-gpu", "2.6.2", "paddle", "cuda", "11.8", "8.6.0"),
        ("3.9", "paddlepaddle", "2.6.2", "paddle", "cpu", None, None),
        ("3.12", "jax", "0.10.2", "jax", "cpu", None, None),
    ],
)
def test_every_shape_of_build_file_is_read(
    tmp_path: Path, interpreter_version: str, project: str, version: str,
    name: str, build: str, cuda: str | None, cudnn: str | None,
) -> None:  # fmt: skip
    """Constants, dictionaries, ordered or not, annotations, and keys that newer wheels left out."""
    patient = new_patient(tmp_path, interpreter_version)
    patient.install(project, version, libraries="none")
    facts = read(examine(patient))[name]
    stated = {key: facts[f"framework.{key}"] for key in ("cuda", "cudnn")}
    assert value(facts["framework.build"]) == build
    assert value(facts["framework.version"]) == version
    assert value(facts["framework.distribution"]) == project
    assert {key: fact.value if isinstance(fact, Known) else None for key, fact in stated.items()} == {
        "cuda": cuda,
        "cudnn": cudnn,
    }
    assert not any(isinstance(fact, Unknown) for fact in stated.values())


def test_torch_asks_for_its_libraries_through_cuda_toolkit(tmp_path: Path) -> None:
    """Since 2.11 the pins stand in the metadata of cuda-toolkit; here they are those of CUDA 13.2.2."""
    patient = new_patient(tmp_path)
    patient.install_with_dependencies("torch", "2.15.0", libraries="none")
    required = value(read(examine(patient))["torch"]["framework.requires_nvidia"])
    assert isinstance(required, tuple)
    assert {
        "nvidia-cublas==13.4.1.3.*",
        "nvidia-cudnn-cu13==9.26.0.51",
        "nvidia-nvjitlink>=13.2.86,<14",
    } <= set(required)
    named = {text.partition("=")[0].partition(">")[0] for text in required}
    components = "cublas cuda-cupti cuda-nvrtc cuda-runtime cufft cufile cusolver cusparse nvjitlink nvtx"
    separate = "cudnn-cu13 cusparselt-cu13 nccl-cu13 nvshmem-cu13"
    assert named == {f"nvidia-{name}" for name in f"{components} {separate}".split()}


def test_cuda_toolkit_itself_is_named_where_it_is_missing(tmp_path: Path) -> None:
    """Without its metadata nobody can say more than that."""
    patient = new_patient(tmp_path)
    patient.install("torch", "2.15.0", libraries="none")
    required = value(read(examine(patient))["torch"]["framework.requires_nvidia"])
    assert isinstance(required, tuple)
    assert [text for text in required if text.startswith("cuda-toolkit[")] == [
        "cuda-toolkit[cublas,cudart,cufft,cufile,cupti,cusolver,cusparse,nvjitlink,nvrtc,nvtx]==13.2.2"
    ]


def test_plain_tensorflow_needs_nothing_and_its_extra_twelve(tmp_path: Path) -> None:
    """`pip install tensorflow` without [and-cuda] is whole as far as pip is concerned."""
    patient = new_patient(tmp_path)
    patient.install("tensorflow", "2.21.0", libraries="none")
    facts = read(examine(patient))["tensorflow"]
    extra = value(facts["framework.extra_requires_nvidia"])
    assert value(facts["framework.requires_nvidia"]) == ()
    assert isinstance(extra, tuple)
    assert len(extra) == 12
    assert "nvidia-cudnn-cu12>=9.3.0.75,<10.0" in extra


def test_markers_are_those_of_the_patient() -> None:
    """Not of the interpreter that gpudoctor runs on, and `or` is not taken for an extra's condition."""
    distribution = {
        "requires": [
            'nvidia-cudnn-cu13==9.1; platform_system == "Linux" and python_version < "3.8"',
            'nvidia-cublas-cu12; python_version >= "3.8"',
            'nvidia-nccl-cu12; sys_platform == "linux" or python_version < "3" and extra == "other"',
            'nvidia-cufft-cu12; extra == "other"',
            "not a requirement",
        ]
    }
    markers = {"platform_system": "Linux", "python_version": "3.7", "sys_platform": "linux"}
    assert requirements.required(distribution, frozenset(), markers, {}) == (
        "nvidia-cudnn-cu13==9.1",
        "nvidia-nccl-cu12",
    )


def test_a_code_library_is_named_by_its_hash_in_record(tmp_path: Path) -> None:
    """The largest library that may hold device code, hex as sha256sum prints it."""
    patient = new_patient(tmp_path, "3.11")
    patient.install("torch", "2.15.0", libraries="none")
    sha256 = value(read(examine(patient))["torch"]["framework.code_library_sha256"])
    assert sha256 == "0d3cd4831095b64c764889ac93d502e1307358a4d431e27b9db305332e466f3d"


def test_code_is_only_walked_when_asked(tmp_path: Path) -> None:
    """The walk reads the whole library; until then the fact says that nobody asked."""
    patient = new_patient(tmp_path)
    patient.install("torch", "2.15.0", libraries="none")
    patient.add_file("torch/lib/libtorch_cuda.so", b"...." + fat_binary(entry(SASS, 80), entry(PTX, 90)))
    patient.add_file("torch/lib/libtorch_cuda_linalg.so", fat_binary(entry(SASS, 80)) * 2)
    static = read(examine(patient))["torch"]["framework.code"]
    assert isinstance(static, Unknown)
    assert not static.asked
    walked = records(read(examine(patient, scan_code=True))["torch"]["framework.code"])
    assert [(found["sass"], found["fat_binaries"]) for found in walked] == [(("8.0",), 2), (("8.0",), 1)]
    assert [len(found["ptx"]) for found in walked] == [0, 1]  # type: ignore[arg-type]


@pytest.mark.parametrize("last", ["tensorflow", "tensorflow-cpu"])
def test_of_two_distributions_the_last_installed_is_the_framework(tmp_path: Path, last: str) -> None:
    """Both own the package folder; the build file that lies there is the last one's."""
    patient = new_patient(tmp_path)
    first = "tensorflow-cpu" if last == "tensorflow" else "tensorflow"
    patient.install(first, "2.20.0", libraries="none")
    patient.install(last, "2.20.0", libraries="none")
    facts = read(examine(patient))["tensorflow"]
    assert value(facts["framework.distribution"]) == last
    assert value(facts["framework.other_distributions"]) == (first,)
    assert value(facts["framework.build"]) == ("cpu" if last == "tensorflow-cpu" else "cuda")


def test_a_namesake_is_no_framework(tmp_path: Path) -> None:
    """Packages around a framework do not provide it."""
    patient = new_patient(tmp_path)
    patient.install("tensorflow-datasets", "4.9.9", libraries="none")
    patient.install("torchmetrics", "1.8.0", libraries="none")
    assert read(examine(patient)) == {}


def test_a_package_that_is_gone_leaves_its_distribution(tmp_path: Path) -> None:
    """`pip uninstall tensorflow-cpu` took the files that tensorflow owns as well."""
    patient = new_patient(tmp_path)
    patient.install("tensorflow", "2.20.0", libraries="none")
    patient.remove("tensorflow")
    facts = read(examine(patient))["tensorflow"]
    assert isinstance(facts["framework.location"], Absent)
    assert isinstance(facts["framework.build"], Unknown)
    assert value(facts["framework.version"]) == "2.20.0"


def test_a_build_before_the_installed_one_belongs_to_no_distribution(tmp_path: Path) -> None:
    """PYTHONPATH names a source build: what pip installed behind it is not what is imported."""
    patient = new_patient(tmp_path)
    patient.install("torch", "2.15.0", libraries="none")
    source = tmp_path / "source" / "torch"
    source.mkdir(parents=True)
    (source / "__init__.py").touch()
    (source / "version.py").write_text("__version__ = '2.9.0a0+git1234567'\ncuda = '12.9'\nhip = None\n")
    environment = {"PYTHONPATH": str(source.parent)}
    facts = read(ask("frameworks", interpreter=str(patient.python), environment=environment))["torch"]
    assert isinstance(facts["framework.distribution"], Absent)
    assert value(facts["framework.version"]) == "2.9.0a0+git1234567"
    assert value(facts["framework.cuda"]) == "12.9"
    assert value(facts["framework.location"]) == str(source.parent)


def test_the_loading_library_and_where_it_looks(tmp_path: Path) -> None:
    """RUNPATH and RPATH as written: they are searched at different times."""
    patient = new_patient(tmp_path)
    patient.install(
        "tensorflow", "2.21.0", runpaths={"libtensorflow_framework.so.2": "$ORIGIN/../nvidia/cudnn/lib"}
    )
    patient.install("torch", "2.15.0", rpaths={"libtorch_cuda.so": "$ORIGIN/../../nvidia/cu13/lib:$ORIGIN"})
    found = read(examine(patient))
    tensorflow, torch = found["tensorflow"], found["torch"]
    place = patient.site_packages
    assert value(tensorflow["framework.loader"]) == str(place / "tensorflow/libtensorflow_framework.so.2")
    assert value(tensorflow["framework.loader_runpath"]) == ("$ORIGIN/../nvidia/cudnn/lib",)
    assert isinstance(tensorflow["framework.loader_rpath"], Absent)
    assert value(torch["framework.loader_rpath"]) == ("$ORIGIN/../../nvidia/cu13/lib", "$ORIGIN")
    assert isinstance(torch["framework.loader_runpath"], Absent)


def test_library_files_say_whose_they_are(tmp_path: Path) -> None:
    """A file that two own is the one's whose size it has; the loader trace takes its version from there."""
    patient = new_patient(tmp_path)
    patient.install("nvidia-nccl-cu12", "2.27.5")
    patient.install("nvidia-nccl-cu13", "2.28.9")
    answer = examine(patient)
    path = str(patient.site_packages / "nvidia/nccl/lib/libnccl.so.2")
    (file,) = [found for found in frameworks.library_files(answer) if found["path"] == path]
    assert (file["distribution"], file["version"], file["soname"]) == (
        "nvidia-nccl-cu13",
        "2.28.9",
        "libnccl.so.2",
    )
    (collision,) = records(python.read(answer)["python.collisions"])
    assert collision == {
        "file": path,
        "owners": ("nvidia-nccl-cu12", "nvidia-nccl-cu13"),
        "matches": "nvidia-nccl-cu13",
        "decided_by": "size",
    }


def test_a_file_that_the_other_took_along_is_gone(tmp_path: Path) -> None:
    """pip's own uninstall of one leaves the other without its file, and pip check content."""
    patient = new_patient(tmp_path)
    patient.install("nvidia-nccl-cu12", "2.27.5")
    patient.install("nvidia-nccl-cu13", "2.28.9")
    patient.remove("nvidia/nccl/lib/libnccl.so.2")
    facts = python.read(examine(patient))
    assert [found["matches"] for found in records(facts["python.collisions"])] == [""]
    patient.remove("nvidia_nccl_cu13-2.28.9.dist-info")
    facts = python.read(examine(patient))
    assert value(facts["python.colliding_distributions"]) == ()
    assert value(facts["python.incomplete_distributions"]) == ("nvidia-nccl-cu12",)


def test_jax_is_a_cuda_build_by_its_plugin(tmp_path: Path) -> None:
    """And the plugin's extra says which libraries it wants."""
    patient = new_patient(tmp_path)
    patient.install_with_dependencies("jax", "0.10.2", extras=("cuda13",))
    facts = read(examine(patient))["jax"]
    extra = value(facts["framework.extra_requires_nvidia"])
    assert value(facts["framework.build"]) == "cuda"
    assert value(facts["framework.cuda"]) == "13"
    assert isinstance(extra, tuple)
    assert "nvidia-cudnn-cu13>=9.12.0.46,<10.0" in extra
    names = [found["name"] for found in records(facts["framework.plugins"])]
    assert names == ["jax-cuda13-pjrt", "jax-cuda13-plugin", "jaxlib"]
    loader = patient.site_packages / "jax_plugins/xla_cuda13/xla_cuda_plugin.so"
    assert value(facts["framework.loader"]) == str(loader)


def test_this_environment(tmp_path: Path) -> None:
    """The collector finds what importlib.metadata finds in the interpreter that runs the tests."""
    from importlib.metadata import version

    answer = ask("frameworks", interpreter=sys.executable, environment={"HOME": str(tmp_path)})
    installed: dict[str, str] = {}
    for _, held in reversed(answer.data["installed"]):
        installed.update(held)
    assert installed["hypothesis"] == version("hypothesis")
    assert installed["pytest"] == version("pytest")


def test_a_list_of_distributions_is_never_cut_short(tmp_path: Path) -> None:
    """Up to the limit all are found; beyond it there is an error instead of a part of them."""
    for name in ("aaa-1.0", "bbb-2.0", "zzz-3.0"):
        (tmp_path / f"{name}.dist-info").mkdir()
    assert [d["name"] for d in distributions.find([str(tmp_path)], limit=3)] == ["aaa", "bbb", "zzz"]
    with pytest.raises(distributions.TooMany, match="more than 2 distributions"):
        distributions.find([str(tmp_path)], limit=2)


def test_what_needs_a_list_that_is_not_known_is_unknown(tmp_path: Path) -> None:
    """An interpreter without a sys.path has no frameworks that could be missed: nobody knows which it has."""
    patient = new_patient(tmp_path)
    (patient.site_packages / "sitecustomize.py").write_text("import sys; sys.path.clear()\n")
    answer = examine(patient)
    reason = "sys.path names no folder that exists"
    found = frameworks.read_frameworks(answer)
    host = python.read(answer)
    unknown = {name: fact.reason for name, fact in host.items() if isinstance(fact, Unknown)}
    assert isinstance(found, Unknown), found
    assert reason in found.reason
    names = ("nvidia_distributions", "incomplete_distributions", "collisions", "site_packages", "numpy")
    assert [name for name in names if reason not in unknown.get(f"python.{name}", "")] == []
    assert value(host["python.version"])
