"""Facts computed from facts: a pure function of a snapshot and the rule database.

They are computed again after every overlay. A derivation may read any other fact of its subject; what it
needs is computed first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpudoctor import versions
from gpudoctor.derive import accelerators, branches, brought
from gpudoctor.derive import cards as card_derivations
from gpudoctor.derive import frameworks as framework_derivations
from gpudoctor.derive import image_needs, moves, packages, products, requirements, stale, visible
from gpudoctor.derive.host import HOST_DERIVATIONS
from gpudoctor.derive.lazy import Derivation, LazyFacts, Narrowed, Supposed
from gpudoctor.derive.pairs import PAIR_DERIVATIONS
from gpudoctor.derive.view import View
from gpudoctor.facts import CATALOGUE, promised
from gpudoctor.model import (
    Absent, Fact, Facts, Known, RuleDatabase, Scope, Snapshot, Subject, Subjects, Unknown, value_of,
)

_CARDS_OF_DRIVER = ("nvml.gpu_count", "cuda.device_count", "cuda.devices")
_NOT_PROBED = Unknown(reason="no probe answered for it")
# What was first asked after snapshots were: one without these facts is older than the question.
_OLDER = Unknown(reason="the snapshot was made before this was asked", asked=False)
_LATER_OF_HOST: Facts = dict.fromkeys((
    "python.numpy", "python.protobuf", "system.gpu_switched_off", "system.slurm", "container.cdi_drivers",
    "image.gpu_refusals", "image.gpu_dropped", "image.gpu_start_hangs", "image.shows_host",
    "image.left_containers", "image.limits_missing", "image.requirements",
    "image.labelled_cuda",
    "container.toolkit", "container.toolkit_no_cgroups", "container.docker_socket",
    "container.security_label", "container.shared_memory_bytes", "environment.COLAB_RELEASE_TAG",
    "environment.KAGGLE_KERNEL_RUN_TYPE", "environment.SLURM_GPUS_ON_NODE", "environment.SLURM_JOB_GPUS",
    "environment.SLURM_JOB_ID", "environment.SLURM_STEP_GPUS"), _OLDER)
_LATER_OF_FRAMEWORK: Facts = dict.fromkeys(
    (*promised("stages", Scope.FRAMEWORK), "framework.horovod"), _OLDER)


def subjects(snapshot: Snapshot, database: RuleDatabase,
             of: type[LazyFacts] = LazyFacts) -> Subjects:
    """Return every subject that rules are judged for, with probed and derived facts.

    A scope that could not be enumerated yields one subject in which all its facts are unknown. `of` is what
    holds them: `Supposed` marks what rests on an assumption.
    """
    snapshot = _without_contradiction(snapshot)
    host = of({**_LATER_OF_HOST, **snapshot.host}, {}, _with_scopes(snapshot), database, _NOT_PROBED)
    cards, blind_cards = _scope(snapshot.gpus)
    patients, blind_patients = _scope(snapshot.frameworks)
    gpus, frameworks, pairs = [], [], []
    for number, card in enumerate(cards):
        facts = of(card, host, _of_card(card, snapshot), database, blind_cards or _NOT_PROBED)
        gpus.append(Subject(name=_gpu_name(card, number, blind_cards), facts=facts, gpu=number,
                            missing=blind_cards or _NOT_PROBED))
    of_framework = {
        **framework_derivations.derivations(() if blind_cards else [gpu.facts for gpu in gpus], blind_cards),
        "framework.brought_by": lambda view: brought.brought_by(view, patients),
        "framework.served_devices": lambda view: visible.served_devices(view, snapshot)}
    for number, patient in enumerate(patients):
        missing = blind_patients or _NOT_PROBED
        own = patient if blind_patients else {**_LATER_OF_FRAMEWORK, **patient}
        facts = of(own, host, of_framework, database, missing)
        name = _framework_name(patient, blind_patients)
        frameworks.append(Subject(name=name, facts=facts, framework=number, missing=missing))
    for gpu in gpus:
        for framework in frameworks:
            missing = blind_cards or blind_patients or _NOT_PROBED
            of_pair = {**_of_card(cards[gpu.gpu or 0], snapshot), **PAIR_DERIVATIONS}
            facts = of(cards[gpu.gpu or 0], framework.facts, of_pair, database, missing)
            pairs.append(Subject(name=f"{gpu.name} x {framework.name}", facts=facts, missing=missing,
                                 gpu=gpu.gpu, framework=framework.framework))
    return {Scope.HOST: [Subject(name="host", facts=host)], Scope.GPU: gpus, Scope.FRAMEWORK: frameworks,
            Scope.PAIR: pairs}


def complete(snapshot: Snapshot, database: RuleDatabase, of: type[LazyFacts] = LazyFacts) -> Snapshot:
    """Return the snapshot with its derived facts in it, for people and programs; pairs are left out.

    They are computed when they are read: text shows few of them.
    """
    snapshot = _without_contradiction(snapshot)
    found = subjects(snapshot, database, of)

    def own(listed: tuple[Facts, ...] | Unknown, scope: Scope) -> tuple[Facts, ...] | Unknown:
        return listed if isinstance(listed, Unknown) else tuple(
            Narrowed(subject.facts, lambda name: name in CATALOGUE and CATALOGUE[name].scope is scope)
            for subject in found[scope])

    return replace(snapshot, host=found[Scope.HOST][0].facts, gpus=own(snapshot.gpus, Scope.GPU),
                   frameworks=own(snapshot.frameworks, Scope.FRAMEWORK))


def _without_contradiction(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot, its cards unknown where it lists none and the driver's libraries list some.

    No probe says both: it was cut or put together, and an empty list would read as health.
    """
    for name in _CARDS_OF_DRIVER if snapshot.gpus == () else ():
        listed = value_of(snapshot.host, name)
        count = len(listed) if isinstance(listed, tuple) else listed if isinstance(listed, int) else 0
        if count > 0:
            return replace(snapshot, gpus=Unknown(
                reason=f"the snapshot contradicts itself: it lists no card, and {name} has {count}; one that "
                       "is taken again on that machine decides"))
    return snapshot


