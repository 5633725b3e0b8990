"""What is newer than the tables: the driver's and the build's own answers decide, else it is undecided."""

from __future__ import annotations

import re

import pytest

from gpudoctor import derive, ruledb
from gpudoctor.assume import AssumptionError, assumed, lay, parse_assumption
from gpudoctor.derive import stale
from gpudoctor.engine import Truth, holds
from gpudoctor.examine import Policy, examine
from gpudoctor.model import (
    Absent, Condition, Fact, Known, Operand, Record, Report, RuleDatabase, Scope, Subject, Unknown, Verdict,
)
from gpudoctor.words import show_fact
from tests.unit.derived_facts import H100, RULES, Change, fact, release, value

BEYOND: Change = {"cc": "9.0", "driver": "700.10"}
CODE: Record = {"sass": ("9.0",), "ptx": (), "fat_binaries": 3}
LATER_CODE: tuple[Record, ...] = ({"sass": ("13.0",), "ptx": (), "fat_binaries": 3},)
TORCH_3: Change = {"framework.version": "3.0", "framework.cuda": "14.1", "framework.code": (CODE,)}
TODAY = "torch==2.13.0"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    """Read the pages and tables of this checkout."""
    return ruledb.load_pages(RULES)


def judged(database: RuleDatabase, *changes: Change) -> Report:
    """Return the report on the base machine after changes."""
    facts: dict[str, Fact] = {
        name: item if isinstance(item, Known | Absent | Unknown) else Known(value=item, source="test")
        for change in changes for name, item in change.items()}
    return examine(lay(database.base, facts, database.tables, source="test"), database, Policy())


def causes(report: Report) -> list[str]:
    """Return the causes that were found."""
    return [finding.cause for finding in report.findings]


def reasons(report: Report) -> str:
    """Return why something that matters is undecided."""
    return "\n".join(f"{one.cause}: {reason.source}" for one in report.undecided if one.asked
                     for reason in one.reasons)


# -- a bound of what is not known ------------------------------------------------------------------

@pytest.mark.parametrize(("op", "other", "truth"), [
    ("below", "13.0", Truth.FALSE), ("below", "13.3", Truth.FALSE), ("below", "13.4", Truth.UNKNOWN),
    ("at_least", "13.0", Truth.TRUE), ("at_least", "13.3", Truth.TRUE), ("at_least", "14.0", Truth.UNKNOWN),
    ("equals", "13.0", Truth.UNKNOWN), ("differs", "13.3", Truth.UNKNOWN), ("below", "none", Truth.UNKNOWN),
])
def test_bound_decides_what_it_reaches(op: str, other: str, truth: Truth) -> None:
    """CUDA 13.3 or newer is not below 13.0; of 14.0 it says nothing."""
    subject = Subject(name="host", facts={"driver.cuda_ceiling": Unknown(reason="newer", at_least="13.3")})
    condition = Condition(fact="driver.cuda_ceiling", op=op, right=Operand(value=other))  # type: ignore[arg-type]
    assert holds(condition, subject, {}).truth is truth


@pytest.mark.parametrize(("op", "here", "truth"), [
    ("below", "13.0", Truth.TRUE), ("below", "13.5", Truth.UNKNOWN), ("below", "14.0", Truth.UNKNOWN),
    ("at_least", "13.0", Truth.FALSE), ("at_least", "13.5", Truth.UNKNOWN), ("equals", "13.0", Truth.UNKNOWN),
])
def test_bound_on_the_right_decides_what_is_below_it(op: str, here: str, truth: Truth) -> None:
    """A driver of CUDA 13.0 is too old for what needs 13.5 or newer."""
    subject = Subject(name="pair", facts={"driver.cuda_ceiling": Known(value=here, source="test"),
                                          "pair.ptx_ceiling": Unknown(reason="newer", at_least="13.5")})
    right = Operand(other="pair.ptx_ceiling")
    condition = Condition(fact="driver.cuda_ceiling", op=op, right=right)  # type: ignore[arg-type]
    assert holds(condition, subject, {}).truth is truth


