"""The CUDA of JAX where it stands beside jax, not as its extra: so programs write that name every release."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudoctor.frozen import frozen
from gpudoctor.manifests.releases import NVIDIA, applies, requirement_of
from gpudoctor.manifests.statements import Asked
from gpudoctor.versions import distribution_name

_PLUGIN = re.compile(r"jax-(cuda[0-9]+)-plugin\Z")
LOCAL = "-local"  # behind an extra: with the CUDA libraries of the machine
_WITH_LIBRARIES = "with-cuda"
# of releases before there was a plugin for each CUDA: jaxlib==0.4.26+cuda12.cudnn89
_LABEL = re.compile(r"\+(cuda[0-9][0-9])")


@frozen
class JaxParts:
    """The extra that amounts to what is named beside jax, "" for none; `by_label`: by that of jaxlib."""

    extra: str = ""
    by_label: bool = False


def parts_of(asked: Sequence[Asked], python: str | None) -> JaxParts:
    """Return what makes jax one for CUDA among what is asked for."""
    found = JaxParts()
    named = [requirement for one in asked if one.tool != "conda"
             and (requirement := requirement_of(one)) is not None and applies(requirement, python)]
    names = {distribution_name(one.name) for one in named}
    for one in named:
        plugin = _PLUGIN.match(distribution_name(one.name))
        label = _LABEL.search(str(one.specifier)) if distribution_name(one.name) == "jaxlib" else None
        if plugin is not None:
            number = plugin[1].removeprefix("cuda")
            is_whole = _WITH_LIBRARIES in one.extras or any(
                name.startswith(NVIDIA) and name.endswith(f"-cu{number}") for name in names)
            return JaxParts(extra=plugin[1] + ("" if is_whole else LOCAL))
        if label is not None:
            found = JaxParts(extra=label[1] + LOCAL, by_label=True)
    return found
