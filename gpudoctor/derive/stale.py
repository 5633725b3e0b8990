"""What is newer than the rules: how it is said, and what the tables tell of it all the same.

A table that ends says nothing of what came later. What is newer is judged by what the driver or the build
itself answers; where neither does, the answer is unknown, with the bound that old knowledge gives.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive.other_builds import on_own_index
from gpudoctor.derive.view import View, text_in, text_of
from gpudoctor.model import Fact, Known, Snapshot, Tables, Unknown, Value, rows_of

# whose versions are the framework's own, in a table of several distributions
_OWN = {"paddle": ("paddlepaddle", "paddlepaddle-gpu")}
_CUDNN = "nvidia-cudnn-"


def unknown(view: View, what: str, end: str, at_least: Value | None = None, *, asked: bool = True) -> Unknown:
    """Return that nobody answered for `what`, which is newer than the tables, whose last is `end`."""
    return Unknown(reason=f"{what} is newer than rules {view.database.version}, which end at {end}",
                   at_least=None if at_least is None else str(at_least), asked=asked)


def end_of(tables: Tables, table: str, column: str) -> str:
    """Return the greatest version in a column, "0" where the database has no such table."""
    texts = [str(row[column]) for row in rows_of(tables, table) if column in row]
    return max(texts, key=versions.parse, default="0")


def cuda_end(view: View) -> str:
    """Return the newest CUDA whose driver is known: of a later one its PTX may be known all the same."""
    return end_of(view.tables, "cuda_toolkits", "cuda")


def cudnn_end(tables: Tables) -> str:
    """Return the newest minor release of cuDNN whose code was looked into."""
    known = (str(row["version"]) for row in rows_of(tables, "nvidia_code")
             if str(row["distribution"]).startswith(_CUDNN))
    return versions.minor_of(max(known, key=versions.parse, default="0"))


def is_newer(version: str, end: str) -> bool:
    """Return whether a version is newer than the last one known; of a database without any nothing is."""
    return end != "0" and versions.parse(version) > versions.parse(end)


def branch_end(view: View, driver: str) -> str | None:
    """Return the newest driver branch known, where this driver is of a later one."""
    end = end_of(view.tables, "driver_branches", "driver")
    newer = end != "0" and versions.parse(driver).major > versions.parse(end).major
    return end if newer else None


def release_end(view: View, name: str, version: str) -> str | None:
    """Return the newest release of a framework that is known, where this one is newer."""
    wheels = rows_of(view.tables, name) or rows_of(view.tables, f"{name}_distributions")
    rows = (*wheels, *on_own_index(name, view.tables))
    own = (name, *_OWN.get(name, ()))
    public = version.partition("+")[0]  # 2.13.0+cu126 is no newer than 2.13.0
    if any(row["version"] == public and row.get("distribution", name) in own for row in rows):
        return None
    known = (str(row["version"]) for row in rows if row.get("distribution", name) in own)
    end = max(known, key=versions.parse, default="0")
    return end if is_newer(public, end) else None


def own_release_end(view: View) -> str | None:
    """Return the newest release known of the framework at hand, where the installed one is newer."""
    name, version = view.value("framework.name"), view.value("framework.version")
    return None if name is None or version is None else release_end(view, str(name), str(version))


def behind(view: View, snapshot: Snapshot) -> Fact:
    """Return what of this machine is newer than the rules, each with the last that they know."""
    newer = tuple(dict.fromkeys(_newer(view, snapshot)))
    unread = None if newer else next(_unread(view, snapshot), None)
    return unread or Known(value=newer, source=f"rules {view.database.version}")


def _unread(view: View, snapshot: Snapshot) -> Iterator[Unknown]:
    """Yield why a version that could be newer is not known."""
    facts = [view.fact("driver.version"), view.fact("python.nvidia_distributions")]
    scopes = {"gpu.compute_capability": snapshot.gpus, "framework.version": snapshot.frameworks}
    for name, scope in scopes.items():
        facts += [scope] if isinstance(scope, Unknown) else [one[name] for one in scope if name in one]
    yield from (fact for fact in facts if isinstance(fact, Unknown) and fact.asked)


def _newer(view: View, snapshot: Snapshot) -> Iterator[str]:
    driver = view.value("driver.version")
    if driver is not None and (end := branch_end(view, str(driver))):
        yield f"driver {driver} (the rules end at branch {end})"
    end = end_of(view.tables, "architectures", "compute_capability")
    for card in () if isinstance(snapshot.gpus, Unknown) else snapshot.gpus:
        capability = text_of(card, "gpu.compute_capability")
        if capability and is_newer(capability, end):
            yield f"compute capability {capability} (the rules end at {end})"
    end = cudnn_end(view.tables)
    for record in view.records("python.nvidia_distributions"):
        version = text_in(record, "version")
        is_cudnn = text_in(record, "name").startswith(_CUDNN) and versions.is_version(version)
        if is_cudnn and is_newer(versions.minor_of(version), end):
            yield f"cuDNN {version} (the rules end at {end})"
    for facts in () if isinstance(snapshot.frameworks, Unknown) else snapshot.frameworks:
        name, version = text_of(facts, "framework.name"), text_of(facts, "framework.version")
        if name and version and (last := release_end(view, name, version)):
            yield f"{name} {version} (the rules end at {last})"
        cuda, known = text_of(facts, "framework.cuda"), cuda_end(view)
        if cuda and is_newer(cuda, known):
            yield f"CUDA {cuda}, which {name} is built for (the rules end at {known})"
