"""Candidates are judged the short way: each state of the machine once, what was refused by the same rules."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gpudoctor.candidates import drivers, unrun
from gpudoctor.candidates.ground import ground_of, with_facts
from gpudoctor.candidates.judging import Judge, Judged
from gpudoctor.candidates.sets import chosen_sets, ordered
from gpudoctor.candidates.wishes import parse
from gpudoctor.derive.stacks import Machine, Stack, stacks_of
from gpudoctor.frameworks import FRAMEWORKS
from gpudoctor.model import Known, Record, RuleDatabase
from gpudoctor.ruledb import load_compiled
from tests.unit.asked_candidates import asked, host

HERE = Machine(capabilities=("8.6",), glibc="2.35")
RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="module")
def database() -> RuleDatabase:
    return load_compiled(RULES)


def said_of(judged: Judged) -> tuple[object, ...]:
    return (judged.objections, judged.pins, dict(judged.environment), [f.rule for f in judged.warnings],
            [(finding.rule, taken.title) for finding, taken in judged.remedies])


@pytest.mark.parametrize(("words", "python"), [
    (("cc=3.5", "driver=470.256.02"), "3.8"), (("cc=8.9", "driver=535.104.05"), "3.11"),
    (("cc=7.0", "cc=12.0", "driver=580.65.06"), "3.12"), (("driver=none",), "3.10"),
])
def test_what_is_alike_is_told_the_same_as_if_judged_alone(words: Iterable[str], python: str,
                                                           database: RuleDatabase) -> None:
    """The short way for a release that differs in nothing that is read loses no finding and no fix."""
    base = ground_of(host(database, *words), database, python)
    judge = Judge(base)
    for framework in FRAMEWORKS:
        for stack in stacks_of(framework, base.platform, database.tables):
            alone = Judge(base).of((stack,))
            assert said_of(judge.of((stack,))) == said_of(alone), stack.release
            assert judge.fits(stack) is not bool(alone.objections)


@pytest.mark.parametrize(("cards", "python", "older", "newer"), [
    (("cc=7.0", "cc=12.0"), "3.8", "570.86.15", "580.65.06"),
    (("cc=6.1", "cc=9.0"), "3.12", "535.104.05", "580.65.06"),
    (("cc=8.9",), "3.11", "525.60.13", "550.54.14"),
])
def test_what_another_driver_refused_is_refused_as_if_judged_anew(
        cards: Iterable[str], python: str, older: str, newer: str, database: RuleDatabase) -> None:
    """The rules that refused it are asked first; whether it fits does not depend on that."""
    before = ground_of(host(database, *cards, f"driver={older}"), database, python)
    after = with_facts(before, {"driver": Known(value=newer, source="the test")})
    nearby = Judge(before)
    every = [stack for framework in FRAMEWORKS
             for stack in stacks_of(framework, before.platform, database.tables)]
    for stack in every:
        nearby.of((stack,))
    quick, anew = Judge(after, nearby=nearby), Judge(after)
    assert [quick.fits(stack) for stack in every] == [not anew.of((stack,)).objections for stack in every]
    assert len(quick.courses) < len(anew.courses)  # some were refused without the rest of the rules


@pytest.mark.parametrize(("words", "python", "wishes"), [
    (("cc=7.5", "driver=570.86.15"), "3.10", ("tensorflow", "jax")),
    (("cc=6.1", "cc=7.0", "driver=535.104.05"), "3.10", ("tensorflow", "jax")),
    (("cc=8.9", "driver=535.104.05"), "3.9", ("torch", "tensorflow")),
    (("cc=8.0", "driver=525.60.13"), "3.8", ("paddle", "torch")),
    (("cc=8.6", "driver=none"), "3.10", ("torch", "tensorflow")),
    (("cc=8.0", "driver=418.39"), "3.10", ("torch", "tensorflow")),
])
def test_whether_a_set_fits_does_not_depend_on_how_that_was_found(
        words: Iterable[str], python: str, wishes: Sequence[str], database: RuleDatabase) -> None:
    """What was foreseen for all drivers is what each machine says of each set, judged to its end."""
    base = ground_of(host(database, *words), database, python)
    judges = [Judge(base)]
    for driver in drivers.others(base)[-1:]:
        other = with_facts(base, {"driver": Known(value=driver, source="the test")})
        judges.append(Judge(other, nearby=judges[0]))
    listed = [[stack for stack in stacks_of(name, base.platform, database.tables) if stack.is_told]
              for name in wishes]
    sets = list(itertools.product(*listed))[::7]
    found = []
    for quick in judges:
        whole = Judge(quick.base)
        fits = [quick.fits(*stacks) for stacks in sets]
        assert fits == [not whole.of(stacks, worded=False).objections for stacks in sets]
        found.append(len(quick.verdicts))
    assert len(found) > 1
    works = base.fact("driver.works")
    assert all(found if isinstance(works, Known) and works.value else found[1:])  # some were foreseen


def test_two_that_refuse_a_set_refuse_the_next_one_too(database: RuleDatabase) -> None:
    """TensorFlow 2.13 needs packages for CUDA 11, whose files most of torch and JAX write for CUDA 12.

    Each combination with a fourth framework was judged anew: four of them on a V100 took 1.7 s.
    """
    base = ground_of(host(database, "cc=7.0", "driver=580.65.06"), database, "3.10")
    listed = [[stack for stack in stacks_of(name, base.platform, database.tables)
               if stack.is_told and base.place.python in stack.pythons]
              for name in ("tensorflow", "torch", "jax", "paddle")]
    some = [stack for stack in listed[0] if stack.version in ("2.9.3", "2.11.1", "2.13.1", "2.21.0")]
    sets = list(itertools.product(some, *listed[1:]))[::23]
    quick, whole = Judge(base), Judge(base)
    fits = [quick.fits(*stacks) for stacks in sets]
    assert fits == [not whole.of(stacks, worded=False).objections for stacks in sets]
    assert any(fits)
    assert len(quick.foreseen.known) < len(whole.courses) * 2 / 3


@pytest.mark.parametrize("driver", ["none", "418.39"])
def test_what_is_foreseen_holds_for_each_driver_that_works_also_where_the_one_here_does_not(
        driver: str, database: RuleDatabase) -> None:
    """Nothing was foreseen then: each combination was judged to its end, for each driver again."""
    base = ground_of(host(database, "cc=8.6", f"driver={driver}"), database, "3.10")
    other = with_facts(base, {"driver": Known(value=drivers.others(base)[-1], source="the test")})
    judge = Judge(other, nearby=Judge(base))
    torch, tensorflow = (stacks_of(name, base.platform, database.tables) for name in ("torch", "tensorflow"))
    for stacks in itertools.product([one for one in torch if one.is_told][::9], tensorflow[::9]):
        judge.fits(*stacks)
    assert judge.verdicts
    assert not judge.courses  # none was judged to its end


@pytest.mark.parametrize(("words", "python", "wishes"), [
    (("cc=8.6", "driver=525.60.13"), "3.10", ("torch", "tensorflow<2.14")),
    (("cc=8.0", "driver=525.60.13"), "3.8", ("torch>=2", "tensorflow<2.6", "jax")),
])
def test_the_sets_that_are_offered_are_those_of_judging_every_combination(
        words: Iterable[str], python: str, wishes: Sequence[str], database: RuleDatabase) -> None:
    """Sixty combinations were judged, and what fitted behind them was said not to exist."""
    said = asked(host(database, *words), database, *wishes, python=python)
    offered = [(one.version, *(member.version for member in one.beside))
               for one in said.candidates if one.offered and one.kind == "pip"]
    base = ground_of(host(database, *words), database, python)
    judge, wanted = Judge(base), parse(wishes, database.tables)
    fitting = [[stack for stack in stacks_of(wish.framework, base.platform, database.tables)
                if wish.admits(stack) and not stack.is_prerelease and stack.is_told
                and not judge.of((stack,)).objections] for wish in wanted]
    best: list[tuple[Stack, ...]] = []
    for first in fitting[0]:
        places = itertools.product(*(range(len(some)) for some in fitting[1:]))
        sets = ((first, *(some[place] for some, place in zip(fitting[1:], chosen, strict=True)))
                for chosen in sorted(places, key=sum))
        best += itertools.islice((stacks for stacks in sets
                                  if not judge.of(stacks, worded=False).objections), 1)
    assert offered == [tuple(stack.version for stack in stacks) for stacks in best]


def test_what_no_rule_reads_tells_no_releases_apart(database: RuleDatabase) -> None:
    """Each NumPy that a release asks for made another of it, and each set of them was judged anew."""
    listed = {stack.version: stack for stack in stacks_of("tensorflow", "linux_x86_64", database.tables)}
    older, newer = listed["2.9.0"], listed["2.11.1"]
    assert older.row["requires"] != newer.row["requires"]
    assert older.row["code"] != newer.row["code"]
    assert older.alike(HERE, database.tables) == newer.alike(HERE, database.tables)


def test_releases_are_told_apart_by_the_glibc_where_one_is_too_new_for_it(database: RuleDatabase) -> None:
    """On a newer system both run, on an older one perhaps one; where it is not known they may differ."""
    stack = stacks_of("tensorflow", "linux_x86_64", database.tables)[0]
    older, newer = (replace(stack, row={**stack.row, "glibc": floor}) for floor in ("2.12", "2.17"))
    for glibc, is_alike in (("2.17", True), ("2.16", False), ("2.5", True), (None, False)):
        here = replace(HERE, glibc=glibc)
        both = (stack.alike(here, database.tables) for stack in (older, newer))
        assert (len(set(both)) == 1) is is_alike, glibc


@pytest.mark.parametrize(("code", "is_alike"), [
    ({"sass": ("8.6",), "ptx": (), "fat_binaries": 5}, True),
    ({"sass": ("8.0",), "ptx": (), "fat_binaries": 9}, True),
    ({"sass": ("7.0",), "ptx": ("8.4@8.0",), "fat_binaries": 5}, False),
    ({"sass": ("7.0",), "ptx": (), "fat_binaries": 5}, False),
    ({"sass": ("9.0",), "ptx": (), "fat_binaries": 5}, False),
])
def test_releases_are_alike_where_their_code_is_for_the_cards_here(
        code: Record, is_alike: bool, database: RuleDatabase) -> None:
    """Machine code for the card, PTX, and none are different; of one with none, which code it has counts."""
    native: Record = {"sass": ("8.6",), "ptx": (), "fat_binaries": 7}
    whole, other, less = (with_code(one, database) for one in (native, code, {**code, "sass": ()}))
    tables = database.tables
    assert (whole.alike(HERE, tables) == other.alike(HERE, tables)) is is_alike
    elsewhere = replace(HERE, capabilities=("6.0",))
    assert other.alike(elsewhere, tables) != less.alike(elsewhere, tables)


def with_code(code: Record, database: RuleDatabase) -> Stack:
    stack = stacks_of("torch", "linux_x86_64", database.tables)[0]
    return replace(stack, row={**stack.row, "code": (code,)})


def test_a_release_of_unknown_code_is_like_none_of_known(database: RuleDatabase) -> None:
    """Also where no card is known, whose capability would tell them apart."""
    stack = stacks_of("torch", "linux_x86_64", database.tables)[0]
    unknown = replace(stack, row={name: value for name, value in stack.row.items() if name != "code"})
    for cards in ((), ("8.6",)):
        here = replace(HERE, capabilities=cards)
        assert stack.alike(here, database.tables) != unknown.alike(here, database.tables)


@pytest.mark.parametrize(("searched", "files", "is_alike"), [
    (("$ORIGIN/../nvidia/cudnn/lib", "$ORIGIN/../nvidia/nccl/lib"), (), True),  # in another order
    (("$ORIGIN/../nvidia/nccl/lib", "$ORIGIN/../nvidia/cudnn/lib", "$ORIGIN/../tensorrt"), (), True),
    (("$ORIGIN/../nvidia/nccl/lib", "$ORIGIN/../nvidia/cudnn/lib", "$ORIGIN/../tensorrt"),
     ("/site-packages/tensorrt/libcudnn.so.9",), False),  # something lies there
    (("$ORIGIN/../nvidia/nccl/lib", "$ORIGIN/../nvidia/cudnn/lib", "$ORIGIN/../tensorrt"),
     ("/site-packages/tensorrt",), False),  # it could not be listed
    (("$ORIGIN/../nvidia/nccl/lib",), (), False),
])
def test_search_paths_are_alike_that_find_the_same(searched: tuple[str, ...], files: tuple[str, ...],
                                                   is_alike: bool, database: RuleDatabase) -> None:
    """JAX's releases were told apart by the order of folders of which each holds other libraries."""
    stack = stacks_of("jax", "linux_x86_64", database.tables)[0]
    usual = ("$ORIGIN/../nvidia/nccl/lib", "$ORIGIN/../nvidia/cudnn/lib")
    one, other = (replace(stack, row={**stack.row, "code_library": "plugin/it.so", "rpath": folders})
                  for folders in (usual, searched))
    here = replace(HERE, files=tuple({"path": path} for path in files))
    assert (one.alike(here, database.tables) == other.alike(here, database.tables)) is is_alike