def _scope(scope: tuple[Facts, ...] | Unknown) -> tuple[tuple[Facts, ...], Unknown | None]:
    """Return the subjects of a scope; one without any facts stands for a scope nobody could enumerate."""
    return (({},), scope) if isinstance(scope, Unknown) else (scope, None)


def _gpu_name(facts: Facts, position: int, blind: Unknown | None) -> str:
    if blind is not None:
        return "every GPU"
    index = facts.get("gpu.index")
    return f"GPU {index.value if isinstance(index, Known) else position}"


def _framework_name(facts: Facts, blind: Unknown | None) -> str:
    if blind is not None:
        return "every framework"
    name = facts.get("framework.name")
    return str(name.value) if isinstance(name, Known) else "framework"


def _count_cards(snapshot: Snapshot, view: View) -> Fact:
    """Return how many cards there are; those that the snapshot lists count even if no probe counted them."""
    found = HOST_DERIVATIONS["system.nvidia_gpus"](view)
    listed = 0 if isinstance(snapshot.gpus, Unknown) else len(snapshot.gpus)
    counted = found.value if isinstance(found, Known) and isinstance(found.value, int) else 0
    return Known(value=listed, source="the snapshot's list of cards") if listed > counted else found


def _has_cards(snapshot: Snapshot, view: View) -> Fact:
    """Return whether there is NVIDIA hardware: cards that the snapshot lists are some, whoever saw them."""
    if isinstance(snapshot.gpus, Unknown) or not snapshot.gpus:
        return HOST_DERIVATIONS["system.nvidia_host"](view)
    return Known(value=True, source="the snapshot's list of cards")


def _oldest_card(snapshot: Snapshot) -> Fact:
    if isinstance(snapshot.gpus, Unknown):
        return snapshot.gpus
    capabilities = [str(fact.value) for card in snapshot.gpus
                    if isinstance(fact := card.get("gpu.compute_capability"), Known)]
    if not capabilities:
        return Absent(source="no card tells its compute capability")
    return Known(value=min(capabilities, key=versions.parse), source="the cards' compute capabilities")


def _ready(view: View) -> Fact:
    if view.need("system.nvidia_gpus") == 0:
        return Known(value=False, source="there is no card to be ready for")
    if view.need("driver.works") is True:
        version, cards = view.value("driver.version"), view.value("system.nvidia_gpus")
        return Known(value=True, source=f"cuInit returned 0; driver {version}, NVIDIA cards: {cards}")
    return Unknown(reason="not judged before the driver works", asked=False)


