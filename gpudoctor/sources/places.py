"""Where a text comes from, by what it mentions: a container, WSL, conda, a cluster, an operating system."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.sources.found import Found
from gpudoctor.sources.lines import Text

_TRIES = 40  # places of a cue that may be part of a longer word
_ANSWER = 40
_NO = re.compile(r"[^:=\w]{0,6}[:=]\s{0,20}(?:no|false|none|n/a|not installed)[\s.]{0,10}")
# What stands around a part of a package's name in a list: `name 1.2`, `name==1.2`, or JSON.
_BEFORE_NAME = re.compile(r'(?:^[ \t]{0,8}|"name": ?")[a-z0-9_.-]{0,39}\Z')
_BEHIND_NAME = re.compile(r'[a-z0-9_.-]{0,30}(?:", "version": "|==|[ \t]{1,30})[0-9]{1,8}\.[0-9]')

# Place, then cues in lower case; one that begins or ends with a letter or digit must not go on as a longer
# word there. A line that begins with a space goes on with the cues above; "␣" is a space at an end.
_TABLE = r"""
linux       /usr/lib | /usr/local/ | /home/ | ubuntu | debian | centos | fedora | linux | /lib/x86_64 |
            /root/ | dlopen | cannot open shared object | /opt/ | redhat | rhel | /proc/ | /dev/nvidia
windows     c:\ | d:\ | e:\ | windows 10 | windows 11 | windows 8 | windows 7 | win32 | windows-10 |
            cudart64_ | nvcuda.dll | cudnn64_ | error loading " | powershell | winerror | windows server
            | appdata\ | as the name of a cmdlet | as an internal or external command
windows?    on windows | in windows | (windows) | windows pc | windows machine | windows laptop
macos       macos | mac os x | darwin | .dylib | apple m1 | apple m2 | apple silicon | m1 macbook |
            m2 macbook | m3 macbook | on a macbook | macbook pro m | macbook air m
wsl2        wsl2 | wsl 2 | /usr/lib/wsl | microsoft-standard | /dev/dxg | dxcore
wsl1        wsl1 | wsl 1 | -microsoft␣
wsl         in wsl | inside wsl | on wsl | with wsl | wsl ubuntu | wsl distro | wsl -- | microsoft/wsl |
            windows subsystem for linux | within wsl | the wsl
docker      docker run | docker: | docker-compose | docker compose | nvidia-docker | docker exec |
            dockerfile | docker daemon | nvidia-container-cli | /.dockerenv | docker-ce | docker image |
            docker container | docker desktop | docker build | dockerd | inside docker | in docker |
            --gpus all | nvidia-container-runtime | docker pull | runc create failed | docker0 |
            /var/lib/docker
podman      podman
lxc         lxc | lxd | proxmox | incus
singularity singularity | apptainer | .sif | /.singularity.d
kubernetes  kubernetes | kubectl | kubelet | k8s | nvidia.com/gpu: | nvidia.com/gpu" | insufficient
            nvidia.com/gpu | gpu-operator | minikube | k3s | device-plugin | microk8s | crashloopbackoff
            | failedscheduling | openshift | gke␣ | eks␣ | aks␣ | runtimeclass | rancher | k0s
slurm       slurm | srun | sbatch | slurmstepd | slurmd | --gres=
hpc         module load | /cvmfs/ | easybuild | lmod | supercomputer | hpc cluster | hpc node | on hpc |
            pbs_ | modulefiles | /apps/software/ | login node | compute node | hpc system | module avail
conda       miniconda | anaconda | conda install | conda activate | conda create | mambaforge |
            miniforge | /conda/ | conda-forge | condabin | micromamba | mamba install | conda env |
            libmambaunsatisfiableerror | conda environment | /envs/ | \envs\ | conda_prefix |
            cudatoolkit= | -c conda | [conda] pytorch | conda update | conda list | mamba create | mamba env |
            mamba update | from conda | with conda | via conda | using conda | environment.yml
colab       google colab | colab | google.colab | /content/drive
kaggle      /kaggle/ | kaggle
jetson      jetson | tegra | jetpack | l4t | nvgpu | nvmap | /etc/nv_tegra_release | agx orin | orin nx |
            orin nano | on orin | agx xavier | xavier nx
cloud-vm    ec2 | -aws␣ | -azure␣ | -gcp␣ | google cloud | gcp | azure vm | aws␣ | sagemaker | runpod |
            vast.ai | lambda labs | paperspace | gce␣ | compute engine | ip-172- | ip-10- | deep
            learning ami | gcloud␣ | databricks | azure ml | vertex ai
