"""`gpudoctor facts`: the catalogue of everything a snapshot can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudoctor.cli import showing, streams

if TYPE_CHECKING:
    from gpudoctor.facts import FactSpec


def facts() -> None:
    """List every fact: name, type, where it comes from, meaning.

    Example: gpudoctor facts | grep cudnn
    """
    from gpudoctor.facts import CATALOGUE
    from gpudoctor.render import wrapped

    text = "".join(f"{_line(spec)}\n" for spec in CATALOGUE.values())
    streams.say(showing.fitted(text, wrapped.records))


def _line(spec: FactSpec) -> str:
    marks = "".join(f" ({mark})" for mark in ("private", "informative") if getattr(spec, mark))
    return f"{spec.name:36} {spec.type.value:22} {spec.probe:12} {spec.meaning}{marks}"
