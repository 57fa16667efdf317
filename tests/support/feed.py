"""An engine fed without a store, and random streams to feed it."""

import zlib

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tsim import NewTurn
from tsim.engine import Host, Query
from tsim.state import EMPTY
from tsim.tokens import WORDS
from tsim.vectors import unit

WIDTH = 6


def embed(texts):
    """A vector from the text's bytes: any function will do, as long as it is one."""
    rngs = [np.random.default_rng(zlib.crc32(text.encode())) for text in texts]
    # A common direction makes similarities that cross the thresholds both ways.
    rows = [rng.normal(size=WIDTH) + np.array([1.2] + [0] * (WIDTH - 1)) for rng in rngs]
    return unit(np.array(rows, dtype=np.float32).reshape(-1, WIDTH))


class Feed:
    """An engine with a store that is a dict."""

    def __init__(self, preset):
        self.turns = {}
        self.engine = preset.settings.engine(WIDTH, EMPTY)
        self.clusters = {}
        self.spans = {}
        self.receipts = []
        self.embedded = []
        self.host = Host(
            embed=self._embed,
            embed_query=lambda text: embed([text])[0],
            read=lambda ids: {e: self.turns[e] for e in ids},
            turns=lambda ids: [
                turn for turns in self.turns.values() for turn in turns if turn.id in ids
            ],
            since=lambda first: [
                turn for turns in self.turns.values() for turn in turns if turn.id >= first
            ],
        )

    def _embed(self, texts):
        self.embedded += texts
        return embed(texts)

    def add(self, turns):
        new = [NewTurn(role=role, text=text) for role, text in turns]
        changes, receipts = self.engine.grow(new, embed([text for _, text in turns]), self.host)
        for row in changes.turns:
            self.turns.setdefault(row.episode, []).append(row.turn)
        for gone in changes.removed_clusters:
            self.clusters.pop(gone, None)
        for cluster in changes.clusters:
            self.clusters[cluster.id] = cluster
        self.spans.update(((row.first, row.last), row.vector) for row in changes.spans)
        self.receipts += receipts

    def search(self, text="the question", count=None, budget=None, least=0.0):
        query = Query(text=text, count=count, budget=budget, measure=WORDS, least=least)
        return self.engine.search(query, self.host)

    @property
    def episodes(self):
        return [[turn.id for turn in turns] for _, turns in sorted(self.turns.items())]


turn = st.tuples(
    st.sampled_from(["user", "model", "assistant", "tool"]),
    st.builds(
        lambda word, count: " ".join([f"w{word}"] * count),
        st.integers(0, 60),
        st.sampled_from([1, 3, 12, 30, 60, 120, 260]),
    ),
)
streams = st.lists(turn, min_size=1, max_size=60)
relaxed = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
