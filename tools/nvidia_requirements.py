"""The table of what the frameworks' ranges of NVIDIA's libraries resolve to today."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.table_file import Row, Table
from tools.wheel_index import CONNECTIONS, WheelFile, WheelIndex, preference

TABLE = Table(
    summary="The newest release (Linux x86_64) that a framework's requirement of an NVIDIA library admits; "
    "a requirement of one version (==, without .* at its end) is not listed.",
    key=("requirement",),
    columns={"requirement": "text", "resolves_to": "package_version", "wheel_sha256": "text"},
    informative=True,
)


def requirement_rows(index: WheelIndex, rows: Iterable[Row]) -> list[Row]:
    """Return a row for each range that the rows of other tables require."""
    texts = sorted({text for row in rows for text in row.get("requires_nvidia", [])})
    ranges = {text: Requirement(text) for text in texts if "==" not in text or text.endswith(".*")}
    names = sorted({str(canonicalize_name(requirement.name)) for requirement in ranges.values()})
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        wheels = dict(zip(names, pool.map(index.wheels, names), strict=True))
    found = []
    for text, requirement in ranges.items():
        name = str(canonicalize_name(requirement.name))
        if newest := _newest(wheels[name], requirement):
            row = {
                "requirement": text,
                "resolves_to": newest.version,
                "wheel_sha256": newest.sha256,
                "source": f"pypi:{name}=={newest.version}",
            }
            found.append(row)
    return found


def _newest(wheels: Iterable[WheelFile], requirement: Requirement) -> WheelFile | None:
    """Return the wheel that an installer takes on Linux x86_64: no pre-release, none that was withdrawn."""
    admitted = [
        wheel
        for wheel in wheels
        if wheel.platform in ("linux_x86_64", "any")
        and not wheel.yanked
        and requirement.specifier.contains(wheel.version, prereleases=False)
    ]
    return max(admitted, key=lambda wheel: (Version(wheel.version), preference(wheel)), default=None)
