"""What frameworks load by themselves, and places of the search that nobody could look at."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpudoctor import ruledb
from gpudoctor.derive.loader_trace import Inputs, missing, trace
from gpudoctor.derive.view import NotKnown
from gpudoctor.model import Absent, Known, Record, RuleDatabase, Scope, Unknown, Value
from tests.unit.derived_facts import H100, NOTHING_PLANNED, RULES, Change, fact, release, value

SITE = "/home/user/venv/lib/python3.12/site-packages"
OTHER = "/opt/shared/packages"  # a folder of sys.path by a .pth file or by PYTHONPATH
CUDNN: Record = {"path": f"{OTHER}/nvidia/cudnn/lib/libcudnn.so.9"}
CUDART: Record = {"path": f"{OTHER}/nvidia/cuda_runtime/lib/libcudart.so.12"}
HIDDEN = Unknown(reason="Permission denied")


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Read the pages and tables of this checkout."""
    return ruledb.load_pages(RULES)


def torch(version: str, *needed: str, files: tuple[Record, ...] = (CUDNN, CUDART)) -> tuple[Change, ...]:
    """Return a torch whose NVIDIA packages lie in another folder of sys.path."""
    facts: Mapping[str, Value] = {
        "framework.version": f"{version}+local",  # no row of the table says what it opens
        "framework.loader": f"{SITE}/torch/lib/libtorch_cuda.so",
        "framework.loader_rpath": ("$ORIGIN/../../nvidia/cudnn/lib",),
        "framework.loader_needed": needed or ("libcudart.so.12", "libcudnn.so.9"),
        "python.site_packages": (SITE, OTHER),
        "loader.files": files,
    }
    return (H100, release("torch==2.9.1"), NOTHING_PLANNED, facts)


@pytest.mark.parametrize("version", ["2.0.1", "2.3.0", "2.9.1", "2.15.0", "3.1.0"])
def test_torch_loads_its_libraries_from_every_folder_of_sys_path(
    database: RuleDatabase, version: str
) -> None:
    """What lies in another package folder is found all the same."""
    assert value(database, "framework.libraries_missing", *torch(version)) == ()


def test_a_torch_from_before_that_finds_them_on_its_own_path_alone(database: RuleDatabase) -> None:
    """And where they lie is known as a folder of packages whatever its name."""
    changes = torch("1.12.1")
    assert value(database, "framework.libraries_missing", *changes) == ("libcudart.so.12", "libcudnn.so.9")
    assert value(database, "framework.off_path_origin", *changes) == "packages"


def test_the_folder_of_cuda_13_is_looked_in_since_2_9(database: RuleDatabase) -> None:
    """NVIDIA's packages for CUDA 13 share one folder."""
    cudart: Record = {"path": f"{OTHER}/nvidia/cu13/lib/libcudart.so.13"}
    cuda_13: Change = {"framework.cuda": "13.0"}
    for version, missed in (("2.8.0", ("libcudart.so.13",)), ("2.9.0", ())):
        changes = (*torch(version, "libcudart.so.13", files=(cudart,)), cuda_13)
        assert value(database, "framework.libraries_missing", *changes) == missed


def test_the_first_folder_with_any_version_of_a_library_ends_the_search(database: RuleDatabase) -> None:
    """torch takes what its pattern finds first, which may be the library of another CUDA."""
    older: Record = {"path": f"{SITE}/nvidia/cuda_runtime/lib/libcudart.so.11.0"}
    changes = torch("2.9.1", "libcudart.so.12", files=(older, CUDART))
    assert value(database, "framework.libraries_missing", *changes) == ("libcudart.so.12",)


def test_tensorflow_loads_nothing_by_itself(database: RuleDatabase) -> None:
    """Its packages in another folder of sys.path are not found."""
    moved: Change = {"python.site_packages": (SITE, OTHER), "loader.files": (CUDNN,)}
    changes: tuple[Change, ...] = (H100, release("tensorflow==2.20.0"), NOTHING_PLANNED, moved)
    assert "libcudnn.so.9" in value(database, "framework.libraries_missing", *changes)  # type: ignore[operator]


