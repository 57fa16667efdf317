"""Writers that meet: a lost race costs what was missed, and nobody loses for ever."""

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager

import numpy as np
import pytest

from tests.support.streams import CUTTING, EAGER, exported, stream
from tsim import OFFICIAL, Memory
from tsim.contention import (
    PATIENCE,
    PLACE_SECONDS,
    RENEW_SECONDS,
    TURN_SECONDS,
    FairLock,
    Turns,
    keep_place,
)
from tsim.state import Changes, Counters, TurnRow
from tsim.store import SqliteStore, open_store
from tsim.types import Turn


class Raced:
    """A store to which others write whenever something was prepared for it."""

    def __init__(self, path):
        self._store = open_store(path)
        self.rival = lambda: None
        self.loads = self.attempts = 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    @contextmanager
    def snapshot(self):
        with self._store.snapshot() as reader:
            whole = reader.load

            def load(thread):
                self.loads += 1
                return whole(thread)

            reader.load = load
            yield reader

    def commit(self, *args, **options):
        self.attempts += 1
        self.rival()
        return self._store.commit(*args, **options)

    def replace_all(self, *args, **options):
        self.attempts += 1
        self.rival()
        return self._store.replace_all(*args, **options)


class Hours:
    """A clock that goes on when somebody waits."""

    def __init__(self):
        self.begun = self.now = time.time()

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Counting:
    def __init__(self, inner):
        self.inner, self.texts = inner, []
        self.identity, self.dimension = inner.identity, inner.dimension

    def embed(self, texts):
        self.texts += texts
        return self.inner.embed(texts)

    def embed_query(self, text):
        return self.inner.embed_query(text)


@CUTTING
def test_a_lost_race_costs_what_was_missed_and_changes_nothing(
    tmp_path, tiny_embedder, preset, place
):
    rng = random.Random(5)
    path, embedder = place, Counting(tiny_embedder)
    ours, theirs = stream(45, seed=1), iter(stream(400, seed=2))
    with (
        closing(Raced(path)) as store,
        Memory.open(store=store, model=embedder, preset=preset) as memory,
        Memory.open(path, model=tiny_embedder, preset=preset) as other,
    ):
        thread, rival = memory.thread("a"), other.thread("a")
        thread.add_many(stream(30))
        thread.search("budget")
        losses = [0]

        def race():
            if losses[0] > 0:
                losses[0] -= 1
                some = [next(theirs) for _ in range(rng.choice((1, 1, 2, 9)))]
                rival.add_many(some)

        store.rival = race
        for place in range(0, len(ours), 3):
            losses[0] = rng.randrange(PATIENCE)
            some = ours[place : place + rng.choice((1, 3))]
            embedder.texts.clear()
            thread.add_many(some)
            texts = [turn.text for turn in some]
            assert sum(text in texts for text in embedder.texts) <= len(texts)
            if rng.random() < 0.3:
                assert thread.search("budget rule", k=9) == rival.search("budget rule", k=9)
        assert store.loads == 1  # when the thread was first used
        assert memory.verify().problems == ()
        raced = exported(memory, tmp_path / "raced.jsonl")
        turns = thread.turns()
    with Memory.open(tmp_path / "calm.db", model=tiny_embedder, preset=preset) as calm:
        for turn in turns:
            calm.thread("a").add(turn.role, turn.text, at=turn.at)
        assert exported(calm, tmp_path / "calm.jsonl") == raced


def intruder(path, thread, clock=None):
    """Returns a writer that is quicker than any other, as long as it is admitted."""
    store = open_store(path) if clock is None else SqliteStore(path, clock=clock)
    vector = np.zeros(32, dtype=np.float32)
    vector[0] = 1

    def write():
        version, _ = store.version(thread)
        counters = store.load(thread).counters
        said = Turn(id=counters.turn, role="user", text="in between", at=None)
        row = TurnRow(turn=said, episode=max(0, counters.episode - 1), vector=vector)
        after = Counters(
            turn=said.id + 1, episode=max(1, counters.episode), cluster=counters.cluster
        )
        return store.commit(thread, Changes(turns=(row,)), after, expected=version, settings={})

    return store, write


