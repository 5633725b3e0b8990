"""Lines that are no report, and words in a line that name no GPU: they are read for known messages alone.

A guess at what an unknown wording means is for what people and programs say of computing on a GPU. The
progress of a download, a refused ssh and the name of a file or a host say nothing of it, whatever words they
are made of.
"""

from __future__ import annotations

import re

from gpudoctor.lazily import Pattern

# What the line begins with: the progress of docker and pip, what npm, git and ssh say.
_BEGINS = Pattern(
    r"\s{0,8}(?:Status: (?:Downloaded newer|Image is up to date)|Unable to find image '|Digest: sha256:|"
    r"(?:WARNING: )?Retrying \(Retry\(|Successfully (?:installed|uninstalled|built|tagged) |"
    r"Requirement already satisfied|Collecting \S+$|(?:Downloading|Using cached) \S|"
    r"(?:npm|yarn|pnpm) (?:WARN|ERR!|warn|error|notice)|"
    r"(?:ssh|scp|sftp|rsync|curl|wget|git|fatal|remote|wandb): |"
    r"error TS[0-9]|kubelet: Unable to (?:attach or )?mount volumes)|"
    r"\S{1,200}: Pulling from \S")
# A variable of the environment with its value, as `env` lists it.
_VARIABLE = Pattern(r"\s{0,8}(?:export )?[A-Z][A-Z0-9_]{2,60}=\S{0,500}\s{0,8}$")
# Python's own errors quote names of the program: an attribute, an argument, a key.
_OF_NAMES = Pattern(r"(?:AttributeError|TypeError|KeyError|NameError): ")
_NAME_QUOTED = re.compile(r"'[\w.]{1,80}'")
# A file that is data or source, and what a host or a pod is called.
_FILE = re.compile(
    r"[\w./~\\-]{0,200}\.(?:csv|cu|cuh|py|txt|json|jsonl|ya?ml|h5|pt|pth|ckpt|npz?|run|zip|tar|gz|log|md)\b")
_HOST = re.compile(
    r"\b(?:host|hostname|server|node|pod|service)(?: name)?[ =:]{1,3}\"?[a-zA-Z_.]{1,40}[-0-9][\w.-]{1,80}")
_ERRNO = re.compile(r"\[Errno [0-9]{1,3}\]")  # the system's own
_MISSING_FILE = Pattern(r".{0,120}No such file or directory(?:$|:)")


def says_nothing_of_gpus(line: str) -> bool:
    """Say whether a line is the progress or the trouble of a program that has nothing to do with GPUs."""
    return bool(_BEGINS.match(line) or _VARIABLE.match(line))


def without_names(line: str) -> str:
    """Return a line without the names in it that anybody may give: of files, hosts and attributes."""
    if _OF_NAMES.match(line):
        return _NAME_QUOTED.sub("", line)
    line = _ERRNO.sub("", line)
    return _FILE.sub("", line) if _MISSING_FILE.match(line) else _HOST.sub("", line)
