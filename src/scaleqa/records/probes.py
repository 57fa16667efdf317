"""Shortcut probes: the accuracy that can be reached without understanding anything.

Each probe picks an option by one surface cue. If several options tie, the point is split among
them. Probes that do not see the dialogue must stay near chance.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scaleqa.records.schema import LETTERS, Record
from scaleqa.records.text import share, words
from scaleqa.stats import Interval, wilson
from tsim.embed import Embedder

Score = Callable[[Record], Sequence[float]]

BLIND_LIMIT = 0.31
SEEING_LIMIT = 0.40


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The accuracy of one surface cue.

    Attributes:
        name: The cue.
        accuracy: Share of records that it answers correctly.
        interval: Wilson's 95 % interval.
        limit: The highest accuracy allowed.
    """

    name: str
    accuracy: float
    interval: Interval
    limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """A surface cue.

    Attributes:
        name: What it picks.
        scores: The scores of the options of each record, by letter; the highest is picked.
        limit: The highest accuracy allowed.
    """

    name: str
    scores: Sequence[Sequence[float]]
    limit: float

    def picks(self, number: int) -> list[str]:
        """Returns the letters that it picks for a record; several if they tie."""
        row = self.scores[number]
        return [letter for letter, s in zip(LETTERS, row, strict=True) if s == max(row)]


def lexical_probes(records: Sequence[Record]) -> list[Probe]:
    """Runs the probes that use words only."""
    return [_probe(cue, records) for cue in lexical_cues(records)]


def embedding_probes(records: Sequence[Record], embedder: Embedder) -> list[Probe]:
    """Runs the probes that use embeddings."""
    return [_probe(cue, records) for cue in embedding_cues(records, embedder)]


def lexical_cues(records: Sequence[Record]) -> list[Cue]:
    """Returns the cues that use words only."""
    cues: tuple[tuple[str, Score, float], ...] = (
        ("longest option", lambda r: [len(o) for o in r.options.as_list()], BLIND_LIMIT),
        ("shortest option", lambda r: [-len(o) for o in r.options.as_list()], BLIND_LIMIT),
        ("most words shared with the question", lambda r: _shares(r, r.question), BLIND_LIMIT),
        ("most words shared with the dialogue", lambda r: _shares(r, r.text), SEEING_LIMIT),
        (
            "fewest words shared with the dialogue",
            lambda r: [-s for s in _shares(r, r.text)],
            SEEING_LIMIT,
        ),
    )
    return [
        Cue(name=name, scores=[score(r) for r in records], limit=limit)
        for name, score, limit in cues
    ]


def embedding_cues(records: Sequence[Record], embedder: Embedder) -> list[Cue]:
    """Returns the cues that use embeddings."""
    count = len(records)
    if not count:
        return []
    options = embedder.embed([option for r in records for option in r.options.as_list()])
    options = options.reshape(count, len(LETTERS), -1)
    out = []
    for name, texts, limit in (
        ("option most similar to the question", [r.question for r in records], BLIND_LIMIT),
        ("option most similar to the dialogue", [r.text for r in records], SEEING_LIMIT),
    ):
        scores = np.einsum("nod,nd->no", options, embedder.embed(texts))
        out.append(Cue(name=name, scores=scores.tolist(), limit=limit))
    return out


def _shares(record: Record, text: str) -> list[float]:
    pool = words(text)
    return [share(option, pool) for option in record.options.as_list()]


def _probe(cue: Cue, records: Sequence[Record]) -> Probe:
    points = 0.0
    for number, record in enumerate(records):
        tied = cue.picks(number)
        points += (record.answer in tied) / len(tied)
    accuracy = points / len(records) if records else 0.0
    interval = wilson(points, len(records))
    return Probe(name=cue.name, accuracy=accuracy, interval=interval, limit=cue.limit)


def probe_lines(probes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Writes the probes of a validation report as a table in Markdown."""
    lines = ["| shortcut probe | accuracy | 95 % interval | limit |", "|---|---|---|---|"]
    for probe in probes:
        low, high = probe["interval"]
        lines.append(
            f"| {probe['name']} | {probe['accuracy']:.3f} | {low:.3f}–{high:.3f} | "
            f"≤ {probe['limit']} |"
        )
    return lines
