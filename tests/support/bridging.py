"""Runs whose rows are exported, and replies that depend on what is asked alone."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from scaleqa.backends import Reply, Request
from scaleqa.evaluate import RunSettings, run_systems
from scaleqa.packages import Package, build
from scaleqa.testing import WordEmbedder
from tests.support.records import NOISE, make, settings_of
from tests.support.runs import loop

DOMAINS = ("Finance", "Legal")
SYSTEMS = ("bm25_chunks", "zero_shot")


def reply_to(question: str) -> str:
    """An answer that is sometimes right, and sometimes none."""
    drawn = hashlib.sha256(question.encode()).digest()[0] % 5
    return "I would rather not say." if drawn == 4 else f"ANSWER: {'ABCD'[drawn]}\nRATIONALE: so"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A reader whose answers are drawn."""

    identity: str = "drawing/1"
    stand_in: bool = False

    def reply(self, request: Request) -> Reply:
        return Reply(text=reply_to(request.question), prompt_tokens=20, completion_tokens=5)

    def close(self) -> None:
        """Holds nothing."""


def two_packages() -> list[Package]:
    records = [make(n, domain=domain) for domain in DOMAINS for n in range(1, 9)]
    return build(records, NOISE, settings_of(1500))


def answered(packages: list[Package], out: Path, backend: Drawing) -> Path:
    """A run of the closed loop."""
    settings = [loop(backend, system) for system in SYSTEMS]
    run_systems(packages, settings, WordEmbedder(), out)
    return out


def found(packages: list[Package], out: Path) -> Path:
    """A run for retrieval alone."""
    run_systems(packages, [RunSettings(system="bm25_chunks")], WordEmbedder(), out)
    return out
