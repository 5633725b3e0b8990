"""Which CUDA the extra of a requirement on jax brings: pip only warns of an extra that a release lacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpudoctor.derive import published
from gpudoctor.derive.view import as_texts
from gpudoctor.manifests.jax_parts import LOCAL
from gpudoctor.model import Tables
from gpudoctor.versions import distribution_name

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_CUDA, _PIP = "cuda", "-pip"
_MADE_FOR = re.compile(r"(?:jax-|\+)(cuda[0-9][0-9])")  # jax-cuda12-plugin, jaxlib==0.4.26+cuda12.cudnn89


def brought(requirement: Requirement, python: str | None, platform: str, tables: Tables,
            admits: Callable[[Requirement, str], bool]) -> list[str]:
    """Return the extras for CUDA that the release which pip takes has, each by the CUDA that it is for.

    The newest CUDA comes first, as JAX looks for its plugins, and what brings the libraries before what does
    not. Those of a release that is not known are taken by their names.
    """
    asked = sorted((distribution_name(extra) for extra in requirement.extras if extra.startswith(_CUDA)),
                   key=lambda extra: (extra.partition("-")[0], "-" not in extra, extra), reverse=True)
    taken = next((row for row in published.jax_releases(platform, tables)
                  if (python is None or python in as_texts(row["python"]))
                  and admits(requirement, str(row["version"]))), None)
    if taken is None:
        return [extra.removesuffix(_PIP) for extra in asked]
    offered = dict(text.partition(":")[::2] for text in as_texts(taken.get("extras")))
    return [*_known(asked, offered)]


def _known(asked: Sequence[str], offered: dict[str, str]) -> list[str]:
    found = []
    for extra in asked:
        plain, _, rest = extra.partition("-")
        if extra in offered:
            made_for = _MADE_FOR.search(offered[extra])
            found.append(made_for[1] if made_for else plain)
        elif rest and rest != _PIP[1:] and plain in offered:  # the tables have no others: cuda12-local
            found.append(f"{plain}{LOCAL}")
    return found
