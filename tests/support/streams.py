"""Streams of turns to remember, and the presets that remember them."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.tiny_bert import WORDS
from tsim import LATE, LONGMEMEVAL, OFFICIAL, Memory, NewTurn
from tsim.segment import ConfidenceSettings

PRESETS = pytest.mark.parametrize("preset", [LATE, OFFICIAL, LONGMEMEVAL], ids=lambda p: p.name)
# Random models see likeness everywhere; this one cuts all the same.
EAGER = replace(
    LATE,
    settings=replace(
        LATE.settings,
        boundary=ConfidenceSettings(
            bias=96.0,
            sides_weight=100.0,
            drift_weight=0.0,
            user_after_user_weight=1.0,
            user_weight=0.0,
            length_weight=0.0,
            question_weight=0.0,
            cut_confidence=0.5,
        ),
    ),
)
CUTTING = pytest.mark.parametrize("preset", [EAGER, OFFICIAL], ids=["late", "official"])
PAPER = pytest.mark.parametrize("preset", [OFFICIAL], ids=["official"])


def stream(count: int, seed: int = 3) -> list[NewTurn]:
    rng = random.Random(seed)
    roles = ["user", "model"]
    return [
        NewTurn(
            role=roles[n % 2] if n % 11 else "tool",
            text=" ".join(rng.choices(WORDS, k=rng.randint(1, 60))),
            at=float(n) if n % 3 else None,
        )
        for n in range(count)
    ]


def exported(memory: Memory, path: Path) -> bytes:
    memory.export(path)
    return path.read_bytes()