@CUTTING
@pytest.mark.parametrize("change", ["add", "forget", "rebuild"])
def test_a_writer_that_would_always_lose_goes_first(place, tiny_embedder, preset, change):
    path, embedder = place, Counting(tiny_embedder)
    with (
        closing(Raced(path)) as store,
        Memory.open(store=store, model=embedder, preset=preset) as memory,
    ):
        thread = memory.thread("a")
        thread.add_many(stream(200))
        memory.thread("b").add_many(stream(9))
        width, embedder.texts = tiny_embedder.dimension, []
        rival, write = intruder(path, "b" if change == "rebuild" else "a")
        assert width == 32
        with closing(rival):
            store.rival, store.attempts = write, 0
            if change == "add":
                thread.add("user", "at last")
            elif change == "forget":
                thread.forget(turn=3)
            else:
                memory.rebuild()
            assert store.attempts <= PATIENCE + 1
            store.rival = lambda: None
            # Nobody waits any longer.
            before = rival.version("b")
            write()
            assert rival.count("a") >= 200
            if change == "rebuild":
                assert rival.version("b") != before
                distinct = {turn.text for turn in (*thread.turns(), *memory.thread("b").turns())}
                assert sum(text in distinct for text in embedder.texts) <= len(distinct)
        if change == "add":
            assert any(turn.text == "at last" for turn in thread.turns())
        if change == "forget":
            assert 3 not in {turn.id for turn in thread.turns()}


def test_a_writer_that_fails_in_its_turn_gives_it_up(place, tiny_embedder):
    path = place
    with (
        closing(Raced(path)) as store,
        Memory.open(store=store, model=tiny_embedder, preset=EAGER) as memory,
    ):
        thread = memory.thread("a")
        thread.add_many(stream(20))
        rival, write = intruder(path, "a")

        def race():
            write()
            if store.attempts > PATIENCE:
                raise KeyboardInterrupt

        with closing(rival):
            store.rival, store.attempts = race, 0
            with pytest.raises(KeyboardInterrupt):
                thread.add("user", "at last")
            store.rival = lambda: None
            before = rival.version("a")
            write()
            assert rival.version("a") != before


IN_LINE = """
import sys, time
from tsim.contention import Turns
from tsim.store import SqliteStore

Turns(SqliteStore(sys.argv[1]), "a", patience=1).lost()
print("first", flush=True)
time.sleep(60)
"""


