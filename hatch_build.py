"""Build hook: the top-level `rules/` is compiled, and goes into the wheel as `gpudoctor/_rules`.

An editable install gets no copy, which would soon be older than the pages in the checkout beside it.
"""

import importlib
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class RulesHook(BuildHookInterface[Any]):
    """Compile the rule pages; add them, the tables and the compiled files to a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile `rules/` where it lies; refuse to build if a page cannot be used."""
        rules = Path(self.root) / "rules"
        sys.path.insert(0, self.root)  # the compiler is part of what is being built
        try:
            importlib.import_module("tools.compile_rules").compile_rules(rules, rules)
        finally:
            sys.path.remove(self.root)
        if version != "editable":
            build_data["force_include"][str(rules)] = "gpudoctor/_rules"
