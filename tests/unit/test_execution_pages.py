"""Whole diagnoses of machines on which frameworks were run: causes first, what a run showed below them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from gpudoctor import remedy, ruledb
from gpudoctor.assume import Place, lay
from gpudoctor.facts import promised
from gpudoctor.model import (
    Absent, Fact, Finding, Judgement, Known, Record, RuleDatabase, Scope, Severity, Snapshot, Unknown, Value,
)

Change = Mapping[str, Value | Fact]
RULES = Path(__file__).parents[2] / "rules"
STAGES = ("matmul", "convolution", "compiled", "reduced-precision")
HEALTHY: Change = {"cc": "9.0", "driver": "580.95.05"}
TORCH: Change = {**HEALTHY, "release": "torch==2.10.0"}
TENSORFLOW: Change = {**HEALTHY, "release": "tensorflow==2.20.0"}
FULL_CARD: Record = {"stage": "all", "card": "0", "outcome": "skipped", "wanted": True,
                     "reason": "no room on it: 200 MiB of its 81920 MiB are free, 1024 MiB are needed"}
NO_CARD: Record = {"stage": "all", "card": "", "outcome": "skipped", "wanted": False,
                   "reason": "there is no NVIDIA GPU here to run on"}
PACKAGES = "/home/user/venv/lib/python3.12/site-packages/nvidia"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Return the rules of this checkout."""
    return ruledb.load_pages(RULES)


def ran(gpus: int = 1, log: tuple[str, ...] = (), usual: str = "passed", **outcomes: str) -> Change:
    """Return a run in which every stage ended as usual, but for `outcomes`; underscores stand for hyphens."""
    named = {name.replace("_", "-"): outcome for name, outcome in outcomes.items()}
    stages = tuple(stage(name, named.get(name, usual)) for name in STAGES)
    return observed(gpus, log, *stages)


def stage(name: str, outcome: str, words: str = "") -> Record:
    return {"stage": name, "card": "0", "outcome": outcome, "words": words, "reason": ""}


def observed(gpus: int, log: tuple[str, ...], *stages: Record) -> Change:
    return {"framework.import_outcome": "passed", "framework.import_words": (), "framework.seen_gpus": gpus,
            "framework.stages": stages, "framework.log": log, "framework.loaded_libraries": (),
            "framework.resolved_libraries": ()}


def library(path: str, **more: str) -> Record:
    return {"path": path, **more}


def missing_cudnn() -> Change:
    """Return TensorFlow with all of its CUDA libraries but cuDNN."""
    there = ("cuda_runtime/lib/libcudart.so.12", "cublas/lib/libcublas.so.12", "cublas/lib/libcublasLt.so.12",
             "cufft/lib/libcufft.so.11", "cusolver/lib/libcusolver.so.11", "cusparse/lib/libcusparse.so.12")
    files = tuple(library(f"{PACKAGES}/{path}") for path in there)
    return {**TENSORFLOW, "python.planned_distributions": (), "loader.files": files}


def known(*changes: Change) -> dict[str, Fact]:
    return {
        name: value if isinstance(value, Known | Absent | Unknown) else Known(value=value, source="a test")
        for change in changes for name, value in change.items()}


def laid(database: RuleDatabase, *changes: Change) -> Snapshot:
    return lay(database.base, known(*changes), database.tables, source="a test")


def diagnose(database: RuleDatabase, *changes: Change) -> Judgement:
    return remedy.diagnose(laid(database, *changes), database)


def faults(judgement: Judgement) -> list[tuple[str, list[str]]]:
    """Return errors and warnings with what is folded under each."""
    return [(f.cause, [c.cause for c in f.consequences]) for f in judgement.findings
            if f.severity.is_fault]


def open_errors(judgement: Judgement) -> set[str]:
    return {u.cause for u in judgement.undecided if u.asked and u.severity is Severity.ERROR}


def only(judgement: Judgement) -> Finding:
    found = [f for f in judgement.findings if f.severity.is_fault]
    assert len(found) == 1, [f.cause for f in found]
    return found[0]


# -- nothing to say ----------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["torch==2.10.0", "tensorflow==2.20.0"])
def test_a_machine_on_which_nothing_was_run_is_healthy(database: RuleDatabase, release: str) -> None:
    judgement = diagnose(database, {**HEALTHY, "release": release})
    assert faults(judgement) == []
    assert open_errors(judgement) == set()


@pytest.mark.parametrize("release", ["torch==2.10.0", "tensorflow==2.20.0"])
def test_a_machine_on_which_every_stage_passed_is_healthy(database: RuleDatabase, release: str) -> None:
    judgement = diagnose(database, {**HEALTHY, "release": release}, ran())
    assert faults(judgement) == []
    assert open_errors(judgement) == set()


