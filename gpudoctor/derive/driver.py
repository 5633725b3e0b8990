"""Facts about the driver's surroundings: commands, paths to the right libcuda, what the kernel said of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gpudoctor.derive import branches, driver_packages, elsewhere
from gpudoctor.derive.view import View, as_texts, text_in
from gpudoctor.model import Absent, Fact, Known, Row, Unknown

Derivation = Callable[[View], Fact]
_LIBCUDA = "libcuda.so.1"
_CAPABILITIES = ("compute", "utility")
_READS_CAPABILITIES = ("nvidia", "runtime")  # the requests for a GPU that go through the toolkit's hook
_KERNEL_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)*")
_CONFINED = re.compile(r":container(_\w+)?_t(:|$)")


def _command(column: str, row_of: Callable[[View], Row] = driver_packages.package_row) -> Derivation:
    """Return a derivation: the distribution's command in `column`, for the branch in use where it has one."""
    def derivation(view: View) -> Fact:
        fact = driver_packages.cell(view, column, row_of)
        if not isinstance(fact, Known) or "BRANCH" not in str(fact.value):
            return fact
        branch = view.need_text("driver.version").partition(".")[0]
        return Known(value=str(fact.value).replace("BRANCH", branch), source=fact.source)
    return derivation


def library_path_clean(view: View) -> Fact:
    """Return LD_LIBRARY_PATH without the folders that hold a foreign libcuda.so.1, when there is one.

    The driver's own stays: where the loader's cache does not list it, only this path leads to it.
    """
    folders, driver = as_texts(view.need("loader.library_path")), view.value("driver.version")
    files = {text_in(record, "path") for record in view.records("loader.files")
             if driver is None or text_in(record, "version") != driver}
    loaded = str(view.value("cuda.library") or "").rpartition("/")[0]
    kept = tuple(folder for folder in folders
                 if folder != loaded and f"{folder.rstrip('/')}/{_LIBCUDA}" not in files)
    if kept == folders:
        return Absent(source="no folder of LD_LIBRARY_PATH holds a foreign libcuda.so.1")
    return Known(value=kept, source="LD_LIBRARY_PATH without the folders that hold a foreign libcuda.so.1")


def libcuda_search_path(view: View) -> Fact:
    """Return LD_LIBRARY_PATH behind the folder of a libcuda.so.1 that the loader would not find."""
    found = as_texts(view.need("driver.libcuda_off_path"))
    if not found:
        return Absent(source="no libcuda.so.1 was seen elsewhere")
    folder = found[0].rpartition("/")[0]
    return Known(value=(folder, *view.texts("loader.library_path")), source=found[0])


def libcuda_off_path_folder(view: View) -> Fact:
    """Return the folder of the first libcuda.so.1 that lies where the loader does not look."""
    path = view.need("driver.libcuda_off_path")
    found = as_texts(path)
    if not found:
        return Absent(source="no libcuda.so.1 was seen elsewhere")
    return Known(value=found[0].rpartition("/")[0], source=found[0])


def init_answer(view: View) -> Fact:
    """Return the code of cuInit as a text: lists of literals hold texts."""
    library = view.value("cuda.library") or "libcuda.so.1"
    return Known(value=str(view.need("cuda.init_code")), source=f"cuInit of {library}")


def cuda_serves(view: View) -> Fact:
    """Return whether CUDA starts and lists a device, so that a trouble with one card is not the machine's."""
    if view.need("driver.works") is False:
        return Known(value=False, source="CUDA does not start")
    count = view.need("cuda.device_count")
    return Known(value=bool(count), source=f"devices that libcuda lists: {count}")


def withheld_capabilities(view: View) -> Fact:
    """Return which of compute and utility NVIDIA_DRIVER_CAPABILITIES withholds; unset withholds none.

    It counts in a container, and in one of an image in which nobody could look, where the toolkit reads it.
    """
    asked = view.fact("image.gpu_request")
    if not (isinstance(asked, Known) and asked.value in _READS_CAPABILITIES):
        if isinstance(view.fact("container.runtime"), Absent):
            return asked if isinstance(asked, Unknown) else Known(value=(), source="not in a container")
        view.need("container.runtime")
    fact = view.fact("environment.NVIDIA_DRIVER_CAPABILITIES")
    if isinstance(fact, Absent):
        return Known(value=(), source="NVIDIA_DRIVER_CAPABILITIES is not set")
    text = view.need_text("environment.NVIDIA_DRIVER_CAPABILITIES")
    granted = {part.strip().lower() for part in text.split(",") if part.strip()}
    source = f"NVIDIA_DRIVER_CAPABILITIES={text!r}"
    if not granted or "all" in granted:
        return Known(value=(), source=source)
    return Known(value=tuple(name for name in _CAPABILITIES if name not in granted), source=source)


