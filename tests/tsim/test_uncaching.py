"""What is forgotten leaves no vector in the embedder's cache."""

from contextlib import closing

import pytest

from tests.tsim.test_damage import LONG, Words
from tsim import Memory
from tsim.codec import vector_to_bytes
from tsim.embed import CachedEmbedder

SECRET = "my address is 12 Elm Street"


@pytest.mark.parametrize("whole", [False, True], ids=["turns", "thread"])
def test_forgotten_turns_leave_the_cache(tmp_path, preset, whole):
    path = tmp_path / "cache.db"
    with closing(CachedEmbedder(Words(), path)) as cached:
        with Memory.open(tmp_path / "m.db", model=cached, preset=preset) as memory:
            thread = memory.thread("a")
            thread.add_many(("user", f"turn {n} of many, about {n // 5}") for n in range(20))
            thread.add("user", SECRET)
            thread.add("user", LONG)
            thread.add_many(("user", f"and turn {n} after it") for n in range(9))
            state = memory._store.load("a")
            secret = {vector_to_bytes(Words().embed([SECRET])[0])}
            secret |= {vector_to_bytes(row.vector) for row in state.passages}
            secret |= {
                vector_to_bytes(row.vector) for row in state.spans if row.first <= 20 <= row.last
            }
            if whole:
                secret |= {vector_to_bytes(vector) for vector in state.turn_vectors}
                assert memory.forget_thread("a")
            else:
                assert thread.forget(turns=[20, 21]).scrubbed
            kept = [b"" if whole else vector_to_bytes(state.turn_vectors[3])]
        stored = b"".join(file.read_bytes() for file in tmp_path.glob("cache.db*"))
        assert not [one for one in secret if one in stored]
        assert kept[0] in stored
        computed = cached.stats.computed
        cached.embed([SECRET])
        assert cached.stats.computed == computed + 1


def test_a_cache_that_others_read_is_told(tmp_path):
    path = tmp_path / "cache.db"
    one, two = (CachedEmbedder(Words(), path) for _ in range(2))
    with Memory.open(tmp_path / "m.db", model=one) as memory:
        memory.thread("a").add("user", SECRET)
        reading = two._blobs._connection
        reading.execute("BEGIN")
        reading.execute("SELECT key FROM vectors").fetchall()
        assert not memory.thread("a").forget(turn=0).scrubbed
        reading.execute("ROLLBACK")
    one.close()
    two.close()
