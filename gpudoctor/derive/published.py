"""Which rows of the tables are about a framework's own wheels, where its table is not named as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from packaging.version import Version

from gpudoctor import versions
from gpudoctor.derive.remembered import of_same
from gpudoctor.derive.view import as_texts
from gpudoctor.model import Row, Table, Tables, Value, rows_of

_DISTRIBUTIONS: Mapping[str, tuple[str, str]] = {"paddle": ("paddle_distributions", "paddlepaddle-gpu")}
_OTHER_NAMES = {"tensorflow": "tensorflow_distributions", "paddle": "paddle_distributions"}
_JAX = "jax_distributions"
_INDEXES = "torch_indexes"
_DISTRIBUTION = re.compile(r"[A-Za-z0-9._-]*[A-Za-z0-9]")
_PLUGIN = re.compile(r"jax-cuda([0-9]+)-(?:plugin|pjrt)\Z")


def nvidia_table(platform: str) -> str:
    """Return the name of the table of what NVIDIA's packages for a platform hold."""
    return "nvidia_libraries" if platform == "linux_x86_64" else "nvidia_libraries_elsewhere"


def for_platform(table: Table, platform: str) -> Table:
    """Return a table's rows for a platform; of a table for one platform alone, all of them."""
    if "platform" not in table.columns:
        return table
    return _narrowed(table, platform)


@of_same
def _narrowed(table: Table, platform: str) -> Table:
    return replace(table, rows=tuple(row for row in table.rows if row["platform"] == platform))


def newest_nvidia(name: str, bounds: Sequence[str], platform: str, glibc: str | None, tables: Tables
                  ) -> str | None:
    """Return the newest release of a package of NVIDIA's within all bounds that pip takes here.

    None where there is none, "" where no table lists its releases; an unknown glibc is any.
    """
    table = tables.get("nvidia_releases")
    return "" if table is None else _newest_nvidia(table, name, tuple(bounds), platform, glibc)


@of_same
def _newest_nvidia(table: Table, name: str, bounds: tuple[str, ...], platform: str, glibc: str | None
                   ) -> str | None:
    listed = _by(table.rows, "distribution").get(name)
    if listed is None:
        return ""
    here = [version for row in listed if row["platform"] == platform
            and (glibc is None or versions.parse(str(row["glibc"])) <= versions.parse(glibc))
            for version in as_texts(row["versions"])]
    newest_first = sorted(here, key=versions.parse, reverse=True)
    return next((version for version in newest_first if versions.meets(version, bounds)), None)


def is_listed(name: str, tables: Tables) -> bool:
    """Return whether the tables list the releases of a framework as wheels that can be chosen among."""
    return name in tables or _DISTRIBUTIONS.get(name, ("", ""))[0] in tables


def rows(name: str, tables: Tables) -> Sequence[Row]:
    """Return the rows of a framework's releases with CUDA, oldest first; none where nothing lists them."""
    if name in tables:
        return tables[name].rows
    table, distribution = _DISTRIBUTIONS.get(name, ("", ""))
    if table not in tables:
        return ()
    return _wheels_of(tables[table], distribution)


@of_same
def _wheels_of(table: Table, distribution: str) -> Sequence[Row]:
    return [_without_system(row) for row in table.rows if row["distribution"] == distribution]


def rows_under(distribution_name: str, name: str, tables: Tables) -> Sequence[Row]:
    """Return the rows of a framework's releases under one of its names on the index, whatever they run on."""
    if distribution_name == distribution(name):
        return rows(name, tables)
    table = tables.get(_OTHER_NAMES.get(name, ""))
    if table is None:
        return ()
    is_paddle = name in _DISTRIBUTIONS
    return (_wheels_of(table, distribution_name) if is_paddle
            else _by(table.rows, "distribution").get(distribution_name, ()))


def framework_of(distribution_name: str, tables: Tables) -> str | None:
    """Return the framework of which a distribution holds releases; None where no table lists any."""
    return next((name for name in _OTHER_NAMES if rows_under(distribution_name, name, tables)), None)


