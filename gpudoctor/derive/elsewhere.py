"""Where a machine that shows no card has one to ask for: a notebook, a cluster, a laptop's switch."""

from __future__ import annotations

from gpudoctor.derive.view import View
from gpudoctor.model import Absent, Fact, Known

_NOTEBOOKS = {"environment.COLAB_RELEASE_TAG": "colab", "environment.KAGGLE_KERNEL_RUN_TYPE": "kaggle"}
_JOB = "environment.SLURM_JOB_ID"
_GPUS_OF_JOB = ("environment.SLURM_JOB_GPUS", "environment.SLURM_STEP_GPUS", "environment.SLURM_GPUS_ON_NODE")


def card_elsewhere(view: View) -> Fact:
    """Return what says so; absent where nothing does, or where nobody asked, as in older snapshots.

    It only chooses among causes: that there is no card is seen by other means. A laptop's switch says nothing
    in a container, whose page is another one.
    """
    for name, place in _NOTEBOOKS.items():
        if isinstance(view.fact(name), Known):
            return Known(value=place, source=name.partition(".")[2])
    container = view.fact("container.runtime")
    if isinstance(view.fact("system.gpu_switched_off"), Known) and not isinstance(container, Known):
        source = view.source("system.gpu_switched_off")
        return Known(value="switched-off", source=source) if isinstance(container, Absent) else container
    if isinstance(view.fact(_JOB), Known):
        if all(isinstance(view.fact(name), Absent) for name in _GPUS_OF_JOB):
            return Known(value="slurm", source="SLURM_JOB_ID, and no variable of Slurm's names a GPU")
    elif view.value("system.slurm") is True and isinstance(view.fact(_JOB), Absent):
        return Known(value="slurm", source=f"{view.source('system.slurm')}, outside of a job")
    unseen = view.unknown_among((*_NOTEBOOKS, "system.gpu_switched_off", _JOB, "system.slurm"))
    return unseen if unseen is not None and unseen.asked else Absent(
        source="nothing says that this machine has a card to ask for")