def test_bound_is_shown_as_such() -> None:
    """A summary that names it does not say "unknown"."""
    assert show_fact(Unknown(reason="newer", at_least="13.5")) == "13.5 or newer"


# -- a driver --------------------------------------------------------------------------------------

def test_later_driver_runs_at_least_what_the_newest_known_one_runs(database: RuleDatabase) -> None:
    """No figure is invented for it."""
    found = fact(database, Scope.HOST, "driver.cuda_ceiling", BEYOND)
    assert isinstance(found, Unknown)
    assert found.at_least == stale_end(database, "driver_branches", "cuda")
    assert f"driver 700.10 is newer than rules {database.version}, which end at branch" in found.reason


def stale_end(database: RuleDatabase, table: str, column: str) -> str:
    """Return the greatest version in a table's column, counted by hand."""
    cells = [str(row[column]).split(".") for row in database.tables[table].rows if column in row]
    return ".".join(max(cells, key=lambda parts: [int(part) for part in parts]))


def test_later_release_of_the_newest_branch_is_known(database: RuleDatabase) -> None:
    """A branch keeps its CUDA."""
    newest = stale_end(database, "driver_branches", "driver")
    assert isinstance(fact(database, Scope.HOST, "driver.cuda_ceiling", {"driver": f"{newest}.99.99"}), Known)


def test_later_driver_with_a_build_of_today_is_healthy(database: RuleDatabase) -> None:
    """Neither a false error nor a question: old builds run on new drivers."""
    report = judged(database, BEYOND, release(TODAY))
    assert (report.verdict, causes(report)) == (Verdict.HEALTHY, ["rules-older-than-machine"])
    assert reasons(report) == ""


def test_later_build_on_a_later_driver_that_is_silent_is_undecided(database: RuleDatabase) -> None:
    """It used to be called too old, by the CUDA of the newest branch known."""
    report = judged(database, BEYOND, release(TODAY), TORCH_3)
    assert (report.verdict, causes(report)) == (Verdict.UNDECIDED, ["rules-older-than-machine"])
    assert f"driver-too-old: driver 700.10 is newer than rules {database.version}" in reasons(report)


@pytest.mark.parametrize(("ceiling", "expected"), [
    ("14.1", ["rules-older-than-machine"]), ("14.0", ["rules-older-than-machine"]),
    ("13.5", ["driver-too-old", "rules-older-than-machine"]),
])
def test_answer_of_the_driver_decides(database: RuleDatabase, ceiling: str, expected: list[str]) -> None:
    """What cuDriverGetVersion says needs no table."""
    report = judged(database, BEYOND, {"cuda.ceiling": ceiling}, release(TODAY), TORCH_3)
    assert causes(report) == expected
    assert report.verdict is (Verdict.FINDINGS if len(expected) == 2 else Verdict.HEALTHY)


# -- a card ----------------------------------------------------------------------------------------

def test_card_that_no_table_knows_is_judged_by_the_code_of_the_build(database: RuleDatabase) -> None:
    """Today's build has none; the words say since when nobody knows such a card."""
    report = judged(database, {"cc": "13.0", "driver": "700.10"}, release(TODAY))
    assert causes(report) == ["gpu-too-new-for-build", "unknown-card", "rules-older-than-machine"]
    assert f"Compute capability 13.0 is newer than rules {database.version}" in report.findings[0].message
    served = judged(database, {"cc": "13.0", "driver": "700.10", "cuda.ceiling": "14.1"}, release(TODAY),
                    {**TORCH_3, "framework.code": LATER_CODE})
    assert causes(served) == ["unknown-card", "rules-older-than-machine"]


def test_build_for_later_cards_alone_is_no_build_for_todays(database: RuleDatabase) -> None:
    """It used to be healthy: its code served no card that a table has, so no page was about it."""
    later: Change = {"framework.version": "3.0", "framework.code": LATER_CODE}
    report = judged(database, H100, release(TODAY), later)
    assert "gpu-too-old-for-build" in causes(report)
    assert value(database, "framework.oldest_card", H100, release(TODAY),
                 {"framework.version": "3.0", "framework.code": LATER_CODE}) == "13.0"


