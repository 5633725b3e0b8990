"""Whether the stated build, driver and cuDNN serve the stated cards, by the tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudoctor import versions
from gpudoctor.derive import branches, integrated
from gpudoctor.derive.device_code import cudnn_row
from gpudoctor.derive.view import as_records, as_texts, floor_row, text_in
from gpudoctor.explanation import sonames
from gpudoctor.explanation.stated import CODE_TABLES, FRAMEWORK_TABLES, Stated
from gpudoctor.model import Facts, Known, Row, Tables, row_of

_ARCHITECTURE = re.compile(r"(sm|compute)_([0-9]{2,3})([af]?)\Z")
_ANY_ISA = "@0"  # a list does not say of which version its PTX is
_WITH_DRIVERS_OF_WINDOWS = frozenset({"windows", "wsl1", "wsl2"})


def by_build(stated: Stated) -> Known | None:
    """Return how the build serves the card that it serves worst, or all of a generation."""
    capabilities = stated.texts("text.capabilities")
    possible = () if capabilities else possible_capabilities(stated)
    row = _listed(stated) or _published(stated)
    fits = [_one_by_build(stated, row, one) for one in capabilities or possible]
    if possible and len(set(fits)) > 1:
        return None
    worst = next((kind for kind in ("too-new", "too-old", "newer", "ptx", "fits") if kind in fits), None)
    named = "what the card may be" if possible else "text.capabilities"
    return Known(value=worst, source=f"computed from {named} and the build") if worst else None


def left_out(stated: Stated) -> Known | None:
    """Say whether a CUDA left out the stated cards, or each that is meant; None where only some of them."""
    capabilities = stated.texts("text.capabilities") or possible_capabilities(stated)
    found = {"last_cuda" in _architecture(stated, one) for one in capabilities}
    return Known(value=found.pop(), source="computed from the cards") if len(found) == 1 else None


def _listed(stated: Stated) -> Row | None:
    """Return the build as the text itself lists its code; None where it does not."""
    matches = [match for text in stated.texts("text.build_code") if (match := _ARCHITECTURE.match(text))]
    if not matches:
        return None
    cards = [(match[1], f"{match[2][:-1]}.{match[2][-1]}{match[3]}") for match in matches]
    code = {"sass": tuple(card for kind, card in cards if kind == "sm"),
            "ptx": tuple(f"{card}{_ANY_ISA}" for kind, card in cards if kind == "compute")}
    return {"code": (code,), "cuda": stated.text("text.build_cuda") or ""}


def _published(stated: Stated) -> Row | None:
    """Return the row of the release.

    A build of another index ("+cu118") is the row's only where both are for the same CUDA; a Jetson's never.
    """
    has_local = "+" in (stated.text("text.framework_version") or "")
    elsewhere = has_local and "jetson" in stated.texts("text.places")
    cuda = stated.text("text.build_cuda")
    return next((row for row in stated.rows
                 if "code" in row and not elsewhere and (not has_local or row.get("cuda") == cuda)), None)


def possible_capabilities(stated: Stated) -> tuple[str, ...]:
    """Return the compute capabilities of products of a stated name, or of a generation: the card has one.

    GPUs inside a chip bear the names of generations as well, and are meant where a Jetson is.
    """
    if named := stated.texts("text.possible_capabilities"):
        return named
    generation, is_jetson = stated.text("text.generation"), "jetson" in stated.texts("text.places")
    return tuple(str(row["compute_capability"]) for row in stated.rows_of("architectures")
                 if str(row.get("architecture", "")).lower().partition(" ")[0] == (generation or "none")
                 and bool(row.get("integrated")) is is_jetson)


def _one_by_build(stated: Stated, row: Row | None, capability: str) -> str | None:
    toolkit = _by_toolkit(stated, capability)
    if row is not None:
        return _by_code(row, capability, toolkit, stated.tables)
    return toolkit or _by_series(stated, capability) or _by_all(stated, capability)


def _by_code(row: Row, capability: str, by_toolkit: str | None, tables: Tables) -> str:
    """Return what the code of the build says; PTX alone does not make a card fit that its CUDA knows not.

    cuBLAS and cuDNN of that CUDA have no code for it either.
    """
    code = as_records(row["code"])
    kind = integrated.coverage(code, capability, text_in(row, "cuda"), tables).kind
    if kind in ("native", "partial"):
        return "fits"
    listed = [item for record in code for key in ("sass", "ptx") for item in as_texts(record.get(key))]
    served = [versions.parse(item.partition("@")[0].rstrip("af")) for item in listed]
    newer = bool(served) and versions.parse(capability) > max(served)
    if kind == "ptx":
        return "too-new" if by_toolkit == "too-new" else "ptx"
    return "too-new" if newer else "too-old"


def _by_series(stated: Stated, capability: str) -> str | None:
    """Return "too-new" for a card that no CUDA knows for which a release of the stated series was built.

    The series must have ended, as TensorFlow 1 has: of another nobody knows the last release.
    """
    framework, version = stated.text("text.framework"), stated.text("text.framework_version") or ""
    published = stated.rows_of(FRAMEWORK_TABLES.get(framework or "", ""))
    rows = [row for row in (*stated.rows_of("tested_builds"), *published)
            if row.get("framework", framework) == framework and "cuda" in row]
    majors = {versions.parse(str(row["version"])).major for row in rows}
    if not version.isdecimal() or int(version) >= max(majors, default=0):
        return None
    built_for = [str(row["cuda"]) for row in rows
                 if versions.parse(str(row["version"])).major == int(version)]
    is_new = bool(built_for) and all(
        _knows_no_card_of(capability, cuda, stated) for cuda in built_for)
    return "too-new" if is_new else None


def _by_all(stated: Stated, capability: str) -> str | None:
    """Return "too-old" for a card that no release has code for, whichever it is that runs."""
    table = CODE_TABLES.get(stated.text("text.framework") or "", "")
    rows = [row for row in stated.rows_of(table) if "code" in row]
    if not rows:
        return None
    if _is_unmeasured(stated, rows):
        return "too-old" if _is_before_all(capability, stated) else None
    kinds = {_by_code(row, capability, None, stated.tables) for row in rows}
    return "too-old" if kinds == {"too-old"} else None


def _is_before_all(capability: str, stated: Stated) -> bool:
    """Say whether a card is older than each that the table of architectures has."""
    known = [versions.parse(str(row["compute_capability"])) for row in stated.rows_of("architectures")]
    return bool(known) and versions.parse(capability) < min(known)


def _is_unmeasured(stated: Stated, rows: Sequence[Row]) -> bool:
    """Say whether the build is of another index or for a Jetson, or may be older than all that were measured.

    Where no release is stated it may be one of those before them that the framework's own list has.
    """
    version = stated.text("text.framework_version")
    if "jetson" in stated.texts("text.places"):
        return True
    first = min(versions.parse(str(row["version"])) for row in rows)
    if version is None:
        return any(versions.parse(str(row["version"])) < first for row in stated.rows_of("tested_builds")
                   if row["framework"] == stated.text("text.framework"))
    return "+" in version or versions.parse(version) < first


def _by_toolkit(stated: Stated, capability: str) -> str | None:
    """Return what the CUDA of the build says of a card: too new or too old for its compiler.

    One that is only newer than the first of its generation may run that one's code; libraries may fail on it.
    """
    cuda, row = stated.text("text.build_cuda"), _architecture(stated, capability)
    if cuda is None:
        runtime = sonames.newest_cuda(f"libcudart.so.{stated.text('text.runtime')}", stated.tables)
        used = runtime or stated.text("text.cuda")
        return "too-new" if _knows_no_card_of(capability, used, stated) else None
    if _knows_no_card_of(capability, cuda, stated):
        return "too-new"
    if "first_cuda" in row and versions.parse(_newest_of(cuda)) < versions.parse(str(row["first_cuda"])):
        return "newer"
    if "last_cuda" in row and versions.parse(cuda) > versions.parse(str(row["last_cuda"])):
        return "too-old"
    return None  # what the compiler could serve, the build need not


def _knows_no_card_of(capability: str, cuda: str | None, stated: Stated) -> bool:
    """Say whether a CUDA is older than the whole generation of a card.

    Code for the first cards of a generation runs on its later ones: 8.6's on an 8.9 that came after it.
    """
    generation = versions.parse(capability).major
    firsts = [versions.parse(str(row["first_cuda"])) for row in stated.rows_of("architectures")
              if "first_cuda" in row and versions.parse(str(row["compute_capability"])).major == generation]
    return cuda is not None and bool(firsts) and versions.parse(_newest_of(cuda)) < min(firsts)


def _newest_of(cuda: str) -> str:
    """Return a CUDA to be held against the first that knows a card: "12" may be any release of it."""
    return cuda if "." in cuda else f"{cuda}.99"


def _architecture(stated: Stated, capability: str) -> Row:
    return row_of(stated.tables, "architectures", compute_capability=capability) or {}


def by_driver(stated: Stated, driver_fact: str = "text.driver") -> Known | None:
    """Return how the stated driver's branch serves the stated cards, None where not all alike."""
    driver = stated.text(driver_fact)
    capabilities = stated.texts("text.capabilities") or possible_capabilities(stated)
    places = stated.texts("text.places")
    if driver is None or "jetson" in places:  # its drivers come with the board
        return None
    if not _WITH_DRIVERS_OF_WINDOWS.isdisjoint(places):
        driver = branches.windows_branch(driver, stated.tables)
    fits = [_of_branch(stated, driver, capability) for capability in capabilities]
    if not fits or len({fit.value if fit else None for fit in fits}) != 1:
        return None
    return fits[0]


