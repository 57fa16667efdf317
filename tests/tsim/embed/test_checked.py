"""Vectors that are not vectors are refused wherever they would enter a memory."""

import numpy as np
import pytest

from tests.support.servers import JsonServer, serving
from tsim import LATE, OFFICIAL, Memory, ModelError, TsimError
from tsim.blobs import Blobs
from tsim.codec import vector_to_bytes
from tsim.embed import CachedEmbedder, RemoteEmbedder
from tsim.errors import InputError, RemoteError
from tsim.http import Patience

WIDTH = 8
LONG = " ".join(f"word{number}" for number in range(900))  # has several passages


def good(texts):
    rows = [np.random.default_rng([*text.encode()]).normal(size=WIDTH) for text in texts]
    vectors = np.array(rows, dtype=np.float32).reshape(len(rows), WIDTH)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def last_row(value):
    def change(vectors):
        vectors = np.array(vectors)
        vectors[-1 if vectors.ndim > 1 else slice(None)] = value
        return vectors

    return change


BAD = {
    "nan": last_row(np.nan),
    "infinite": last_row(np.inf),
    "zero": last_row(0),
    "too long": last_row(3),
    "overflow": lambda vectors: np.asarray(vectors, dtype=np.float64) * 1e300,
    "narrow": lambda vectors: vectors[..., :-1],
    "too few": lambda vectors: vectors[:-1],
    "too many": lambda vectors: np.concatenate([vectors, vectors]),
    "ragged": lambda vectors: [[1.0], [1.0, 2.0]],
    "text": lambda vectors: "vectors",
    "none": lambda vectors: None,
    "objects": lambda vectors: [[object()] * WIDTH for _ in np.atleast_2d(vectors)],
}


class Embedder:
    """Returns good vectors until it is spoilt, for texts that pass a test."""

    identity, dimension = "own", WIDTH

    def __init__(self):
        self.spoil = None
        self.only = lambda text: True

    def embed(self, texts):
        vectors = good(texts)
        return self.spoil(vectors) if self.spoil and any(map(self.only, texts)) else vectors

    def embed_query(self, text):
        (vector,) = good([text])
        return self.spoil(vector) if self.spoil else vector


ENTRIES = {
    "add": lambda memory: memory.thread("a").add("user", "another turn"),
    "add_many": lambda memory: memory.thread("a").add_many([("user", "x y"), ("model", "z")]),
    "new thread": lambda memory: memory.thread("b").add("user", "another turn"),
    "passages": lambda memory: memory.thread("a").add("user", LONG),
    "search": lambda memory: memory.thread("a").search("which gpu?"),
    "context": lambda memory: memory.context("which gpu?", threads=["a"]),
    "views": lambda memory: memory.thread("a").views("which gpu?"),
    "rebuild": lambda memory: memory.rebuild(),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_vector_is_refused_and_not_stored(tmp_path, preset, kind):
    embedder = Embedder()
    with Memory.open(tmp_path / "m.db", model=embedder, preset=preset) as memory:
        memory.thread("a").add_many(("user", f"turn {n} about a gpu") for n in range(6))
        memory.export(tmp_path / "before")
        embedder.spoil = BAD[kind]
        for entry in ENTRIES.values():
            with pytest.raises(ModelError, match="own returned"):
                entry(memory)
        embedder.spoil = None
        memory.export(tmp_path / "after")
        assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()
        assert memory.verify().problems == ()
        assert memory.thread("a").search("turn 3 about a gpu", min_relevance=0)


@pytest.mark.parametrize("preset", [LATE, OFFICIAL], ids=["runs", "summaries"])
def test_runs_and_summaries_are_checked_as_turns_are(tmp_path, preset):
    embedder = Embedder()
    embedder.only = lambda text: "\n" in text or text.count("turn") > 1
    with Memory.open(tmp_path / "m.db", model=embedder, preset=preset) as memory:
        embedder.spoil = BAD["nan"]
        with pytest.raises(ModelError, match="not finite"):
            memory.thread("a").add_many(("user", f"turn {n}, one of many") for n in range(60))
        assert memory.threads() == []


@pytest.mark.parametrize("dimension", [0, -3, 2.5, None, "8", True])
def test_a_width_that_is_none_is_refused(tmp_path, dimension):
    embedder = Embedder()
    embedder.dimension = dimension
    with pytest.raises(ModelError, match="dimension"):
        Memory.open(tmp_path / "m.db", model=embedder)


@pytest.mark.parametrize("embedder", [5, object(), Memory])
def test_what_is_no_embedder_is_refused(tmp_path, embedder):
    with pytest.raises(InputError, match="no embedder"):
        Memory.open(tmp_path / "m.db", model=embedder)


def test_vectors_that_are_lists_or_wider_floats_are_taken(tmp_path):
    embedder = Embedder()
    embedder.spoil = lambda vectors: vectors.astype(np.float64).tolist()
    with Memory.open(tmp_path / "m.db", model=embedder) as memory:
        memory.thread("a").add("user", "one gpu")
        assert memory.verify().problems == ()
        assert memory.thread("a").search("one gpu", min_relevance=0)


def test_what_is_no_vector_is_not_cached_and_a_cached_one_is_computed_again(tmp_path):
    embedder = Embedder()
    cached = CachedEmbedder(embedder, tmp_path / "cache.db")
    embedder.spoil = BAD["nan"]
    for ask in (lambda: cached.embed(["a", "b"]), lambda: cached.embed_query("a")):
        with pytest.raises(ModelError, match="own returned"):
            ask()
    embedder.spoil = None
    wanted = cached.embed(["a", "b"]).tobytes()
    nan = vector_to_bytes(np.full(WIDTH, np.nan, dtype=np.float32))
    blobs = Blobs(tmp_path / "cache.db", "vectors")
    blobs.write({cached._key("passage", "a"): nan})  # with the right checksum
    assert cached.embed(["a", "b"]).tobytes() == wanted
    assert cached.stats.damaged == 1
    blobs.close()
    cached.close()


@pytest.mark.parametrize(
    "rows",
    [
        lambda texts: [[1.0] * (WIDTH + (texts == ["c"]))] * len(texts),
        lambda texts: [[0.0] * WIDTH] * len(texts),
        lambda texts: [[1e39] * WIDTH] * len(texts),
        lambda texts: [[float("nan")] * WIDTH] * len(texts),
        lambda texts: [[]] * len(texts),
        lambda texts: [[1.0] * WIDTH] * (len(texts) + 1),
    ],
    ids=["widths differ", "zero", "overflow", "nan", "empty", "too many"],
)
def test_a_server_that_answers_wrongly_is_named(tmp_path, rows):
    def answer(body):
        found = rows(body["input"])
        return {"data": [{"index": i, "embedding": row} for i, row in enumerate(found)]}

    with serving(JsonServer(answer)) as server:
        patience = Patience(attempts=1, timeout=5, sleep=lambda _: None)
        embedder = RemoteEmbedder(server.url, "m", batch=2, patience=patience)
        with pytest.raises(RemoteError):
            embedder.embed(["a", "b", "c"])
        with pytest.raises(TsimError):
            Memory.open(tmp_path / "m.db", model=embedder).thread("a").add_many(
                [("user", "a"), ("user", "b"), ("user", "c")]
            )
        embedder.close()
