"""`gpudoctor facts`: the catalogue of everything a snapshot can hold."""

from __future__ import annotations

import typer

from gpudoctor.facts import CATALOGUE


def facts() -> None:
    """List every fact: its name, type, where it comes from, and what it means.

    Example: gpudoctor facts | grep cudnn
    """
    for spec in CATALOGUE.values():
        private = " (private)" if spec.private else ""
        typer.echo(f"{spec.name:36} {spec.type.value:22} {spec.probe:12} {spec.meaning}{private}")
