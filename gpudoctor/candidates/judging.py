"""Judge stacks on a machine: only what they add counts, and safe fixes are taken as the pages give them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from gpudoctor import derive
from gpudoctor.assume import AssumptionError
from gpudoctor.candidates import cures, together, toolkits
from gpudoctor.candidates.foreseen import MOST_CURES, Foreseen
from gpudoctor.candidates.ground import Ground, capabilities, causes, version_of
from gpudoctor.candidates.index import NO_WHEEL, later_breaks, unpublished
from gpudoctor.candidates.installed import added, cured, installed
from gpudoctor.derive.stacks import Machine, Stack
from gpudoctor.derive.view import as_records, as_texts
from gpudoctor.engine import evaluate
from gpudoctor.frozen import frozen
from gpudoctor.model import (
    Finding, Judgement, Known, Rejection, Remedy, Rule, Scope, Severity, Snapshot, Subjects, Undecided,
    Unknown, value_of,
)


@frozen
class Judged:
    """What the rules say of stacks that are installed together: `objections` is empty where they are offered.

    `remedies` are the safe fixes that were taken, with the findings that they cure; `subjects` the machine
    with all of it laid over, None where the engine was not asked. `brought` are the pins that a fix added, by
    framework.
    """

    stacks: tuple[Stack, ...]
    objections: tuple[Rejection, ...] = ()
    remedies: tuple[tuple[Finding, Remedy], ...] = ()
    warnings: tuple[Finding, ...] = ()
    errors: tuple[Finding, ...] = ()
    pins: tuple[str, ...] = ()
    brought: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pin_reasons: tuple[str, ...] = ()
    subjects: Subjects | None = None
    snapshot: Snapshot | None = None
    toolkit: toolkits.Toolkit | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the variables that the fixes set; one that is taken away is empty."""
        found = {name: value for _, taken in self.remedies for name, value in taken.env.items()}
        if self.toolkit is not None and self.snapshot is not None:
            found["LD_LIBRARY_PATH"] = ":".join(as_texts(value_of(self.snapshot.host, "loader.library_path")))
        return found


@frozen
class Course:
    """How judging went: the rules that spoke at any time, the fixes that were proven, by rule and place.

    `refusing` are the rules of the errors that no safe fix cured.
    """

    rules: tuple[Rule, ...]
    fixes: tuple[tuple[str, int], ...] = ()
    refusing: tuple[Rule, ...] = ()
    fits: bool = False


