"""What must hold of every recommendation, whatever the driver, the cards, the Python and the glibc are."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.assume import lay
from gpudoctor.candidates import Asked, recommend
from gpudoctor.candidates.ground import ground_of, usable_capabilities
from gpudoctor.derive.stacks import stacks_of
from gpudoctor.derive.view import as_records, as_texts
from gpudoctor.examine import Policy, every_finding, examine
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.manifests import kinds
from gpudoctor.manifests.judging import Linter
from gpudoctor.manifests.spans import Source
from gpudoctor.model import (
    Candidate, Fact, Known, Recommendation, RuleDatabase, Severity, Snapshot, Value, rows_of,
)
from gpudoctor.ruledb import load_compiled
from gpudoctor.versions import parse
from tests.laws import test_grid
from tests.laws.test_grid import DRIVERS

RULES = Path(__file__).parents[2] / "rules"
PLATFORM = "linux_x86_64"
ARCHITECTURES = ("x86_64", "aarch64")
NEVER_SERVED = ("1.3", "2.0", "2.1")
PYTHONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
GLIBCS = ("2.17", "2.27", "2.28", "2.31", "2.36", "2.39")
INDEX = re.compile(r"torch==(\S+) --index-url \S*/(cu\d+)")
TOOLKIT = re.compile(r"install CUDA \S+.* so that (/\S+) holds (.*)")
# Of Paddle's own index no table has the Pythons, and what NVIDIA says of its images is not always all.
WHOLLY_KNOWN = ("tensorflow", "torch", "jax")


@functools.cache
def database() -> RuleDatabase:
    return load_compiled(RULES)


CARDS = sorted({*test_grid.CARDS, *(str(row["compute_capability"]) for row in rows_of(
    database().tables, "architectures"))}, key=parse)
TOLD = [one for one in CARDS if one not in ("8.7", "13.0")]  # on 8.7 the minor version of JAX's CUDA decides
RUNTIMES = (None, "docker", "podman")  # None: no container
cards = st.lists(st.sampled_from(CARDS), min_size=1, max_size=3, unique=True)


def laid(snapshot: Snapshot, **values: Value) -> Snapshot:
    facts: dict[str, Fact] = {name.replace("__", "."): Known(value=value, source="the law")
                              for name, value in values.items()}
    return lay(snapshot, facts, database().tables, source="the law")


def host(driver: str, capabilities: list[str], glibc: str = "2.36", architecture: str = "x86_64",
         runtime: str | None = None) -> Snapshot:
    inside: dict[str, Value] = {} if runtime is None else {"container__runtime": runtime}
    return laid(database().base, **inside, cc=tuple(capabilities), driver=driver, glibc=glibc,
                system__architecture=architecture)


def asked(snapshot: Snapshot, python: str, *frameworks: str) -> Recommendation:
    return recommend(snapshot, database(), Asked(python=python, frameworks=frameworks))


def offers(said: Recommendation, kind: str) -> list[Candidate]:
    return [one for one in said.candidates if one.offered and one.kind == kind]


def errors(snapshot: Snapshot) -> tuple[set[str], int]:
    """Return what `check` finds and how it ends."""
    report = examine(snapshot, database(), Policy())
    return ({f.rule for f in every_finding(report.findings) if f.severity is Severity.ERROR},
            report.exit_code)


def assumptions(one: Candidate) -> dict[str, Value]:
    """Return what `check --assume` is told of a stack, read out of the command that was printed."""
    other = INDEX.search(one.commands[0])
    plugin = re.search(r"jax\[cuda\d+\]", one.commands[0])
    releases = []
    for framework, version in ((one.framework, one.version), *((m.framework, m.version) for m in one.beside)):
        name = plugin[0] if framework == "jax" and plugin else framework
        label = f"+{other[2]}" if other and (framework, version) == ("torch", other[1]) else ""
        releases.append(f"{name}=={version}{label}")
    return {"release": tuple(releases)}


def as_installed(snapshot: Snapshot, one: Candidate, python: str) -> Snapshot:
    """Return the machine with what was recommended installed, its pins kept and its variables set."""
    folder = f"$PWD/gpu-environment/lib/python{python}/site-packages"
    is_new = "gpu-environment" in one.commands[0]
    packages = {"python__site_packages": (folder,)} if is_new else {}
    there = laid(snapshot, python=f"{python}.0", **packages, **assumptions(one))
    planned = there.host["python.planned_distributions"]
    before = as_texts(planned.value) if isinstance(planned, Known) else ()
    names = {re.split(r"[<>=!~]", pin)[0] for pin in one.pins}
    kept = tuple(text for text in before if re.split(r"[<>=!~\[]", text)[0] not in names)
    path = one.environment.get("LD_LIBRARY_PATH")
    searched: dict[str, Value] = {} if path is None else {"loader__library_path": tuple(path.split(":"))}
    toolkit = next(filter(None, map(TOOLKIT.search, one.notes)), None)
    if toolkit is not None:  # done as the note says
        files = there.host["loader.files"]
        assert isinstance(files, Known)
        searched["loader__files"] = (*as_records(files.value), *(
            {"path": f"{toolkit[1]}/{name}", "soname": name} for name in toolkit[2].split(", ")))
    return laid(there, python__planned_distributions=(*kept, *one.pins), **searched)


@given(driver=st.sampled_from(DRIVERS), capabilities=cards, python=st.sampled_from(PYTHONS),
       glibc=st.sampled_from(GLIBCS), architecture=st.sampled_from(ARCHITECTURES),
       runtime=st.sampled_from(RUNTIMES))
@settings(max_examples=12)
def test_what_is_recommended_has_no_error_when_check_is_asked(
        driver: str, capabilities: list[str], python: str, glibc: str, architecture: str,
        runtime: str | None) -> None:
    """About that host, with each stack assumed as the printed command and the printed variables make it."""
    snapshot = host(driver, capabilities, glibc, architecture, runtime)
    had = errors(snapshot)
    for one in offers(asked(snapshot, python), "pip"):
        assert errors(as_installed(snapshot, one, python)) == had, one.commands


@given(driver=st.sampled_from(DRIVERS), capability=st.sampled_from(CARDS),
       python=st.sampled_from(PYTHONS[2:6]))
@settings(max_examples=5)
def test_what_is_recommended_together_has_no_error_either(driver: str, capability: str, python: str) -> None:
    """Sets that must live in one environment, TensorFlow and torch."""
    snapshot = host(driver, [capability])
    for one in offers(asked(snapshot, python, "tensorflow", "torch"), "pip"):
        if one.beside:
            assert errors(as_installed(snapshot, one, python)) == (set(), 0), one.commands


@given(driver=st.sampled_from(DRIVERS), capabilities=cards)
@settings(max_examples=8)
def test_a_dockerfile_from_a_recommended_image_has_no_error(driver: str, capabilities: list[str]) -> None:
    """`lint` for that host, which reads the image's name and not the row that `recommend` judged."""
    snapshot = host(driver, capabilities)
    linter = Linter(snapshot, database(), wants_gpu=True)
    for one in offers(asked(snapshot, "3.11"), "image"):
        written = kinds.environments(Source("Dockerfile", f"FROM {one.image}\n"), _nothing_beside)
        verdicts = linter.judge(written, offering=False)
        found = [each.finding.rule for each in verdicts.findings
                 if each.finding.severity is Severity.ERROR]
        assert (found, verdicts.undecided) == ([], ()), one.image


