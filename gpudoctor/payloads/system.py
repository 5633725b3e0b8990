"""Look at the operating system, the processor and the PCI bus; no device of a card is opened."""

import errno
import os
import re
import stat

from . import files, kernel

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List

PCI_FOLDER = "/sys/bus/pci/devices"
PCI_LIMIT = 4096
VENDORS = ("0x10de", "0x1002", "0x8086", "0x1ae0", "0x1da3")  # NVIDIA, AMD, Intel, Google, Habana
SECURE_BOOT = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
GPU_MODULES = (
    "nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem", "nvidiafb", "nouveau",
    "nova_core", "nova_drm",
)
RING_BUFFER = "/dev/kmsg"
RING_BUFFER_RECORDS = 100000
KERNEL_LOGS = ("/var/log/kern.log", "/var/log/messages", "/var/log/syslog")
LOG_TAIL_BYTES = 1 << 20
LOG_LINES = 200
LOG_LINE_CHARACTERS = 400
SWITCHES = (  # by which a laptop's card is left without power: the file, and the word that says so in it
    ("/etc/prime-discrete", "off"),
    ("/proc/acpi/bbswitch", "OFF"),
    ("/lib/udev/rules.d/50-remove-nvidia.rules", "EnvyControl"),
    ("/etc/udev/rules.d/50-remove-nvidia.rules", "EnvyControl"),
)
SLURM_FILES = ("/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/run/slurm/conf/slurm.conf")
LOG_WANTED = re.compile(r"NVRM|nouveau|nova_core|nvidia-nvswitch|nvidia-uvm|nvidia: |Linux version [0-9]")


def collect(request: "Dict[str, Any]") -> "Dict[str, Any]":
    """Answer with file texts and listings, nothing judged."""
    uname = kernel.name()
    return {
        "uname": {"system": uname.sysname, "release": uname.release, "machine": uname.machine},
        "os_release": _first_text("/etc/os-release", "/usr/lib/os-release"),
        "libc": _libc(),
        "wsl": {path: os.path.exists(path) for path in ("/dev/dxg", "/run/WSL", "/usr/lib/wsl/lib")},
        "tegra_release": files.read_text("/etc/nv_tegra_release"),
        "device_tree_model": files.read_text("/proc/device-tree/model"),
        "cpuinfo": files.read_text("/proc/cpuinfo", 1 << 14),
        "secure_boot": _secure_boot(),
        "modules": _modules(),
        "pci": list_pci(),
        "user_id": os.getuid(),
        "address_space_limit": _address_space_limit(),
        "kernel_log": _kernel_log(),
        "switches": [dict(files.read_text(path, 4096), path=path, off=off) for path, off in SWITCHES],
        "slurm": [path for path in SLURM_FILES if os.path.exists(path)],
    }


def list_pci() -> "Dict[str, Any]":
    """Return the PCI functions of vendors that make accelerators: {"devices": [...], "unread": [...]}."""
    listing = files.list_folder(PCI_FOLDER, PCI_LIMIT)
    if "names" not in listing:
        return dict(listing)
    devices, unread = [], []
    for address in listing["names"]:
        folder = os.path.join(PCI_FOLDER, address)
        vendor = files.read_text(os.path.join(folder, "vendor"), 64)
        if "text" not in vendor:
            if "error" in vendor:
                unread.append("%s: %s" % (address, vendor["error"]))
            continue
        if vendor["text"].strip() not in VENDORS:
            continue
        driver = files.read_link(os.path.join(folder, "driver"))
        devices.append({
            "address": address,
            "vendor": vendor["text"].strip(),
            "device": files.read_text(os.path.join(folder, "device"), 64).get("text", "").strip(),
            "class": files.read_text(os.path.join(folder, "class"), 64).get("text", "").strip(),
            "driver": os.path.basename(driver["target"]) if "target" in driver else None,
            "driver_error": driver.get("error"),
        })
    return {"devices": devices, "unread": unread}


def _first_text(*paths: str) -> "Dict[str, Any]":
    answer: Dict[str, Any] = {}
    for path in paths:
        answer = dict(files.read_text(path), path=path)
        if "text" in answer:
            break
    return answer


