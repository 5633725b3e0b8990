"""Judge what files describe by the rules of `check`: only what they add to a host counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from gpudoctor import derive, remedy, versions
from gpudoctor.assume import lay
from gpudoctor.candidates.ground import Ground, ground_of
from gpudoctor.consequences import key_of, rank_of
from gpudoctor.engine import evaluate
from gpudoctor.frozen import frozen
from gpudoctor.manifests import (
    later_breaks, left_open, offers, otherwise, pointing, pythons, releases, said, signs, system_packages,
)
from gpudoctor.manifests.images import Base
from gpudoctor.manifests.laying import Laid, lay_over
from gpudoctor.manifests.left_open import Note
from gpudoctor.manifests.otherwise import Offer, Tried
from gpudoctor.manifests.said import Said
from gpudoctor.manifests.spans import Place
from gpudoctor.manifests.statements import Environment
from gpudoctor.model import Fact, Finding, Known, RuleDatabase, Severity, Snapshot, Undecided, Value, value_of
from gpudoctor.proven import tempered

_HOST, _PROCESSOR, _OF_ARM, _BUILT = "host", "system.architecture", "aarch64", "--platform"
_REQUIRED = "requirement-not-met"  # says of what was required what another page says better
_MOST_STATEMENTS = 200  # of one environment that show something by themselves
_MOST_WORK, _LEAST_WORK = 12_000, 100  # requirements looked at to find what could be asked for instead


@frozen
class Located:
    """A finding of the rules at the statement that causes it; `said` is what that shows by itself.

    `offer` is what the file could ask for instead, where another build, release or image would do.
    """

    place: Place
    environment: Environment
    finding: Finding
    laid: Laid | None = None
    said: Mapping[str, Value] = field(default_factory=dict)
    offer: Offer | None = None


@frozen
class Verdicts:
    """What is wrong with files, what could not be judged, and what was left alone."""

    findings: tuple[Located, ...]
    undecided: tuple[tuple[Place, Undecided], ...]
    notes: tuple[Note, ...]


class Linter:
    """A host and the rules; the same host serves every environment."""

    def __init__(self, host: Snapshot, database: RuleDatabase, *, wants_gpu: bool = False,
                 supposes_gpu: bool = False, observed: bool = False,
                 host_faults: tuple[str, ...] = ()) -> None:
        """Judge for this host; `wants_gpu` takes every environment for one that is to use a GPU.

        `supposes_gpu` does so with those that neither say so nor ask for the CPU: somebody named a driver or
        a card. `observed`: the host was looked at, not made up. `host_faults`: it stands in for one on which
        no GPU works, for these reasons.
        """
        self.host, self.database, self.wants_gpu, self.observed = host, database, wants_gpu, observed
        self.supposes_gpu, self.host_faults = supposes_gpu, host_faults
        self._grounds: dict[str | None, Ground] = {}
        self._offers: dict[object, Offer | None] = {}
        self._left = _MOST_WORK
        self._on_arm: Linter | None = None
        self._of_files = replace(database, rules=tuple(
            rule for rule in database.rules if rule.withdrawn is None and said.is_about_files(rule)))

    def judge(self, environments: Sequence[Environment], *, offering: bool = True) -> Verdicts:
        """Return the verdicts on environments, by their places; `offering` with what would do instead."""
        findings: list[Located] = []
        undecided: list[tuple[Place, Undecided]] = []
        notes: list[Note] = []
        for written in environments:
            other = self._for_arm() if left_open.is_for_arm(written.image) else None
            if other is not None:
                own = other.judge([written], offering=offering)
                findings, undecided = [*findings, *own.findings], [*undecided, *own.undecided]
                notes += own.notes
                continue
            environment = replace(written, asked=tuple(map(releases.from_default, written.asked)))
            found: list[Located] = []
            self._judge(environment, found, undecided, notes)
            findings += offers.with_offers(found, environment, self._offer) if offering else found
        once = {(str(one.place), one.finding.rule, one.finding.message): one for one in findings}
        ordered = sorted(once.values(),
                         key=lambda one: (one.place.file, one.place.start, rank_of(one.finding)))
        return Verdicts(findings=tuple(ordered), undecided=tuple(undecided),
                        notes=tuple(dict.fromkeys(notes)))

    def _for_arm(self) -> Linter | None:
        """Return what judges for the same machine with a processor of ARM; None where it has one."""
        if value_of(self.host.host, _PROCESSOR) == _OF_ARM:
            return None
        if self._on_arm is None:
            facts = {_PROCESSOR: Known(value=_OF_ARM, source=_BUILT)}
            host = lay(self.host, facts, self.database.tables, source=_BUILT)
            self._on_arm = Linter(host, self.database, wants_gpu=self.wants_gpu, observed=self.observed,
                                  supposes_gpu=self.supposes_gpu, host_faults=self.host_faults)
        return self._on_arm

    def _offer(self, one: Located, found: Sequence[Located], environment: Environment) -> Offer | None:
        rule = next((rule for rule in self.database.rules if rule.id == one.finding.rule), None)
        if one.laid is None or rule is None:
            return None
        before = [other.finding for other in found]
        asking = otherwise.Asking(rule=rule, finding=one.finding, environment=environment, before=before,
                                  python=one.environment.python, chosen=one.laid.chosen)
        alike = asking.key
        if alike not in self._offers:
            self._offers[alike] = otherwise.offered(asking, self._ground(asking.python), self._tried)
        return self._offers[alike]

    def _tried(self, written: Environment) -> Tried | None:
        """Return what would be wrong on an environment's machine, without proofs; None after many of them."""
        self._left -= max(len(written.asked), _LEAST_WORK)
        environment, base = self._settled(written)
        ground = self._ground(environment.python)
        laid = lay_over(environment, base, ground, observed=self.observed) if self._left > 0 else None
        if laid is None:
            return None
        judged = [(self._as_said(one, ground), self._of_files)
                  for one in said.of_build(environment, base, laid, ground)]
        judged += [(snapshot, ground.database) for snapshot in (laid.snapshot, *laid.kept_away)]
        return Tried(chosen=laid.chosen, findings=tuple(
            one for snapshot, rules in judged for one in _found(snapshot, rules)
            if key_of(one) not in ground.had and one.severity.is_fault))

    def _settled(self, environment: Environment) -> tuple[Environment, Base | None]:
        """Return an environment with what its image and the system's packages say of it, and what it has."""
        base, is_read = system_packages.added(
            signs.base_of(environment, self.database.tables), environment.packages, self.database.tables)
        if not is_read:
            environment = replace(environment, alters_libraries=True)
        if environment.python is None and base is not None and not environment.alters_python:
            environment = replace(environment, python=base.python)
        return environment, base

    def _judge(self, environment: Environment, findings: list[Located],
               undecided: list[tuple[Place, Undecided]], notes: list[Note]) -> None:
        tables = self.database.tables
        if environment.constrains:
            for one in said.of_constraints(environment, tables):
                findings += self._of_file(one, environment, None)
            findings += self._without_wheel(environment)
            return
        environment, base = self._settled(environment)
        begun = len(findings)
        for number, one in enumerate(said.of_statements(environment, tables)):
            if number == _MOST_STATEMENTS:
                notes.append(Note(place=one.place, matters=True,
                                  said=f"from here on not judged: {number} statements before were"))
                break
            findings += self._of_file(one, environment, None)
        findings += self._without_wheel(environment)
        wishes = signs.gpu_wishes(environment, tables)
        is_wanted = bool(self.wants_gpu or (wishes and not environment.refuses_gpu))
        unsaid = [] if is_wanted or environment.refuses_gpu else releases.of_frameworks(
            environment.asked, environment.python)
        is_supposed = bool(self.supposes_gpu and unsaid)
        environment = said.without_refused(environment, tables)
        for broken in later_breaks.found(environment, base, self._ground(environment.python)):
            findings += () if broken.open_ else self._of_file(said.of_break(broken), environment, None)
            notes += left_open.of_break(broken, is_wanted=is_wanted or is_supposed)
        notes += left_open.of_handing(environment, wishes, wants_gpu=self.wants_gpu)
        notes += left_open.of_statements(
            environment, tables, is_wanted=is_wanted or is_supposed)
        notes += left_open.of_others(environment, tables) if is_wanted or self.supposes_gpu else ()
        if not (is_wanted or is_supposed):
            notes += map(left_open.unsaid, unsaid)
            notes += left_open.of_hiding(environment, wishes[0]) if wishes else ()
            return
        ground = self._ground(environment.python)
        laid = lay_over(environment, base, ground, observed=self.observed)
        if laid is None:
            notes.append(Note(place=environment.place, matters=True,
                              said="could not be laid over the host: the rules do not know it"))
            return
        if is_supposed and all(one.build == "cpu" for one in laid.chosen):
            notes += [left_open.of_processor(one) for one in laid.chosen]
            return
        notes += left_open.of_host(environment, self.host_faults)
        for one in said.of_build(environment, base, laid, ground):
            findings += self._of_file(one, environment, laid)
        for snapshot in (laid.snapshot, *laid.kept_away):
            found, open_ = self._diagnosed(snapshot, environment, laid, ground)
            findings += found
            undecided += open_ if snapshot is laid.snapshot else ()
        known = findings[begun:]
        wrong = {one.place for one in known if one.finding.severity is Severity.ERROR}
        notes += left_open.of_build(environment, base, laid, wrong, ground, observed=self.observed,
                                    has_card=left_open.has_card(ground.snapshot))
        notes += self._supposed(environment, base, laid, ground, known)

    def _diagnosed(self, snapshot: Snapshot, environment: Environment, laid: Laid, ground: Ground
                   ) -> tuple[list[Located], list[tuple[Place, Undecided]]]:
        """Return what the rules say of a machine with the environment on it and do not say of it without."""
        def place_of(one: Finding) -> Place:
            return pointing.place_of(one, environment, laid)

        judged = remedy.diagnose(snapshot, ground.database, place_of=place_of)
        new = [one for one in judged.findings if key_of(one) not in ground.had and one.severity.is_fault]
        usual = usual_python(self.database)
        if len(new) > 1 and environment.python is None and usual is not None:
            new = pythons.apart(new, snapshot, usual, ground.database, place_of)
        found = [Located(place=place_of(one), environment=environment, finding=one, laid=laid) for one in new]
        # what is asked of each card has no answer, and needs none, where nobody said which card
        has_card = left_open.has_card(snapshot)
        open_ = [one for one in judged.undecided if one.asked and key_of(one) not in ground.had]
        return found, [(pointing.requirement_of(one.subject, laid) or environment.place, one) for one in open_
                       if has_card or pointing.EACH not in one.subject]

    def _supposed(self, environment: Environment, base: Base | None, laid: Laid, ground: Ground,
                  known: Sequence[Located]) -> Iterator[Note]:
        """Yield what would be found if what cannot be known of releases were as it is nearby."""
        unsure = [one for one in laid.chosen if one.supposed and one.stack is not None]
        other = None
        if unsure:
            other = lay_over(environment, base, ground, observed=self.observed, suppose=True)
        if other is None:
            return
        had = {key_of(one.finding) for one in known}
        found, _ = self._diagnosed(other.snapshot, environment, other, ground)
        for one in unsure:
            own = [each.finding for each in found if key_of(each.finding) not in had
                   and (one.framework in each.finding.subject or each.finding.subject == _HOST)]
            causes = list(dict.fromkeys(f"{finding.cause} [{finding.rule}]" for finding in own))
            yield left_open.of_supposed(one, causes)

    def _ground(self, python: str | None) -> Ground:
        if python not in self._grounds:
            self._grounds[python] = ground_of(self.host, self.database, python or usual_python(self.database))
        return self._grounds[python]

    def _of_file(self, one: Said, environment: Environment, laid: Laid | None) -> Iterator[Located]:
        """Yield what the rules about files say of one statement."""
        snapshot = self._as_said(one, self._ground(environment.python))
        for finding in remedy.diagnose(snapshot, self._of_files).findings:
            yield Located(place=one.place, environment=environment, finding=finding, laid=laid,
                          said=one.facts)

    def _as_said(self, one: Said, ground: Ground) -> Snapshot:
        """Return the host with what a statement shows."""
        facts: dict[str, Fact] = {name: Known(value=value, source=str(one.place))
                                  for name, value in one.facts.items()}
        return lay(ground.snapshot, facts, self.database.tables, source=str(one.place))

    def _without_wheel(self, environment: Environment) -> Iterator[Located]:
        """Yield what the rules say of requirements for which no Python that is admitted has a wheel."""
        asked = [environment.python] if environment.python else []
        if environment.python_bounds and releases.of_frameworks(environment.asked, None):
            asked = pythons.admitted(environment.python_bounds, self._ground(None).platform,
                                     self.database.tables)
        found: list[Located] = []
        for number, python in enumerate(asked):
            own = [*self._without_wheel_for(replace(environment, python=python))]
            places = {one.place for one in own}
            found = [one for one in found if one.place in places] if number else own
            if not found:
                return
        yield from found

    def _without_wheel_for(self, environment: Environment) -> Iterator[Located]:
        judged: dict[str, list[Finding]] = {}  # equal requirements once
        for asked, requirement in said.wanted(environment, self.database.tables):
            if requirement not in judged:
                judged[requirement] = self._of_requirement(requirement, environment, asked.place)
            yield from (Located(place=asked.place, environment=environment, finding=finding)
                        for finding in judged[requirement])

    def _of_requirement(self, requirement: str, environment: Environment, place: Place) -> list[Finding]:
        """Return what the rules say of a requirement by itself, for the environment's Python."""
        ground = self._ground(environment.python)
        facts: dict[str, Fact] = {"require.wanted": Known(value=(requirement,), source=str(place))}
        snapshot = lay(ground.snapshot, facts, self.database.tables, source=str(place))
        subjects = derive.subjects(snapshot, self.database)
        found = evaluate(subjects, ground.database.rules, self.database.tables)
        return [one for one in found.findings if key_of(one) not in ground.had and one.cause != _REQUIRED]


def _found(snapshot: Snapshot, database: RuleDatabase) -> Sequence[Finding]:
    """Return what rules find on a machine, without proofs of what cures it."""
    subjects = derive.subjects(snapshot, database)
    return tempered(evaluate(subjects, database.rules, database.tables, worded=False), subjects).findings


def usual_python(database: RuleDatabase) -> str | None:
    """Return the Python, major and minor, of an environment whose files name none."""
    fact = database.base.host["python.version"]
    return versions.minor_of(str(fact.value)) if isinstance(fact, Known) else None
