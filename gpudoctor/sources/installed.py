"""What a list of packages says beyond its lines: builds by name, plugins, packages over one another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpudoctor import versions as versions_of
from gpudoctor.model import Record
from gpudoctor.sources.found import Found

_CPU_NAMES = frozenset({"tensorflow-cpu", "tensorflow-cpu-aws", "pytorch-cpu"})
_JAX_CUDA = re.compile(r"jax-cuda([0-9]{2})-(?:plugin|pjrt)")
# Distributions that put their files into one and the same folder.
_ONE_FOLDER: Mapping[str, frozenset[str]] = {
    "tensorflow": frozenset({"tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tf-nightly", "tf-nightly-gpu",
                             "tf-nightly-cpu", "intel-tensorflow", "nvidia-tensorflow"}),
    "paddle": frozenset({"paddlepaddle", "paddlepaddle-gpu"}),
}


def conclude(found: Found) -> None:
    """Note what follows from the packages together; what is not there counts only in a list that is whole."""
    versions = {name: (version, source) for (name, version), source in found.packages.items()}
    for name in sorted(_CPU_NAMES & versions.keys()):
        framework = "torch" if name == "pytorch-cpu" else "tensorflow"
        found.framework(framework, "framework.build", "cpu", versions[name][1])
    for framework, names in _ONE_FOLDER.items():
        _over_one_another(found, framework, [name for name in versions if name in names], versions)
    _jax(found, versions)
    if found.whole_list is not None:
        records: list[Record] = [{"name": name, "version": version, "location": ""}
                                 for name, (version, _) in versions.items() if name.startswith("nvidia-")]
        found.say("python.nvidia_distributions", tuple(records), found.whole_list)


def _over_one_another(found: Found, framework: str, names: list[str],
                      versions: Mapping[str, tuple[str, str]]) -> None:
    """Note the others beside the one that counts: that of the newest release, of equals the last of a list.

    Which one was installed last no list says; who takes the newest loses nothing that was asked for.
    """
    names = sorted(names, key=lambda name: versions_of.parse(versions[name][0])
                   if versions_of.is_version(versions[name][0]) else versions_of.parse("0"))
    told = [one for one in found.frameworks.get(framework, ()) if one.fact == "framework.version"]
    if len(names) > 1 and told and (told[-1].value, told[-1].source) in [versions[name] for name in names]:
        version, where = versions[names[-1]]  # the list is all that tells of it
        found.framework(framework, "framework.distribution", names[-1], where)
        found.framework_version(framework, version, where)
    source = found.whole_list
    if len(names) > 1:
        source = "; ".join(versions[name][1] for name in names)
    if names and source is not None:
        found.framework(framework, "framework.other_distributions", tuple(names[:-1]), source)


def _jax(found: Found, versions: Mapping[str, tuple[str, str]]) -> None:
    plugins = list(_plugins(versions))
    cuda = [(match[1], source) for name, (_, source) in versions.items()
            if (match := _JAX_CUDA.fullmatch(name))]
    jaxlib, source = versions.get("jaxlib", ("", ""))
    if cuda:
        found.framework("jax", "framework.build", "cuda", cuda[-1][1])
        found.framework("jax", "framework.cuda", cuda[-1][0], cuda[-1][1])
    elif "+cuda" in jaxlib:
        found.framework("jax", "framework.build", "cuda", source)
    elif jaxlib and found.whole_list is not None and not any(name.startswith("jax-") for name in versions):
        found.framework("jax", "framework.build", "cpu", source)
    if jaxlib and (cuda or found.whole_list is not None):
        found.framework("jax", "framework.plugins", tuple(plugins), source)


def _plugins(versions: Mapping[str, tuple[str, str]]) -> Iterator[Record]:
    for name, (version, _) in versions.items():
        if name == "jaxlib" or _JAX_CUDA.fullmatch(name):
            yield {"name": name, "version": version}