def row_of(name: str, version: Value, platform: str, tables: Tables, under: Value | None = None
           ) -> Row | None:
    """Return a release's row for a platform, `under` a name on the index; None where nothing lists it."""
    listed = rows(name, tables) if under is None else rows_under(str(under), name, tables)
    return next((row for row in _by(listed, "version").get(version, ())
                 if row.get("platform") == platform), None)


@of_same
def _by(listed: Sequence[Row], column: str) -> Mapping[Value, Sequence[Row]]:
    """Return rows by what stands in a column."""
    found: dict[Value, list[Row]] = {}
    for row in listed:
        found.setdefault(row[column], []).append(row)
    return found


def _without_system(row: Row) -> Row:
    """Return a row without what it loads: Paddle's name libraries of the system alone, none of CUDA."""
    return {column: value for column, value in row.items() if column != "loads"}


def distribution(name: str) -> str:
    """Return what pip calls the package of a framework with CUDA."""
    return _DISTRIBUTIONS.get(name, ("", name))[1]


def name_of(name: str, row: Row) -> Value:
    """Return what pip calls the package of a framework's row; JAX's rows are about its parts."""
    return row.get("distribution", name) if name in _OTHER_NAMES else distribution(name)


def jax_row(plugins: Mapping[str, str], platform: str, tables: Tables) -> Row | None:
    """Return the row of the device code among JAX's `plugins` (distribution -> version): the newest's."""
    majors = {int(match[1]): version for name, version in plugins.items()
              if (match := _PLUGIN.match(name)) is not None}
    if not majors or _JAX not in tables:
        return None
    newest = max(majors)
    return jax_part(f"jax-cuda{newest}-pjrt", majors[newest], platform, tables)


def jax_part(part: str, version: str, platform: str, tables: Tables) -> Row | None:
    """Return the row of one of JAX's distributions."""
    listed = _by(tables[_JAX].rows, "distribution").get(part, ())
    return next((row for row in listed if row["platform"] == platform
                 and _is_same(str(row["version"]), version)), None)


def broken_extras(name: str, tables: Tables) -> Sequence[Row]:
    """Return the extras that ask for what does not exist, each with its release and its Pythons."""
    return [row for row in rows_of(tables, "broken_extras") if row["framework"] == name]


def refused_extra(name: str, version: str, python: str | None, tables: Tables) -> Row | None:
    """Return why pip refuses a release with its CUDA packages.

    Where the Python is not known, one that cannot be had with some is none to rely on.
    """
    return next((row for row in broken_extras(name, tables) if row["version"] == version
                 and (python is None or python in as_texts(row["python"]))), None)


def jax_releases(platform: str, tables: Tables) -> Sequence[Row]:
    """Return the rows of jax itself, the newest first, with the Pythons of the jaxlib that it takes.

    That is the newest which is not newer: not each release of jax comes with one of its own.
    """
    return _jax_releases(tables[_JAX], platform) if _JAX in tables else ()


@of_same
def _jax_releases(table: Table, platform: str) -> Sequence[Row]:
    own = [row for row in table.rows if row["distribution"] == "jax"]
    libraries = sorted((row for row in table.rows
                        if row["distribution"] == "jaxlib" and row["platform"] == platform), key=_number)
    found = []
    for row in sorted(own, key=_number, reverse=True):
        older = [one for one in libraries if _number(one) <= _number(row)]
        if older:
            found.append({**row, "python": older[-1]["python"], "platform": platform})
    return found


def _number(row: Row) -> Version:
    return versions.parse(str(row["version"]))


def jax_whole(major: str, version: str, platform: str, tables: Tables) -> Row | None:
    """Return what JAX's parts for a CUDA are together; None where one of the two is not known.

    The code is in one part; which CUDA libraries are asked for stands in the other, and up to 0.4.29 at the
    extra of jax itself.
    """
    plugin, pjrt = (jax_part(f"jax-cuda{major}-{part}", version, platform, tables)
                    for part in ("plugin", "pjrt"))
    if plugin is None or pjrt is None:
        return None
    asked = as_texts(plugin.get("requires_nvidia")) or tuple(
        word for word in (jax_extra(major, version, tables) or "").split() if word.startswith("nvidia-"))
    own = {"python": plugin["python"]} if "python" in plugin else {}
    return {**pjrt, **own, **({"requires_nvidia": asked} if asked else {})}


