"""What tests of services share: the schemas that they are checked by, and gpudoctor as they install it."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from tests.contract.checkout import ROOT, files_below
from tests.harness.programs import installed

_SCHEMAS = "check-jsonschema==0.39.0"  # holds the schemas that services and SchemaStore publish
_EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")


def complaints(service: str, document: Any) -> list[str]:
    """Return what a service's schema says against a document."""
    folder = installed(_SCHEMAS) / "check_jsonschema" / "builtin_schemas" / "vendor"
    schema = json.loads((folder / f"{service}.json").read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    return [error.message for error in validator.iter_errors(document)]


def document(path: str) -> Any:
    """Return a YAML file of the checkout."""
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def copied(folder: Path) -> Path:
    """Return a copy of the checkout as a service fetches it, so that a build writes nothing into this one."""
    for path in files_below(ROOT):
        place = folder / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)
    return folder


def with_contexts(text: str, contexts: Mapping[str, str]) -> str:
    """Return a text of a workflow with its expressions replaced, as a runner does before it runs it."""
    return _EXPRESSION.sub(lambda found: contexts[found[1]], text)


def of_pip() -> dict[str, str]:
    """Return the variables that pip here is configured with, and where its files are looked for."""
    names = [name for name in os.environ if name.startswith("PIP_") or name in ("HOME", "SSL_CERT_FILE")]
    return {name: os.environ[name] for name in names}
