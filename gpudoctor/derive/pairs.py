"""Facts of one card with one framework: is there machine code, and what must the driver compile?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpudoctor.derive import device_code
from gpudoctor.derive.releases import ceiling_for, code_of
from gpudoctor.derive.view import NotKnown, View
from gpudoctor.model import Absent, Fact, Known, Unknown

def pair_code(view: View) -> Fact:
    """Return what machine code this build has for this card."""
    return Known(value=_coverage(view).kind, source="device code of the build")


def pair_ptx_isa(view: View) -> Fact:
    """Return the newest PTX ISA that the driver must compile for this card."""
    isa = _coverage(view).ptx_isa
    if isa is None:
        return Absent(source="nothing must be compiled for this card")
    return Known(value=isa, source="device code of the build")


def pair_ptx_ceiling(view: View) -> Fact:
    """Return the oldest driver ceiling that compiles the PTX this card needs."""
    isa = view.need_text("pair.ptx_isa")
    ceiling = ceiling_for(isa, view)
    if ceiling is None:
        return Unknown(reason=f"the rule database does not know PTX ISA {isa}")
    return Known(value=ceiling, source=f"rules/tables/ptx_isa.toml for PTX ISA {isa}")


def _coverage(view: View) -> device_code.Coverage:
    if view.need("framework.has_gpu_build") is False:
        raise NotKnown(Absent(source="this build uses no NVIDIA GPU"))
    return device_code.coverage(code_of(view), view.need_text("gpu.compute_capability"))


PAIR_DERIVATIONS: Mapping[str, Callable[[View], Fact]] = {
    "pair.code": pair_code,
    "pair.ptx_isa": pair_ptx_isa,
    "pair.ptx_ceiling": pair_ptx_ceiling,
}