def test_nobody_waits_long_for_a_writer_that_was_killed_in_its_turn(tmp_path):
    path = tmp_path / "m.db"
    command = [sys.executable, "-c", IN_LINE, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as dead:
        assert dead.stdout.readline() == "first\n"
        dead.send_signal(signal.SIGKILL)
    hours = Hours()
    with (
        closing(SqliteStore(path, clock=hours)) as store,
        Turns(store, "a", patience=1, sleep=hours.sleep) as way,
    ):
        way.lost()
    assert hours.now - hours.begun < TURN_SECONDS / 2


def test_nobody_waits_for_a_place_that_is_kept_far_too_long(tmp_path):
    """A clock that was wrong, or a changed byte."""
    path = tmp_path / "m.db"
    rival, write = intruder(path, "a")
    with closing(rival):
        assert write()
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("INSERT INTO line VALUES (5, 0, ?)", (time.time() + 10_000,))
        assert write()
        with Turns(rival, "a", patience=1) as way:
            way.lost()
            assert way.ticket == 6


def test_a_place_in_line_is_kept_for_a_turn_and_no_longer(tmp_path):
    hours, path = Hours(), tmp_path / "m.db"
    written = []
    rival, write = intruder(path, "a", clock=hours)
    with closing(rival), closing(SqliteStore(path, clock=hours)) as store:
        write()

        def over(seconds):
            hours.sleep(seconds)
            written.append(write())
            return False

        ticket = store.line_up("a", seconds=PLACE_SECONDS)
        keep_place(store, ticket, seconds=TURN_SECONDS, over=over)
        assert written == [None] * round(TURN_SECONDS / RENEW_SECONDS)
        hours.sleep(2 * PLACE_SECONDS)
        assert write()


def test_a_writer_keeps_its_place_while_it_prepares_its_change(place, tiny_embedder):
    path, renewed = place, threading.Event()

    class Watched(Raced):
        looks = 0

        def first_in_line(self, ticket, **options):
            self.looks += 1
            if self.looks > 2:  # once to see that it is its turn
                renewed.set()
            return self._store.first_in_line(ticket, **options)

    with (
        closing(Watched(path)) as store,
        Memory.open(store=store, model=tiny_embedder, preset=EAGER) as memory,
    ):
        thread = memory.thread("a")
        thread.add_many(stream(20))
        rival, write = intruder(path, "a")

        def race():
            if store.attempts > PATIENCE:
                assert renewed.wait(30)
            write()

        with closing(rival):
            store.rival, store.attempts = race, 0
            thread.add("user", "at last")
            assert store.attempts == PATIENCE + 1
            keeping = [one for one in threading.enumerate() if one.name.endswith("(keep_place)")]
            for one in keeping:
                one.join(30)
                assert not one.is_alive()


def test_only_threads_that_changed_are_rebuilt_again(tmp_path, tiny_embedder):
    path, embedder = tmp_path / "m.db", Counting(tiny_embedder)
    with (
        closing(Raced(path)) as store,
        Memory.open(store=store, model=embedder, preset=OFFICIAL) as memory,
        Memory.open(path, model=tiny_embedder, preset=OFFICIAL) as other,
    ):
        for name in "abc":
            memory.thread(name).add_many(stream(60, seed=ord(name)))
        embedder.texts.clear()
        memory.rebuild()
        alone = len(embedder.texts)
        whole = exported(memory, tmp_path / "whole.jsonl")
        embedder.texts.clear()
        changes = [
            lambda: other.thread("b").add("user", "more bread"),
            lambda: other.thread("c").forget(turn=17),
        ]
        store.rival, store.attempts = lambda: changes.pop()() if changes else None, 0
        other_store = other._store
        assert other_store.settings()["preset"] == OFFICIAL.fingerprint
        memory.rebuild()
        assert store.attempts == 3
        assert len(embedder.texts) <= alone + 12
        store.rival = lambda: None
        assert len(memory.thread("b").turns()) == 61
        assert memory.verify().problems == ()
        raced = exported(memory, tmp_path / "raced.jsonl")
        memory.rebuild()
        assert exported(memory, tmp_path / "again.jsonl") == raced != whole


def test_threads_get_a_fair_lock_in_the_order_of_asking():
    lock, order = FairLock(), []

    def take(number):
        with lock:
            order.append(number)

    with lock, lock:
        for number in range(6):
            waiting = threading.Thread(target=take, args=(number,))
            waiting.start()
            while len(lock._waiting) <= number:
                pass
    with lock:
        assert order == [*range(6)]


def test_whoever_searches_without_pause_lets_others_add(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder, preset=preset) as memory:
        thread = memory.thread("a")
        thread.add_many(stream(60))
        searched, stop, between = [0], threading.Event(), []

        def search():
            while not stop.is_set():
                thread.search("budget rule")
                searched[0] += 1

        searching = threading.Thread(target=search)
        searching.start()
        try:
            for turn in stream(30, seed=4):
                before = searched[0]
                thread.add(turn.role, turn.text)
                between.append(searched[0] - before)
        finally:
            stop.set()
            searching.join()
        # One search for each time the lock is asked for, or begun while texts were embedded.
        assert sorted(between)[len(between) // 2] <= 20


def test_adding_does_not_wait_for_the_embedding_of_a_query(tmp_path, tiny_embedder, preset):
    asked, go_on = threading.Event(), threading.Event()

    class Slow(Counting):
        def embed_query(self, text):
            asked.set()
            assert go_on.wait(30)
            return super().embed_query(text)

    with Memory.open(tmp_path / "m.db", model=Slow(tiny_embedder), preset=preset) as memory:
        thread = memory.thread("a")
        thread.add("user", "bread and butter")
        found = []
        searching = threading.Thread(target=lambda: found.extend(thread.search("bread")))
        searching.start()
        assert asked.wait(30)
        assert thread.add("user", "and jam").turn == 1
        go_on.set()
        searching.join()
        assert found