def jax_extra(major: str, version: str, tables: Tables) -> str | None:
    """Return what the extra of jax for a CUDA asks for; None where that release has no such extra."""
    jax = jax_part("jax", version, "any", tables)
    extras = dict(text.partition(": ")[::2] for text in as_texts(jax.get("extras"))) if jax else {}
    return extras.get(f"cuda{major}")


def jax_rows(platform: str, tables: Tables) -> Sequence[Row]:
    """Return the rows of the device code of every JAX plugin."""
    return _plugins(tables[_JAX], platform) if _JAX in tables else ()


@of_same
def _plugins(table: Table, platform: str) -> Sequence[Row]:
    return [row for row in table.rows
            if row["platform"] == platform and str(row["distribution"]).endswith("-pjrt")]


def indexed_rows(name: str, platform: str, tables: Tables) -> Sequence[Row]:
    """Return the builds of torch on PyTorch's own indexes, as rows; none of any other framework.

    Python, glibc and what it asks for besides are those of the same version on the default index, unless the
    build's row says otherwise; its CUDA libraries those that the release nearest to it on the default index
    asks for with the same CUDA, without their versions. They lie inside a build that is called bundled, and
    inside each where the wheels of the default index ask for none, as on Windows.
    """
    if name != "torch" or _INDEXES not in tables:
        return ()
    every = rows(name, tables)
    own = [row for row in every if row["platform"] == platform]
    return [_indexed(row, build, brought) for build in tables[_INDEXES].rows if build["platform"] == platform
            for brought in (_brought_with(build, every),)
            for row in own if _is_minor(str(row["version"]), str(build["torch"]))]


def labels(tables: Tables) -> Mapping[str, str]:
    """Return the local labels of builds that are not on the default index (cu126), and the index of each."""
    listed = {label(row): str(row["index"]) for row in rows_of(tables, _INDEXES)}
    return {**{str(row["label"]): str(row["index"]) for row in rows_of(tables, "torch_labels")}, **listed}


def label(build: Row) -> str:
    """Return the local label of the builds on an index: its last part (cu126)."""
    return str(build["index"]).rstrip("/").rpartition("/")[2]


def _brought_with(build: Row, every: Sequence[Row]) -> Sequence[str]:
    """Return the CUDA libraries of a build: those that its row names, or those of a release for its CUDA.

    That is the newest which is not newer than the build, or else the oldest.
    """
    if build.get("bundled"):
        return ()
    alike = sorted((row for row in every if row.get("cuda") == build["cuda"]),
                   key=lambda row: versions.parse(str(row["version"])))
    before = [row for row in alike if versions.parse(str(row["version"])).release[:2]
              <= versions.parse(str(build["torch"])).release[:2]]
    nearest: Row = (before[-1:] or alike[:1] or [{}])[0]
    asked = as_texts(build.get("requires_nvidia", nearest.get("requires_nvidia")))
    return tuple(_with_cudnn(text, str(build["cudnn"])) for text in asked)


def _indexed(row: Row, build: Row, brought: Sequence[str]) -> Row:
    kept = {column: row[column] for column in ("platform", "python", "glibc", "uploaded", "requires")
            if column in row}
    stated = {column: build[column] for column in ("cuda", "cudnn", "code", "index", "source", "glibc")
              if column in build}
    inside: Row = {"loads": ()} if build.get("bundled") else {}
    return {**kept, **stated, **inside, "build": "cuda", "version": f"{row['version']}+{label(build)}",
            "requires_nvidia": tuple(brought) if row.get("requires_nvidia") else ()}


def _with_cudnn(requirement: str, cudnn: str) -> str:
    """Return a requirement without its version; that of cuDNN is stated."""
    name = _DISTRIBUTION.match(requirement)
    bare = name[0] if name else requirement
    return f"{bare}=={cudnn}" if bare.startswith("nvidia-cudnn-") else bare


def _is_minor(version: str, minor: str) -> bool:
    found, wanted = versions.parse(version), versions.parse(minor)
    return found.release[:2] == wanted.release[:2] and not found.is_prerelease


def _is_same(one: str, other: str) -> bool:
    return versions.parse(one) == versions.parse(other)
