"""Build the scripted libraries with gcc, each variant once: what was built is kept in a cache folder.

Every function returns the path of a finished library in the cache; `place` puts one where a test wants it,
with the file names of a real driver.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parent
CUDA_SONAME = "libcuda.so.1"
NVML_SONAME = "libnvidia-ml.so.1"
CUDA_SOURCES = (
    "cuda.c", "cuda_context.c", "cuda_devices.c", "cuda_run.c", "cuda_errors.c", "unscripted.c", "script.c")
NVML_SOURCES = ("nvml.c", "nvml_device.c", "nvml_state.c", "unscripted.c", "script.c")
# Every function of the two headers (CUDA 12.9 and 13.2, NVML 12 and nvidia-ml-py 13): what the sources do not
# define is exported all the same and answers "not supported", because frameworks look each of them up.
CUDA_FUNCTIONS = SOURCES / "cuda_functions.txt"
NVML_FUNCTIONS = SOURCES / "nvml_functions.txt"
NO_CUDA, NO_NVML = "UNSCRIPTED_CODE=801", "UNSCRIPTED_CODE=3"
FLAGS = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden")

# What a library of the R418 branch does not have yet, beside what came later still.
FUNCTIONS_AFTER_R418 = (
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetMaxMigDeviceCount",
    "nvmlDeviceGetMigDeviceHandleByIndex",
    "nvmlDeviceGetDeviceHandleFromMigDeviceHandle",
    "nvmlDeviceIsMigDeviceHandle",
    "nvmlDeviceGetGpuInstanceId",
    "nvmlDeviceGetComputeInstanceId",
    "nvmlDeviceGetAttributes_v2",
    "nvmlDeviceGetRemappedRows",
    "nvmlDeviceGetArchitecture",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetSupportedClocksEventReasons",
    "nvmlDeviceGetComputeRunningProcesses_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlDeviceGetGpuFabricInfo",
    "nvmlDeviceGetGpuFabricInfoV",
    "nvmlDeviceGetTemperatureV",
    "nvmlDeviceGetGspFirmwareVersion",
    "nvmlDeviceGetNumaNodeId",
    "nvmlDeviceGetModuleId",
)


def cache_folder(name: str) -> Path:
    """Make and return a folder outside the repository in which tests keep what is dear to make again."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(base) / "gpudoctor-tests" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _version_script(without: tuple[str, ...]) -> str:
    """Return a linker script that exports everything but the named functions (an exact name outranks `*`)."""
    local = "".join(f"    {name};\n" for name in without)
    return "{\n  global:\n    nvml*;\n    cu*;\n    gpudoctor_*;\n  local:\n" + local + "    *;\n};\n"


def compile_library(
    *, sources: tuple[str, ...], soname: str, defines: tuple[str, ...] = (), without: tuple[str, ...] = (),
    functions: Path | None = None,
) -> Path:
    """Compile a library unless the cache has it.

    `defines` are NAME=VALUE without the -D; functions named in `without` are left out of the exported
    symbols; `functions` lists those that are exported though no source defines them.
    """
    listed = functions.read_text().split() if functions else []
    unscripted = "".join(f"UNSCRIPTED({name})\n" for name in listed)
    script = _version_script(without)
    command = ["gcc", *FLAGS, *(f"-D{define}" for define in defines), f"-Wl,-soname,{soname}"]
    parts = [*sorted(SOURCES.glob("*.h")), *(SOURCES / source for source in sources)]
    content = b"\0".join(part.read_bytes() for part in parts)
    identity = "\0".join([*command, *sources, script, unscripted]).encode() + content
    key = hashlib.sha256(identity).hexdigest()[:24]
    finished = cache_folder("libraries") / f"{key}-{soname}"
    if finished.exists():
        return finished
    with tempfile.TemporaryDirectory(dir=finished.parent) as folder:
        (Path(folder) / "exports").write_text(script)
        (Path(folder) / "unscripted.inc").write_text(unscripted)
        output = Path(folder) / "library"
        exports = f"-Wl,--version-script={folder}/exports"
        names = [str(SOURCES / source) for source in sources]
        subprocess.run([*command, f"-I{folder}", *names, exports, "-ldl", "-o", str(output)], check=True)
        output.replace(finished)  # atomic: another worker may be building the same
    return finished


