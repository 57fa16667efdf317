"""Which threads stay in RAM, and that nobody notices."""

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.streams import stream
from tsim import InputError, Memory, Residency
from tsim.contention import FairLock
from tsim.residency import OVERHEAD

QUERIES = ("budget rule", "which train in the morning?", "garden")


class Kept:
    """Something in RAM that may be in use."""

    def __init__(self) -> None:
        self.in_use = False
        self.loaded = True

    def unload(self) -> bool:
        self.loaded = self.loaded and self.in_use
        return not self.in_use


@pytest.fixture
def file(tmp_path, tiny_embedder, preset):
    path = tmp_path / "m.db"
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        for number in range(4):
            memory.thread(f"t{number}").add_many(stream(12, seed=number))
    return path


def test_the_threads_that_were_not_used_for_longest_are_unloaded():
    threads = [Kept() for _ in range(4)]
    residency = Residency(3 * OVERHEAD + 30)
    for thread in threads[:3]:
        residency.used(thread, 10)
        residency.trim()
    residency.used(threads[0], 10)
    residency.used(threads[3], 10)
    residency.trim()
    assert [thread.loaded for thread in threads] == [True, False, True, True]
    assert residency.turns == 3 * OVERHEAD + 30


def test_a_thread_in_use_stays_and_another_one_goes():
    threads = [Kept() for _ in range(3)]
    threads[0].in_use = True
    residency = Residency(2 * OVERHEAD + 20)
    for thread in threads:
        residency.used(thread, 10)
    residency.trim()
    assert [thread.loaded for thread in threads] == [True, False, True]
    residency.used(threads[1], 10)
    threads[0].in_use = False
    residency.trim()
    assert not threads[0].loaded


def test_the_latest_thread_stays_however_long_it_is():
    short, long = Kept(), Kept()
    residency = Residency(1)
    for thread, size in ((short, 1), (long, 1000)):
        residency.used(thread, size)
        residency.trim()
    assert (short.loaded, long.loaded) == (False, True)
    residency.used(long, None)
    assert residency.turns == 0


def test_a_free_lock_can_be_taken_and_one_in_use_cannot():
    lock = FairLock()
    with lock.if_free() as free:
        assert free
        with lock.if_free() as again:
            assert not again
    with lock, lock.if_free() as free:
        assert not free
    with lock.if_free() as free:
        assert free


def test_a_lock_taken_because_it_was_free_is_handed_on():
    lock, done = FairLock(), threading.Event()

    def wait() -> None:
        with lock:
            done.set()

    with lock.if_free():
        waiting = threading.Thread(target=wait)
        waiting.start()
        while not lock._waiting:
            pass
        assert not done.is_set()
    waiting.join(30)
    assert done.is_set()


@pytest.mark.parametrize("resident", [0, -1, "many", 2.5, True])
def test_a_bound_that_is_no_number_of_turns_is_refused(tmp_path, tiny_embedder, resident):
    with pytest.raises(InputError, match="resident="):
        Memory.open(tmp_path / "m.db", model=tiny_embedder, resident=resident)


def test_results_do_not_depend_on_what_is_in_ram(file, tiny_embedder):
    found = {}
    for bound in (None, 1):
        with Memory.open(file, model=tiny_embedder, resident=bound) as memory:
            found[bound] = [
                memory.thread(f"t{number}").search(query)
                for query in QUERIES
                for number in (0, 1, 2, 3)
            ]
    assert found[1] == found[None]