def kernel_log_signs(view: View) -> Fact:
    """Return what the kernel log says of a card that the driver could not take, in the words of the table."""
    if isinstance(view.fact("system.gpu_kernel_log"), Absent):
        return Known(value=(), source="the kernel log names no NVIDIA card")
    lines = as_texts(view.need("system.gpu_kernel_log"))
    signs = {str(row["sign"]): line for row in view.table("kernel_log").rows for line in lines
             if str(row["phrase"]) in line}
    source = next(iter(signs.values()), "kernel log")
    return Known(value=tuple(sorted(signs)), source=source)


def module_refusal(view: View) -> Fact:
    """Return why the module leaves a card out, in its own words; absent where nobody heard it say so.

    It tells a module that was not loaded from one that ended because it serves no card here.
    """
    signs = [sign for sign in view.texts("system.kernel_log_signs") if sign.startswith("needs-")]
    if not signs:
        log, driver = view.fact("system.gpu_kernel_log"), view.value("driver.version")
        if isinstance(log, Unknown) and driver is not None and not branches.served(view).allows(
                branches.major(driver)):
            return log  # it would say so: the tables do
        return Absent(source="the kernel log does not say so, or cannot be read")
    return Known(value=signs[0], source=view.source("system.kernel_log_signs"))


def kernel_number(view: View) -> Fact:
    """Return the version in the kernel release: 5.10.16 of 5.10.16.3-microsoft-standard-WSL2."""
    release = view.need_text("system.kernel")
    number = _KERNEL_NUMBER.match(release)
    if number is None:
        return Unknown(reason=f"the kernel release {release} does not begin with numbers")
    return Known(value=number[0], source=release)


def selinux_confined(view: View) -> Fact:
    """Return whether SELinux confines this process as it does containers."""
    if isinstance(view.fact("container.security_label"), Absent):
        return Known(value=False, source="no security module names this process")
    label = view.need_text("container.security_label")
    return Known(value=_CONFINED.search(label) is not None, source=label)


def cdi_is_stale(view: View) -> Fact:
    """Return whether no CDI specification here is for the driver in use."""
    named = as_texts(view.need("container.cdi_drivers"))
    version = view.need_text("driver.version")
    return Known(value=version not in named, source=f"specified: {', '.join(named)}; driver {version}")


DRIVER_DERIVATIONS: Mapping[str, Derivation] = {
    "system.driver_command": driver_packages.own_command,
    "system.driver_package_version": lambda view: driver_packages.cell(view, "driver"),
    "system.driver_guide": driver_packages.guide,
    "system.own_repository_command": lambda view: driver_packages.cell(view, "own_repository_command"),
    "system.driver_way": lambda view: driver_packages.cell(view, "way"),
    "system.driver_repository": lambda view: driver_packages.cell(view, "repository"),
    "system.driver_repository_command": driver_packages.repository_command,
    "system.last_branch": branches.last_branch,
    "system.maintained_driver": driver_packages.for_cards(driver_packages.maintained_driver),
    "system.branch_command": driver_packages.for_cards(driver_packages.branch_command),
    "system.kernel_headers_command": _command("headers_command", driver_packages.system_row),
    "system.kernel_log_signs": kernel_log_signs,
    "system.card_elsewhere": elsewhere.card_elsewhere,
    "system.kernel_version": kernel_number,
    "driver.module_refusal": module_refusal,
    "container.selinux_confined": selinux_confined,
    "container.cdi_is_stale": cdi_is_stale,
    "driver.libcuda_command": _command("libcuda_command"),
    "driver.flavour_command": _command("flavour_command"),
    "driver.fabric_manager_command": _command("fabric_manager_command"),
    "driver.libcuda_off_path_folder": libcuda_off_path_folder,
    "driver.libcuda_search_path": libcuda_search_path,
    "cuda.init_answer": init_answer,
    "cuda.serves": cuda_serves,
    "cuda.library_maintained_driver": driver_packages.for_fact(
        driver_packages.maintained_driver, "cuda.library_version"),
    "cuda.library_driver_command": driver_packages.for_fact(
        driver_packages.branch_command, "cuda.library_version"),
    "cuda.library_path_clean": library_path_clean,
    "container.withheld_capabilities": withheld_capabilities,
}