def _libc() -> "Dict[str, Any]":
    """Return what the C library of this process calls itself, and musl's loaders on disk."""
    answer: Dict[str, Any] = {"musl_loaders": []}
    try:
        answer["text"] = os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError, AttributeError):
        answer["text"] = None  # not the GNU library: the name is not known to it
    names = files.list_folder("/lib").get("names", [])
    answer["musl_loaders"] = [name for name in names if name.startswith("ld-musl-")]
    return answer


def _secure_boot() -> "Dict[str, Any]":
    """Return {"byte": 0 or 1}, a failure, or what of the firmware's folders is there."""
    firmware = files.list_folder("/sys/firmware")
    variables = files.list_folder("/sys/firmware/efi/efivars")
    answer: Dict[str, Any] = {
        "firmware": firmware,
        "efi": os.path.isdir("/sys/firmware/efi"),
        "variables": {"count": len(variables["names"])} if "names" in variables else variables,
    }
    path = "/sys/firmware/efi/efivars/" + SECURE_BOOT
    data, failure = files.read_bytes(path, 64)
    answer["path"] = path
    if data is None:
        answer["variable"] = failure
    elif len(data) < 5:
        answer["variable"] = {"error": "%d bytes instead of 5" % len(data)}
    else:
        answer["variable"] = {"byte": data[4]}  # four bytes of attributes come first
    return answer


def _modules() -> "Dict[str, Any]":
    """Return the loaded modules that concern a card; /sys/module names those built into the kernel, too."""
    loaded = files.read_text("/proc/modules")
    if "text" in loaded:
        names = [line.split(" ", 1)[0] for line in loaded["text"].splitlines()]
        loaded = {"names": [name for name in names if name in GPU_MODULES]}
    sys_module = files.list_folder("/sys/module")
    if "names" in sys_module:
        sys_module = {"names": [name for name in sys_module["names"] if name in GPU_MODULES]}
    return {"proc": loaded, "sys": sys_module}


def _address_space_limit() -> "Dict[str, Any]":
    try:
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        return {"unlimited": True} if soft == resource.RLIM_INFINITY else {"bytes": soft}
    except (ImportError, OSError, ValueError) as error:
        return {"error": "%s: %s" % (type(error).__name__, error)}


def _kernel_log() -> "Dict[str, Any]":
    """Return the wanted lines of the kernel's ring buffer, else of the first log file that can be read."""
    failures: List[str] = []
    for path, read in [(RING_BUFFER, _ring_buffer)] + [(path, _tail) for path in KERNEL_LOGS]:
        try:
            text = read(path)
        except OSError as error:
            failures.append("%s: %s" % (path, error.strerror or type(error).__name__))
            continue
        lines = [line[:LOG_LINE_CHARACTERS] for line in text.splitlines() if LOG_WANTED.search(line)]
        return {"path": path, "lines": lines[-LOG_LINES:]}
    return {"error": "; ".join(failures)}


def _ring_buffer(path: str) -> str:
    """Read what the kernel has said so far, one record a read, and stop where a reader would have to wait."""
    status = os.stat(path)
    if not stat.S_ISCHR(status.st_mode) or (os.major(status.st_rdev), os.minor(status.st_rdev)) != (1, 11):
        raise OSError(0, "not the kernel's ring buffer")  # some containers put a console there
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    records: List[bytes] = []
    try:
        for _ in range(RING_BUFFER_RECORDS):
            try:
                record = os.read(descriptor, 1 << 13)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno == errno.EPIPE:  # overwritten under us: go on with the oldest that is left
                    continue
                raise
            if not record:
                break
            records.append(record.partition(b";")[2].partition(b"\n")[0])
    finally:
        os.close(descriptor)
    return b"\n".join(records).decode("utf-8", "backslashreplace")


def _tail(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "not a regular file")
        os.lseek(descriptor, max(0, status.st_size - LOG_TAIL_BYTES), os.SEEK_SET)
        data = b""
        while len(data) < LOG_TAIL_BYTES:
            piece = os.read(descriptor, 1 << 16)
            if not piece:
                break
            data += piece
        return data.decode("utf-8", "backslashreplace")
    finally:
        os.close(descriptor)
