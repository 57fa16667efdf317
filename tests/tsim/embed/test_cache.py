import multiprocessing
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.support.tiny_bert import WORDS
from tsim.embed import CachedEmbedder, OnnxEmbedder
from tsim.errors import StoreError


@pytest.fixture
def embedder(tiny, tmp_path):
    return OnnxEmbedder(tiny, graphs=tmp_path / "graphs", threads=1)


def test_a_second_run_does_no_forward_pass(embedder, tmp_path):
    first = CachedEmbedder(embedder, tmp_path / "cache.db")
    vectors = first.embed(WORDS)
    query = first.embed_query("bread")
    passes = embedder.forward_passes
    second = CachedEmbedder(embedder, tmp_path / "cache.db")
    assert second.embed(WORDS).tobytes() == vectors.tobytes()
    assert second.embed_query("bread").tobytes() == query.tobytes()
    assert embedder.forward_passes == passes
    assert (second.stats.hits, second.stats.computed) == (len(WORDS) + 1, 0)


def test_a_text_twice_in_one_call_is_computed_once(embedder, tmp_path):
    cached = CachedEmbedder(embedder, tmp_path / "cache.db")
    vectors = cached.embed(["bread", "gpu", "bread"])
    assert vectors[0].tobytes() == vectors[2].tobytes()
    assert cached.stats.computed == 2


def test_query_and_passage_of_the_same_text_are_kept_apart(tmp_path, tiny):
    class Prefixed(OnnxEmbedder):
        def embed_query(self, text):
            return self.embed(["rule " + text])[0]

    cached = CachedEmbedder(Prefixed(tiny, graphs=tmp_path / "g"), tmp_path / "cache.db")
    assert cached.embed(["bread"])[0].tobytes() != cached.embed_query("bread").tobytes()
    assert cached.embed(["bread"])[0].tobytes() != cached.embed_query("bread").tobytes()


@pytest.mark.parametrize("damage", ["x'00'", "zeroblob(128)", "substr(value, 2)"])
def test_a_damaged_entry_is_noticed_and_computed_again(embedder, tmp_path, damage):
    path = tmp_path / "cache.db"
    whole = CachedEmbedder(embedder, path).embed(WORDS)
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE vectors SET value = {damage}")
    cached = CachedEmbedder(embedder, path)
    assert cached.embed(WORDS).tobytes() == whole.tobytes()
    assert cached.stats.damaged == len(set(WORDS))
    healed = CachedEmbedder(embedder, path)
    healed.embed(WORDS)
    assert (healed.stats.damaged, healed.stats.computed) == (0, 0)


def test_a_file_that_is_no_database_is_set_aside(embedder, tmp_path):
    path = tmp_path / "cache.db"
    path.write_bytes(b"not a database" * 1000)
    assert CachedEmbedder(embedder, path).embed(["bread"]).shape == (1, embedder.dimension)
    assert path.with_suffix(".db.damaged").is_file()


class Hashed:
    """Vectors from the bytes of texts."""

    identity, dimension = "hashed", 8

    def embed(self, texts):
        rows = [np.random.default_rng([*text.encode()]).normal(size=8) for text in texts]
        return np.array([row / np.linalg.norm(row) for row in rows], dtype=np.float32)

    def embed_query(self, text):
        return self.embed([text])[0]


def test_a_damaged_file_serves_on_with_the_same_vectors(tmp_path):
    path = tmp_path / "cache.db"
    texts = [f"text {number}" for number in range(300)]
    with closing(CachedEmbedder(Hashed(), path)) as cached:
        wanted = cached.embed(texts).tobytes()
    content = path.read_bytes()
    for trial in range(120):
        rng = random.Random(trial)
        data = bytearray(content)
        start = rng.randrange(len(data))
        if trial % 3 == 0:
            data[start] ^= 1 << rng.randrange(8)
        elif trial % 3 == 1:
            data[start - start % 512 : start - start % 512 + 512] = bytes(512)
        else:
            del data[start:]
        for old in tmp_path.iterdir():
            old.unlink()
        path.write_bytes(data)
        for _ in range(2):
            with closing(CachedEmbedder(Hashed(), path)) as cached:
                assert cached.embed(texts).tobytes() == wanted
                assert cached.embed_query("text 3").shape == (8,)


def test_a_cache_that_cannot_be_used_says_so(tmp_path):
    (tmp_path / "cache.db").mkdir()
    with pytest.raises(StoreError, match="tsim cache clear"):
        CachedEmbedder(Hashed(), tmp_path / "cache.db")
    cached = CachedEmbedder(Hashed(), tmp_path / "other.db")
    cached.close()
    with pytest.raises(StoreError, match=r"other\.db"):
        cached.embed(["a"])


def test_a_file_that_another_process_set_aside_is_not_set_aside_again(tmp_path):
    path = tmp_path / "cache.db"
    one, two = (CachedEmbedder(Hashed(), path) for _ in range(2))
    one._blobs._set_aside()
    one.embed(["a"])
    two._blobs._set_aside()
    two.embed(["a"])
    assert two.stats.hits == 1
    one.close()
    two.close()


def test_a_file_with_the_column_s_former_name_serves_on(embedder, tmp_path):
    path = tmp_path / "cache.db"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE vectors (key BLOB PRIMARY KEY, crc INTEGER, vector BLOB) WITHOUT ROWID"
        )
    whole = CachedEmbedder(embedder, path).embed(WORDS)
    cached = CachedEmbedder(embedder, path)
    assert cached.embed(WORDS).tobytes() == whole.tobytes()
    assert cached.stats.computed == 0


def _fill(model: Path, directory: Path, start: int) -> None:
    embedder = OnnxEmbedder(model, graphs=directory / "graphs", threads=1)
    cached = CachedEmbedder(embedder, directory / "cache.db")
    for word in [*WORDS[start:], *WORDS[:start]] * 3:
        cached.embed([word, f"{word} rule"])


def test_several_processes_share_one_file(tiny, tmp_path, embedder):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(tiny, tmp_path, n)) for n in (0, 4, 8, 12)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    cached = CachedEmbedder(embedder, tmp_path / "cache.db")
    texts = [text for word in WORDS for text in (word, f"{word} rule")]
    np.testing.assert_array_equal(cached.embed(texts), embedder.embed(texts))
    assert cached.stats.computed == 0