def test_a_snapshot_from_before_frameworks_were_run_is_judged_as_it_was(database: RuleDatabase) -> None:
    now = laid(database, TENSORFLOW)
    assert not isinstance(now.frameworks, Unknown)
    later = {*promised("stages", Scope.FRAMEWORK), "python.numpy", "python.protobuf"}
    host = {name: fact for name, fact in now.host.items() if name not in later}
    frameworks = tuple({n: f for n, f in facts.items() if n not in later} for facts in now.frameworks)
    judgement = remedy.diagnose(replace(now, host=host, frameworks=frameworks), database)
    assert faults(judgement) == []
    assert open_errors(judgement) == set()


def test_without_a_card_there_is_nothing_new_to_say(database: RuleDatabase) -> None:
    bare: Change = {"cc": "none", "driver": "none", "release": "torch==2.10.0"}
    before = diagnose(database, bare)
    after = diagnose(database, bare, observed(0, (), NO_CARD))
    assert faults(after) == faults(before)
    assert open_errors(after) == open_errors(before) == set()


def test_a_driver_that_does_not_work_is_the_only_fault(database: RuleDatabase) -> None:
    broken: Change = {"cc": "9.0", "driver": "none", "release": "torch==2.10.0"}
    skipped = {**NO_CARD, "reason": "the driver does not work, so there is nothing to run on"}
    before = diagnose(database, broken)
    assert faults(diagnose(database, broken, observed(0, (), skipped))) == faults(before)


# -- on the CPU --------------------------------------------------------------------------------------


def test_on_the_cpu_without_any_reason_stands_alone_and_asks(database: RuleDatabase) -> None:
    found = only(diagnose(database, TORCH, ran(gpus=0, usual="ran-on-cpu")))
    assert (found.cause, found.certainty.value, found.severity) == ("ran-on-cpu", "likely", Severity.ERROR)
    assert [ask.command for ask in found.asks] == ["gpudoctor snapshot --depth smoke --share -o machine.json"]


def test_on_the_cpu_with_a_cpu_build_follows_from_the_build(database: RuleDatabase) -> None:
    build: Change = {"framework.build": "cpu", "framework.version": "2.10.0+cpu"}
    judgement = diagnose(database, TORCH, build, ran(gpus=0, usual="ran-on-cpu"))
    assert faults(judgement) == [("cpu-only-build", ["ran-on-cpu"])]


def test_on_the_cpu_for_want_of_cudnn_follows_from_that(database: RuleDatabase) -> None:
    judgement = diagnose(database, missing_cudnn(), ran(gpus=0, usual="ran-on-cpu"))
    assert faults(judgement) == [("cudnn-missing", ["ran-on-cpu"])]


def test_on_the_cpu_with_every_card_hidden_follows_from_the_variable(database: RuleDatabase) -> None:
    judgement = diagnose(database, TORCH, {"environment.CUDA_VISIBLE_DEVICES": "-1"},
                         ran(gpus=0, usual="ran-on-cpu"))
    assert faults(judgement) == [("cuda-visible-devices", ["ran-on-cpu"])]


def test_the_library_that_the_log_names_is_in_the_message(database: RuleDatabase) -> None:
    line = ("W tsl/platform/default/dso_loader.cc:144] Could not load dynamic library 'libcudnn.so.9'; "
            "dlerror: libcudnn.so.9: cannot open shared object file: No such file or directory")
    found = only(diagnose(database, TENSORFLOW, ran(gpus=0, usual="ran-on-cpu", log=(line,))))
    assert found.cause == "ran-on-cpu"
    assert "could not load libcudnn.so.9" in found.message


def test_a_library_that_it_can_do_without_is_not_named(database: RuleDatabase) -> None:
    line = "dso_loader.cc:144] Could not load dynamic library 'libnvinfer.so.8'; dlerror: not found"
    found = only(diagnose(database, TENSORFLOW, ran(gpus=0, usual="ran-on-cpu", log=(line,))))
    assert "libnvinfer" not in found.message


def test_of_two_frameworks_the_one_that_works_is_not_accused(database: RuleDatabase) -> None:
    both = laid(database, {**HEALTHY, "release": ("torch==2.10.0", "tensorflow==2.20.0")}, ran())
    on_cpu = known(ran(gpus=0, usual="ran-on-cpu"))
    one = lay(both, on_cpu, database.tables, source="a test", place=Place(framework=0))
    found = only(remedy.diagnose(one, database))
    assert (found.cause, found.subject) == ("ran-on-cpu", "torch")