datacenter  dgx | hgx | fabric manager | fabricmanager | nvswitch
hyper-v     hyper-v | gpu-pv | discrete device assignment | gpu paravirtualization
jupyter     jupyter | ipykernel | <ipython-input | notebook server
nixos       nixos | /nix/store
"""


def _cues() -> dict[str, tuple[str, ...]]:
    lines: dict[str, list[str]] = {}
    place = ""
    for line in _TABLE.strip("\n").splitlines():
        word, _, rest = line.partition(" ")
        place = word or place
        lines.setdefault(place, []).append(rest.strip())
    return {place: tuple(cue.strip().replace("\u2423", " ") for cue in " ".join(rest).split("|"))
            for place, rest in lines.items()}


_CUES = _cues()
# Systems in a row, "Linux, macOS and Windows": what a program runs on, and no place.
_SEVERAL = re.compile(
    r"(?:(?:linux|mac ?os(?: x)?|windows)(?:, (?:and |or )?|/| and | or | & )){1,3}"
    r"(?:linux|mac ?os(?: x)?|windows)")
_ROW = 40
_SPOKEN_OF = "windows?"
_LINUX_WITH = ("docker", "podman", "lxc", "singularity", "kubernetes", "slurm", "colab", "kaggle", "jetson",
               "wsl1", "wsl2", "nixos")


def read(text: Text, found: Found) -> None:
    """Note every place that has a cue, with the line of the first."""
    for place, cues in _CUES.items():
        first = min(_places_of(text.folded, cues), default=-1)
        if first >= 0:
            found.mention("text.places", place, text.source(text.index_at(first)))


def settled(places: dict[str, str]) -> dict[str, str]:
    """Return the places without those that another one explains.

    In WSL the paths and products of Windows are around, and what runs in it is Linux; "WSL" alone is WSL 2.
    Who speaks of Windows in a sentence may compare: it counts where nothing of Linux is around.
    """
    kept = dict(places)
    spoken_of = kept.pop(_SPOKEN_OF, None)
    if spoken_of is not None and kept.keys().isdisjoint(("linux", "wsl", "wsl1", "wsl2", *_LINUX_WITH)):
        kept.setdefault("windows", spoken_of)
    unnumbered = kept.pop("wsl", None)
    if unnumbered is not None and "wsl1" not in kept:
        kept.setdefault("wsl2", unnumbered)
    if "wsl1" in kept and "wsl2" in kept:
        kept.pop("wsl1")
    for place in _LINUX_WITH:
        if place in kept and "windows" not in kept:
            kept.setdefault("linux", kept[place])
    if "wsl1" in kept or "wsl2" in kept:
        kept.setdefault("linux", kept.get("wsl2") or kept["wsl1"])
        kept.pop("windows", None)
    return kept


def _places_of(folded: str, cues: tuple[str, ...]) -> Iterator[int]:
    """Yield where each cue stands first as a word of its own."""
    for cue in cues:
        position = folded.find(cue)
        for _ in range(_TRIES):
            if position < 0:
                break
            end = position + len(cue)
            if _stands_alone(folded, position, end) and not (
                    _is_denied(folded, end) or _is_same_anywhere(folded, position)
                    or _is_one_of_several(folded, position, end)
                    or _is_in_a_name(folded, position, end)):
                yield position
                break
            position = folded.find(cue, position + 1)


def _is_denied(folded: str, end: int) -> bool:
    """Say whether the line goes on as "?: No": then it is a question of a form, and its answer."""
    rest = folded[end - 1:end + _ANSWER].partition("\n")[0]
    return _NO.fullmatch(rest if rest[:1] == ":" else rest[1:]) is not None


def _is_one_of_several(folded: str, start: int, end: int) -> bool:
    """Say whether a system stands in a row of several."""
    first = max(start - _ROW, 0)
    return any(row.start() + first <= start and end <= row.end() + first
               for row in _SEVERAL.finditer(folded[first:end + _ROW]))


def _is_same_anywhere(folded: str, position: int) -> bool:
    """Say whether a line is the same on any machine: a heading, or what modinfo says a module may be told."""
    return folded.startswith(("parm:", "== "), folded.rfind("\n", 0, position) + 1)


def _is_in_a_name(folded: str, start: int, end: int) -> bool:
    """Say whether it is a part of the name of a listed package: tree-sitter-powershell runs anywhere."""
    if "-" not in (folded[start - 1:start], folded[end:end + 1]):
        return False
    begin = max(folded.rfind("\n", 0, start) + 1, start - _ANSWER)
    return _BEFORE_NAME.search(folded[begin:start]) is not None and _BEHIND_NAME.match(
        folded[end:end + _ANSWER]) is not None


def _stands_alone(folded: str, start: int, end: int) -> bool:
    begins = not folded[start].isalnum() or not folded[start - 1:start].isalnum()
    return begins and (not folded[end - 1].isalnum() or not folded[end:end + 1].isalpha())