def _of_card(card: Facts, snapshot: Snapshot) -> Mapping[str, Derivation]:
    return {"gpu.hidden": lambda view: visible.card_hidden(view, card, snapshot),
            "gpu.memory_free_bytes": _memory_free, "gpu.architecture": _architecture,
            "gpu.listed": products.listed, "gpu.product": products.product,
            "gpu.compute_mode_back": card_derivations.mode_back,
            "gpu.driver_fit": lambda view: _driver_fit(view, card, snapshot)}


def _driver_fit(view: View, card: Facts, snapshot: Snapshot) -> Fact:
    """Return whether the branch of the loaded driver serves the card, by the tables alone."""
    return branches.fit(card, view.need_text("driver.loaded_version"), snapshot.host, view.tables)


def _cards_left_out(view: View, snapshot: Snapshot) -> Fact:
    """Return how many cards the loaded driver does not list that its branch does not serve."""
    cards = () if isinstance(snapshot.gpus, Unknown) else snapshot.gpus
    unlisted = [card for card in cards if value_of(card, "gpu.in_nvml") is not True]
    if not unlisted or isinstance(view.fact("driver.loaded_version"), Absent):
        return Known(value=0, source="no driver is loaded that leaves out a card")
    fits = [(card, _driver_fit(view, card, snapshot)) for card in unlisted]
    said = [(branches.left_out(card, fit), fit) for card, fit in fits]
    refused = [fit.source for is_left_out, fit in said if is_left_out is True and isinstance(fit, Known)]
    unseen = next((unknown for unknown, _ in said if isinstance(unknown, Unknown)), None)
    if unseen is not None and not refused:
        return unseen
    source = refused[0] if refused else "rules/tables/kernel_modules.toml"
    return Known(value=len(refused), source=source)


def _architecture(view: View) -> Fact:
    """Return the generation of the card's compute capability; absent where no table knows it."""
    capability = view.need_text("gpu.compute_capability")
    for row in view.table("architectures").rows:
        if row["compute_capability"] == capability and "architecture" in row:
            return Known(value=row["architecture"], source=str(row["source"]))
    return Absent(source=f"rules/tables/architectures.toml names no generation of {capability}")


def _memory_free(view: View) -> Fact:
    """Return the card's memory without what is in use and what the driver keeps for itself."""
    total, used = view.need("gpu.memory_total_bytes"), view.need("gpu.memory_used_bytes")
    if not isinstance(total, int) or not isinstance(used, int):
        return Unknown(reason="the card's memory is no number")
    free = total - used - view.number("gpu.memory_reserved_bytes")
    return Known(value=max(0, free), source="the card's memory, total without used and reserved")


def _installed(snapshot: Snapshot) -> Fact:
    if isinstance(snapshot.frameworks, Unknown):
        return snapshot.frameworks
    names = tuple(str(fact.value) for facts in snapshot.frameworks
                  if isinstance(fact := facts.get("framework.name"), Known))
    return Known(value=names, source="the patient's packages")


def _with_scopes(snapshot: Snapshot) -> Mapping[str, Derivation]:
    """Return the host's derivations with those that sum up the other scopes."""
    installed = () if isinstance(snapshot.frameworks, Unknown) else snapshot.frameworks
    asked = packages.asked_for(installed)
    return {
        **HOST_DERIVATIONS,
        **visible.derivations(snapshot),
        "system.nvidia_gpus": lambda view: _count_cards(snapshot, view),
        "system.nvidia_host": lambda view: _has_cards(snapshot, view),
        "system.oldest_card": lambda _: _oldest_card(snapshot),
        "system.cards_apart": lambda view: branches.apart(snapshot.gpus, view.tables),
        "driver.cards_left_out": lambda view: _cards_left_out(view, snapshot),
        "driver.ready": _ready, "driver.compute_modes_back": lambda _: card_derivations.modes_back(snapshot),
        "python.frameworks": lambda _: _installed(snapshot),
        "python.colliding_unneeded": lambda view: packages.colliding_unneeded(view, asked),
        "python.colliding_reinstall": lambda view: packages.colliding_reinstall(view, asked),
        "python.built_for_others": lambda view: accelerators.served(view, snapshot.frameworks),
        **image_needs.derivations(snapshot),
        **moves.derivations(installed),
        **requirements.derivations(snapshot),
        "rules.behind": lambda view: stale.behind(view, snapshot),
    }


__all__ = ["Supposed", "complete", "subjects"]