def _nothing_beside(name: str) -> Source:
    raise AssertionError(name)


@given(driver=st.sampled_from([one for one in DRIVERS if parse(one) < parse("640")]),
       capabilities=st.lists(st.sampled_from(TOLD), min_size=1, max_size=2, unique=True),
       python=st.sampled_from(PYTHONS), glibc=st.sampled_from(GLIBCS))
@settings(max_examples=8)
def test_nothing_is_left_open_of_what_the_tables_know(driver: str, capabilities: list[str], python: str,
                                                      glibc: str) -> None:
    """With a driver and cards that they know, each wheel that they have is offered or refused."""
    said = asked(host(driver, capabilities, glibc), python)
    left = [(one.name, objection.message) for one in said.candidates for objection in one.rejected_by
            if objection.is_open and one.kind == "pip" and one.framework in WHOLLY_KNOWN]
    assert left == []


@given(driver=st.sampled_from(DRIVERS), capabilities=cards, python=st.sampled_from(PYTHONS[2:6]),
       installed=st.sampled_from(("torch", "tensorflow")))
@settings(max_examples=10)
def test_a_fix_installs_what_would_be_recommended(driver: str, capabilities: list[str], python: str,
                                                  installed: str) -> None:
    """The newest that needs nothing besides: a fix is one step, what has pins and variables is a plan."""
    snapshot = host(driver, capabilities)
    said = asked(snapshot, python, installed)
    newest = next((one for one in said.candidates if one.kind == "pip" and python in one.python), None)
    if newest is None or newest.offered:
        return
    best = next((one for one in said.candidates if one.offered and one.kind == "pip"
                 and not one.pins and not one.environment), None)
    wanted = assumptions(best)["release"] if best is not None else ()
    there = laid(snapshot, python=f"{python}.0", release=f"{installed}=={newest.version}")
    for finding in every_finding(examine(there, database(), Policy()).findings):
        chosen = [str(fix.effect["release"]) for fix in finding.fixes if "release" in fix.effect]
        assert tuple(chosen) in ((), wanted), (finding.rule, wanted)