# -- a framework -----------------------------------------------------------------------------------

def test_note_names_all_that_is_newer_and_the_remedy(database: RuleDatabase) -> None:
    """With what the rules know last of each."""
    cudnn: tuple[Record, ...] = tuple({"name": "nvidia-cudnn-cu13", "version": version, "location": "/site"}
                                      for version in ("9.99.0.1", "unreadable", "9.1.0.70"))
    report = judged(database, {"cc": "13.0", "driver": "700.10", "python.nvidia_distributions": cudnn},
                    release(TODAY), TORCH_3)
    (note,) = [finding for finding in report.findings if finding.cause == "rules-older-than-machine"]
    newest = max((str(row["version"]) for row in database.tables["torch"].rows),
                 key=lambda text: [int(part) for part in text.split("+")[0].split(".") if part.isdecimal()])
    for words in ("driver 700.10", "compute capability 13.0", f"torch 3.0 (the rules end at {newest})",
                  "cuDNN 9.99.0.1 (the rules end at 9.", "CUDA 14.1",
                  "pip install --upgrade gpudoctor-rules"):
        assert words in note.message
    assert database.version in "".join(evidence.source for evidence in note.evidence)


def test_one_report_names_one_end_of_cuda(database: RuleDatabase) -> None:
    """The note said 13.5, whose PTX is known, and what was undecided 13.3, the last whose driver was."""
    known = {"driver": "620.10", "cc": "9.0"}
    report = judged(database, known, release(TODAY), {"framework.version": "3.0", "framework.cuda": "14.1"})
    (note,) = [finding for finding in report.findings if finding.cause == "rules-older-than-machine"]
    end = stale_end(database, "cuda_toolkits", "cuda")
    assert f"CUDA 14.1, which torch is built for (the rules end at {end})" in note.message
    said = "\n".join(reason.source for one in report.undecided for reason in one.reasons)
    assert re.findall(r"CUDA 14\.1 is newer than rules \S+, which end at CUDA (\S+)", said) in ([end], [])
    assert stale_end(database, "driver_branches", "cuda") == end


@pytest.mark.parametrize(("version", "newer"), [
    ("2.13.0", False), ("2.13.0+cu126", False), ("2.0.99", False), ("99.0", True), ("99.0.dev20990101", True),
])
def test_which_release_is_newer(database: RuleDatabase, version: str, newer: bool) -> None:
    """One that no table lists is not newer for that; a local build is the release that it was made from."""
    found = value(database, "framework.name", H100, release(TODAY))
    assert found == "torch"
    behind = fact(database, Scope.HOST, "rules.behind", H100, release(TODAY), {"framework.version": version})
    assert isinstance(behind, Known)
    assert bool(behind.value) is newer


def test_glibc_of_a_later_release_is_read_off_its_wheel(database: RuleDatabase) -> None:
    """The tags of the wheel are the build's own answer; of several the oldest counts."""
    tags = ("cp312-cp312-manylinux_2_34_x86_64", "cp312-cp312-manylinux_2_28_x86_64")
    assert value(database, "framework.glibc_floor", H100, release(TODAY),
                 {"framework.version": "3.0", "framework.tags": tags}) == "2.28"


def test_where_a_later_release_looks_for_its_libraries_is_not_guessed(database: RuleDatabase) -> None:
    """A library lies where today's releases do not look: today's miss it, a later one may look there."""
    site = "/home/user/venv/lib/python3.12/site-packages"
    path = f"{site}/nvidia/later/lib/libcudart.so.13"
    here: Change = {"loader.files": ({"path": path, "soname": "libcudart.so.13", "machine": "", "error": "",
                                      "version": "13.0", "distribution": "nvidia-cuda-runtime"},),
                    "framework.loader": f"{site}/torch/lib/libtorch_cuda.so",
                    "framework.loader_needed": ("libcudart.so.13",), "python.planned_distributions": ()}
    today = fact(database, Scope.FRAMEWORK, "framework.libraries_off_path", H100, release(TODAY), here)
    assert today == Known(value=("libcudart.so.13",), source="loader trace")
    later = fact(database, Scope.FRAMEWORK, "framework.libraries_off_path", H100, release(TODAY), here,
                 {"framework.version": "99.0"})
    assert isinstance(later, Unknown)
    assert f"torch 99.0 looks for libcudart.so.13 is newer than rules {database.version}" in later.reason
    absent = fact(database, Scope.FRAMEWORK, "framework.cuda_libraries_absent", H100, release(TODAY), here,
                  {"framework.version": "99.0"})
    assert absent == Known(value=(), source="loader trace")


