"""A real Jupyter: jupyter_client and ipykernel in an environment of their own, made once and kept."""

from __future__ import annotations

from pathlib import Path

from tests.harness.installed import installed

# What the search order was last held against; newer releases are for a person to look at.
REQUIREMENTS = ("jupyter_client==8.10.0", "jupyter_core==5.9.1", "ipykernel==7.4.0")


def jupyter() -> Path:
    """Return the environment; skip the test where it cannot be had."""
    return installed("jupyter", *REQUIREMENTS)