def test_what_one_framework_is_cured_by_explains_nothing_of_another(database: RuleDatabase) -> None:
    both = laid(database, {**HEALTHY, "release": ("torch==2.10.0", "tensorflow==2.20.0")},
                ran(gpus=0, usual="ran-on-cpu"))
    build = lay(both, known({"framework.build": "cpu"}), database.tables, source="a test",
                place=Place(framework=0))
    assert faults(remedy.diagnose(build, database)) == [
        ("cpu-only-build", ["ran-on-cpu"]), ("ran-on-cpu", [])]


def test_the_cure_that_contains_the_other_comes_first(database: RuleDatabase) -> None:
    """A regression: pip had put an older cuDNN and NCCL below torch; a newer cuDNN was called the cure."""
    named = [f"{PACKAGES}/cublas/lib/{name}" for name in ("libcublas.so.12", "libcublasLt.so.12")]
    named += [f"{PACKAGES}/{folder}/lib/lib{stem}" for folder, stem in (
        ("cuda_runtime", "cudart.so.12"), ("cuda_cupti", "cupti.so.12"), ("cuda_nvrtc", "nvrtc.so.12"),
        ("cufft", "cufft.so.11"), ("cufile", "cufile.so.0"), ("curand", "curand.so.10"),
        ("cusolver", "cusolver.so.11"), ("cusparse", "cusparse.so.12"), ("cusparselt", "cusparseLt.so.0"),
        ("nvjitlink", "nvJitLink.so.12"), ("nvshmem", "nvshmem_host.so.3"))]
    older = tuple(
        library(f"{PACKAGES}/{folder}/lib/{name}", distribution=f"nvidia-{folder}-cu12", version=version)
        for folder, name, version in (
            ("cudnn", "libcudnn.so.9", "9.3.0.75"), ("nccl", "libnccl.so.2", "2.21.5")))
    words = "ImportError: /v/torch/lib/libtorch_cuda.so: undefined symbol: ncclGroupSimulateEnd"
    failed: Change = {"framework.import_outcome": "failed", "framework.import_words": (words,),
                      "framework.stages": (stage("matmul", "not-reached"),), "framework.log": ()}
    torch: Change = {
        **TORCH, "python.planned_distributions": (), "loader.files": (*older, *map(library, named)),
        "framework.loader": PACKAGES.replace("nvidia", "torch/lib/libtorch_cuda.so"),
        "framework.loader_rpath": ("$ORIGIN/../../nvidia/cudnn/lib", "$ORIGIN/../../nvidia/nccl/lib"),
        "framework.loader_needed": ("libcudnn.so.9", "libnccl.so.2")}
    first = diagnose(database, torch, failed).findings[0]
    assert first.cause == "nccl-mismatch"
    assert {c.cause for c in first.consequences} >= {
        "cudnn-runtime-older-than-compiled", "framework-import-failed"}


def test_a_shadowed_library_stays_a_fault_beside_a_card_that_only_an_image_serves(
    database: RuleDatabase,
) -> None:
    """A regression: what lies in LD_LIBRARY_PATH was said to follow from the card."""
    shadow = (library("/opt/x/libcusparse.so.12", error="empty file"),)
    facts: Change = {"cc": "12.0", "driver": "580.95.05", "release": "tensorflow==2.15.1",
                     "python.planned_distributions": (), "loader.library_path": ("/opt/x",),
                     "environment.LD_LIBRARY_PATH": "/opt/x"}
    there = missing_cudnn()["loader.files"]
    assert isinstance(there, tuple)
    cudnn = library(f"{PACKAGES}/cudnn/lib/libcudnn.so.8")
    found = faults(diagnose(database, {**facts, "loader.files": (*there, cudnn, *shadow)}))
    assert ("ld-library-path-shadows", []) in found
    assert "gpu-too-new-for-build" in [cause for cause, _ in found]


def test_a_variable_that_would_cure_one_framework_explains_nothing_of_another(database: RuleDatabase) -> None:
    """A regression: JAX on the CPU was said to follow from a CUDA that TensorFlow 2.9 did not find."""
    both = laid(database, {**HEALTHY, "release": ("tensorflow==2.9.3", "torch==2.10.0")},
                {"python.planned_distributions": (), "loader.files": ()}, ran(gpus=0, usual="ran-on-cpu"))
    build = lay(both, known({"framework.build": "cpu"}), database.tables, source="a test",
                place=Place(framework=1))
    found = {f.cause: [c.subject for c in f.consequences] for f in remedy.diagnose(build, database).findings}
    assert found["cudart-missing"] == ["tensorflow"]
    assert found["cpu-only-build"] == ["torch"]


