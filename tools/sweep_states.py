"""Which releases, cards and drivers there are, and what the engine says of one with another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gpudoctor import derive, remedy, versions
from gpudoctor.assume import assumed, lay, parse_assumption
from gpudoctor.assume.releases import with_build
from gpudoctor.derive import published
from gpudoctor.derive.view import as_texts, floor_row
from gpudoctor.engine import evaluate
from gpudoctor.model import (
    Absent, Fact, Finding, Judgement, Known, Row, RuleDatabase, Scope, Severity, Snapshot, Subjects, Value,
)

FRAMEWORKS = ("tensorflow", "torch", "jax", "paddle", "cupy")
OLDEST_CARDS = {"linux_x86_64": "3.5", "linux_aarch64": "9.0"}  # of the platforms: beside ARM, from Grace on
PLATFORMS = tuple(OLDEST_CARDS)
CODE_ALIKE = {"native": "runs", "partial": "part", "ptx": "jit"}
_NOT_OF_THE_MACHINE = frozenset({
    "version", "uploaded", "wheel_bytes", "wheel_sha256", "library_sha256", "source", "accessed", "declared",
    "declared_differs", "measured_from", "measured_library_sha256", "record_differs", "cuda_from",
    "cudnn_from", "extras", "python", "numpy"})
# Of CuPy's rows what its own code asks of driver and card: its libraries are nobody's package.
_OF_CUPY = ("version", "platform", "build", "cuda", "code", "source")
_SAFE_CURES = ("environment", "pip")
_MOST_CURES = 3


@dataclass(frozen=True, kw_only=True)
class Release:
    """A build of a framework: what `--assume release=` is told, and the row that it stands for.

    CuPy is none that can be assumed: `assumption` is empty, and its row alone says what is on the machine.
    """

    framework: str
    version: str
    assumption: str
    platform: str
    row: Row = field(hash=False, compare=False)

    @cached_property
    def alike(self) -> tuple[object, ...]:
        """Return what two releases have in common that the engine cannot tell apart."""
        own = {name: value for name, value in self.row.items() if name not in _NOT_OF_THE_MACHINE}
        return self.framework, self.platform, repr(sorted(own.items())), self.python

    @property
    def python(self) -> str:
        """Return the newest Python that has the wheel, as a version with a patch number."""
        return f"{max(as_texts(self.row.get('python')) or ('3.12',), key=versions.parse)}.0"


@dataclass(frozen=True, kw_only=True)
class Card:
    """A compute capability, its generation, the kernel module for it and the drivers that serve it."""

    capability: str
    generation: str
    flavour: str
    device: str
    drivers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What becomes of a release on a card: `runs`, `part`, `jit`, `open`, or `stopped` by a rule.

    `cured` are the rules whose first fix, a safe one, was laid over the machine before.
    """

    kind: str
    driver: str
    rule: str = ""
    cured: tuple[str, ...] = ()


def releases(framework: str, platform: str, database: RuleDatabase) -> list[Release]:
    """Return the CUDA builds of a framework whose device code was measured, the newest first."""
    found = [Release(framework=framework, version=version, assumption=assumption, platform=platform, row=row)
             for version, assumption, row in _listed(framework, platform, database)]
    return sorted(found, key=lambda release: versions.parse(str(release.row["version"])), reverse=True)


def _listed(framework: str, platform: str, database: RuleDatabase) -> Iterator[tuple[str, str, Row]]:
    if framework == "jax":
        for row in published.jax_rows(platform, database.tables):
            major = str(row["distribution"]).removeprefix("jax-cuda").removesuffix("-pjrt")
            plugin = published.jax_part(f"jax-cuda{major}-plugin", str(row["version"]), platform,
                                        database.tables)
            if "code" in row and plugin is not None:
                own = {name: plugin[name] for name in ("python", "requires_nvidia") if name in plugin}
                yield f"{row['version']} cuda{major}", f"jax[cuda{major}]=={row['version']}", {**row, **own}
        return
    if framework == "cupy":
        for row in database.tables["cupy_distributions"].rows:
            if row["platform"] == platform and "code" in row:
                kind = str(row["distribution"]).removeprefix("cupy-")
                yield f"{row['version']} {kind}", "", {name: row[name] for name in _OF_CUPY if name in row}
        return
    for row in published.rows(framework, database.tables):
        if row["platform"] == platform and row.get("build") == "cuda" and "code" in row:
            yield str(row["version"]), f"{framework}=={row['version']}", row
    for row in published.rows_under("tensorflow-gpu", framework, database.tables):
        if row["platform"] == platform and row.get("build") == "cuda" and "code" in row:
            yield f"{row['version']} gpu", f"tensorflow-gpu=={row['version']}", row


# -- drivers and cards ---------------------------------------------------------------------------------


def drivers(database: RuleDatabase) -> tuple[str, ...]:
    """Return of each driver branch the first release with all that the branch promises, the newest last."""
    known = [str(row["minimum_driver"]) for name in ("cuda_toolkits", "minor_version_compatibility")
             for row in database.tables[name].rows if "minimum_driver" in row]
    branches = {str(row["driver"]) for row in database.tables["driver_branches"].rows}
    best = {branch: max((v for v in known if v.partition(".")[0] == branch), key=versions.parse, default="")
            for branch in branches}
    return tuple(sorted((version for version in best.values() if version), key=versions.parse))


