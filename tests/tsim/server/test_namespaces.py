"""Memories of a server: opened when asked for, closed when long unused, never while in use."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.hashes import Hashes
from tsim import InputError, StoreError, ThreadMissingError
from tsim.server.namespaces import Namespaces
from tsim.server.settings import Settings


@pytest.fixture
def spaces(tmp_path):
    found = Namespaces(Settings(place=tmp_path, keys=False), Hashes(), most=2)
    yield found
    found.close()


def test_memories_are_separate_files(spaces, tmp_path):
    for name in ("alice", "bob"):
        with spaces.using(name, create=True) as memory:
            memory.thread("diary").add("user", f"I am {name}")
    assert spaces.names() == ["alice", "bob"]
    with spaces.using("bob") as memory:
        assert [turn.text for turn in memory.thread("diary")] == ["I am bob"]
    assert {path.name for path in tmp_path.glob("*.db")} == {"alice.db", "bob.db"}


def test_few_stay_open(spaces):
    for number in range(5):
        with spaces.using(f"n{number}", create=True) as memory:
            memory.thread("a").add("user", "hello")
            last = memory
    assert spaces.count == 2
    with spaces.using("n0") as memory:
        assert len(memory.thread("a")) == 1
    spaces.close()
    assert spaces.count == 0
    with pytest.raises(StoreError):
        len(last.thread("a"))


def test_what_is_in_use_stays_open(spaces):
    with spaces.using("kept", create=True) as kept:
        for number in range(5):
            with spaces.using(f"n{number}", create=True):
                pass
        kept.thread("a").add("user", "still here")
    with spaces.using("kept") as memory:
        assert len(memory.thread("a")) == 1


def test_many_at_once_get_the_same_memory(spaces):
    def add(number: int) -> int:
        with spaces.using("one", create=True) as memory:
            memory.thread("a").add("user", f"turn {number}")
            return id(memory)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(add, range(40)))) == 1
    with spaces.using("one") as memory:
        assert len(memory.thread("a")) == 40


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "a.b", "x" * 64, "-a", "a\n", "nul"])
def test_names_cannot_leave_the_directory(spaces, name):
    with pytest.raises(InputError, match="no namespace"), spaces.using(name, create=True):
        pass


def test_nothing_is_created_by_reading(spaces, tmp_path):
    with pytest.raises(ThreadMissingError), spaces.using("nobody"):
        pass
    assert not [*tmp_path.iterdir()]


def test_a_server_for_others_needs_keys(tmp_path):
    with pytest.raises(InputError, match="tsim keys create"):
        Settings(place=tmp_path, host="0.0.0.0", keys=False)
    Settings(place=tmp_path, host="::1", keys=False)
