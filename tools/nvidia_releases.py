"""The table of which releases of NVIDIA's library packages there are, for which platform and which glibc."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from packaging.version import Version

from tools.table_file import Row, Table
from tools.wheel_facts import glibc_floor
from tools.wheel_index import CONNECTIONS, WheelFile, WheelIndex

TABLE = Table(
    summary="Releases of NVIDIA's library packages that pip may take, oldest first, by the oldest glibc that "
    "their wheels are for (any Python 3). None that was withdrawn; the hash is of the last one's wheel.",
    key=("distribution", "platform", "glibc"),
    columns={
        "distribution": "text",
        "platform": "text",
        "glibc": "glibc_version",
        "versions": "texts",
        "wheel_sha256": "text",
    },
)
PLATFORMS = ("linux_x86_64", "linux_aarch64")


def release_rows(index: WheelIndex, distributions: Iterable[str]) -> list[Row]:
    """Return a row for each distribution, platform and glibc."""
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        listed = list(pool.map(index.wheels, distributions))
    return [row for wheels in listed for platform in PLATFORMS for row in _rows_of(wheels, platform)]


def _rows_of(wheels: Iterable[WheelFile], platform: str) -> list[Row]:
    """Return the rows of one distribution; of several wheels of a release, that for the oldest glibc."""
    found: dict[str, WheelFile] = {}
    for wheel in wheels:
        if wheel.platform == platform and not wheel.yanked and not Version(wheel.version).is_prerelease:
            found[wheel.version] = min(wheel, found.get(wheel.version, wheel), key=_floor)
    rows = []
    for floor in sorted(set(map(_floor, found.values()))):
        own = sorted((wheel for wheel in found.values() if _floor(wheel) == floor),
                     key=lambda wheel: Version(wheel.version))
        rows.append({
            "distribution": own[-1].project, "platform": platform, "glibc": str(floor),
            "versions": [wheel.version for wheel in own], "wheel_sha256": own[-1].sha256,
            "source": f"pypi:{own[-1].project}=={own[-1].version}"})
    return rows


def _floor(wheel: WheelFile) -> Version:
    """Return the oldest glibc of a wheel; one whose name tells none (`linux_x86_64`) promises none."""
    return Version(glibc_floor(wheel.platform_tags) or "0")