def cards(database: RuleDatabase, platform: str) -> list[Card]:
    """Return the compute capabilities of cards that are plugged into a machine, the oldest first.

    A card is listed where a product table knows one; Jetson boards have their own wheels and are left out.
    """
    sold = products(database)
    rows = {str(row["compute_capability"]): row for row in database.tables["architectures"].rows}
    plugged = [capability for capability, names in sold.items()
               if capability in rows and not all(_is_board(name) for name in names)]
    oldest = OLDEST_CARDS[platform]
    return [_card(rows[capability], database) for capability in sorted(plugged, key=versions.parse)
            if versions.parse(capability) >= versions.parse(oldest)]


def products(database: RuleDatabase) -> dict[str, list[str]]:
    """Return the names of the cards of each compute capability."""
    sold: dict[str, list[str]] = {}
    for row in database.tables["gpu_products"].rows:
        sold.setdefault(str(row["compute_capability"]), []).append(str(row["name"]))
    return sold


def _is_board(name: str) -> bool:
    return name.startswith(("Jetson", "Tegra", "Switch"))


def _card(row: Row, database: RuleDatabase) -> Card:
    capability = str(row["compute_capability"])
    module = floor_row(database.tables["kernel_modules"], "first_capability", capability) or {}
    compiled = _branch_of_cuda(str(row.get("first_cuda", "")), database)
    first = max(int(str(module.get("first_branch", "0"))), compiled)
    last = int(str(module.get("last_branch", "9999")))
    serving = tuple(v for v in drivers(database) if first <= int(v.partition(".")[0]) <= last)
    generation = str(row.get("architecture", "no name known"))
    return Card(capability=capability, generation=generation, drivers=serving,
                flavour=(*as_texts(module.get("flavours")), "open")[0],
                device=str(module.get("first_device", "2330")))


def _branch_of_cuda(cuda: str, database: RuleDatabase) -> int:
    found = (str(row["minimum_driver"]) for row in database.tables["cuda_toolkits"].rows
             if row["cuda"] == cuda)
    return int(next(found, "0").partition(".")[0])


# -- judging -------------------------------------------------------------------------------------------


def machine(release: Release, card: Card, driver: str, database: RuleDatabase) -> Snapshot:
    """Return the healthy machine of the cases with these three, as `check --assume` lays it.

    Where the release brings no CUDA libraries of its own, the system has those that it opens.
    """
    architecture = release.platform.partition("_")[2]
    facts: dict[str, Fact] = {
        "system.architecture": _told(architecture), "driver.kernel_flavour": _told(card.flavour),
        "system.pci_nvidia": _told(({"address": "0000:01:00.0", "device": card.device, "class": "0x030200",
                                     "driver": "nvidia"},)), **_libraries(release)}
    words = [f"cc={card.capability}", f"driver={driver}", f"python={release.python}"]
    words += [f"release={release.assumption}"] if release.assumption else []
    pairs = assumed([parse_assumption(word) for word in words])
    laid = lay(lay(database.base, facts, database.tables, source="the sweep"), pairs, database.tables,
               source="assumed")
    if release.assumption:
        return laid
    built = with_build(laid, release.framework, release.row, "the sweep")
    return lay(built, {"framework.code": _told(release.row["code"])}, database.tables, source="the sweep")


def _told(value: Value) -> Known:
    return Known(value=value, source="the sweep")


def _libraries(release: Release) -> dict[str, Fact]:
    if release.row.get("requires_nvidia"):
        return {}
    opened = (*as_texts(release.row.get("loads")), *as_texts(release.row.get("loads_optional")))
    return {"loader.cache": _told(tuple({"soname": name, "path": f"/opt/cuda/lib/{name}"}
                                        for name in opened))}


def verdict(release: Release, card: Card, driver: str, database: RuleDatabase) -> Verdict:
    """Return what the engine says of the three together, safe fixes applied as it advises them."""
    snapshot, cured = machine(release, card, driver, database), list[str]()
    while True:
        subjects = derive.subjects(snapshot, database)
        judgement = evaluate(subjects, database.rules, database.tables)
        wrong = _errors(judgement.findings)
        if not wrong:
            kind = "open" if _is_open(judgement) else _code(subjects)
            return Verdict(kind=kind, driver=driver, cured=tuple(cured))
        if len(wrong) > 1 or wrong[0].rule in _with_safe_fix(database):  # else nothing is left to find out
            wrong = _errors(remedy.diagnose(snapshot, database).findings)
        first = wrong[0]
        cure = _safe_cure(first)
        if cure is None or len(cured) == _MOST_CURES:
            return Verdict(kind="stopped", driver=driver, rule=first.rule, cured=tuple(cured))
        cured.append(first.rule)
        snapshot = lay(snapshot, cure, database.tables, source="the sweep: a safe fix")


def _with_safe_fix(database: RuleDatabase) -> frozenset[str]:
    return frozenset(rule.id for rule in database.rules
                     if any(fix.risk == "safe" and fix.kind in _SAFE_CURES for fix in rule.fix))


def _safe_cure(finding: Finding) -> dict[str, Fact] | None:
    """Return what the first fix changes, where it is a safe one: a variable, or a package beside."""
    fix = next(iter(finding.fixes), None)
    if fix is None or fix.risk != "safe" or fix.kind not in _SAFE_CURES:
        return None
    return {name: Absent(source="fix") if value is None else _told(value)
            for name, value in fix.effect.items()}


def _errors(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity is Severity.ERROR]


def _is_open(judgement: Judgement) -> bool:
    return any(u.asked and u.severity is Severity.ERROR for u in judgement.undecided)


def _code(subjects: Subjects) -> str:
    fact = subjects[Scope.PAIR][0].fact("pair.code")
    return CODE_ALIKE.get(str(fact.value), "open") if isinstance(fact, Known) else "open"
