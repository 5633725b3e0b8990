"""What the stand-alone payload runs each framework through: all stages, on the first card that it sees.

gpudoctor itself chooses cards by their room and what they are (courses.py); here nothing is chosen, but
the card is left alone for the same reasons: it is taken, closed or full.
"""

import json

from . import standalone_card

STAGES = ("matmul", "convolution", "compiled", "reduced-precision")
MEMORY_LIMIT_BYTES = 512 << 20


def courses(answers, depth, hidden_by):
    """Return one course for each installed framework: its stages, or only its import with the reason.

    `hidden_by` is what CUDA_VISIBLE_DEVICES says, None where it is not set.
    """
    card = standalone_card.first(answers, hidden_by)
    skipped = _skipped(answers, depth, card)
    visible = _first(answers, hidden_by)
    data = answers["frameworks"].get("data")
    frameworks = data.get("frameworks") if isinstance(data, dict) else None
    listed = frameworks if isinstance(frameworks, list) else []
    names = [found.get("name") for found in listed if isinstance(found, dict)]
    return [{"framework": name, "card": "", "visible": visible, "stages": [] if skipped else list(STAGES),
             "skipped": skipped, "card_memory_bytes": card["total"], "rounds": []} for name in names]


def _first(answers, hidden_by):
    """Return what leaves the first of several cards visible: frameworks take hold of each that they see."""
    cuda = answers["cuda"].get("data")
    devices = cuda.get("devices") if isinstance(cuda, dict) else None
    if not isinstance(devices, list) or len(devices) < 2:
        return None
    return "0" if hidden_by is None else hidden_by.split(",")[0]


def _skipped(answers, depth, card):
    if depth != "smoke":
        return {"reason": "nothing is run at depth " + depth, "wanted": False}
    cuda = answers["cuda"].get("data")
    devices = cuda.get("devices") if isinstance(cuda, dict) else None
    if devices:
        reason = standalone_card.left_alone(card)
        return {"reason": reason, "wanted": True} if reason else None
    # whether there should be a device the other facts say; nothing can be run on none
    return {"reason": "libcuda lists no device to run on", "wanted": False}


def request(course, stages, limit_seconds):
    """Return what the child is asked."""
    return {"framework": course["framework"], "stages": list(stages), "import_only": not stages,
            "limit_seconds": limit_seconds, "memory_limit_bytes": MEMORY_LIMIT_BYTES,
            "card_memory_bytes": course["card_memory_bytes"],
            "visible": [course["visible"]] if course["visible"] else []}


def remaining(stages, journal):
    """Return the stages that a child never began; all of them when it never got as far."""
    begun = set()
    for line in journal.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and event.get("event") == "begun":
            begun.add(event.get("stage"))
    return [stage for stage in stages if stage not in begun]
