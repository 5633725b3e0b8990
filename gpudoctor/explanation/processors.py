"""Whether anybody publishes a framework with CUDA for the processor that a text names."""

from __future__ import annotations

from gpudoctor.explanation.stated import Stated
from gpudoctor.model import Known

_COMMON = "x86_64"
_OWN_BUILDS = frozenset({"jetson", "macos", "windows"})  # places whose builds come from elsewhere, or nowhere
_PLUGINS = "jax-cuda"


def lacks_builds(stated: Stated) -> Known | None:
    """Say whether the index has no build with CUDA for the processor; None where no processor is named.

    For a release that is not stated, or that no table has, it has none as far as anybody knows.
    """
    processor = stated.text("text.processor")
    if processor is None or not _OWN_BUILDS.isdisjoint(stated.texts("text.places")):
        return None
    version = stated.text("text.framework_version") or ""
    rows = stated.rows
    if stated.text("text.framework") == "jax":
        rows = tuple(row for row in stated.rows_of("jax_distributions") if row["version"] == version
                     and str(row["distribution"]).startswith(_PLUGINS))
        if not version and processor != "ppc64le":
            return None  # the plugins of today have it, those of yesterday had not
    has = "+cu" in version or any(
        row.get("platform") == f"linux_{processor}" and row.get("build") == "cuda" for row in rows)
    return Known(value=processor != _COMMON and not has, source="computed from text.processor")
