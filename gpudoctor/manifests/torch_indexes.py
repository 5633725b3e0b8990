"""PyTorch's own indexes, one for each CUDA: which the tables know, and which has a build by its label."""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor import versions
from gpudoctor.derive import published
from gpudoctor.manifests.releases import LABEL, PYTORCHS_OWN, requirement_of
from gpudoctor.manifests.statements import Asked
from gpudoctor.model import Tables, rows_of

_NEAREST = 3


def unknown(asked: Asked, tables: Tables) -> str | None:
    """Return why no build of torch is known where one is asked for, by its index or its label."""
    name = _unknown(asked, tables)
    if name is None:
        return None
    known = _known(tables)
    near = sorted(known, key=lambda number: abs(number - _number(name)))[:_NEAREST]
    return (f"these rules know no index of PyTorch for {name}; the nearest that they know are "
            f"{', '.join(known[number] for number in near)}")


def is_of_no_cuda(asked: Asked, tables: Tables) -> bool:
    """Say whether it is an unknown index for a CUDA that there is not: of what it has nothing can be told."""
    name = _unknown(asked, tables)
    return name is not None and not names_cuda(name, tables)


def names_cuda(label: str, tables: Tables) -> bool:
    """Say whether there is a CUDA that a label names, with an index of PyTorch's or not."""
    toolkits = (str(row["cuda"]).replace(".", "") for row in rows_of(tables, "cuda_toolkits"))
    return _is_known(label, tables) or label.removeprefix("cu") in toolkits


def _is_known(label: str, tables: Tables) -> bool:
    known = _known(tables)
    return not known or _number(label) in known


def _unknown(asked: Asked, tables: Tables) -> str | None:
    label, index = LABEL.search(asked.text), PYTORCHS_OWN.match(asked.index or "")
    named = (index[1] if index is not None else "", f"cu{label[1]}" if label is not None else "")
    return next((one for one in named if one.startswith("cu") and not _is_known(one, tables)), None)


def _known(tables: Tables) -> Mapping[int, str]:
    """Return the labels by their numbers; what the default index has lies on one of PyTorch's, too."""
    default = (str(row["cuda"]) for row in rows_of(tables, "torch") if "cuda" in row)
    labels = (*published.labels(tables), *(f"cu{versions.minor_of(one).replace('.', '')}" for one in default))
    return {_number(label): label for label in labels if label.startswith("cu")}


def _number(label: str) -> int:
    return int(label.removeprefix("cu"))


def index_of_label(framework: str, asked: Asked, tables: Tables) -> str | None:
    """Return the index of a build by its label, where none is asked that has it.

    The default index has no labels, each of the framework's own has its one; of others nobody knows.
    """
    requirement = requirement_of(asked)
    if (requirement is None or asked.tool == "conda" or asked.locked or asked.is_file or asked.links
            or asked.overrides):
        return None
    label = next((bound.version.partition("+")[2] for bound in requirement.specifier
                  if bound.operator in ("==", "===") and "+" in bound.version), "")
    known = next((str(row["index"]) for row in rows_of(tables, f"{framework}_indexes")), "")
    own, wanted = known.rpartition("/")[0], f"{known.rpartition('/')[0]}/{label}"
    named = [address.rstrip("/") for address in (asked.index, *asked.extra_indexes) if address]
    if not label or not known or wanted in named or is_of_no_cuda(asked, tables) or any(
            one.rpartition("/")[0] != own for one in named):
        return None
    return wanted