class Judge:
    """A machine and the rules. Of stacks that differ in nothing that is read, one is judged by every rule.

    With the others the rules that spoke say the same in their words, and the fixes that held hold again.
    """

    def __init__(self, base: Ground, alike: Judge | None = None, nearby: Judge | None = None) -> None:
        """Judge on `base`; `alike` judges on the same machine with another Python, of which no rule asks.

        `nearby` judges on one that differs more: what it refused is first held against the rules that did so.
        """
        self.base = base
        self.courses: dict[tuple[str, ...], Course] = {} if alike is None else alike.courses
        self.verdicts: dict[tuple[str, ...], bool] = {} if alike is None else alike.verdicts
        self._nearby = nearby
        self._published: dict[str, bool] = {}
        self.apart: dict[tuple[str, str], Sequence[str]] = {} if alike is None else alike.apart
        known = nearby or alike
        self.keys: dict[str, str] = {} if known is None else known.keys
        self.pip: together.Together = together.Together(base.database) if known is None else known.pip
        self.foreseen: Foreseen = Foreseen(base, self.pip) if known is None else known.foreseen

    def key(self, stacks: Sequence[Stack]) -> tuple[str, ...]:
        """Return what stacks have in common with those that are alike."""
        return tuple([self.keys.get(stack.release) or self._key(stack) for stack in stacks])

    def _key(self, stack: Stack) -> str:
        key = self.keys[stack.release] = stack.alike(_machine(self.base), self.base.database.tables)
        return key

    def of(self, stacks: Sequence[Stack], *, worded: bool = True) -> Judged:
        """Return the verdict on stacks that are to live in one environment."""
        refused = [objection for stack in stacks for objection in unpublished(stack, self.base)]
        if not refused and len(stacks) > 1 and (found := self.pip.clash(stacks)) is not None:
            refused = [found]
        if refused:
            return Judged(stacks=tuple(stacks), objections=tuple(refused))
        return self.by_rules(stacks, worded=worded)

    def by_rules(self, stacks: Sequence[Stack], *, worded: bool = True) -> Judged:
        """Return the verdict of the rules on stacks, whatever the index has for the Python here."""
        key = self.key(stacks)
        judged, course = _judged(stacks, self.base, self.courses.get(key), worded=worded)
        if len(stacks) > 1 and not judged.objections:
            found = self.pip.clash(stacks, judged.brought)
            if found is not None:
                judged, course = replace(judged, objections=(found,)), replace(course, fits=False)
        self.courses.setdefault(key, course)
        return judged

    def fits(self, *stacks: Stack) -> bool:
        """Return whether nothing objects to stacks; of those that are alike one is judged."""
        key = self.key(stacks)
        found = self.courses[key].fits if key in self.courses else self.verdicts.get(key)
        if found is False:  # as of most, and this is known without a look at what is its own
            return False
        if not all(map(self._is_published, stacks)):
            return False
        if len(stacks) > 1 and self.pip.clash(stacks) is not None:
            return False
        if found is None:
            found = False if self._are_apart(stacks, key) else self._foreseen(stacks, key)
            if found is None and self._are_refused_again(stacks):
                found = False
            if found is None:
                return not self.of(stacks, worded=False).objections
            self.verdicts[key] = found
        return found

    def _foreseen(self, stacks: Sequence[Stack], key: tuple[str, ...]) -> bool | None:
        verdict = self.foreseen.fit(stacks, key, self.base)
        if verdict is not None and verdict.apart is not None:
            keys = dict(zip((stack.framework for stack in stacks), key, strict=True))
            self.apart[keys[verdict.apart.framework], verdict.apart.other] = verdict.apart.brought
        return None if verdict is None else verdict.fits

    def _are_apart(self, stacks: Sequence[Stack], key: tuple[str, ...]) -> bool:
        """Return whether one lacks what was refused beside a release of another framework that is here, too.

        So it is where a package of that framework's writes the same files here, and no other member brings
        what the one lacks.
        """
        for one, own in zip(stacks, key, strict=True) if self.apart else ():
            for other in stacks:
                brought = self.apart.get((own, other.framework))
                if brought and self.pip.lasting_clash((one, other), one.framework, brought) and not any(
                        self.pip.brings_any(stack, brought) for stack in stacks if stack is not one):
                    return True
        return False

    def told_apart(self, stack: Stack) -> tuple[object, ...]:
        """Return all by which a set with this stack may fit where one with another in its place does not."""
        return self.key((stack,)), self._is_published(stack), self.pip.asks(stack)

    def _is_published(self, stack: Stack) -> bool:
        """Return whether the index has it for this Python: one release is asked about in hundreds of sets."""
        if stack.release not in self._published:
            self._published[stack.release] = not any(True for _ in unpublished(stack, self.base))
        return self._published[stack.release]

    def _are_refused_again(self, stacks: Sequence[Stack]) -> bool:
        """Return whether rules that refused them nearby refuse them here too, and no fix would cure that."""
        rules = () if self._nearby is None else self._nearby.refusing(self.key(stacks))
        if not rules:
            return False
        some = replace(self.base.database, rules=rules)
        snapshot = installed(stacks, self.base)
        subjects = derive.subjects(snapshot, some)
        every = evaluate(subjects, rules, some.tables, worded=False)
        errors = [f for f in added(every, self.base).findings if f.severity is Severity.ERROR]
        return bool(errors) and cures.proven(errors, every, subjects, snapshot, some) is None

    def refusing(self, key: tuple[str, ...]) -> tuple[Rule, ...]:
        """Return the rules that refused one alike, here or where it was judged last."""
        course = self.courses.get(key)
        if course is not None or self._nearby is None:
            return course.refusing if course is not None else ()
        return self._nearby.refusing(key)


def _machine(base: Ground) -> Machine:
    """Return what of the machine decides whether releases are alike on it."""
    files = base.fact("loader.files")
    return Machine(capabilities=capabilities(base), glibc=version_of(base.fact("system.glibc")),
                   location=base.place.site_packages,
                   files=as_records(files.value) if isinstance(files, Known) else ())


# -- what the rules say --------------------------------------------------------------------------------------


