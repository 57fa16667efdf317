"""What is removed leaves no byte behind, and nobody waits for it to be erased."""

import os
import random
import resource
import signal
import sqlite3
import string
import struct
import threading
import time
from contextlib import closing

import numpy as np
import pytest

from tests.support.streams import stream
from tsim import Memory
from tsim.codec import vector_to_bytes
from tsim.state import Changes, Counters, EpisodeRow, PassageRow, SpanRow, TurnRow
from tsim.store import SqliteStore
from tsim.store.sqlite.residue import is_stale_index, stale_pages
from tsim.types import Turn

SEEDS = int(os.environ.get("TSIM_SOAK", "2"))
# Bytes that are hardly there by chance, and bytes that cannot be.
WINDOW, FRAGMENT = 8, 12


def bytes_of(path):
    """Everything that is in a memory file and beside it."""
    return b"\0\0".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def windows(data):
    """Every 8 bytes in a row, as one number each."""
    rows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(data, dtype=np.uint8), WINDOW)
    return np.ascontiguousarray(rows).view(np.uint64).ravel()


def traces(secrets, data):
    """The fragments of removed content that are left."""
    secret = b"\0".join(secrets)
    found = np.flatnonzero(np.isin(windows(secret), windows(data))).tolist()
    parts = (secret[place : place + FRAGMENT] for place in found)
    return [part for part in parts if part.count(0) < 3 and part in data]


