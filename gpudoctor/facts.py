"""The fact catalogue: every name a snapshot may hold, its type, its meaning and which probe answers for it.

Names are flat and belong to one scope. Two facts of different types are never compared with one another: the
driver's version, the newest CUDA that driver runs, the toolkit on disk and the CUDA a wheel was built for are
four different things.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from gpudoctor.frozen import frozen
from gpudoctor.model import Scope
from gpudoctor.variables import ENVIRONMENT_VARIABLES, INFORMATIVE_VARIABLES


class FactType(Enum):
    """What kind of value a fact holds; versions are strings."""

    TEXT = "text"
    FLAG = "flag"
    INTEGER = "integer"
    NUMBER = "number"
    TEXTS = "texts"
    PATH = "path"
    PATHS = "paths"
    PACKAGE_VERSION = "package_version"
    DRIVER_VERSION = "driver_version"
    CUDA_VERSION = "cuda_version"
    CUDNN_VERSION = "cudnn_version"
    PTX_ISA = "ptx_isa"
    PYTHON_VERSION = "python_version"
    GLIBC_VERSION = "glibc_version"
    COMPUTE_CAPABILITY = "compute_capability"
    COMPUTE_CAPABILITIES = "compute_capabilities"
    COMMAND = "command"
    RECORDS = "records"


ORDERED = frozenset({
    FactType.INTEGER, FactType.NUMBER, FactType.PACKAGE_VERSION, FactType.DRIVER_VERSION,
    FactType.CUDA_VERSION, FactType.CUDNN_VERSION, FactType.PTX_ISA, FactType.PYTHON_VERSION,
    FactType.GLIBC_VERSION, FactType.COMPUTE_CAPABILITY,
})
LISTS = frozenset({FactType.TEXTS, FactType.PATHS, FactType.COMPUTE_CAPABILITIES})
DERIVED = "derive"
TEXT = "text"
FILE = "file"


@frozen
class FactSpec:
    """One catalogued name. `probe` is the probe that promises it, or "derive".

    An `informative` fact is for whoever reads a snapshot: no rule, symptom or derivation asks for it.
    """

    name: str
    type: FactType
    probe: str
    meaning: str
    private: bool = False
    informative: bool = False

    @property
    def derived(self) -> bool:
        """Return whether the fact is computed from others (and so can never be the effect of a fix)."""
        return self.probe == DERIVED

    @property
    def seen_on_machine(self) -> bool:
        """Return whether a probe promises it wherever it looks; what texts and files say is no machine's."""
        return self.probe not in (DERIVED, TEXT, FILE)

    @property
    def scope(self) -> Scope:
        """Return the scope that the name's first word says."""
        return _SCOPES.get(self.name.partition(".")[0], Scope.HOST)


_SCOPES = {"gpu": Scope.GPU, "framework": Scope.FRAMEWORK, "pair": Scope.PAIR}

