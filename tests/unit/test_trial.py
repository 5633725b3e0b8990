"""A fix to the environment is tried before it is printed; one that does not cure is withdrawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpudoctor.examine import EXIT_FINDINGS
from gpudoctor.model import (
    Certainty, Evidence, Finding, FixKind, Remedy, Report, Severity, Snapshot, Undecided, Value, Verdict,
)
from gpudoctor.probes.raw import RawDocument
from gpudoctor.trial import changes, try_fixes

PATH: dict[str, Value | None] = {"loader.library_path": ("/a", "/b")}


def remedy(effect: Mapping[str, Value | None], kind: FixKind = "environment") -> Remedy:
    """Return a fix that the model proved."""
    return Remedy(
        kind=kind,
        title="t",
        commands=(),
        env={},
        image=None,
        effect=effect,
        risk="safe",
        undo=None,
        proven="model",
    )


def report(*fixes: Remedy, found: bool = True, undecided: bool = False, asked: bool = True) -> Report:
    """Return a report with one finding, none, or one that could not be judged."""
    finding = Finding(
        rule="GPD1",
        cause="c",
        certainty=Certainty.CERTAIN,
        severity=Severity.ERROR,
        subject="host",
        message="m",
        fixes=fixes,
    )
    open_one = Undecided(
        rule="GPD1",
        cause="c",
        severity=Severity.ERROR,
        subject="host",
        asked=asked,
        reasons=(Evidence(fact="f", saw="unknown", source="s"),),
    )
    return Report(
        tool_version="1",
        rules_version="1",
        rules_sha256="",
        verdict=Verdict.FINDINGS,
        exit_code=EXIT_FINDINGS,
        findings=(finding,) if found else (),
        undecided=(open_one,) if undecided else (),
        snapshot=Snapshot(host={}),
    )


def tried(fixes: tuple[Remedy, ...], after: Report | None) -> tuple[Remedy, ...]:
    """Return what is left of the fixes when looking again gives that report (None: no time to look)."""

    def look(_: Mapping[str, str | None]) -> RawDocument | None:
        return None if after is None else {}

    def judge(_: RawDocument) -> Report:
        assert after is not None
        return after

    return try_fixes(report(*fixes), look, judge).findings[0].fixes


def test_fix_that_cures_is_called_tried() -> None:
    """Proof of the model and proof of the machine are told apart."""
    assert tried((remedy(PATH),), report(found=False)) == (replace(remedy(PATH), proven="tried"),)


def test_fix_that_does_not_cure_is_withdrawn() -> None:
    """Still found, or no longer to be judged: neither is a cure."""
    assert tried((remedy(PATH),), report()) == ()
    assert tried((remedy(PATH),), report(found=False, undecided=True)) == ()


def test_what_looking_again_does_not_ask_is_not_withdrawn() -> None:
    """What was seen by running is not run again: nothing was said against the fix, and nothing for it."""
    assert tried((remedy(PATH),), report(found=False, undecided=True, asked=False)) == (remedy(PATH),)


def test_no_time_left() -> None:
    """A fix that nobody could try stays as the model proved it."""
    assert tried((remedy(PATH),), None) == (remedy(PATH),)


def test_other_fixes_are_not_tried() -> None:
    """A driver is not installed to see whether that helps."""
    fix = remedy({"driver": "580.65.06"}, kind="driver")
    assert changes(fix) is None
    assert tried((fix,), report()) == (fix,)


def test_variables_that_a_fix_sets_and_unsets() -> None:
    """An absent variable is unset; a list of folders becomes a path."""
    effect: dict[str, Value | None] = {
        **PATH,
        "environment.CUDA_VISIBLE_DEVICES": None,
        "environment.CUDA_MODULE_LOADING": "LAZY",
    }
    assert changes(remedy(effect)) == {
        "LD_LIBRARY_PATH": "/a:/b",
        "CUDA_VISIBLE_DEVICES": None,
        "CUDA_MODULE_LOADING": "LAZY",
    }
    assert changes(remedy({"loader.library_path": None})) == {"LD_LIBRARY_PATH": None}
    assert changes(remedy({"cuda.init_code": 0})) is None
