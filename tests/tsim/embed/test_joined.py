"""Two encoders as one."""

import numpy as np
import pytest

from tests.support.encoders import whole
from tsim import Memory
from tsim.embed import common, open_embedder, token_encoder
from tsim.embed.joined import JoinedEmbedder
from tsim.embed.models import JoinedSpec, find_model
from tsim.errors import UnknownModelError, WeightsMissingError

TEXTS = [
    "My sister moved to Omsk last year.",
    "The museum is closed on Mondays.",
    "Add two eggs and a little salt.",
    "What a long day it was, and still no train in sight.",
]


class Toy:
    """Says nothing but which texts it was given."""

    def __init__(self, dimension, reads):
        self.dimension = dimension
        self.reads = reads
        self.identity = f"toy-{dimension}"

    def embed(self, texts):
        return np.stack([np.eye(self.dimension, dtype=np.float32)[len(t) % 3] for t in texts])

    def embed_query(self, text):
        return self.embed([text + "?"])[0]

    def count_tokens(self, texts):
        return [len(text) // self.dimension for text in texts]


@pytest.fixture
def toys(monkeypatch):
    """Two toys, of whose seven directions six are kept."""
    monkeypatch.setattr(common, "load", lambda name: np.eye(7, dtype=np.float32)[:, :6])
    return JoinedEmbedder(JoinedSpec(name="toys", parts=(), dimension=6), [Toy(3, 9), Toy(4, 7)])


def test_cosines_are_the_mean_of_those_of_the_parts(toys):
    texts = ["a", "bb", "ccc", "dddd"]
    found = toys.embed(texts)
    assert found.shape == (4, 6)
    parts = [toy.embed(texts) for toy in (Toy(3, 9), Toy(4, 7))]
    expected = sum(part @ part.T for part in parts) / 2
    np.testing.assert_allclose(found @ found.T, expected, atol=1e-6)


def test_a_query_is_embedded_as_a_query_by_each(toys):
    assert toys.embed_query("a").tobytes() == toys.embed(["a?"])[0].tobytes()


def test_the_encoder_that_reads_least_and_counts_most_decides(toys):
    assert toys.reads == 7
    assert toys.count_tokens(["x" * 12]) == [4]


@pytest.mark.parametrize("model", ["default", "both"])
def test_vectors_are_the_same_bytes_alone_or_in_any_batch(model, request):
    joined = request.getfixturevalue(model)
    together, backwards = joined.embed(TEXTS), joined.embed(TEXTS[::-1])[::-1]
    alone = np.stack([joined.embed([text])[0] for text in TEXTS])
    assert together.tobytes() == alone.tobytes() == backwards.tobytes()


@pytest.mark.parametrize(("model", "first"), [("default", "mpnet"), ("both", "minilm")])
def test_the_directions_keep_nearly_all_of_a_cosine(model, first, gte, request):
    found = request.getfixturevalue(model).embed(TEXTS)
    parts = request.getfixturevalue(first), gte
    expected = sum(part.embed(TEXTS) @ part.embed(TEXTS).T for part in parts) / 2
    np.testing.assert_allclose(found @ found.T, expected, atol=0.05)


def test_directions_are_those_with_most_of_the_length():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 6)).astype(np.float32) * [9, 1, 7, 1, 1, 5]
    kept = common.principal(rows, 3)
    np.testing.assert_allclose(kept.T @ kept, np.eye(3), atol=1e-5)
    assert {*np.abs(kept).argmax(axis=0).tolist()} == {0, 2, 5}
    assert (common.principal(-rows, 3) == kept).all()


def test_unrelated_texts_are_as_far_apart_for_gte_as_for_the_default_model(gte):
    """Without the mean, cosines of unrelated texts are between .7 and .85."""
    others = ~np.eye(len(TEXTS), dtype=bool)
    centred, raw = (e.embed(TEXTS) for e in (gte, whole(gte)))
    assert (raw @ raw.T)[others].min() > 0.6
    assert abs((centred @ centred.T)[others].mean()) < 0.2


def test_a_memory_can_be_written_and_searched_with_both(both, tmp_path):
    with Memory.open(tmp_path / "memory.db", model=both) as memory:
        thread = memory.thread("a")
        for text in TEXTS:
            thread.add("user", text)
        assert thread.search("Where does my sister live?")[0].turns[0].id == 0
        assert memory.model == both.identity


def test_mpnet_and_gte_are_the_default(default, tmp_path, monkeypatch):
    monkeypatch.delenv("TSIM_MODEL")
    assert open_embedder().identity == default.identity
    with Memory.open(tmp_path / "memory.db") as memory:
        memory.thread("a").add("user", TEXTS[0])
        assert memory.model == default.identity
        assert memory.thread("a").search("Where does my sister live?")


def test_token_vectors_are_those_of_the_first(both, minilm):
    found, expected = both.token_vectors(TEXTS[:2]), minilm.token_vectors(TEXTS[:2])
    assert all((a == b).all() for a, b in zip(found, expected, strict=True))
    assert token_encoder(both) is both


def test_missing_weights_are_fetched_by_one_command(monkeypatch, tmp_path):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path))
    with pytest.raises(WeightsMissingError, match=r"tsim models fetch minilm\+gte"):
        open_embedder("minilm+gte").embed(["hello"])


def test_opening_loads_nothing_until_a_text_is_embedded(monkeypatch, tmp_path):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path))
    embedder = open_embedder("minilm+gte")
    assert embedder.identity == find_model("minilm+gte").identity
    assert embedder.dimension == 384
    with pytest.raises(UnknownModelError, match=r"minilm\+gte"):
        open_embedder("minilm+gtx")
