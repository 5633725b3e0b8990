"""Where the project lives: the one place that names it, for whoever sends a person or a program there."""

from __future__ import annotations

REPOSITORY = "https://github.com/gpudoctor/gpudoctor"
ISSUES = f"{REPOSITORY}/issues"