def _of_branch(stated: Stated, driver: str, capability: str) -> Known | None:
    """Return what the tables say of a branch and a card; no driver serves one that its CUDA does not know."""
    card: Facts = {"gpu.compute_capability": Known(value=capability, source="the text")}
    fit = branches.fit(card, driver, {}, stated.tables)
    if not isinstance(fit, Known) or fit.value != "serves":
        return fit if isinstance(fit, Known) else None
    branch = floor_row(stated.tables["driver_branches"], "driver", driver)
    first = _architecture(stated, capability).get("first_cuda")
    if branch is None or first is None or versions.parse(str(branch["cuda"])) >= versions.parse(str(first)):
        return fit
    return Known(value="too-old", source=f"{branch['source']}: its CUDA is older than the card")


def by_cudnn(stated: Stated) -> Known | None:
    """Say whether the stated cuDNN has code for the oldest of the stated cards."""
    cudnn, capabilities = stated.text("text.cudnn"), stated.texts("text.capabilities")
    if cudnn is None or not capabilities or "cudnn_architectures" not in stated.tables:
        return None
    if "." not in cudnn:
        return None  # "9" may be any release of it
    cuda = stated.text("text.build_cuda") or stated.text("text.cuda")
    row = cudnn_row(stated.tables, cudnn, lambda: cuda)
    if row is None:
        return None
    oldest = min(capabilities, key=versions.parse)
    serves = versions.parse(oldest) >= versions.parse(str(row["oldest_card"]))
    return Known(value=serves, source=f"{row['source']}: code from {row['oldest_card']} on")


def by_flavour(stated: Stated) -> Known | None:
    """Say whether the stated flavour of the kernel module serves each of the stated cards."""
    flavour, capabilities = stated.text("driver.kernel_flavour"), stated.texts("text.capabilities")
    if flavour is None or not capabilities or "kernel_modules" not in stated.tables:
        return None
    table = stated.tables["kernel_modules"]
    rows = [floor_row(table, "first_capability", capability) for capability in capabilities]
    if any(row is None for row in rows):
        return None
    serves = all(flavour in as_texts(row["flavours"]) for row in rows if row is not None)
    return Known(value=serves, source="computed from text.capabilities and driver.kernel_flavour")