# name | type | probe | "private", "informative", both or "" | meaning
_TABLE = """
system.os | text | system | | kernel name, as uname says
system.kernel | text | system | | kernel release, as uname says
system.architecture | text | system | | machine type, as uname says (x86_64, aarch64)
system.distribution | text | system | | ID of os-release (debian, ubuntu, rhel)
system.distribution_version | text | system | | VERSION_ID of os-release
system.distribution_like | texts | system | | ID_LIKE of os-release
system.glibc | glibc_version | system | | version of the GNU C library; absent on musl
system.wsl | integer | system | | 1 or 2 inside the Windows Subsystem for Linux
system.jetson | text | system | | L4T release of a Jetson board
system.cpu_flags | texts | system | | vector instruction sets of the CPU (avx, avx2, fma, avx512f, sse4_1, sse4_2)
system.secure_boot | flag | system | | whether Secure Boot is on
system.gpu_modules | texts | system | | loaded kernel modules that can hold an NVIDIA card (nvidia, nvidia_uvm, nouveau, nova_core)
system.pci_nvidia | records | system | | PCI functions of vendor 10de: address, device, class, driver
system.other_accelerators | texts | system | | vendors of other accelerators seen on the PCI bus (amd, intel, google-tpu)
system.user_id | integer | system | private | numeric id of the user
system.address_space_limit_bytes | integer | system | | RLIMIT_AS; absent when unlimited
system.gpu_kernel_log | texts | system | private | last kernel log lines about NVRM, Xid or nouveau, where readable
system.gpu_switched_off | text | system | | file in which a laptop's switch (prime-select, bbswitch, envycontrol) says that NVIDIA's card is off
system.slurm | flag | system | | whether Slurm is set up here (slurm.conf)
driver.kernel_version | driver_version | driver | | version of the loaded nvidia kernel module
driver.kernel_flavour | text | driver | | "open" or "proprietary" kernel module
driver.module_kernels | texts | driver | | kernel releases for which an nvidia module lies on disk
driver.libcuda_files | records | driver | | libcuda.so.1 candidates on the default loader path: path, version, version_source
driver.libcuda_file_version | driver_version | driver | | version in the bytes of the first of these
driver.libcuda_off_path | paths | driver | | libcuda.so.1 files in usual places where the loader does not look
driver.libnvidia_ml_files | records | driver | | libnvidia-ml.so.1 candidates, likewise
driver.libnvidia_ml_file_version | driver_version | driver | | version in the bytes of the first of these
driver.device_nodes | records | driver | informative | /dev/nvidia* nodes: path, mode, readable, writable
driver.gpu_nodes | integer | driver | | number of /dev/nvidia0, nvidia1, ... nodes with a number that the driver has
driver.uvm_node | flag | driver | | whether /dev/nvidia-uvm is there, with a number that the driver has
driver.denied_nodes | texts | driver | | device nodes this user may not open for reading and writing
driver.proc_gpus | integer | driver | | cards under /proc/driver/nvidia/gpus
driver.nvswitch | flag | driver | | whether the machine has NVSwitch bridges (HGX, DGX)
driver.fabric_manager | text | driver | | "running" or "installed" (not running); absent when not installed
driver.nvidia_smi | path | driver | informative | nvidia-smi on PATH
nvml.library | path | nvml | | libnvidia-ml.so.1 that was loaded
nvml.init_code | integer | nvml | | what nvmlInit returned; 0 is success
nvml.driver_version | driver_version | nvml | | driver version as NVML answers
nvml.cuda_version | cuda_version | nvml | | newest CUDA of the kernel driver as NVML answers
nvml.gpu_count | integer | nvml | | number of cards NVML counts
cuda.library | path | cuda | | libcuda.so.1 that was loaded
cuda.library_version | driver_version | cuda | | driver version in the bytes of that file
cuda.ended | text | cuda | | how asking libcuda ended: answered, crashed (a fault in it) or hung (a call that never returned)
cuda.load_error | text | cuda | | what the loader said when libcuda.so.1 could not be loaded
cuda.init_code | integer | cuda | | what cuInit returned; 0 is success
cuda.init_name | text | cuda | | the name of that code, as libcuda gives it
cuda.ceiling | cuda_version | cuda | | newest CUDA that the loaded libcuda runs (cuDriverGetVersion)
cuda.device_count | integer | cuda | | number of CUDA devices without CUDA_VISIBLE_DEVICES
cuda.devices | records | cuda | private | CUDA devices: uuid, bus_id, name, compute_capability
loader.cache | records | loader | | GPU libraries in ld.so.cache: soname, path
loader.default_folders | paths | loader | | the loader's built-in folders, in order
loader.library_path | paths | environment | private | LD_LIBRARY_PATH as the process started with it, in order
loader.files | records | loader | private | GPU libraries in every folder the loader may consult: path, soname, machine, size_bytes, error
toolkit.installs | records | toolkit | | CUDA toolkits on disk: path, version
toolkit.nvcc | path | toolkit | informative | nvcc on PATH
python.executable | path | python | private | the interpreter under examination (the patient)
python.version | python_version | python | | its version
python.abi | text | python | | its extension-module tag (cp313, cp313t)
python.prefix | path | python | private | its prefix
python.environment | text | python | | venv, conda, system or base
python.conda_tool | text | python | | which of conda, mamba and micromamba changed the environment last; absent outside them
python.conda_revision | integer | python | | the number that this tool gives the environment's present state
python.chosen_because | text | python | private | why this interpreter is the patient
python.pip_version | package_version | python | | version of pip in the patient; absent without pip
python.uv | path | python | private | where uv lies; absent where it is not on PATH
python.kept_by | text | python | | the tool that keeps the environment as it knows it: pipx, poetry, uv, ...
python.numpy | package_version | python | | version of NumPy in the patient; absent without it
python.protobuf | package_version | python | | version of protobuf in the patient; absent without it
python.externally_managed | flag | python | | whether pip refuses to install there (PEP 668)
python.site_packages | paths | python | private | its package folders, in order
python.user_site | flag | python | informative | whether the user's own package folder is searched
python.shadowing_files | paths | python | private | local files that hide a framework's name
python.nvidia_distributions | records | python | | installed nvidia-* distributions: name, version, location
python.planned_distributions | texts | python | | requirements that a fix would install; always empty on a machine
python.collisions | records | python | | files that two distributions own: file, owners, matches ("" when gone)
python.colliding_distributions | texts | python | | the distributions that own the same files
python.incomplete_distributions | texts | python | | nvidia-* distributions whose record lists libraries that are gone
process.id | integer | process | | the process that was examined (--pid); absent when none was named
process.command | text | process | private | its command line
process.libraries | records | process | private | GPU libraries that it had mapped then: path, soname, deleted (its file is gone)
image.reference | text | image | | the container image (--image) or container (--container) that was examined; absent when none was named
image.is_running | flag | image | | whether that is a container which ran already
image.id | text | image | informative | the image's or container's own id
image.engine | text | image | | the engine that was asked: docker or podman
image.engine_version | package_version | image | | its version
image.architecture | text | image | | the processor that the image was made for, as images name it (amd64, arm64); absent for a running container
image.engine_architecture | text | image | | the processor of the engine's machine, in the same words
image.gpu_request | text | image | | how it was asked for the GPU that the container got: nvidia (--gpus), cdi or runtime; absent when it gave none, or tells of no request
image.gpu_refusals | texts | image | | what the engine said to each request for a GPU (--gpus all: ...), when a container got none
image.gpu_dropped | text | image | | of how many requests for a GPU the engine took, dropped in silence: none, some or all
image.gpu_start_hangs | flag | image | | whether starting a container with a GPU had not ended within the limit, while the engine answered all else
image.shows_host | flag | image | | whether what is said of driver and cards is the machine's own, because no container of it could be asked
image.left_containers | texts | image | private | containers of the examination that could not be removed
image.limits_missing | texts | image | | limits that the engine could not set for the container that was looked into: memory, swap, processes, processors
image.requirements | texts | image | | what it asks of driver and cards (NVIDIA_REQUIRE_CUDA and the like); absent where it asks nothing, or says that nothing is to be compared
image.labels | texts | image | informative | its labels that speak of NVIDIA's software (com.nvidia.cudnn.version=8.9.7.29), each with its value
image.labelled_cuda | cuda_version | image | | the CUDA that the driver must run by its label com.nvidia.cuda.version, where no variable asks for anything
image.requirements_unmet | texts | derive | | those of them that driver and cards do not meet, each by its first alternative
image.requirements_failing | texts | derive | | those that they do not meet either where a driver runs the machine code of later minor versions of its CUDA; a label counts where no variable does
image.trouble | text | image | | what kept it from being examined: unreachable, misdirected, silent, denied, not-found, unauthorised, no-space, not-running, paused, restarting, no-python, base-absent, not-built, not-pulled, bad-name, hangs, refused
image.trouble_said | text | image | | the engine's own words for that
require.wanted | texts | require | | what --require asks for, as written
rules.refused | texts | rules | | packages of newer rules that were found and not used, and why
rules.behind | texts | derive | | what of this machine is newer than the rules: driver, cards, frameworks, CUDA
require.without_wheel | texts | derive | | of these, framework releases that have no wheel for the patient's Python
require.wheel_pythons | texts | derive | | Python versions that do have wheels for the first of these
require.wheel_release | text | derive | | the newest release that meets the first of these (tensorflow==2.21.0)
container.runtime | text | container | | docker, podman, kubernetes, lxc, apptainer, ...; absent outside
container.cgroup_version | integer | container | informative | 1 or 2
container.compat_folders | paths | container | | cuda-compat folders on disk
container.cdi_specs | paths | container | informative | CDI specifications on disk
container.driver_mounts | texts | container | informative | driver files that a container runtime mounted in
container.cdi_drivers | texts | container | | driver versions whose libraries the CDI specifications name
container.toolkit | path | container | | a program of the NVIDIA container toolkit on PATH
container.toolkit_no_cgroups | flag | container | | whether its configuration says no-cgroups = true
container.docker_socket | flag | container | | whether the socket of a rootful Docker daemon is there
container.security_label | text | container | | what a security module (SELinux, AppArmor) calls this process
container.shared_memory_bytes | integer | container | | size of /dev/shm
gpu.index | integer | nvml | | NVML's index
gpu.name | text | nvml | | product name
gpu.brand | text | nvml | | the brand by which NVIDIA's container toolkit knows the card: tesla, quadro, geforce, ...; unknown is all that came later
gpu.uuid | text | nvml | private | UUID
gpu.bus_id | text | nvml | | PCI bus id, 0000:01:00.0
gpu.pci_device_id | text | system | | PCI device id in hex, 2330
gpu.pci_driver | text | system | | kernel driver bound to the card
gpu.in_nvml | flag | nvml | | whether NVML lists the card
gpu.in_cuda | flag | cuda | | whether libcuda lists the card (without CUDA_VISIBLE_DEVICES)
gpu.compute_capability | compute_capability | nvml | | compute capability, from NVML or libcuda
gpu.memory_total_bytes | integer | nvml | | memory on the card
gpu.memory_used_bytes | integer | nvml | | memory in use
gpu.memory_reserved_bytes | integer | nvml | | memory that the driver keeps for itself
gpu.mig_mode | flag | nvml | | whether MIG mode is on
gpu.mig_pending | flag | nvml | | MIG mode after the next reset
gpu.mig_instances | integer | nvml | | MIG devices that exist
gpu.ecc_mode | flag | nvml | | whether ECC is on
gpu.ecc_uncorrected | integer | nvml | | uncorrected ECC errors since the last reset
gpu.pcie_generation | integer | nvml | | PCIe generation now
gpu.pcie_generation_max | integer | nvml | | PCIe generation at most
gpu.pcie_width | integer | nvml | | PCIe lanes now
gpu.pcie_width_max | integer | nvml | | PCIe lanes at most
gpu.throttle_reasons | texts | nvml | | why clocks are held down now
gpu.compute_mode_back | command | derive | | what sets the card's compute mode as it is now
gpu.compute_mode | text | nvml | | default, exclusive-thread, prohibited or exclusive-process
gpu.persistence | flag | nvml | | persistence mode
gpu.compute_processes | integer | nvml | | processes with a CUDA context on the card
gpu.lost | flag | nvml | | NVML said the card is lost, at first or midway
gpu.nvml_code | integer | nvml | | what NVML returned for the card's handle; 0 is success
gpu.driver_kernel | text | smoke | | the checked driver-API kernel: passed, wrong-result, failed, no-proof, skipped
gpu.driver_kernel_answer | text | smoke | | the code that kept the checked kernel from its end, as a text that can stand in lists; 0 where none did
gpu.memory_free_bytes | integer | derive | | memory on the card that nobody uses
gpu.architecture | text | derive | | name of the generation that its compute capability belongs to
gpu.product | text | derive | | what the card is called: by the driver, or without one by its PCI device
gpu.listed | flag | derive | | whether a table has this product, by its name or its PCI device
gpu.driver_fit | text | derive | | whether the loaded driver's branch serves the card by the tables: "serves", "too-new" or "too-old"
gpu.hidden | flag | derive | | whether CUDA_VISIBLE_DEVICES hides the card while others stay visible
framework.name | text | frameworks | | tensorflow, torch, jax or paddle
framework.distribution | text | frameworks | | the distribution that provides it (tensorflow-cpu, torch, ...)
framework.version | package_version | frameworks | | version of that distribution
framework.location | path | frameworks | private | the package folder it lies in
framework.installer | text | frameworks | | who installed it (pip, uv, conda)
framework.requested | flag | frameworks | | that pip was told to install it by name; unknown where it left no mark, or where something else installed it
framework.required_by | texts | frameworks | | the distributions that require it, where another framework is among them
framework.build | text | frameworks | | cuda, cpu, rocm or xpu, as the build information on disk says
framework.cuda | cuda_version | frameworks | | CUDA it was built for, as the files on disk say
framework.cudnn | cudnn_version | frameworks | | cuDNN it was built for, as the files on disk say
framework.tags | texts | frameworks | | wheel tags
framework.is_server_wheel | flag | derive | | whether its wheel is one that is built for servers of its architecture, by its version and tags
framework.code_library_sha256 | text | frameworks | | sha256 of its device-code library as RECORD lists it
framework.code | records | frameworks | | device code found in its libraries (import depth): sass, ptx, fat_binaries
framework.requires_nvidia | texts | frameworks | | nvidia-* distributions it always requires
framework.extra_requires_nvidia | texts | frameworks | | nvidia-* distributions its CUDA extra requires
framework.other_distributions | texts | frameworks | | further distributions installed over the same package folder
framework.plugins | records | frameworks | | JAX's CUDA plugins and jaxlib: name, version
framework.horovod | records | frameworks | private | Horovod's extensions for it: path, gpu and nccl (whether compiled in), runtime (libcudart that it needs)
framework.loader | path | frameworks | private | the library of it that opens the CUDA libraries
framework.loader_runpath | texts | frameworks | | that library's RUNPATH, as written
framework.loader_rpath | texts | frameworks | | that library's RPATH, as written
framework.loader_needed | texts | frameworks | | CUDA libraries it needs or opens
framework.import_outcome | text | stages | | how its import ended: passed, failed (an exception), crashed, timed-out, exited
framework.import_words | texts | stages | private | the last lines that were said before the import failed
framework.import_seconds | number | stages | | seconds that the import took
framework.seen_gpus | integer | stages | | GPUs that the framework itself lists where it was run
framework.stages | records | stages | private | the smoke stages: stage, card, outcome, memory and ordinal (where the driver says the result lies), device (where the framework does), largest_error, tolerance, seconds, words, reason
framework.loaded_libraries | records | stages | private | GPU libraries that it had loaded after the stages: path, soname
framework.resolved_libraries | records | stages | private | the files of the loader trace with links followed: path, real
framework.log | texts | stages | private | what it said on standard error meanwhile
driver.version | driver_version | derive | | the driver: NVML's answer, else the module's, else the library's
driver.loaded_version | driver_version | derive | | the kernel module that is loaded, by /sys and /proc or by NVML's own answer from it
driver.compute_modes_back | command | derive | | what sets the cards' compute modes as they are now; absent where all are default
driver.cuda_ceiling | cuda_version | derive | | newest CUDA the libcuda in use runs; else by NVML or the driver's version
driver.works | flag | derive | | whether cuInit succeeded
driver.ready | flag | derive | | whether frameworks can be judged: no without a card, not asked before the driver works
system.takes_server_wheels | flag | derive | | whether wheels built for servers are for this machine: not on a Jetson board before the JetPack that says so
driver.cards_left_out | integer | derive | | cards that the loaded driver does not list and that its branch does not serve
driver.present | flag | derive | | whether any part of an NVIDIA driver was seen
system.nvidia_gpus | integer | derive | | NVIDIA cards seen by any means
system.nvidia_host | flag | derive | | whether /sys or /proc shows that this machine (or the container's host) has NVIDIA hardware
system.nvidia_pci_drivers | texts | derive | | kernel drivers bound to the NVIDIA cards
system.driver_package_version | driver_version | derive | | oldest driver that this distribution's packages bring
system.maintained_driver | driver_version | derive | | oldest driver of a maintained branch that serves the cards here
system.last_branch | driver_version | derive | | the last driver branch that serves every card here, where there are later ones
system.branch_command | command | derive | | how to install a driver of that branch on this distribution
system.own_repository_command | command | derive | | how to enable the part of the distribution's own repository that holds its driver, where it is not
system.cards_apart | text | derive | | which two cards here no driver branch serves both, and which branches serve each; absent where one serves all
system.driver_way | text | derive | | where that comes from and by what, where no command of the package manager installs it
system.driver_repository | text | derive | | whose package repository that needs, where it is not the distribution's own
system.driver_repository_command | command | derive | | how to add that repository
system.driver_guide | text | derive | | where it is written down how the driver is installed here
system.kernel_headers_command | command | derive | | how to install the headers of the running kernel on this distribution
system.kernel_log_signs | texts | derive | | what the kernel log says of a card that the driver could not take
driver.libcuda_command | command | derive | | how to install the libcuda of the driver in use on this distribution
driver.flavour_command | command | derive | | how to put the open kernel module in place of the proprietary one
driver.fabric_manager_command | command | derive | | how to install the fabric manager of the driver in use on this distribution
driver.libcuda_off_path_folder | path | derive | | folder of a libcuda.so.1 where the loader does not look
driver.libcuda_search_path | paths | derive | | LD_LIBRARY_PATH with which that libcuda.so.1 would be found
cuda.init_answer | text | derive | | what cuInit returned, as a text that can stand in lists
cuda.library_maintained_driver | driver_version | derive | | the driver to name when one as new as the loaded libcuda is needed
cuda.library_driver_command | command | derive | | how to install that driver on this distribution
cuda.library_path_clean | paths | derive | | LD_LIBRARY_PATH without the folders that hold a libcuda.so.1
container.run_command | command | derive | | how a container with the GPUs is started here: docker run --gpus all, or with the CDI device that its engine takes
container.check_command | command | derive | | how to look once more at what was examined: gpudoctor check, with the image or container that was named
container.shell_command | command | derive | | what runs a line for a shell in the container, or in one of the image, that was examined; absent when none was named
container.image_base | command | derive | | what FROM of a Dockerfile names to build on the examined image; absent when none was named
container.withheld_capabilities | texts | derive | | compute and utility, where NVIDIA_DRIVER_CAPABILITIES keeps them from the container
system.driver_command | command | derive | | how to install the NVIDIA driver out of this distribution's own packages
system.oldest_card | compute_capability | derive | | oldest compute capability among the cards here
python.conda_command | command | derive | | how to have conda install something for the patient
python.conda_xla_flags | text | derive | | XLA_FLAGS with the folder in which conda puts the compiler, beside what it holds
python.pip_command | command | derive | | how to have pip install something for the patient
python.pip_uninstall_command | command | derive | | how to have pip remove something from the patient
python.colliding_unneeded | texts | derive | | distributions that share files with others and that no framework asks for
python.colliding_reinstall | texts | derive | | the others of them, with their installed versions
python.moved_requirement | text | derive | | the framework to give an environment of its own, where two ask for such distributions
python.moved_distributions | texts | derive | | what then leaves this environment
python.kept_requirements | texts | derive | | the distributions that stay and must be laid down again, with their versions
require.newest_python | python_version | derive | | the newest Python that has a wheel for what was required
require.wheel_requirement | text | derive | | what pip is to install for it (tensorflow[and-cuda]==2.20.0)
require.unmet | texts | derive | | what of it is not met
require.python_beyond_tables | flag | derive | | whether the patient's Python is newer than any in the release tables
require.wanted_otherwise | texts | derive | | what is asked for beside releases without a wheel for the patient's Python
python.frameworks | texts | derive | | the frameworks installed in the patient
python.built_for_others | texts | derive | | frameworks built for an accelerator of another maker that is here: torch (rocm)
system.card_elsewhere | text | derive | | what says that the card is to be asked for or switched on: colab, kaggle, slurm, switched-off
driver.module_refusal | text | derive | | why the kernel module says that it does not take a card, where the kernel log was read and says so
system.kernel_version | package_version | derive | | the numbers in the kernel release
container.selinux_confined | flag | derive | | whether SELinux confines this container (container_t)
container.cdi_is_stale | flag | derive | | whether the CDI specifications name other driver versions than the one in use
cuda.visibility | text | derive | | what CUDA_VISIBLE_DEVICES leaves: all, some, none or invalid
cuda.visible_count | integer | derive | | CUDA devices that stay visible
cuda.serves | flag | derive | | whether CUDA starts and lists at least one device (without CUDA_VISIBLE_DEVICES)
cuda.hides_every_device | flag | derive | | whether CUDA_VISIBLE_DEVICES alone keeps every device from programs
cuda.library_kind | text | derive | | where the loaded libcuda came from: driver, compat, stub or other
framework.has_gpu_build | flag | derive | | whether the installed build can use an NVIDIA GPU at all
framework.brought_by | texts | derive | | the other frameworks with which it came along: nothing else requires it, and it is not known to be asked for
framework.cuda_floor | cuda_version | derive | | oldest driver ceiling its CUDA runs on (minor-version compatibility)
framework.code_is_listed | flag | derive | | whether a table row has the device code of this very build
framework.nccl_oldest_card | compute_capability | derive | | oldest card that the NCCL of its packages has code for
framework.nccl_requirement | texts | derive | | what pip is to install for the newest NCCL with code for the cards here
framework.last_driver | driver_version | derive | | last driver branch that serves the cards here, where it does not run this build's CUDA
framework.ceiling_suffices | flag | derive | | whether the driver's CUDA ceiling alone says that it runs this build
framework.minimum_driver | driver_version | derive | | oldest driver for that floor
framework.sufficient_driver | driver_version | derive | | oldest driver that also compiles what the cards here need compiled
framework.horovod_lacks | text | derive | | what Horovod was compiled without: this "framework", "GPU" or "NCCL"
framework.served_devices | text | derive | | the visible devices it has code for, where it has none for others, as CUDA_VISIBLE_DEVICES takes them
framework.libraries | records | derive | | the loader trace: soname, path, why, version
framework.driver_libraries | texts | derive | | libraries of the driver that it opens (libcuda.so.1, libnvidia-ml.so.1)
framework.libraries_missing | texts | derive | | CUDA libraries that the trace does not find
framework.libraries_off_path | texts | derive | | of these, the ones that are installed where the framework does not look
framework.off_path_origin | text | derive | | where those lie: in Python "packages" or in folders of the "system"
framework.cuda_libraries_absent | texts | derive | | missing libraries of which no file was seen anywhere, cuDNN apart
framework.cudnn_absent | text | derive | | the cuDNN library it opens, when no file of it was seen anywhere
framework.cudnn_others | texts | derive | | cuDNN of other major versions that would be found where the right one is missing
framework.cudart_others | texts | derive | | CUDA runtimes of other versions that would be found where the right one is missing
framework.libraries_shadowed | texts | derive | | libraries that LD_LIBRARY_PATH replaces by others
framework.libraries_broken | texts | derive | | libraries whose winning file cannot be loaded
framework.libraries_off_path_folders | paths | derive | | the folders of the ones installed where the framework does not look
framework.library_path_needed | paths | derive | | LD_LIBRARY_PATH with which the missing libraries would be found
framework.library_folders_unsearched | paths | derive | | folders that its CUDA packages would fill and that it would not search
framework.library_path_planned | paths | derive | | LD_LIBRARY_PATH with which the libraries of these packages would be found
framework.shadowing_folders | paths | derive | | folders on LD_LIBRARY_PATH that shadow or break libraries
framework.library_path_clean | paths | derive | | LD_LIBRARY_PATH without the folders that shadow or break libraries
framework.cudnn_found | cudnn_version | derive | | version of the cuDNN that the trace finds
framework.cudnn_without_library_path | cudnn_version | derive | | version of the cuDNN it would find without LD_LIBRARY_PATH
framework.cudnn_floor | cudnn_version | derive | | cuDNN (major.minor) it was compiled with
framework.cudnn_oldest_card | compute_capability | derive | | oldest card that the cuDNN it finds has code for
framework.oldest_card | compute_capability | derive | | oldest card that the build has code for
framework.newest_card | compute_capability | derive | | newest card that the build has code for
framework.requires_missing | texts | derive | | requirements on nvidia-* distributions it always has and that are not installed
framework.published_for_cuda | flag | derive | | whether any release of it was published with CUDA for this platform
framework.jaxlib | package_version | derive | | JAX: version of jaxlib
framework.plugins_mismatched | texts | derive | | JAX: CUDA plugins of another version than jaxlib
framework.plugin_requirements | texts | derive | | JAX: what pip is to install so that they match
framework.plugins_matched | records | derive | | JAX: the plugins as they would be then
framework.installed_plugins | texts | derive | | JAX: the CUDA plugins that are installed
framework.other_plugin_requirement | text | derive | | JAX: what pip is to install for the plugin of another CUDA that fits here
framework.other_plugin_cuda | cuda_version | derive | | JAX: the CUDA of that plugin
framework.other_plugins | records | derive | | JAX: jaxlib and the plugins as they would be with it
framework.asks_packages | flag | derive | | whether NVIDIA's libraries come as Python packages that the build asks for
framework.cudnn_requirement | texts | derive | | the requirement that would bring a cuDNN for it and for the cards here
framework.cuda_distributions | texts | derive | | requirements on nvidia-* distributions that would bring its CUDA libraries
framework.cuda_requirement | texts | derive | | what pip is to be told for them (tensorflow[and-cuda]==2.21.0)
framework.distributions_incomplete | texts | derive | | nvidia-* distributions it asks for of which files are gone
framework.reinstall_requirements | texts | derive | | distributions of which files are gone or broken, with their installed versions
framework.toolkits_fitting | texts | derive | | CUDA toolkits on disk of the build's major version
framework.toolkits_other | texts | derive | | CUDA toolkits on disk of another major version than the build's
framework.glibc_floor | glibc_version | derive | | oldest glibc that the wheels of this release run on
framework.python_versions | texts | derive | | Python versions its release has GPU wheels for
framework.fitting_release | text | derive | | newest release with code for every card here that this driver, Python and glibc run (torch==2.10.0)
framework.gpu_release | text | derive | | the CUDA build of the installed release if it fits here, else the fitting release; where the cards are not known, as if it served them
framework.gpu_card | compute_capability | derive | | oldest card that this build has code for, where the cards are not known
framework.gpu_requirement | text | derive | | what pip is to install for it
framework.gpu_arguments | command | derive | | what pip is told for it: the requirement, and the index where it is another
framework.fitting_driver | driver_version | derive | | oldest driver for that release and the cards here, where no driver is known
framework.gpu_driver | driver_version | derive | | the same for the CUDA build
framework.fitting_requirement | text | derive | | what pip is to install for it (tensorflow[and-cuda]==2.20.0)
framework.fitting_brings_cuda | flag | derive | | whether pip installs the CUDA libraries with that release: else it takes the system's
framework.fitting_arguments | command | derive | | what pip is told for it (torch==2.14.1+cu126 --index-url URL)
framework.maintained_driver | driver_version | derive | | the driver to name: of a maintained branch, enough for the framework and the cards
framework.least_driver | driver_version | derive | | oldest driver that would do, where that is not the one to name
framework.driver_command | command | derive | | how to install that driver on this distribution
framework.stages_passed | texts | derive | | smoke stages that ran on a GPU, proven, with the right result
framework.stages_on_cpu | texts | derive | | smoke stages that ran, but on the CPU
framework.stages_wrong | texts | derive | | smoke stages with a wrong result
framework.stages_unproven | texts | derive | | smoke stages with the right result and no proof that a GPU computed it
framework.stages_failed | texts | derive | | smoke stages that ended with an exception
framework.stages_crashed | texts | derive | | smoke stages in which the process crashed or ended by itself
framework.stages_timed_out | texts | derive | | smoke stages that did not end within their limit
framework.stages_compiling | texts | derive | | of smoke stages without an end, those in which the driver's PTX compiler was at work
framework.compiling_for | texts | derive | | for how many minutes the driver's PTX compiler was at work in them, and in which
framework.stages_skipped | texts | derive | | smoke stages that were not run, and why
framework.stage_words | texts | derive | private | the last words of the first smoke stage that went wrong
framework.blocked_by | texts | derive | | what is known to keep it from the GPU before it is run
framework.symptoms | texts | derive | | the known messages among what it said
framework.log_libraries_missing | texts | derive | | libraries that it said it could not load
framework.trace_differs | texts | derive | | libraries that it loaded from another file than the loader trace said, or of which its log says otherwise
framework.numpy_unmet | text | derive | | the NumPy that its release was made for, where the one installed is of a newer major version
framework.protobuf_unmet | text | derive | | the protobuf that its release was made for, where the one installed is older, or refuses what was generated for that
framework.went_wrong | texts | derive | | what did not end well on a GPU when it was run: its import, smoke stages
framework.mixed_cudnn | texts | derive | | files of cuDNN of several makes that it loads together
framework.mixed_cublas | texts | derive | | files of cuBLAS and cuBLASLt of several makes that it loads together
pair.ready | flag | derive | | driver.ready, and no for a build that uses no NVIDIA GPU
pair.code | text | derive | | machine code for this card: native, partial (some must be compiled from PTX), ptx or none
pair.ptx_isa | ptx_isa | derive | | newest PTX that must be compiled for this card
pair.ptx_ceiling | cuda_version | derive | | oldest driver ceiling that is known to compile that PTX
pair.ptx_driver | driver_version | derive | | first driver that compiles that PTX
pair.ptx_fails | flag | derive | | whether such PTX of the framework is reported to fail on such cards all the same
pair.maintained_driver | driver_version | derive | | the driver to name: of a maintained branch, and compiles that PTX
pair.driver_command | command | derive | | how to install that driver on this distribution
pair.release_note | text | derive | | that no known release of the framework has machine code for this card, where that is so
pair.architecture_note | text | derive | | which CUDA toolkits compile for this card, in words
file.requirement_meant | text | file | | a requirement whose bound the shell takes for a redirection, as it was meant
file.requirement_given | text | file | | what pip is given of it
file.shell_fault | text | file | | why a shell refuses to parse a command, in words
file.json_fault | text | file | | why what looks like a list in JSON is none, in words
file.image | text | file | | an image that is built on or started
file.image_nearest | texts | file | | where its tag was never published: the nearest tags that were
file.image_ended | text | file | | what in it gets no updates any more: Ubuntu 18.04, Python 3.8
file.image_end | text | file | | the day or month since when
file.image_least_cuda | cuda_version | file | | the CUDA that the driver must run for it to start, where its older exceptions do not count
file.image_least_driver | driver_version | file | | the driver that it asks for, likewise
file.driver_by | text | file | | what lays a driver into an image: a package, or NVIDIA's installer
file.driver_laid | driver_version | file | | that driver, or one that it is not older than
file.driver_instead | text | file | | the package that brings the same CUDA without a driver
file.package | text | file | | what is asked for of a package that is for one CUDA, and no framework
file.package_least_cuda | cuda_version | file | | the CUDA of the oldest driver that runs it
file.package_instead | text | file | | the package of its kind that the driver runs
file.placeholder_requirement | text | file | | a requirement that is met by a release which only raises an error
file.program_absent | text | file | | a program that a RUN calls and nothing has put into the image before
file.program_image | text | file | | that image
file.misnamed | text | file | | a requirement whose name sounds like that of a framework or a library and is not
file.misnamed_is | text | file | | what the name is instead, in words
file.misnamed_nearest | texts | file | | the names that were probably meant
file.release_missing | text | file | | a release that is asked for and was never published
file.release_nearest | texts | file | | the releases nearest to it
file.release_elsewhere | text | file | | the index that has it, where it is asked of another
file.extra_refused | text | file | | a release that is asked for with an extra that cannot be installed
file.extra_refusal | text | file | | why pip refuses it, in words
file.extra_instead | text | file | | the next release of which the extra can be installed
file.broken_requirement | text | file | | a framework that is asked for and does not run with a package beside it
file.broken_by | text | file | | that package, in the release that is taken
file.broken_pin | text | file | | the requirement that keeps it older
file.broken_why | text | file | | why the framework does not run with it, in words
file.contradiction | texts | file | | the fewest requirements of one environment that no release meets together
file.cuda_versions | texts | file | | what one environment brings of CUDA, where the major versions differ
text.symptoms | texts | text | | ids of the symptoms that a text shows
text.places | texts | text | | where it happened, as the text states or shows: linux, windows, macos, wsl1, wsl2, docker, podman, lxc, singularity, kubernetes, slurm, hpc, conda, colab, kaggle, jetson, cloud-vm, datacenter, hyper-v, jupyter, nixos
text.frameworks | texts | text | | frameworks that it states, or whose lines it shows
text.framework | text | text | | the one it is about: the stated one, else the first that speaks
text.framework_version | package_version | text | | its version, as stated
text.packages | texts | text | | NAME==VERSION of every list of packages in the text
text.cuda | cuda_version | text | | the CUDA that it states as installed
text.cudnn | cudnn_version | text | | the cuDNN that it states
text.driver | driver_version | text | | the driver that it states
text.driver_ceiling | cuda_version | text | | the newest CUDA of that driver, as nvidia-smi's heading says
text.python | python_version | text | | the Python that it states
text.os | text | text | | the operating system that it states
text.processor | text | text | | architecture of the processor that it states or names: x86_64, aarch64, ppc64le
text.processor_lacks_builds | flag | text | | whether no index has the stated framework with CUDA for that processor; of a Jetson or a Mac it says nothing
text.cards | texts | text | | names of cards that it states
text.capabilities | compute_capabilities | text | | compute capabilities stated, or looked up for these cards
text.possible_capabilities | compute_capabilities | text | | what the stated card may have, where its name stands for several products
text.libraries | texts | text | | libraries that could not be loaded or found, as it says
text.library_families | texts | text | | families of these: cudart, cublas, cudnn, cufft, curand, cusolver, cusparse, nccl, cupti, nvinfer, cuda, nvml, nvjitlink, nvrtc, zlib, msvc
text.xids | texts | text | | Xid numbers of the kernel log
text.xid_meanings | text | text | | what these mean, unless one of them says that the card is gone from the bus
text.xid_advice | text | text | | what NVIDIA's catalogue says to do about them
text.build_cuda | cuda_version | text | | CUDA that this release of the framework was built for
text.without_cuda | text | text | | what rules CUDA out: the build is for "cpu", "rocm" or "xpu", or the only "card" is another maker's
text.build_cudnn | cudnn_version | text | | cuDNN that this release was built for
text.build_code | texts | text | | architectures that the build has code for, where the text lists them: sm_86, compute_90
text.cuda_fits_build | flag | text | | whether the stated CUDA is that of the build
text.cudnn_fits_build | flag | text | | whether the stated cuDNN is of the major version of the build
text.asked_cudnn_fits_build | flag | text | | whether the missing cuDNN is of the major version of the build
text.labelled_cuda | cuda_version | text | | the CUDA that the stated version itself names, as 2.1.0+cu118 does
text.misfit | text | text | | the package that another one cannot be imported with, as a message names it
text.library_other_version_stated | flag | text | | whether a version of a missing library's family is stated that is not the missing one
text.cudnn_other_version_stated | flag | text | | whether a cuDNN is stated that is not of the missing one's version
text.driver_runs_cuda | flag | text | | whether the stated driver runs the CUDA of the build, or else the stated CUDA
text.python_has_wheel | flag | text | | whether a wheel of that release exists for the stated Python
text.wheel | text | text | | file name of a wheel that an installer refused
text.wheel_fit | text | text | | what of the stated machine such a wheel is not for: processor, system, python; or fits
text.generation | text | text | | generation of the card, where a sentence names no more of it
text.card_left_out | flag | text | | whether a CUDA has left out the generation of the stated card
text.card_fit | text | text | | the stated card against the architectures of the build: too-old, fits, ptx, newer (than its CUDA, of whose generation it is) or too-new
text.driver_fit | text | text | | whether the branch of the stated driver serves the stated cards, where it is one answer for all: serves, too-new or too-old
text.asked_driver | driver_version | text | | the oldest driver that takes an image, as its own message says
text.asked_driver_fit | text | text | | whether the branch of that driver still serves the stated cards: serves, too-new or too-old
text.cudnn_serves_card | flag | text | | whether the stated cuDNN has code for the oldest of the stated cards
text.flavour_serves_cards | flag | text | | whether the stated flavour of the kernel module serves each stated card
text.libraries_in_wheels | flag | text | | whether NVIDIA's wheels bring each missing library under that name
text.runtime | text | text | | the number in the name of the CUDA runtime that was opened: 10.1 of libcudart.so.10.1
text.memory_elsewhere | flag | text | | whether others than the process that ran out of memory hold much of the card's
text.maker | text | text | | whose cards the programs that speak are for, where these are not NVIDIA's: amd
text.nvidia_card | flag | text | | whether a stated card is NVIDIA's
text.driver_library | driver_version | text | | version of libcuda, as a program that opened it says
text.driver_library_fits | flag | text | | whether that is the version of the stated driver, or of its kernel module
text.cudnn_loaded | cudnn_version | text | | the cuDNN that was loaded, where the message names it
text.cudnn_compiled | cudnn_version | text | | the cuDNN that the framework was compiled with, where the message names it
"""


def _parse() -> Iterator[FactSpec]:
    for line in _TABLE.strip().splitlines():
        name, kind, probe, marks, meaning = (part.strip() for part in line.split("|", 4))
        yield FactSpec(name=name, type=FactType(kind), probe=probe, private="private" in marks,
                       informative="informative" in marks, meaning=meaning)
    for variable in ENVIRONMENT_VARIABLES:
        yield FactSpec(name=f"environment.{variable}", type=FactType.TEXT, probe="environment", private=True,
                       informative=variable in INFORMATIVE_VARIABLES, meaning=f"the environment variable {variable}; absent when not set")


CATALOGUE: Mapping[str, FactSpec] = {spec.name: spec for spec in _parse()}


def promised(probe: str, scope: Scope) -> tuple[str, ...]:
    """Return the names that `probe` promises for one subject of `scope`."""
    return tuple(s.name for s in CATALOGUE.values() if s.probe == probe and s.scope is scope)