def fitting(said: Recommendation) -> set[tuple[str, str, str | None]]:
    return {(one.framework, one.version, one.cuda) for one in said.candidates
            if one.offered and one.kind == "pip"}


@given(drivers=st.lists(st.sampled_from(DRIVERS), min_size=2, max_size=2, unique=True), capabilities=cards,
       python=st.sampled_from(PYTHONS), runtime=st.sampled_from(RUNTIMES))
@settings(max_examples=8)
def test_a_newer_driver_removes_nothing_unless_a_rule_says_why(
        drivers: list[str], capabilities: list[str], python: str, runtime: str | None) -> None:
    """The driver has dropped the card; or serves one that the older left out, and the build has no code."""
    machines = [host(driver, capabilities, runtime=runtime) for driver in sorted(drivers, key=parse)]
    older, newer = (asked(machine, python) for machine in machines)
    before, since = (usable_capabilities(ground_of(machine, database(), python)) for machine in machines)
    causes = {rule.id: rule.cause for rule in database().rules}
    for name in fitting(older) - fitting(newer):
        [lost] = [one for one in newer.candidates if (one.framework, one.version, one.cuda) == name
                  and one.kind == "pip"]
        assert lost.rejected_by
        assert any(causes[why.rule] == "driver-dropped-gpu" or any(
            f"compute capability {card}" in why.message for card in {*since} - {*before})
            for why in lost.rejected_by), (name, lost.rejected_by)


@given(driver=st.sampled_from(DRIVERS), capabilities=cards, python=st.sampled_from(PYTHONS))
@settings(max_examples=8)
def test_nothing_is_recommended_without_code_for_the_card(driver: str, capabilities: list[str],
                                                          python: str) -> None:
    """And where nothing is, the newest release that still has code for the cards is named.

    A card that the driver leaves out beside one that it serves does not count: no program uses it.
    """
    machine = host(driver, capabilities)
    said = asked(machine, python)
    used = usable_capabilities(ground_of(machine, database(), python))
    assert used
    assert set(used) <= set(capabilities)
    serving = {(stack.framework, stack.version) for framework in FRAMEWORKS
               for stack in stacks_of(framework, PLATFORM, database().tables)
               if stack.serves(used, database().tables)}
    assert {(framework, version) for framework, version, _ in fitting(said)} <= serving
    assert (said.exit_code == 0) == any(one.offered for one in said.candidates)
    if said.exit_code:
        final = [(name, version) for name, version in serving if not parse(version).is_prerelease]
        newest = {name: max((v for n, v in final if n == name), key=parse) for name, _ in final}
        assert {one.framework: one.version for one in said.last} == newest


@given(capability=st.sampled_from(NEVER_SERVED), driver=st.sampled_from(DRIVERS))
@settings(max_examples=3)
def test_a_card_that_nothing_ever_served_is_offered_nothing(capability: str, driver: str) -> None:
    said = asked(host(driver, [capability]), "3.8")
    assert (said.exit_code, fitting(said), said.last) == (1, set(), ())


@given(driver=st.sampled_from(DRIVERS), capabilities=cards, python=st.sampled_from(PYTHONS))
@settings(max_examples=4)
def test_every_rejection_names_a_rule_in_one_line(driver: str, capabilities: list[str], python: str) -> None:
    rules = {rule.id for rule in database().rules}
    for one in asked(host(driver, capabilities), python).candidates:
        assert bool(one.rejected_by) is not one.offered
        for objection in one.rejected_by:
            assert objection.rule in rules
            assert objection.message
            assert "\n" not in objection.message
