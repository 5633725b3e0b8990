"""Logs to be searched: a large one of training output with real lines in between, and one of forty lines."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpudoctor import ruledb
from gpudoctor.symptoms import anchor_of

ROOT = Path(__file__).resolve().parent.parent
LARGE_MEGABYTES = 256
SHORT_LINES = 40
# One line in so many is what a program really said when something was wrong, or harmless.
REAL_EVERY = 1000
_USUAL = (
    "2026-11-20 05:{:02d}:{:02d}.{:06d}: I tensorflow/core/platform/worker.cc:182] step {} of the training",
    "[INFO] 2026-11-20T05:{:02d}:{:02d}.{:06d} worker: epoch {} loss=0.4312 accuracy=0.9123 lr=1e-4",
    '10.0.{:d}.{:d} - {:06d} "GET /api/v1/items/{} HTTP/1.1" 200 1532 "Mozilla/5.0 (X11; Linux x86_64)"',
    "DEBUG {:02d}:{:02d}.{:06d} scheduler.py: task {} was given to a worker, the queue is short now",
)
_SAID = (
    ("stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic library 'libcudnn.so.8'; "
     "dlerror: libcudnn.so.8: cannot open shared object file: No such file or directory"),
    ("core/common_runtime/gpu/gpu_device.cc:1850] Cannot dlopen some GPU libraries. Please make sure the "
     "missing libraries mentioned above are installed properly if you would like to use GPU."),
)


def write_large(path: Path) -> None:
    """Write the same log each time the rules are the same."""
    chance = random.Random(0)
    symptoms = ruledb.load_pages(ROOT / "rules").symptoms
    real = [example.line for symptom in symptoms for example in symptom.examples]
    unwritten = path.with_suffix(".part")
    with unwritten.open("w", encoding="utf-8") as file:
        left = LARGE_MEGABYTES * 1_000_000
        for line in _lines(chance, real):
            file.write(line)
            left -= len(line)
            if left <= 0:
                break
    unwritten.replace(path)


def _lines(chance: random.Random, real: Sequence[str]) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        usual = chance.choice(_USUAL).format(number % 60, number % 59, number % 999_983, number)
        yield f"{chance.choice(real) if number % REAL_EVERY == 0 else usual}\n"


def write_short(path: Path) -> None:
    """Write what TensorFlow says where a library is missing, among lines of a training."""
    chance = random.Random(1)
    said = [f"2026-11-20 05:43:12.412787: W tensorflow/{line}\n" for line in _SAID]
    lines = _lines(chance, said)
    path.write_text("".join([next(lines) for _ in range(SHORT_LINES - len(said))] + said), encoding="utf-8")


def write_literals(path: Path) -> None:
    """Write the literal of each pattern without which it cannot match, each in its line."""
    symptoms = ruledb.load_pages(ROOT / "rules").symptoms
    anchors = {anchor_of(pattern) for symptom in symptoms for pattern in symptom.patterns}
    path.write_text("".join(f"{anchor}\n" for anchor in sorted(anchors)), encoding="utf-8")