@pytest.mark.parametrize(("version", "asked"), [("99.1.0", True), ("9.99.0.1", False)])
def test_a_later_cudnn_serves_no_card_that_an_earlier_one_dropped(
    database: RuleDatabase, version: str, asked: bool,
) -> None:
    """Which others it drops nobody knows yet; one of the same major was said to serve all that 9.11 does."""
    found = fact(database, Scope.FRAMEWORK, "framework.cudnn_oldest_card", H100, release(TODAY),
                 {"framework.cudnn_found": version})
    assert isinstance(found, Unknown)
    assert found.asked is asked
    assert f"cuDNN {version} is newer than rules {database.version}, which end at cuDNN 9." in found.reason
    assert found.at_least == database.tables["cudnn_architectures"].rows[-1]["oldest_card"]


@pytest.mark.parametrize(("cuda", "cudnn", "oldest"), [
    ("11.7", "8.5.0", "3.5"), ("10.2", "8.5.0", None), ("10.2", "8.7.0", None), ("12.4", "9.1.0", "5.0"),
    ("11.8", "8.7.0.84", "3.5"), ("11.8", "8.8.0", "5.0"),
    ("12.4", "9.11.0", "7.5"), ("12.4", "9.11.0.98", "7.5"),
])
def test_of_a_cudnn_for_a_cuda_that_nobody_read_nothing_is_said(
    database: RuleDatabase, cuda: str, cudnn: str, oldest: str | None,
) -> None:
    """cuDNN 8.5 to 8.7 exist for CUDA 10.2 too, in no wheel: they were counted with those for CUDA 11.

    A file says three numbers: libcudnn.so.9.11.0 was held to be older than the package 9.11.0.98."""
    found = fact(database, Scope.FRAMEWORK, "framework.cudnn_oldest_card", H100, release(TODAY),
                 {"framework.cudnn_found": cudnn, "framework.cuda": cuda})
    assert (found.value if isinstance(found, Known) else None) == oldest
    assert not (isinstance(found, Unknown) and found.asked)


def test_ptx_newer_than_the_tables_needs_more_than_they_know(database: RuleDatabase) -> None:
    """A driver that runs less than the newest CUDA in them cannot compile it: that is certain."""
    code: tuple[Record, ...] = ({"sass": (), "ptx": ("9.0@99.0",), "fat_binaries": 3},)
    report = judged(database, H100, release(TODAY), {"framework.cuda": "13", "framework.code": code,
                                                    "framework.version": "3.0"})
    (finding,) = [one for one in report.findings if one.cause == "ptx-isa-newer-than-driver"]
    assert "came with CUDA" in finding.message
    assert "or newer, and driver 580.95.05 knows CUDA up to 13.0" in finding.message


# -- assumptions -----------------------------------------------------------------------------------

def test_assumed_release_that_came_later_is_refused_in_words(database: RuleDatabase) -> None:
    """Nothing is known of it; the words name the newest that is known and the remedy."""
    with pytest.raises(AssumptionError, match=r"torch==99\.0.*its newest is \d.*gpudoctor-rules"):
        lay(database.base, assumed([parse_assumption("release=torch==99.0")]), database.tables, source="test")


def test_database_without_tables_calls_nothing_newer(database: RuleDatabase) -> None:
    """A site's own rules may have none."""
    bare = RuleDatabase(version="1", sha256="", rules=(), tables={}, base=database.base)
    facts = derive.subjects(bare.base, bare)[Scope.HOST][0].fact("rules.behind")
    assert facts == Known(value=(), source="rules 1")
    assert not stale.is_newer("99.0", "0")
