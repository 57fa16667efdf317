"""Requests that come together are embedded together, and do not harm each other."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.support.hashes import Hashes
from tsim import InputError, ModelError
from tsim.server.batching import BatchingEmbedder


class Slow(Hashes):
    """Lets nobody through until all who should come have come."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.calls: list[int] = []

    def embed(self, texts):
        self.calls.append(len(texts))
        if "first" in texts:
            self.gate.wait(10)
        if any("bad" in text for text in texts):
            raise InputError("bad text")
        return super().embed(texts)


def together(embedder: BatchingEmbedder, inner: Slow, texts: list[list[str]]):
    """Sends one request, and while it is under way all others."""
    with ThreadPoolExecutor(len(texts) + 1) as pool:
        first = pool.submit(embedder.embed, ["first"])
        while not inner.calls:
            pass
        others = [pool.submit(embedder.embed, some) for some in texts]
        while len(embedder.passages.waiting) < len(texts):
            pass
        inner.gate.set()
        first.result()
        return others


def test_who_comes_while_a_pass_runs_shares_the_next_one():
    inner = Slow()
    embedder = BatchingEmbedder(inner)
    texts = [[f"text {i}", f"more {i}"] for i in range(20)]
    found = [future.result() for future in together(embedder, inner, texts)]
    assert inner.calls == [1, 40]
    for some, vectors in zip(texts, found, strict=True):
        assert np.array_equal(vectors, Hashes().embed(some))


def test_a_pass_has_a_bound_which_one_request_may_exceed():
    inner = Slow()
    embedder = BatchingEmbedder(inner, texts=3)
    texts = [["a"] * 2, ["b"] * 2, ["c"], ["d"] * 7]
    found = [future.result() for future in together(embedder, inner, texts)]
    assert [len(vectors) for vectors in found] == [2, 2, 1, 7]
    assert sorted(inner.calls[1:]) == [2, 3, 7]


def test_a_bad_text_fails_where_it_came_from():
    inner = Slow()
    embedder = BatchingEmbedder(inner)
    good, bad, fine = together(embedder, inner, [["good"], ["bad"], ["fine"]])
    assert np.array_equal(good.result(), Hashes().embed(["good"]))
    assert np.array_equal(fine.result(), Hashes().embed(["fine"]))
    with pytest.raises(InputError, match="bad text"):
        bad.result()
    assert len(embedder.embed(["later"])) == 1


def test_an_embedder_that_loses_rows_gives_nobody_the_vectors_of_another():
    class Losing(Slow):
        def embed(self, texts):
            return super().embed(texts)[:-1] if len(texts) > 1 else super().embed(texts)

    inner = Losing()
    embedder = BatchingEmbedder(inner)
    one, two = together(embedder, inner, [["one"], ["two"]])
    assert np.array_equal(one.result(), Hashes().embed(["one"]))
    assert np.array_equal(two.result(), Hashes().embed(["two"]))
    with pytest.raises(ModelError):
        embedder.embed(["three", "four"])


def test_queries_have_a_lane_of_their_own():
    inner = Slow()
    embedder = BatchingEmbedder(inner)
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(embedder.embed, ["first"])
        while not inner.calls:
            pass
        assert np.array_equal(embedder.embed_query("soon"), Hashes().embed_query("soon"))
        inner.gate.set()
        busy.result()
