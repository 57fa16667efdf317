"""Spans that an engine embedded are kept, exported, verified and rebuilt like turns."""

import base64
import hashlib
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.support.dict_store import DictStore
from tests.support.streams import exported, stream
from tsim import OFFICIAL, Memory
from tsim.engine import EpisodeEngine, EpisodeSettings
from tsim.errors import InputError
from tsim.replay import Replay
from tsim.state import MAX_ID, Changes, Counters, EpisodeRow, SpanRow, TurnRow
from tsim.store import SqliteStore
from tsim.transfer import export, import_
from tsim.types import Turn
from tsim.verify import verify

ALONG = np.array([1, 0, 0], dtype=np.float32)


def content(*spans: SpanRow) -> Changes:
    turns = tuple(
        TurnRow(turn=Turn(id=n, role="user", text=f"turn {n}"), episode=0, vector=ALONG)
        for n in (0, 1, 3)
    )
    return Changes(turns=turns, episodes=(EpisodeRow(id=0, vector=None),), spans=spans)


def span(first: int, last: int, *numbers: float) -> SpanRow:
    vector = np.array(numbers or [0, 0.6, 0.8], dtype=np.float32)
    return SpanRow(first=first, last=last, vector=vector)


@pytest.fixture
def store(tmp_path):
    with closing(SqliteStore(tmp_path / "m.db")) as store:
        yield store


def kept(store, *spans):
    assert store.commit("a", content(*spans), Counters(turn=4, episode=1), expected=0, settings={})
    return store


class PairEngine(EpisodeEngine):
    """Embeds neighbours, and the whole thread from its third turn on."""

    def grow(self, turns, vectors, host, *, starts=(), sentences=None):
        before = [*self._turn_ids]
        changes, receipts = super().grow(turns, vectors, host, starts=starts, sentences=sentences)
        ids = [*before, *(row.turn.id for row in changes.turns)]
        new = [pair for pair in pairwise(ids) if pair[1] not in before]
        old = [(ids[0], before[-1])] if len(before) > 2 else []
        if len(ids) > 2:
            new.append((ids[0], ids[-1]))
        spans = [SpanRow(first=a, last=b, vector=vectors[-1]) for a, b in new]
        return replace(changes, spans=tuple(spans), removed_spans=tuple(old)), receipts


class PairSettings(EpisodeSettings):
    def engine(self, dimension, state):
        return PairEngine(self, dimension, state)


PAIRS = replace(OFFICIAL, name="pairs", settings=PairSettings())


def test_an_export_with_spans_is_imported_and_exported_to_the_same_bytes(store, tmp_path):
    kept(store, span(1, 3), span(0, 3, 1 / 3, 2 / 3, 2 / 3), span(0, 1))
    export(store, tmp_path / "a.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    kinds = ["memory", "thread", *["turn"] * 3, "episode", *["span"] * 3, "end"]
    assert [line["kind"] for line in lines] == kinds
    assert [(line["first"], line["last"]) for line in lines[6:9]] == [(0, 1), (0, 3), (1, 3)]
    for target in (DictStore(tmp_path), SqliteStore(tmp_path / "b.db")):
        with closing(target):
            import_(target, tmp_path / "a.jsonl", settings={}, dimension=3, summarises=False)
            export(target, tmp_path / "b.jsonl")
        assert (tmp_path / "b.jsonl").read_bytes() == (tmp_path / "a.jsonl").read_bytes()


def encoded(*numbers: float) -> str:
    return base64.b64encode(np.array(numbers, dtype="<f4").tobytes()).decode()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ({"last": MAX_ID + 1}, "less than or equal to 4294967295"),
        ({"first": -1}, "greater than or equal to 0"),
        ({"first": 3, "last": 1}, "from turn 3 to 1 does not run"),
        ({"last": 1}, "from turn 1 to 1 does not run"),
        ({"last": 2}, "from turn 1 to 2 does not run"),
        ({"first": 2}, "from turn 2 to 3 does not run"),
        ({"first": 0, "last": 1}, "does not follow the one before it"),
        ({"vector": encoded(0, 1)}, "a vector of 2 numbers, expected 3"),
        ({"vector": encoded(0, 1, np.nan)}, "not finite"),
        ({"vector": encoded(0, 1, np.inf)}, "not finite"),
        ({"vector": "AAAAAA=="}, "has a vector of 1 numbers"),
        ({"vector": "AAAAAAA="}, "has no vector"),
        ({"vector": "A"}, "has no vector"),
    ],
)
def test_an_export_with_a_broken_span_is_refused_whole(store, tmp_path, damage, problem):
    path = tmp_path / "a.jsonl"
    export(kept(store, span(0, 1), span(1, 3)), path)
    *body, end = [json.loads(line) for line in path.read_text().splitlines()]
    body[-1] |= damage
    text = "".join(json.dumps(line) + "\n" for line in body)
    end["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(text + json.dumps(end) + "\n")
    with closing(SqliteStore(tmp_path / "b.db")) as target:
        with pytest.raises(InputError, match=problem) as caught:
            import_(target, path, settings={}, dimension=3, summarises=False)
        assert "nothing was imported" in str(caught.value)
        assert target.threads() == []


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ([span(1, 2)], "from turn 1 to 2 does not run"),
        ([span(2, 3)], "from turn 2 to 3 does not run"),
        ([span(3, 1)], "from turn 3 to 1 does not run"),
        ([span(0, 1, 0, 1), span(1, 3, 0, 1)], "the vector of a span is not 3 wide"),
        ([span(0, 1), span(1, 3, 0, 1)], "vectors of different lengths"),
        ([span(0, 1, 0, 0, 2)], "a span has a vector of length 2"),
        ([span(0, 1, 0, 0, np.nan)], "a span has a vector that is not finite"),
    ],
)
def test_verify_notices_broken_spans(store, broken, problem):
    (found,) = verify(kept(store, *broken), 3, settings={}, summarises=False).problems
    assert found.startswith("thread 'a': ")
    assert problem in found


def test_sound_spans_are_no_problem(store):
    kept(store, span(0, 1), span(0, 3), span(1, 3, 1, 0, 0))
    assert verify(store, 3, settings={}, summarises=False).problems == ()


def test_a_replay_collects_the_spans_that_are_left(tiny_embedder):
    turns = [Turn(id=n, role="user", text=f"bread {n}") for n in (0, 1, 2, 5, 6)]
    again = Replay(PAIRS, tiny_embedder)
    again.extend(turns)
    changes, _ = again.whole(7)
    # The first run, up to turn 2, also wrote (0, 2), which the second one removed.
    keys = [(0, 1), (0, 6), (1, 2), (2, 5), (5, 6)]
    assert [(row.first, row.last) for row in changes.spans] == keys
    assert changes.removed_spans == ()


def test_a_rebuild_mends_spans_and_does_not_read_damaged_ones(tmp_path, tiny_embedder):
    path = tmp_path / "m.db"
    with Memory.open(path, model=tiny_embedder, preset=PAIRS) as memory:
        memory.thread("a").add_many(stream(20))
        whole = exported(memory, tmp_path / "whole.jsonl")
        assert whole.count(b'"kind": "span"') == 20
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE span SET vector = x'00' WHERE first = 18")
    connection.close()
    with Memory.open(path, model=tiny_embedder, preset=PAIRS) as memory:
        assert any("different lengths" in problem for problem in memory.verify().problems)
        memory.rebuild()
        assert memory.verify().problems == ()
        assert exported(memory, tmp_path / "mended.jsonl") == whole
