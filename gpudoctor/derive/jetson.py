"""What holds of Jetson boards alone: their JetPack fixes the CUDA, and which wheels are built for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpudoctor import versions
from gpudoctor.derive.view import View, as_texts
from gpudoctor.model import Absent, Fact, Known, Row, Tables, Unknown, rows_of

_TABLE = "jetpack"
_NVIDIA_LABEL = "nv"  # 2.16.1+nv24.6
_SERVER_TAG = "manylinux"  # an index refuses other wheels for Linux; those for boards are linux_aarch64


def cuda_ceiling(release: str, tables: Tables) -> Fact:
    """Return the CUDA of the JetPack with this release of Jetson Linux (L4T)."""
    row = _row(release, tables)
    if row is None or "cuda" not in row:
        return Unknown(reason=f"the rule database does not have the CUDA of Jetson Linux {release}")
    return Known(value=row["cuda"], source=f"rules/tables/jetpack.toml for JetPack {row['jetpack']}")


def in_words(release: str, takes_servers: Fact, tables: Tables) -> str:
    """Return which board it is and what it takes, for a person."""
    row = _row(release, tables)
    jetpack = f", JetPack {row['jetpack']}" if row is not None else ""
    if not isinstance(takes_servers, Known):
        takes = "which wheels it takes is not known to these rules"
    elif takes_servers.value is True:
        takes = ("it takes wheels built for servers; a container is started there with --runtime nvidia, not "
                 "with --gpus")
    else:
        takes = ("it takes the wheels that NVIDIA builds for its JetPack, or a container of NVIDIA's L4T or "
                 "iGPU family, and none of the package indexes'; which these are is in no table here")
    return f"Jetson board (L4T {release}{jetpack}): {takes}"


def _row(release: str, tables: Tables) -> Row | None:
    """Return the row of a release, else of the newest known one before it with the same major number."""
    if not versions.is_version(release):
        return None  # another system's file of that name
    wanted = versions.parse(release)
    older = [(version, row) for row in rows_of(tables, _TABLE)
             if (version := versions.parse(str(row["l4t"]))) <= wanted and version.major == wanted.major]
    return max(older, key=lambda pair: pair[0], default=(None, None))[1]


def takes_server_wheels(view: View) -> Fact:
    """Return whether this machine runs wheels that are built for servers: all but older boards do."""
    if isinstance(view.fact("system.jetson"), Absent):
        return Known(value=True, source="no Jetson board")
    release = view.need_text("system.jetson")
    row = _row(release, view.tables)
    if row is None:
        return Unknown(reason=f"the rule database does not know Jetson Linux {release}")
    return Known(value=row["server_wheels"], source=f"rules/tables/jetpack.toml for JetPack {row['jetpack']}")


def is_server_wheel(view: View) -> Fact:
    """Return whether a framework's wheel is one of those that its publisher builds for any Linux."""
    version, tags = view.need_text("framework.version"), view.fact("framework.tags")
    if version.partition("+")[2].startswith(_NVIDIA_LABEL):
        return Known(value=False, source=f"{version} is NVIDIA's own build")
    if isinstance(tags, Absent):  # nothing is installed: as pip would get it
        return Known(value=True, source=f"release {version}")
    said = " ".join(as_texts(view.need("framework.tags")))
    if "linux" not in said:
        return Unknown(reason=f"the wheel's tags ({said}) do not say for what it was built")
    return Known(value=_SERVER_TAG in said, source=said)


HOST_DERIVATIONS: Mapping[str, Callable[[View], Fact]] = {"system.takes_server_wheels": takes_server_wheels}
FRAMEWORK_DERIVATIONS: Mapping[str, Callable[[View], Fact]] = {"framework.is_server_wheel": is_server_wheel}