def test_on_the_cpu_it_is_told_what_the_framework_complained_of(database: RuleDatabase) -> None:
    complaint = ("UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Did you run "
                 "some cuda functions before calling NumCudaDevices() that might have already set an error? "
                 "Error 801: operation not supported (Triggered internally at x.cpp:109.)")
    found = only(diagnose(database, TORCH, ran(gpus=0, usual="ran-on-cpu", log=("hello", complaint))))
    assert "Error 801: operation not supported" in found.message
    assert "hello" not in found.message


# -- failures ----------------------------------------------------------------------------------------


def test_a_crash_beside_a_healthy_rest_is_named_with_its_stage(database: RuleDatabase) -> None:
    found = only(diagnose(database, TORCH, ran(convolution="crashed")))
    assert found.cause == "framework-crashed"
    assert "convolution" in found.message
    assert "matmul" not in found.message


def test_harmless_chatter_is_not_quoted_as_the_last_words(database: RuleDatabase) -> None:
    """A regression: a crash of TensorFlow 2.9 was explained by the libraries that it had opened."""
    chatter = "I dso_loader.cc:53] Successfully opened dynamic library libcudart.so.11.0"
    words = f"F check.cc:1] Check failed: x == y / {chatter}"
    found = only(diagnose(database, TENSORFLOW, observed(1, (), stage("matmul", "crashed", words))))
    assert "Check failed: x == y" in found.message
    assert "Successfully opened" not in found.message


@pytest.mark.parametrize(("outcome", "cause"), [
    ("wrong-result", "wrong-result"), ("timed-out", "framework-hangs"), ("exited", "framework-crashed"),
    ("compiling", "ptx-jit-slow-start"), ("no-proof", "gpu-execution-unproven"),
    ("failed", "framework-fails-on-gpu"), ("ran-on-cpu", "ran-on-cpu"),
])
def test_every_way_to_end_badly_is_one_finding(database: RuleDatabase, outcome: str, cause: str) -> None:
    assert faults(diagnose(database, TORCH, ran(compiled=outcome))) == [(cause, [])]


@pytest.mark.parametrize(("words", "cause"), [
    ("RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", "cudnn-sublibrary-mismatch"),
    ("RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH", "cudnn-dropped-gpu"),
    ("InternalError: libdevice not found at ./libdevice.10.bc [Op:__some_op]", "libdevice-not-found"),
    ("ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'", "ptxas-missing-or-old"),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. ", "gpu-memory-in-use"),
    ("CUDA_ERROR_MPS_CONNECTION_FAILED: MPS client failed to connect", "mps-daemon"),
    ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX was compiled", "ptx-isa-newer-than-driver"),
    ("RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use", "fork-after-cuda-init"),
    ("RuntimeError: CUDA error: no kernel image is available for execution on the device",
     "gpu-too-new-for-build"),
])
def test_words_that_are_known_come_before_the_mere_failure(database: RuleDatabase, words: str,
                                                           cause: str) -> None:
    own: Change = {"framework.version": "2.10.0+local", "framework.code_library_sha256": "00",
                   "framework.cuda": "12.8", "framework.requires_nvidia": ("nvidia-cudnn-cu12==9.10.2.21",)}
    run = observed(1, (), stage("convolution", "failed", words))
    assert faults(diagnose(database, TENSORFLOW, own, run)) == [(cause, ["framework-fails-on-gpu"])]


def test_a_card_that_the_build_has_no_code_for_is_the_cause_of_its_failures(database: RuleDatabase) -> None:
    """What could be seen beforehand comes first, the framework's words about it below."""
    old: Change = {"cc": "7.0", "driver": "580.95.05", "release": "torch==2.15.0"}
    words = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    found = only(diagnose(database, old, observed(1, (), stage("matmul", "failed", words))))
    assert (found.cause, found.certainty.value) == ("gpu-too-old-for-build", "certain")
    assert {c.cause for c in found.consequences} == {"gpu-too-old-for-build", "framework-fails-on-gpu"}


def test_known_words_in_a_run_that_went_well_are_no_fault(database: RuleDatabase) -> None:
    line = "Can't find libdevice directory ${CUDA_DIR}/nvvm/libdevice. This may end badly"
    assert faults(diagnose(database, TENSORFLOW, ran(log=(line,)))) == []


# -- imports -----------------------------------------------------------------------------------------