class Filled:
    """A store with threads that grow in turns, so that pages in the middle are divided."""

    def __init__(self, path, seed):
        self.rng = random.Random(seed)
        self.store = SqliteStore(path)
        self.rows = {}

    def vector(self):
        return np.frombuffer(self.rng.randbytes(256), dtype=np.float32)

    def words(self, length):
        return "".join(self.rng.choices(string.ascii_letters, k=length))

    def add(self, thread):
        rng, state = self.rng, self.store.load(thread)
        first = state.counters.turn
        turns, spans, passages = [], [], []
        for number in range(first, first + rng.choice((1, 1, 2, 20))):
            said = Turn(
                id=number,
                role="user",
                text=self.words(rng.choice((9, 60, 300, 2000, 5000))),
                at=None,
                external_id=self.words(24) if rng.random() < 0.5 else None,
                meta={"note": self.words(20)} if rng.random() < 0.2 else None,
            )
            turns.append(TurnRow(turn=said, episode=0, vector=self.vector()))
            if number > 2 and rng.random() < 0.5:
                spans.append(SpanRow(first=number - 2, last=number - 1, vector=self.vector()))
            if rng.random() < 0.2:
                passages.append(PassageRow(turn=number, start=5, vector=self.vector()))
        changes = Changes(
            turns=tuple(turns),
            spans=tuple(spans),
            passages=tuple(passages),
            episodes=() if first else (EpisodeRow(id=0, vector=self.vector()),),
        )
        after = Counters(turn=first + len(turns), episode=1)
        assert self.store.commit(thread, changes, after, expected=state.version, settings={})
        for row in turns:
            self.rows[thread, row.turn.id] = [
                row.turn.text.encode(),
                (row.turn.external_id or "").encode(),
                str((row.turn.meta or {}).get("note", "")).encode(),
                vector_to_bytes(row.vector),
            ]

    def forget(self, thread, turns):
        state = self.store.load(thread)
        spans = [(s.first, s.last) for s in state.spans if {s.first, s.last} & {*turns}]
        changes = Changes(removed_turns=tuple(turns), removed_spans=tuple(spans))
        assert self.store.commit(
            thread, changes, state.counters, expected=state.version, settings={}
        )
        return [secret for turn in turns for secret in self.rows.pop((thread, turn))]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_fragment_of_what_was_removed_is_left_in_any_file(tmp_path, seed):
    path = tmp_path / "m.db"
    filled = Filled(path, seed)
    names = [f"{filled.words(12)}-{n}" for n in range(16)]
    with closing(filled.store) as store:
        for _ in range(2):
            for _ in range(70):
                filled.add(filled.rng.choice(names))
            gone = []
            for name in filled.rng.sample(store.threads(), 6):
                ids = [turn for thread, turn in filled.rows if thread == name]
                gone += filled.forget(name, sorted(filled.rng.sample(ids, len(ids) // 2)))
            removed = filled.rng.choice(store.threads())
            assert store.remove(removed)
            gone.append(removed.encode())
            for key in [key for key in filled.rows if key[0] == removed]:
                gone += filled.rows.pop(key)
            names.remove(removed)
            assert store.scrub()
            assert traces(gone, bytes_of(path)) == []
            assert store.check() == []
        for name in store.threads():
            found = {turn.id: turn.text.encode() for _, turn in store.all_turns(name)}
            kept = {turn: row[0] for (thread, turn), row in filled.rows.items() if thread == name}
            assert found == kept


def planted(path, name, secret):
    """Writes something into the unused space of a page of a table or index; returns whether."""
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno"
        pages = [page for (page,) in connection.execute(query, (name,))]
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(path.read_bytes())
    for page in pages:
        start = 4096 * (page - 1)
        _, _, cells, content, _ = struct.unpack_from(">BHHHB", data, start)
        low, high = start + 8 + 2 * cells, start + (content or 4096)
        if high - low > len(secret) + 20:
            data[high - len(secret) - 9 : high - 9] = secret
            path.write_bytes(data)
            return True
    return False


@pytest.mark.parametrize("name", ["turn", "span", "passage", "turn_by_external"])
def test_copies_that_sqlite_left_in_unused_space_are_found_and_erased(tmp_path, name):
    path, secret = tmp_path / "m.db", b"copied-when-a-page-was-divided"
    filled = Filled(path, 5)
    with closing(filled.store):
        for n in range(120):
            filled.add(f"t{n % 7}")
    with closing(sqlite3.connect(path)) as connection:
        try:
            connection.execute("SELECT 1 FROM dbstat")
        except sqlite3.OperationalError:
            pytest.skip("this SQLite cannot tell which pages a table has")
    assert planted(path, name, secret)
    assert secret in bytes_of(path)
    with closing(SqliteStore(path)) as store:
        before = {one: [*store.all_turns(one)] for one in store.threads()}
        pages = path.stat().st_size
        thread, turn = next(iter(filled.rows))
        filled.store = store
        filled.forget(thread, [turn])
        assert store.scrub()
        assert secret not in bytes_of(path)
        assert store.check() == []
        before[thread] = [row for row in before[thread] if row[1].id != turn]
        assert {one: [*store.all_turns(one)] for one in store.threads()} == before
        assert path.stat().st_size >= pages  # it was not rewritten, which would shrink it


def test_unused_space_with_nothing_but_places_is_clean(tmp_path):
    path = tmp_path / "m.db"
    filled = Filled(path, 6)
    with closing(filled.store) as store:
        for n in range(60):
            filled.add(f"t{n % 5}")
        filled.forget("t1", [0])
        assert store.scrub()
    with closing(sqlite3.connect(path)) as connection:
        roots = dict(connection.execute("SELECT name, rootpage FROM sqlite_master"))
        image = connection.serialize()
    assert stale_pages(image, roots["turn"]) == []
    assert not is_stale_index(image, roots["turn_by_external"])


def test_an_open_snapshot_holds_up_nobody_and_is_made_good_when_it_ends(
    tmp_path, tiny_embedder, preset
):
    path, secret = tmp_path / "m.db", b"xylophone-zebra"
    with (
        Memory.open(path, model=tiny_embedder, preset=preset) as memory,
        closing(SqliteStore(path)) as reading,
    ):
        thread = memory.thread("a")
        thread.add("user", f"{secret.decode()} secret")
        thread.add_many(stream(10))
        with reading.snapshot() as reader:
            assert reader.count("a") == 11
            assert not thread.forget(turn=0).scrubbed
            for turn in stream(5, seed=8):
                thread.add(turn.role, turn.text)
            assert reader.count("a") == 11
            assert memory.verify().problems != ()
            time.sleep(0.3)  # a reader of this length looks whether somebody waits for it
        assert not reading.scrub_due()
        assert secret not in bytes_of(path)
        assert memory.verify().problems == ()


def test_what_could_not_be_erased_is_erased_by_the_next_write(tmp_path, tiny_embedder, preset):
    path, secret = tmp_path / "m.db", b"xylophone-zebra"
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        thread = memory.thread("a")
        thread.add("user", f"{secret.decode()} secret")
        with closing(sqlite3.connect(path)) as foreign:
            foreign.execute("BEGIN")
            foreign.execute("SELECT count(*) FROM turn").fetchone()
            assert not thread.forget(turn=0).scrubbed
        thread.add("user", "something else")
        assert secret not in bytes_of(path)


def test_a_scrub_does_not_cover_what_was_removed_after_it_began(tmp_path):
    filled = Filled(tmp_path / "m.db", 7)
    with closing(filled.store) as store:
        for _ in range(5):
            filled.add("a")
        empty_log = store._file.empty_log
        filled.forget("a", [0])

        def meanwhile(**options):
            done = empty_log(**options)
            filled.forget("a", [1])
            return done

        store._file.empty_log = meanwhile
        assert not store.scrub()
        assert store.scrub_due()
        store._file.empty_log = empty_log
        assert store.scrub()
        assert not store.scrub_due()


def test_a_check_waits_for_no_writer(tmp_path):
    with closing(SqliteStore(tmp_path / "m.db")) as store:
        found = []
        with store._file.writing():
            checking = threading.Thread(target=lambda: found.append(store.check()))
            checking.start()
            checking.join(30)
            assert found == [[]]


def test_a_disk_that_is_full_when_erasing_does_not_hide_that_the_turn_is_gone(
    tmp_path, tiny_embedder, preset
):
    path, secret = tmp_path / "m.db", b"xylophone-zebra"
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        thread = memory.thread("a")
        thread.add_many(stream(400))
        thread.add("user", f"{secret.decode()} secret")
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        size = path.stat().st_size
        try:
            # The log may grow, but nothing can be written to the end of the file.
            resource.setrlimit(resource.RLIMIT_FSIZE, (size * 2 // 3, hard))
            receipt = thread.forget(turn=400)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, previous)
        assert receipt.turns == (400,)
        assert not receipt.scrubbed
        assert len(thread.turns()) == 400
        assert memory.verify().problems == ()
        assert secret not in bytes_of(path)
