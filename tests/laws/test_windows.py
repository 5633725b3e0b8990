"""PyTorch on Windows, as far as the rules judge a machine that the probes do not run on.

Its wheels with CUDA lie on PyTorch's own index, so no table has their device code: which card they serve
stays open. What else could be said of such a machine must not be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.derive.view import as_texts, floor_row
from gpudoctor.model import Row, Snapshot, Unknown
from tests.laws.described import NOT_THERE, Facts, faults, laid
from tests.laws.working import at_least, cards, database, major, table

SYSTEM32 = "C:\\Windows\\System32"
WINDOWS: Facts = {
    "system.os": "Windows", "system.kernel": "10", "system.distribution": NOT_THERE,
    "system.distribution_version": NOT_THERE, "system.glibc": NOT_THERE, "loader.cache": NOT_THERE,
    "loader.default_folders": (), "driver.module_kernels": NOT_THERE}
WITHOUT_MODULE: Facts = {
    **dict.fromkeys(("driver.kernel_version", "driver.kernel_flavour", "driver.gpu_nodes", "driver.uvm_node",
                     "driver.proc_gpus", "driver.libcuda_files", "driver.libcuda_file_version",
                     "driver.libnvidia_ml_files", "driver.libnvidia_ml_file_version", "system.gpu_modules",
                     "system.pci_nvidia", "cuda.library_version"), NOT_THERE),
    "cuda.library": f"{SYSTEM32}\\nvcuda.dll", "nvml.library": f"{SYSTEM32}\\nvml.dll"}
TOOLKITS = tuple(row for row in table("cuda_toolkits").rows if "minimum_driver_windows" in row
                 and at_least(row["cuda"], "11.0"))
BROKEN: Mapping[str, Facts] = {
    "gpu-fell-off-bus": {"gpu.lost": True},
    "cuda-visible-devices": {"environment.CUDA_VISIBLE_DEVICES": "-1"},
    "compute-mode-exclusive": {"gpu.compute_mode": "prohibited"},
    "ptx-jit-environment": {"environment.CUDA_FORCE_PTX_JIT": "1"}}


def releases(since: str) -> list[Row]:
    """Return the releases of torch that exist for Windows, with the CUDA that they are built for on Linux."""
    rows = table("torch").rows
    there = {row["version"] for row in rows if row["platform"] == "windows_x86_64"}
    return [row for row in rows if row["platform"] == "linux_x86_64" and row["version"] in there
            and at_least(row["cuda"], since)]


def in_branch(driver: str, capability: str) -> bool:
    """Return whether the driver is neither older than the cards nor newer than the last one for them."""
    row = floor_row(table("kernel_modules"), "first_capability", capability)
    return row is not None and major(row.get("first_branch", "0")) <= major(driver) <= major(
        row.get("last_branch", "99999"))


@st.composite
def stacks(draw: st.DrawFn, *, works: bool) -> Snapshot:
    """Draw a release with CUDA, a card, and a driver that runs it or is of an older major CUDA."""
    pairs = [(release, toolkit) for release in releases("11.0") for toolkit in TOOLKITS
             if (at_least(toolkit["cuda"], release["cuda"]) if works
                 else major(toolkit["cuda"]) < major(release["cuda"]))]
    release, toolkit = draw(st.sampled_from(pairs))
    cuda = str(release["cuda"])
    driver = str(toolkit["minimum_driver_windows"])
    served = [card.capability for card in cards("linux_x86_64") if at_least(card.capability, "5.0")]
    card = draw(st.sampled_from([one for one in served if in_branch(driver, one)]))  # older ones' have ended
    python = draw(st.sampled_from(as_texts(release["python"])))
    bare = laid(database().base, {
        **WINDOWS, "python": python, "release": f"torch=={release['version']}", "cc": card,
        "driver": driver, **WITHOUT_MODULE, "cuda.ceiling": toolkit["cuda"]})
    return laid(bare, {
        "framework.version": f"{release['version']}+cu{cuda.replace('.', '')}", "framework.build": "cuda",
        "framework.cuda": cuda, "framework.code": Unknown(reason="nobody looked into it", asked=False)})


@settings(max_examples=80)
@given(stacks(works=True))
def test_a_working_pytorch_on_windows_has_no_fault(snapshot: Snapshot) -> None:
    """Whatever release, driver and card."""
    assert [(found.cause, found.message) for found in faults(snapshot)] == []


@settings(max_examples=40)
@given(stacks(works=True), st.sampled_from(sorted(BROKEN)))
def test_what_breaks_alike_everywhere_is_the_first_cause_there(snapshot: Snapshot, cause: str) -> None:
    """What NVML, libcuda and the environment tell."""
    assert [found.cause for found in faults(laid(snapshot, BROKEN[cause]))][:1] == [cause]


@settings(max_examples=40)
@given(stacks(works=False))
def test_a_driver_of_an_older_major_cuda_is_the_first_cause_there(snapshot: Snapshot) -> None:
    """The numbers of drivers are others there; what CUDA they run decides."""
    assert [found.cause for found in faults(snapshot)][:1] == ["driver-too-old"]