# -- places that could not be looked at ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["loader.cache", "loader.library_path", "loader.default_folders"])
def test_nowhere_is_not_known_while_a_place_could_not_be_looked_at(database: RuleDatabase, name: str) -> None:
    """What is found all the same stays found."""
    here: Record = {"path": f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9"}
    hidden: Change = {name: HIDDEN}
    gone = (*torch("1.12.1", "libcudnn.so.9", files=()), hidden)
    found = (*torch("1.12.1", "libcudnn.so.9", files=(here,)), hidden)
    for derived in ("libraries_missing", "cudnn_absent", "cudnn_found", "libraries_off_path", "cudnn_others"):
        assert isinstance(fact(database, Scope.FRAMEWORK, f"framework.{derived}", *gone), Unknown), derived
    assert value(database, "framework.libraries_missing", *found) == ()


def test_a_place_that_is_not_there_is_empty(database: RuleDatabase) -> None:
    """musl has no cache: that is an answer."""
    changes = (*torch("1.12.1", "libcudnn.so.9", files=()), {"loader.cache": Absent(source="no such file")})
    assert value(database, "framework.libraries_missing", *changes) == ("libcudnn.so.9",)


def test_a_folder_that_could_not_be_listed_may_hold_anything(database: RuleDatabase) -> None:
    """Its record has an error in place of files."""
    refused: Record = {"path": "/usr/lib", "error": "PermissionError: Permission denied"}
    changes = torch("1.12.1", "libcudnn.so.9", files=(refused,))
    assert isinstance(fact(database, Scope.FRAMEWORK, "framework.libraries_missing", *changes), Unknown)


def test_the_search_path_of_a_damaged_loader_is_not_empty(database: RuleDatabase) -> None:
    """A truncated ELF file hides its RPATH."""
    hidden: Change = {"framework.loader_rpath": HIDDEN, "framework.loader_runpath": HIDDEN}
    changes = (*torch("1.12.1", "libcudnn.so.9", files=()), hidden)
    assert isinstance(fact(database, Scope.FRAMEWORK, "framework.libraries_missing", *changes), Unknown)


def test_the_framework_loads_first_or_last() -> None:
    """JAX prefers the packages to LD_LIBRARY_PATH, torch asks the loader first."""
    files: dict[str, Record] = {path: {"path": path} for path in ("/ld/libx.so.1", "/site/libx.so.1")}
    base = Inputs(files=files, rpath=(), runpath=(), library_path=("/ld",), cache=(), default_folders=(),
                  machine="x86_64", preloads={"libx": (("/site",),)})
    first = Inputs(files=files, rpath=(), runpath=(), library_path=("/ld",), cache=(), default_folders=(),
                   machine="x86_64", preloads={"libx": (("/site",),)}, early=frozenset({"libx"}))
    assert trace("libx.so.1", base).path == "/ld/libx.so.1"
    assert trace("libx.so.1", first).path == "/site/libx.so.1"


@pytest.mark.parametrize(("version", "loaded_from"), [
    ("2.5.1", "/old"), ("2.6.0", f"{SITE}/nvidia/nvjitlink/lib"), ("2.9.1", f"{SITE}/nvidia/nvjitlink/lib"),
    ("2.10.0", f"{SITE}/nvidia/nvjitlink/lib"), ("2.15.0", f"{SITE}/nvidia/nvjitlink/lib"),
])
def test_torch_takes_its_own_nvjitlink_since_2_6(
    database: RuleDatabase, version: str, loaded_from: str
) -> None:
    """A regression: an older one on LD_LIBRARY_PATH was foretold, which torch 2.8 does not load."""
    files: tuple[Record, ...] = tuple(
        {"path": f"{folder}/libnvJitLink.so.12", "soname": "libnvJitLink.so.12"}
        for folder in ("/old", f"{SITE}/nvidia/nvjitlink/lib"))
    changes = torch(version, "libnvJitLink.so.12", files=files)
    found = value(database, "framework.libraries", *changes, {"loader.library_path": ("/old",)})
    assert isinstance(found, tuple)
    assert [dict(one)["path"] for one in found] == [f"{loaded_from}/libnvJitLink.so.12"]  # type: ignore[arg-type]


def test_missing_needs_sight_only_where_something_is_missing() -> None:
    """Steps that found their library are no question."""
    inputs = Inputs(files={"/ld/libx.so.1": {"path": "/ld/libx.so.1"}}, rpath=(), runpath=(),
                    library_path=("/ld",), cache=(), default_folders=(), machine="x86_64", unseen=HIDDEN)
    assert missing([trace("libx.so.1", inputs)], inputs) == ()
    with pytest.raises(NotKnown):
        missing([trace("liby.so.1", inputs)], inputs)


# -- JAX -----------------------------------------------------------------------------------------------------


def jax(version: str = "0.12.0", major: str = "13", **facts: Value) -> tuple[Change, ...]:
    """Return a JAX with the plugin of a CUDA."""
    names = ("jaxlib", f"jax-cuda{major}-plugin", f"jax-cuda{major}-pjrt")
    values: dict[str, Value] = {
        "framework.name": "jax", "framework.version": version, "framework.build": "cuda",
        "framework.cuda": major, "framework.plugins": tuple({"name": n, "version": version} for n in names),
        "framework.loader": f"{SITE}/jax_plugins/xla_cuda{major}/xla_cuda_plugin.so",
        "framework.loader_needed": (),
    }
    return (H100, release("torch==2.9.1"), NOTHING_PLANNED, {**values, **facts})


def test_the_plugin_of_jax_needs_libraries_that_its_file_does_not_name(database: RuleDatabase) -> None:
    """It opens them by name when it starts."""
    missed = value(database, "framework.libraries_missing", *jax())
    assert isinstance(missed, tuple)
    assert {"libcudart.so.13", "libcudnn.so.9", "libcusparse.so.12"} <= set(missed)


def test_a_plugin_from_before_the_table_is_not_judged(database: RuleDatabase) -> None:
    """Nobody read what JAX 0.4.20 needs."""
    found = fact(database, Scope.FRAMEWORK, "framework.libraries_missing", *jax("0.4.20", "12"))
    assert isinstance(found, Unknown)
    assert not found.asked


@pytest.mark.parametrize(
    ("driver", "card", "major", "expected"),
    [
        ("580.95.05", "6.1", "13", "jax[cuda12]==0.12.0"),
        ("570.86.15", "9.0", "13", "jax[cuda12]==0.12.0"),
        ("580.95.05", "9.0", "12", "jax[cuda13]==0.12.0"),
        ("580.95.05", "9.0", "13", None),
        ("470.256.02", "9.0", "13", None),
        ("580.95.05", "3.5", "13", None),
    ],
)
def test_the_plugin_of_another_cuda_that_driver_and_card_fit(
    database: RuleDatabase, driver: str, card: str, major: str, expected: str | None
) -> None:
    """The newest that fits, unless it is there already."""
    changes = (*jax("0.12.0", major), {"cc": card, "driver": driver})
    found = fact(database, Scope.FRAMEWORK, "framework.other_plugin_requirement", *changes)
    assert (found.value if isinstance(found, Known) else None) == expected
