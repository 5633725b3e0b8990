"""Take reports of other tools out of a text: one small module for each kind, recognised by what it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module

from gpudoctor.model import Tables, rows_of
from gpudoctor.sources import branches, named, places, processors, shown, statements
from gpudoctor.sources.cards import first_word, index
from gpudoctor.sources.found import Found
from gpudoctor.sources.importers import libraries, packages, system
from gpudoctor.sources.lines import Text
from gpudoctor.sources.settle import settle
from gpudoctor.sources.stated import Rank, Stated, Statement

__all__ = ["MARKS", "Rank", "Stated", "Statement", "Text", "read", "read_all"]

Importer = Callable[[Text, Found], None]

# Module of this folder -> signs, one of which every report of its kind has. Most texts hold no report, so a
# module is imported only when there is something for it.
MARKS: dict[str, tuple[str, ...]] = {
    "nvidia_smi_table": ("NVIDIA-SMI", "Driver Version:"),
    "nvidia_smi_query": ("NVSMI LOG",),
    "nvidia_smi_xml": ("<nvidia_smi_log",),
    "nvidia_smi_lists": ("(UUID: ", "driver_version", "compute_cap", "memory.total", "--query-gpu",
                         "pci.bus_id", "gpu_name"),
    "collect_env": ("CUDA used to build PyTorch", "GPU models and configuration", "cuDNN version: Probably"),
    "numbered_cards": ("GPU 0", "GPU 1", "CUDA:0 (", "GPU:\n", "Found GPU"),
    "tensorflow_env": ("== check ", "== tensorflow import", "== cuda libs", "== are we in docker"),
    "jax_info": ("device info: ",),
    "memory": ("Tried to allocate ",),
    "devices": ("pci bus id:", "pciBusID:", "with CUDA capability sm_", "Device 0: \"", "computeCapability:",
                "CUDA Capability Major", "CUDA Driver Version / Runtime Version"),
    "architectures": ("supports CUDA capabilities", "Maximum cuda capability supported",
                      "Paddle installation with arch: ", "['sm_", "-gencode;"),
    "pacman": ("pacman -Q", "nvidia-utils ", "nvidia-open ", "python-pytorch", "python-tensorflow"),
    "lspci": ("VGA compatible controller", "3D controller", "Display controller"),
    "conda": ("virtual packages", "__cuda", "conda version"),
    "kernel_modules": ("/lib/modules/", "SecureBoot ", ": installed", "uname -r"),
    "wsl": ("STATE           VERSION", "WSL version: "),
    "clusters": ("nvidia.com/", "Gres=gpu:"),
    "trees": (", installed: ", "\u2500\u2500 ", ".whl", " @cuda-", " @System", " @nvidia", " @libnvidia",
              "untime libraries", "strong GPU acceleration", "learning framework for everyone"),
    "docker": ("Default Runtime:", "nvidia/cuda", "tensorflow/tensorflow:", "pytorch/pytorch:",
               "nvcr.io/nvidia/"),
    "boards": ("etpack", "etPack", "ETPACK", "L4T", "l4t", "R3", "(release), REVISION: "),
    "documents": ('"gpudoctor.', '"version":', '"virtual_pkgs"', '"HostConfig"', '"DefaultRuntime"'),
}
_ALWAYS: tuple[Importer, ...] = (
    system.read, libraries.read, packages.read, statements.read, shown.read, branches.read, named.read,
    places.read, processors.read)


def read(text: str, name: str, *, tables: Tables, numbers: Sequence[int] | None = None) -> Stated:
    """Return what `text` states; `name` stands in sources. Never raises, and takes linear time.

    `tables` are the rule database's (gpu_products gives cards their compute capability). `numbers` are the
    numbers of the text's lines in the file, where lines before or between them were left out.
    """
    return read_all([Text(text, name, numbers)], tables=tables)


def read_all(texts: Iterable[Text], *, tables: Tables) -> Stated:
    """Return what several texts state together: the beginning and the end of one log, or several files."""
    found = Found(index(tables.get("gpu_products")),
                  {str(row["machine"]): str(row["processor"]) for row in rows_of(tables, "processors")},
                  {first_word(str(row["architecture"])) for row in rows_of(tables, "architectures")
                   if "architecture" in row}, tables)
    for text in texts:
        for importer in _wanted(text):
            importer(text, found)
    return settle(found)


def _wanted(text: Text) -> Iterator[Importer]:
    for module, marks in MARKS.items():
        if any(mark in text.whole for mark in marks):
            importer: Importer = import_module(f"{__name__}.{module}").read
            yield importer
    yield from _ALWAYS