def test_readers_and_writers_at_the_same_time_do_not_notice(file, tiny_embedder):
    """Threads are unloaded all the time, while they are searched, added to and forgotten from."""
    residency = Residency(1)
    with Memory.open(file, model=tiny_embedder, resident=residency) as memory:

        def work(worker: int) -> None:
            for step in range(12):
                thread = memory.thread(f"t{(worker + step) % 4}")
                said = f"mark{worker}x{step} about the garden"
                receipt = thread.add("user", said)
                assert receipt.turn in frozenset().union(*thread.views(said).values())
                assert thread.search(said, min_relevance=0)
                if step % 4 == 3:
                    assert thread.forget(turn=receipt.turn).turns == (receipt.turn,)

        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(work, worker) for worker in range(4)]:
                done.result(timeout=120)
        assert sum(len(memory.thread(f"t{number}")) for number in range(4)) == 4 * 12 + 4 * 9
        found = [memory.thread("t1").search(query) for query in QUERIES]
        latest = memory.thread("t1")._engine
        assert residency.turns == latest.size + OVERHEAD
    with Memory.open(file, model=tiny_embedder, resident=None) as memory:
        assert [memory.thread("t1").search(query) for query in QUERIES] == found


def test_what_is_in_ram_is_bounded_whatever_is_used(tmp_path, tiny_embedder, preset):
    residency = Residency(100)
    path = tmp_path / "m.db"
    with Memory.open(path, model=tiny_embedder, preset=preset, resident=residency) as memory:
        for number in range(200):
            memory.thread(f"t{number}").add("user", "a rule")
            assert residency.turns <= 100
        for number in range(0, 200, 8):
            memory.thread(f"t{number}").search("a rule")
            assert residency.turns <= 100
        assert len(memory._threads) == 100 // (1 + OVERHEAD)


def test_one_bound_holds_for_several_memories(tmp_path, tiny_embedder, preset):
    residency = Residency(2 * (4 + OVERHEAD))
    memories = [
        Memory.open(tmp_path / f"{n}.db", model=tiny_embedder, preset=preset, resident=residency)
        for n in range(3)
    ]
    for memory in memories:
        memory.thread("a").add_many([("user", "a rule")] * 4)
    assert residency.turns == 2 * (4 + OVERHEAD)
    memories[0].close()
    memories[1].close()
    assert residency.turns == 4 + OVERHEAD
    memories[2].close()
    assert residency.turns == 0


def test_a_thread_is_the_same_object_as_long_as_anybody_has_it(file, tiny_embedder):
    with Memory.open(file, model=tiny_embedder, resident=1) as memory:
        held = memory.thread("t0")
        held.search("budget rule")
        memory.thread("t1").search("budget rule")
        assert memory.thread("t0") is held
        gone = weakref.ref(held)
        del held
        assert gone() is None
        assert memory.thread("t0").search("budget rule")


def test_a_thread_that_is_being_searched_is_not_unloaded(file, tiny_embedder):
    with Memory.open(file, model=tiny_embedder, resident=1) as memory:
        thread = memory.thread("t0")
        with thread._asking() as (engine, _):
            memory.thread("t1").search("budget rule")
            memory.close()
            assert thread._engine is engine


def test_a_forgotten_thread_leaves_ram(file, tiny_embedder):
    residency = Residency()
    with Memory.open(file, model=tiny_embedder, resident=residency) as memory:
        memory.thread("t0").search("budget rule")
        assert memory.forget_thread("t0")
        assert residency.turns == 0


def test_a_failed_operation_leaves_nothing_in_ram(file, tiny_embedder):
    residency = Residency()
    with Memory.open(file, model=tiny_embedder, resident=residency) as memory:
        thread = memory.thread("t0")
        thread.search("budget rule")
        with pytest.raises(InputError):
            thread.forget(turn=99)
        assert residency.turns == 0
        assert thread.search("budget rule")


def test_what_was_unloaded_is_free_at_once_without_a_collection_of_garbage(file, tiny_embedder):
    with Memory.open(file, model=tiny_embedder) as memory:
        thread = memory.thread("t0")
        thread.search("budget rule")
        gc.disable()
        try:
            engine = weakref.ref(thread._engine)
            assert thread.unload()
            assert engine() is None
        finally:
            gc.enable()
