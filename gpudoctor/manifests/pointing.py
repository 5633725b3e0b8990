"""Which statement of a file a finding is about."""

from __future__ import annotations

from gpudoctor.manifests.laying import Laid
from gpudoctor.manifests.spans import Place
from gpudoctor.manifests.statements import Environment
from gpudoctor.model import Finding

EACH = " x "  # between a card and a framework


def place_of(finding: Finding, environment: Environment, laid: Laid) -> Place:
    """Return the statement of a finding: what its fix changes, what it was seen in, or whose it is."""
    named = _places(environment)
    changed = [place for fix in finding.fixes for name in fix.effect
               if (place := named.get(name)) is not None]
    if changed:
        return changed[0]
    sources = {str(place): place for place in named.values()}
    sources |= {str(one.place): one.place for one in environment.settings.values()}
    sources |= {str(one.place): one.place for one in environment.asked}
    for evidence in finding.evidence:
        if evidence.source in sources:
            return sources[evidence.source]
    image = environment.image.place if environment.image else environment.place
    return requirement_of(finding.subject, laid) or image


def requirement_of(subject: str, laid: Laid) -> Place | None:
    """Return what asks for the framework that something is said of, by itself or with a card."""
    framework = subject.rpartition(EACH)[2]
    own = [one.asked.place for one in laid.chosen if one.framework == framework]
    return own[-1] if own else None


def _places(environment: Environment) -> dict[str, Place]:
    """Return the statements that set facts which a fix may change."""
    found = {f"environment.{name}": setting.place for name, setting in environment.settings.items()}
    if "LD_LIBRARY_PATH" in environment.settings:
        found["loader.library_path"] = environment.settings["LD_LIBRARY_PATH"].place
    return found
