"""Convert plain values of options without pydantic, which typer (from 0.29 on) imports for every one of them.

That import takes longer than all else a command does. So what is fine as it stands (a default, a text) or
plainly converts (a choice, a number within its bounds) is converted here. What a choice or a number cannot be
is refused in the words that `gpudoctor.check()` has for it; anything else goes to typer, which finds its own.
Older releases of typer never ask here.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import typer
import typer.core

from gpudoctor import arguments

_ANY_NUMBER = -1  # of arguments, as click counts them


class _Refused(Exception):
    """The value is not so plain after all."""


class _Converter:
    """Stands before the converter that typer made for one parameter."""

    def __init__(self, parameter: Any) -> None:
        self._of_typer = parameter.get_runtime_param

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the converted value; the name and the arguments are typer's."""
        try:
            return _plain(value, param)
        except (_Refused, ValueError, AttributeError):
            return self._of_typer().coerce(value, param=param, ctx=ctx)


def _plain(value: Any, parameter: Any) -> Any:
    wanted, options = parameter.type_descriptor.annotation, parameter.type_descriptor.parameter_info
    if options.parser is not None or parameter.nargs not in (1, _ANY_NUMBER):
        raise _Refused
    if value is None:
        return () if parameter.multiple else None
    if wanted == list[str] and isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
        return list(value)
    if isinstance(wanted, type) and isinstance(value, wanted) and isinstance(value, str | int | Enum):
        return value
    if isinstance(wanted, type) and issubclass(wanted, Enum) and isinstance(value, str):
        return _chosen(value, wanted)
    if wanted is float and isinstance(value, str | float):
        return _within(value, options.min, options.max)
    raise _Refused


def _chosen(value: str, choices: type[Enum]) -> Enum:
    try:
        return choices(value)
    except ValueError:
        known = [str(one.value) for one in choices]
        raise typer.BadParameter(f"{value!r} is not {arguments.allowed(value, known)}") from None


def _within(value: str | float, least: float | None, most: float | None) -> float:
    if least is None or most is None:
        raise _Refused
    try:
        return arguments.number("", float(value), least, most)
    except ValueError:
        raise typer.BadParameter(f"{value!r} is not {arguments.between(least, most)}") from None


def _prepare(parameters: list[Any]) -> None:
    for parameter in parameters:
        if hasattr(parameter, "get_runtime_param") and "get_runtime_param" not in vars(parameter):
            converter = _Converter(parameter)
            parameter.get_runtime_param = lambda converter=converter: converter


def _no_type(ctx: Any) -> str:  # noqa: ARG001  (the name is typer's)
    return ""


class Command(typer.core.TyperCommand):
    """A command whose plain values cost nothing, and whose arguments stand without braces in its usage."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words behind the command's name; typer from 0.29 on has braces around a required one."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; typer from 0.29 on would write `FILE <list[str]>` in the help of one."""
        parameters: list[Any] = super().get_params(ctx)
        for parameter in parameters:
            if parameter.param_type_name == "argument" and hasattr(parameter, "display_type_rich"):
                parameter.display_type_rich = _no_type
        return parameters

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, as typer does."""
        _prepare(self.get_params(ctx))
        return super().parse_args(ctx, args)


class Group(typer.core.TyperGroup):
    """A group whose plain values cost nothing."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, as typer does."""
        _prepare(self.get_params(ctx))
        return super().parse_args(ctx, args)