def import_broke(words: str, outcome: str = "failed") -> Change:
    missed = tuple({**stage(name, "not-reached"), "reason": f"its import: {outcome}"} for name in STAGES)
    return {"framework.import_outcome": outcome, "framework.import_words": (words,), "framework.log": (),
            "framework.stages": missed}


@pytest.mark.parametrize(("words", "outcome", "causes"), [
    ("ImportError: numpy.core.umath failed to import", "failed",
     [("python-deps-abi", ["framework-import-failed"])]),
    ("Fatal Python error: Illegal instruction", "crashed", [("cpu-no-avx", ["framework-import-failed"])]),
    ("ImportError: libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
     "failed", [("nvjitlink-mismatch", ["framework-import-failed"])]),
    ("ImportError: cannot import name 'spam'", "failed", [("framework-import-failed", [])]),
    ("Timeout (0:02:00)!", "timed-out", [("framework-hangs", [])]),
])
def test_an_import_that_fails_is_traced_to_its_cause(database: RuleDatabase, words: str, outcome: str,
                                                     causes: list[tuple[str, list[str]]]) -> None:
    assert faults(diagnose(database, TORCH, import_broke(words, outcome))) == causes


def test_an_import_that_needs_no_gpu_does_not_follow_from_a_missing_driver(database: RuleDatabase) -> None:
    words = "ImportError: numpy.core.umath failed to import"
    bare = diagnose(database, {**TORCH, "driver": "none"})
    found = faults(diagnose(database, {**TORCH, "driver": "none"}, import_broke(words)))
    assert found == [*faults(bare), ("python-deps-abi", ["framework-import-failed"])]


def test_an_import_that_wants_libcuda_is_explained_by_the_missing_driver(database: RuleDatabase) -> None:
    words = "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory"
    bare: Change = {**TORCH, "driver": "none"}
    assert faults(diagnose(database, bare, import_broke(words))) == faults(diagnose(database, bare))


def test_numpy_2_under_an_old_tensorflow_is_seen_without_running_it(database: RuleDatabase) -> None:
    old: Change = {"python": "3.11.9", "cc": "8.0", "driver": "580.95.05", "release": "tensorflow==2.15.1"}
    cached = tuple({"soname": name, "path": f"/opt/cuda/lib/{name}"} for name in (
        "libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", "libcufft.so.11", "libcusolver.so.11",
        "libcusparse.so.12", "libcudnn.so.8"))
    installed: Change = {"python.planned_distributions": (), "loader.cache": cached, "python.numpy": "2.1.3"}
    found = only(diagnose(database, old, installed,
                          import_broke("ImportError: numpy.core.umath failed to import")))
    assert found.rule == "GPD6110"
    assert [c.rule for c in found.consequences] == ["GPD7010", "GPD7900"]
    assert found.fixes[0].commands[0].endswith("'numpy<2.0.0,>=1.23.5'")


# -- left alone --------------------------------------------------------------------------------------


def test_a_full_card_is_never_healthy_and_silent(database: RuleDatabase) -> None:
    full: Change = {"gpu.memory_total_bytes": 85899345920, "gpu.memory_used_bytes": 85689630720}
    judgement = diagnose(database, TORCH, full, observed(1, (), FULL_CARD))
    assert faults(judgement) == [("gpu-memory-in-use", [])]
    assert "ran-on-cpu" in open_errors(judgement)


def test_what_was_left_alone_is_undecided_with_its_reason(database: RuleDatabase) -> None:
    """Where no page explains why the card was skipped, the reason itself is what remains."""
    judgement = diagnose(database, TORCH, observed(1, (), FULL_CARD))
    reasons = {r.source for u in judgement.undecided if u.cause == "ran-on-cpu" for r in u.reasons}
    assert any("GPU 0 was left alone: no room on it" in reason for reason in reasons)


# -- gpudoctor's own mistakes ------------------------------------------------------------------------


def test_a_trace_that_proved_wrong_is_said_and_is_no_fault_of_the_machine(database: RuleDatabase) -> None:
    there = f"{PACKAGES}/cudnn/lib/libcudnn.so.9"
    files = (*_files(missing_cudnn()), library(there))
    other: Change = {"framework.loaded_libraries": (library("/opt/other/libcudnn.so.9"),)}
    judgement = diagnose(database, missing_cudnn(), {"loader.files": files}, ran(), other)
    assert [(f.cause, f.severity) for f in judgement.findings] == [("loader-trace-differs", Severity.INFO)]


def _files(change: Change) -> tuple[Record, ...]:
    files = change["loader.files"]
    assert isinstance(files, tuple)
    return tuple(record for record in files if isinstance(record, Mapping))
