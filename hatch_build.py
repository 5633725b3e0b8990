"""Build hook: the top-level `rules/` goes into the wheel as `gpudoctor/_rules`.

Not into an editable install, whose copy would soon be older than the pages in the checkout beside it.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class RulesHook(BuildHookInterface[Any]):
    """Add the rule pages, the tables and the compiled files to a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add `rules/`; refuse to build a wheel without the compiled files, which commands read."""
        if version == "editable":
            return
        rules = Path(self.root) / "rules"
        for name in ("db.json", "rules.json", "tables.jsonl", "symptoms.json", "pages.json"):
            if not (rules / name).is_file():
                raise FileNotFoundError(f"{rules / name} is missing: run `make rules`")
        build_data["force_include"][str(rules)] = "gpudoctor/_rules"
