"""The environments of the comparison: the patient's, and for each peer a copy of it with the peer inside."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.harness.patient import Patient
from tests.machines.patients import RECIPES, release
from tools.peers.contestants import STUB_VERSION, Contestant

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
TORCH, TENSORFLOW = HERE / "standin_torch.py", HERE / "standin_tensorflow.py"
# The distribution with libnvvm.so, beside each name that the CUDA runtime is published under.
COMPILER_LIBRARIES = {
    "nvidia_cuda_runtime": "nvidia-nvvm", "nvidia_cuda_runtime_cu12": "nvidia-cuda-nvcc-cu12"}


def install(python: Path, *requirements: str) -> None:
    """Install requirements into an environment, and again what it only has the metadata of."""
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--reinstall"]
    subprocess.run([*command, "--python", str(python), *requirements], check=True)


def architectures(project_version: str) -> list[str]:
    """Return what `torch.cuda.get_arch_list()` of a release answers: what most of its code is built for."""
    try:
        code = release("torch", project_version)["code"]
    except StopIteration:  # the CPU build, which has no row
        return []
    most = max(code, key=lambda row: row["fat_binaries"])
    names = [f"sm_{name.replace('.', '')}" for name in most["sass"]]
    return names + [f"compute_{name.split('@')[0].replace('.', '')}" for name in most["ptx"]]


def _installed_version(patient: Patient, name: str) -> str | None:
    """Return the version of a distribution in an environment."""
    folders = list(patient.site_packages.glob(f"{name}-*.dist-info"))
    return folders[0].name.removesuffix(".dist-info").rpartition("-")[2] if folders else None


def make_importable(patient: Patient) -> None:
    """Lay the stand-ins that answer an import over the metadata of torch and tensorflow."""
    torch = _installed_version(patient, "torch")
    if torch is not None:
        shutil.copyfile(TORCH, patient.site_packages / "torch" / "__init__.py")
        patient.add_file("torch/standin.json", json.dumps(architectures(torch)))
    if _installed_version(patient, "tensorflow") is not None:
        shutil.copyfile(TENSORFLOW, patient.site_packages / "tensorflow" / "__init__.py")


def _unpack(patient: Patient, requirement: str, downloads: Path) -> None:
    """Put all files of a published wheel over those of a patient."""
    folder = downloads / re.sub(r"[^\w.-]", "-", requirement)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    subprocess.run([*command, requirement], check=True)
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(patient.site_packages)


def add_cuda_runtime(patient: Patient, downloads: Path) -> None:
    """Put the published CUDA runtime in the place of its stand-in, and RAPIDS' compiler library beside it."""
    for folder in patient.site_packages.glob("nvidia_cuda_runtime*.dist-info"):
        name, _, version = folder.name.removesuffix(".dist-info").rpartition("-")
        compiler = COMPILER_LIBRARIES[name]
        _unpack(patient, f"{name.replace('_', '-')}=={version}", downloads)
        _unpack(patient, f"{compiler}=={'.'.join(version.split('.')[:2])}.*", downloads)


def _key(*parts: object) -> str:
    files = (TORCH, TENSORFLOW, ROOT / "tests" / "machines" / "patients.py", Path(__file__))
    return hashlib.sha256(b"\0".join([repr(parts).encode(), *map(Path.read_bytes, files)])).hexdigest()


def _described(prefix: Path, name: str) -> Patient:
    major, minor = (RECIPES[name].python or "3.12").split(".")
    return Patient(prefix=prefix, version=(int(major), int(minor)))


def _fresh_patient(prefix: Path, name: str) -> Patient:
    shutil.rmtree(prefix, ignore_errors=True)
    patient = Patient.create(prefix, python=RECIPES[name].python)
    RECIPES[name].make(patient)
    return patient


class Environments:
    """Makes each environment once and keeps it until something that it is made of changes."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch

    def _kept(self, prefix: Path, key: str) -> bool:
        mark = prefix / "made-from"
        return mark.exists() and mark.read_text() == key

    def _prepare(self, contestant: Contestant, patient: Patient) -> None:
        """Give a peer what it needs, and install it."""
        make_importable(patient)
        for stub in contestant.stubs:
            patient.add_file(f"{stub}/__init__.py", f'__version__ = "{STUB_VERSION}"\n')
        if contestant.real_cuda_runtime:
            add_cuda_runtime(patient, self._scratch / "downloads")
        install(patient.python, f"{contestant.distribution}=={contestant.version}")

    def patient(self, contestant: Contestant, name: str) -> Patient:
        """Return a tool's own copy of an environment; what examines from inside is installed in it."""
        prefix = self._scratch / contestant.distribution / name.replace(" ", "-").replace(",", "")
        key = _key(name, contestant)
        if not self._kept(prefix, key):
            patient = _fresh_patient(prefix, name)
            if contestant.inside:
                self._prepare(contestant, patient)
            (prefix / "made-from").write_text(key)
        return _described(prefix, name)

    def doctor(self) -> Path:
        """Return the interpreter of gpudoctor's own environment, with this checkout's rules compiled anew."""
        prefix = self._scratch / "doctor"
        if not (prefix / "bin" / "python").exists():
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(prefix)], check=True)
        python = prefix / "bin" / "python"
        install(python, str(ROOT))
        rules = next(prefix.glob("lib/python3*/site-packages/gpudoctor/_rules"))
        command = [str(python), "-m", "tools.compile_rules", "--output", str(rules)]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        return python