def cuda(*, driver_version: str, cuda_version: int = 12080, without: tuple[str, ...] = ()) -> Path:
    """Build a scripted libcuda of a driver; `cuda_version` (12080 is 12.8) holds where the script says
    nothing."""
    defines = (f'DRIVER_VERSION="{driver_version}"', f"CUDA_VERSION={cuda_version}", NO_CUDA)
    return compile_library(
        sources=CUDA_SOURCES, soname=CUDA_SONAME, defines=defines, without=without, functions=CUDA_FUNCTIONS)


def compat_cuda(*, driver_version: str, cuda_version: int) -> Path:
    """Build the libcuda of a cuda-compat package: script keys that begin with `compat.` outrank the plain
    ones.

    So one script drives both libraries of a machine: `cuda=11040`, `compat.cuda=12080`,
    `compat.rc.cuInit=804`.
    """
    version = f"CUDA_VERSION={cuda_version}"
    defines = (f'DRIVER_VERSION="{driver_version}"', version, 'SCRIPT_PREFIX="compat."', NO_CUDA)
    return compile_library(
        sources=CUDA_SOURCES, soname=CUDA_SONAME, defines=defines, functions=CUDA_FUNCTIONS)


def nvml(*, driver_version: str, without: tuple[str, ...] = ()) -> Path:
    """Build a scripted libnvidia-ml of a driver; `without=FUNCTIONS_AFTER_R418` makes an old one."""
    defines = (f'DRIVER_VERSION="{driver_version}"', NO_NVML)
    return compile_library(
        sources=NVML_SOURCES, soname=NVML_SONAME, defines=defines, without=without, functions=NVML_FUNCTIONS)


def stub_cuda() -> Path:
    """Build the stub of a CUDA toolkit: every call returns 34."""
    return compile_library(sources=("stub.c",), soname=CUDA_SONAME)


def crashing(*, soname: str) -> Path:
    """Build a library that dies of SIGSEGV while it is being loaded."""
    return compile_library(sources=("constructor.c",), soname=soname, defines=("FAULT_CRASH",))


def hanging(*, soname: str) -> Path:
    """Build a library that never finishes loading."""
    return compile_library(sources=("constructor.c",), soname=soname, defines=("FAULT_HANG",))


def flooding(*, soname: str, flood_bytes: int = 100_000_000) -> Path:
    """Build a library that prints that many bytes to stderr while it is being loaded."""
    defines = (f"FAULT_FLOOD_BYTES={flood_bytes}L",)
    return compile_library(sources=("constructor.c",), soname=soname, defines=defines)


def empty() -> Path:
    """Return an empty file, as a failed installation leaves one behind."""
    path = cache_folder("libraries") / "empty"
    path.touch()
    return path


def text() -> Path:
    """Return a text file, as a Git LFS pointer or a saved error page in a library's place."""
    path = cache_folder("libraries") / "text"
    if not path.exists():
        path.write_text(
            "This is not a library but a text of more than the sixty-four bytes of an ELF header.\n"
        )
    return path


def place(library: Path, folder: Path, *, soname: str, version: str | None = None) -> Path:
    """Copy a library into a folder under its SONAME and return that path.

    With a version the file is `libcuda.so.VERSION` and the SONAME a link to it, as a driver installs them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    named = folder / soname
    if version is None:
        shutil.copyfile(library, named)
        return named
    versioned = folder / f"{soname.rpartition('.')[0]}.{version}"
    shutil.copyfile(library, versioned)
    named.symlink_to(versioned.name)
    return named
