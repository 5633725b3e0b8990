"""Messages that by themselves say nothing of a fault: a command, a place, a request for a GPU."""

from __future__ import annotations

from gpudoctor.model import SymptomPattern

LEAST_WEIGHT = 15  # of a hundred texts; below it a message informs


def is_context(symptom: SymptomPattern) -> bool:
    """Say whether a message suspects nothing unless something else is said beside it.

    What is known to be harmless, or speaks against a cause, says enough.
    """
    return not (symptom.benign or symptom.against) and not any(
        suspect.weight >= LEAST_WEIGHT and not suspect.when for suspect in symptom.suspects)