def test_which_folder_comes_first_counts_where_two_hold_the_same_library(database: RuleDatabase) -> None:
    """Then the order decides which file the loader takes."""
    stack = stacks_of("jax", "linux_x86_64", database.tables)[0]
    folders = ("$ORIGIN/../nvidia/cudnn/lib", "$ORIGIN/../own")
    one, other = (replace(stack, row={**stack.row, "code_library": "plugin/it.so", "rpath": some})
                  for some in (folders, folders[::-1]))
    files = ({"path": "/site-packages/own/libcudnn.so.9"},)
    assert one.alike(HERE, database.tables) == other.alike(HERE, database.tables)
    here = replace(HERE, files=files)
    assert one.alike(here, database.tables) != other.alike(here, database.tables)


def test_a_rule_is_asked_only_what_it_may_say_of_what_never_ran(database: RuleDatabase) -> None:
    """Its blocks about a run were judged of each set anew, and worked out what blocks a framework there."""
    rule = next(rule for rule in database.rules if rule.cause == "ran-on-cpu")
    kept = next(one for one in unrun.speaking(database.rules, database.base, database) if one.id == rule.id)
    assert [block.name for block in kept.detect] == ["JAX is told to use the CPU alone"]
    assert len(rule.detect) == 3


def test_what_a_release_lacks_is_found_to_be_refused_beside_another_framework_once(
        database: RuleDatabase) -> None:
    """202 combinations of TensorFlow 2.7 to 2.13 with torch and JAX were judged, each for the same files."""
    base = ground_of(host(database, "cc=6.1", "cc=8.9", "driver=580.65.06"), database, "3.10")
    judge, wished = Judge(base), parse(("tensorflow<2.14", "torch", "jax"), database.tables)
    fitting = {wish.framework: [stack for stack in stacks_of(wish.framework, base.platform, database.tables)
                                if wish.admits(stack) and judge.fits(stack)] for wish in wished}
    list(chosen_sets(wished, fitting, judge))
    judged = [key for _, key in judge.foreseen.known if len(key) == len(wished)]
    assert 0 < len(judged) < 30


def test_of_releases_that_nothing_tells_apart_the_newest_stands_for_all(database: RuleDatabase) -> None:
    """A quarter of a million combinations of four frameworks were asked about."""
    base = ground_of(host(database, "cc=7.0", "driver=550.54.14"), database, "3.10")
    judge = Judge(base)
    wished = parse(("tensorflow<2.14", "torch>=2", "jax", "paddle"), database.tables)
    fitting = {wish.framework: [stack for stack in stacks_of(wish.framework, base.platform, database.tables)
                                if wish.admits(stack) and judge.fits(stack)] for wish in wished}
    choices = [fitting[wish.framework] for wish in wished[1:]]
    asked_about = sum(1 for first in fitting["tensorflow"] for _ in ordered(first, choices, judge))
    every = len(fitting["tensorflow"]) * math.prod(map(len, choices))
    assert 0 < asked_about < every / 20