def _judged(stacks: Sequence[Stack], base: Ground, known: Course | None, *,
            worded: bool) -> tuple[Judged, Course]:
    """Return the verdict and how it was reached; where that is known of one alike, it is followed."""
    breaks = tuple(dict.fromkeys(later_breaks(stacks, base)))
    pins, spoke, taken = [pin for pin, _ in breaks], set[str](), list[cures.Cure]()
    toolkit: toolkits.Toolkit | None = None
    brought: dict[str, tuple[str, ...]] = {}
    database = base.database if known is None else replace(base.database, rules=known.rules)
    try:
        snapshot = installed(stacks, base)
    except AssumptionError as error:
        refused = together.left_open(together.rule_of(NO_WHEEL, base.database), str(error))
        return Judged(stacks=tuple(stacks), objections=(refused,)), Course(rules=())
    while True:
        subjects = derive.subjects(snapshot, database)
        every = evaluate(subjects, database.rules, database.tables, worded=worded)
        found = added(every, base)
        spoke |= {*(f.rule for f in found.findings), *(u.rule for u in found.undecided)}
        errors = [f for f in found.findings if f.severity is Severity.ERROR]
        if not errors or len(taken) == MOST_CURES or _unready(subjects, base):
            break
        cure = (cures.proven(errors, every, subjects, snapshot, base.database) if known is None else
                cures.known(errors, known.fixes[len(taken):], subjects, base.database))
        if cure is None and toolkit is None:
            toolkit = toolkits.wanted(stacks, subjects[Scope.FRAMEWORK])
            if toolkit is not None:
                snapshot = toolkits.laid(snapshot, toolkit, database.tables)
                continue
        if cure is None:
            break
        taken.append(cure)
        snapshot, new = cured(snapshot, cure, base)
        pins += new
        brought[cure.framework] = (*brought.get(cure.framework, ()), *new)
    said = _against(found, subjects, base)
    judged = Judged(
        stacks=tuple(stacks), remedies=tuple((cure.finding, cure.remedy) for cure in taken), toolkit=toolkit,
        errors=tuple(errors), objections=tuple(said), subjects=subjects, snapshot=snapshot,
        warnings=tuple(f for f in found.findings if f.severity is Severity.WARNING),
        pins=tuple(dict.fromkeys(pins)), brought=brought, pin_reasons=tuple(reason for _, reason in breaks))
    return judged, Course(rules=tuple(rule for rule in database.rules if rule.id in spoke),
                          fixes=tuple((cure.finding.rule, cure.place) for cure in taken), fits=not said,
                          refusing=() if toolkit is not None else tuple(
                              rule for rule in database.rules if rule.id in {error.rule for error in errors}))


def judged_over(snapshot: Snapshot, base: Ground) -> Judged:
    """Return the verdict on a snapshot that is the machine with something other than stacks laid over it."""
    subjects = derive.subjects(snapshot, base.database)
    found = added(evaluate(subjects, base.database.rules, base.database.tables), base)
    return Judged(
        stacks=(), objections=tuple(_against(found, subjects, base)), subjects=subjects, snapshot=snapshot,
        errors=tuple(f for f in found.findings if f.severity is Severity.ERROR),
        warnings=tuple(f for f in found.findings if f.severity is Severity.WARNING))


def _against(added: Judgement, subjects: Subjects, base: Ground) -> list[Rejection]:
    """Return what keeps it from being offered: nothing can be judged, an error, or what was not judged."""
    errors = [Rejection(rule=f.rule, message=f.message) for f in added.findings
              if f.severity is Severity.ERROR]
    return (_unready(subjects, base) or errors or list(_not_judged(added.undecided))
            or list(_code_unknown(subjects, base)))


def faults(base: Ground) -> Iterator[Rejection]:
    """Yield what is wrong with a machine on which the driver does not work, whatever is installed."""
    ready = base.fact("driver.ready")
    if not (isinstance(ready, Known) and ready.value is True):
        yield from _unready(base.subjects, base)


def _unready(subjects: Subjects, base: Ground) -> list[Rejection]:
    """Return why no card can be judged with the build, the host's own faults first; empty where one can."""
    pairs = [subject.fact("pair.ready") for subject in subjects[Scope.PAIR]]
    if any(isinstance(fact, Known) and fact.value is True for fact in pairs):
        return []
    faults = [Rejection(rule=f.rule, message=f.message) for f in causes(base)
              if f.severity is Severity.ERROR]
    open_ = [] if faults else list(_not_judged(base.before.undecided))
    said = next((fact.reason if isinstance(fact, Unknown) else fact.source for fact in pairs),
                "there is no NVIDIA card")
    return faults or open_ or [Rejection(rule=together.rule_of("no-nvidia-gpu", base.database), message=said)]


def _code_unknown(subjects: Subjects, base: Ground) -> Iterator[Rejection]:
    """Yield for which cards nobody knows whether there is code: no rule asks of one that tells nothing."""
    for pair in subjects[Scope.PAIR]:
        ready, code = pair.fact("pair.ready"), pair.fact("pair.code")
        if isinstance(ready, Known) and ready.value is True and not isinstance(code, Known):
            why = code.reason if isinstance(code, Unknown) else code.source
            yield together.left_open(together.rule_of("gpu-too-old-for-build", base.database),
                                     f"which code it has for {pair.name}: {why}")


def _not_judged(undecided: Sequence[Undecided]) -> Iterator[Rejection]:
    for one in undecided:
        if one.asked and one.severity is Severity.ERROR:
            why = "; ".join(dict.fromkeys(reason.source for reason in one.reasons))
            yield together.left_open(one.rule, why, one.cause)
