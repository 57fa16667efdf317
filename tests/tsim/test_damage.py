"""Whatever happens to the bytes of a memory file is found, and never ends in a raw exception."""

import io
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from tests.support.former import undo
from tsim import LATE, OFFICIAL, InputError, Memory, NewTurn, StoreBusyError, TsimError
from tsim.repair import repair
from tsim.store.checksums import COVERED
from tsim.store.sqlite.residue import is_stale_index, stale_pages

WIDTH = 8
# How many damaged files are tried for each preset; more where there is time.
TRIALS = int(os.environ.get("TSIM_DAMAGE", "40"))
LONG = " ".join(f"word{number}" for number in range(900))  # has passages


class Words:
    """Vectors from the bytes of texts."""

    identity, dimension = "words", WIDTH

    def embed(self, texts):
        rows = [np.random.default_rng([*text.encode()]).normal(size=WIDTH) for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(len(rows), WIDTH)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def embed_query(self, text):
        return self.embed([text])[0]


def opened(path, **how):
    return Memory.open(path, model=Words(), **how)


def exported(memory):
    out = io.BytesIO()
    memory.export(out)
    return out.getvalue()


@pytest.fixture(scope="module", params=[LATE, OFFICIAL], ids=lambda preset: preset.name)
def whole(request, tmp_path_factory):
    """A memory file with everything that there can be, and its export."""
    path = tmp_path_factory.mktemp("whole") / "memory.db"
    rng = random.Random(3)
    with opened(path, preset=request.param) as memory:
        for name in ("alice", "bob"):
            memory.thread(name).add_many(
                NewTurn(
                    role=rng.choice(["user", "model"]),
                    text=LONG if n == 3 else f"turn {n} é of {name} on {n // 4} " + "x " * (n * 9),
                    at=1e9 + n if n % 2 else None,
                    id=f"m{n}" if n % 3 else None,
                    meta={"channel": "ops", "n": n} if n % 4 else None,
                )
                for n in range(30)
            )
        memory.thread("bob").forget(turn=5)
        content = exported(memory)
    return path, content


def flip(data, rng):
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def zero(data, rng):
    start = 512 * rng.randrange(len(data) // 512)
    data[start : start + 512] = bytes(512)


def cut(data, rng):
    del data[rng.randrange(len(data)) :]


def garble(data, rng):
    start = rng.randrange(len(data) - 64)
    data[start : start + 64] = rng.randbytes(64)


def shift(data, rng):
    del data[(start := rng.randrange(len(data))) : start + rng.randrange(1, 9)]


KINDS = (flip, flip, flip, zero, cut, garble, shift)


def uses(memory):
    for name in ("alice", "bob"):
        thread = memory.thread(name)
        yield lambda thread=thread: thread.search("turn 7 é of bob", min_relevance=0)
        yield lambda thread=thread: thread.context("turn 9 yesterday", now="2024-05-05")
        yield lambda thread=thread: thread.search("turn", meta={"channel": "ops"}, roles=["user"])
        yield lambda thread=thread: [*thread, len(thread), repr(thread)]
        yield thread.episodes
        yield lambda thread=thread: thread.turns(after=3, limit=9)
        yield lambda thread=thread: thread.preview_forget(roles=["user"])
    yield lambda: memory.context("turn 3", threads=["alice", "bob"])
    yield memory.threads
    yield lambda: repr(memory)


def changes(memory, directory):
    for name in ("alice", "bob"):
        thread = memory.thread(name)
        yield lambda thread=thread: thread.add("user", "one more turn", id="m4")
        yield lambda thread=thread: thread.add_many([("user", "and"), ("model", "more")])
        yield lambda thread=thread: thread.forget(turn=7)
        yield lambda name=name: memory.forget_thread(name)
    yield lambda: memory.backup(directory / "copy.db", overwrite=True)
    yield memory.rebuild


def quietly(work):
    """Returns what is done, or the error, which must be ours."""
    try:
        return work()
    except TsimError as error:
        return error


def test_damage_is_found_and_never_raises_anything_but_our_errors(whole, tmp_path):
    source, content = whole
    path = tmp_path / "memory.db"
    for trial in range(TRIALS):
        rng = random.Random(trial)
        data = bytearray(source.read_bytes())
        rng.choice(KINDS)(data, rng)
        for old in tmp_path.iterdir():
            old.unlink()
        path.write_bytes(data)
        memory = quietly(lambda only=bool(trial % 2): opened(path, read_only=only))
        if isinstance(memory, TsimError):
            continue
        with memory:
            found = memory.verify()
            for use in uses(memory):
                quietly(use)
            after = quietly(lambda memory=memory: exported(memory))
            assert after == content or found.problems, f"trial {trial} is not noticed"
            if trial % 4 == 0:
                for change in changes(memory, tmp_path):
                    quietly(change)


def test_a_whole_file_has_no_problems(whole, tmp_path):
    source, content = whole
    shutil.copy(source, tmp_path / "memory.db")
    with opened(tmp_path / "memory.db") as memory:
        assert memory.verify().problems == ()
        assert exported(memory) == content


def texts(memory):
    return {(name, turn.id): turn for name in memory.threads() for turn in memory.thread(name)}


def test_a_repair_saves_what_is_whole_and_says_what_is_lost(whole, tmp_path):
    source, _ = whole
    with opened(source, read_only=True) as memory:
        wanted = texts(memory)
    path = tmp_path / "memory.db"
    saved = []
    for trial in range(TRIALS):
        rng = random.Random(5000 + trial)
        data = bytearray(source.read_bytes())
        rng.choice((flip, zero, garble))(data, rng)
        for old in tmp_path.iterdir():
            old.unlink()
        path.write_bytes(data)
        done = quietly(lambda: repair(path, Words()))
        if isinstance(done, TsimError):  # the first page, without which nothing can be read
            assert path.read_bytes() == data
            assert len([*tmp_path.iterdir()]) == 1
            continue
        assert done.damaged.read_bytes() == data
        assert {file.name for file in tmp_path.iterdir()} == {"memory.db", "memory.db.damaged"}
        with opened(path) as memory:
            assert memory.verify().problems == ()
            found = texts(memory)
            assert len(found) == done.turns
            names = {name.startswith("recovered-") for name, _ in found}
            if True not in names:
                assert found.items() <= wanted.items()
                lost = {(name, turn) for name, turns in done.lost.items() for turn in turns}
                assert done.unread or wanted.keys() - found.keys() <= lost
            assert {turn.text for turn in found.values()} <= {t.text for t in wanted.values()}
            for name in memory.threads():
                memory.thread(name).search("turn 7", min_relevance=0)
        saved.append(len(found))
    assert len(saved) > TRIALS / 2
    assert sorted(saved)[len(saved) // 2] >= len(wanted) - 1  # most damage costs a turn at most


def test_a_changed_name_of_a_column_costs_nothing(whole, tmp_path):
    source, _ = whole
    with opened(source, read_only=True) as memory:
        wanted = texts(memory)
    path = tmp_path / "memory.db"
    for name in ("vector", "crc", "text"):
        shutil.copy(source, path)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(
                "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = 'turn'",
                (name, name.upper().replace("T", "Z").replace("C", "Q")),
            )
        done = repair(path, Words())
        assert done.lost == {}
        with opened(path) as memory:
            assert texts(memory) == wanted
        done.damaged.unlink()


def test_a_changed_vector_costs_no_turn_and_is_computed_again(whole, tmp_path):
    source, _ = whole
    path = tmp_path / "memory.db"
    shutil.copy(source, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE turn SET vector = zeroblob(32) WHERE key & 4294967295 = 2")
        connection.execute("UPDATE turn SET text = 'forged' WHERE key = 4294967296 + 9")
    with opened(path) as memory:
        problems = "\n".join(memory.verify().problems)
    for what in ("'alice': the vector of turn 2 has", "'bob': the vector of turn 2 has"):
        assert what in problems
    assert "'alice': turn 9 has changed" in problems
    done = repair(path, Words())
    assert (done.turns, done.lost, done.unread) == (58, {"alice": (9,)}, False)
    with opened(path) as memory:
        assert memory.verify().problems == ()
        assert 9 not in [turn.id for turn in memory.thread("alice")]
        assert memory.thread("alice").add("user", "the next turn").turn == 30


@pytest.mark.parametrize("indexed", [True, False], ids=["index", "no index"])
def test_a_repair_saves_what_is_in_the_log_too(tmp_path, indexed):
    """A killed process leaves what it added last in the log."""
    path, left = tmp_path / "memory.db", tmp_path / "left" / "memory.db"
    left.parent.mkdir()
    with opened(path) as memory:
        memory.thread("alice").add_many(("user", f"early {n} {'y ' * 99}") for n in range(60))
    with opened(path) as memory:
        memory.thread("alice").add_many(("user", f"late {n}") for n in range(20))
        memory.thread("bob").add("user", "the first and only turn")
        for suffix in ("", "-wal", *(["-shm"] if indexed else [])):
            shutil.copy(f"{path}{suffix}", f"{left}{suffix}")
    data = bytearray(left.read_bytes())
    data[data.index(b"early 7 y") + 6] ^= 1
    left.write_bytes(data)
    assert b"the first and only turn" not in data
    done = repair(left, Words())
    assert (done.turns, done.lost, done.unread) == (80, {"alice": (7,)}, False)
    with opened(left) as memory:
        assert memory.verify().problems == ()
        assert [turn.id for turn in memory.thread("alice")] == [*range(7), *range(8, 80)]
        assert [turn.text for turn in memory.thread("bob")] == ["the first and only turn"]


@pytest.mark.parametrize("name", ["model", "preset", "dimension"])
@pytest.mark.parametrize("column", ["name", "value"])
def test_changed_settings_are_named(whole, tmp_path, name, column):
    path = tmp_path / "memory.db"
    shutil.copy(whole[0], path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE setting SET {column} = 'x' WHERE name = ?", (name,))
    found = quietly(lambda: opened(path))
    if isinstance(found, Memory):
        with found:
            (problem,) = found.verify().problems
    else:
        problem = str(found)
    assert f"{name} " in problem
    assert ("None" if column == "name" else "x") in problem
    assert repair(path, Words()).turns == 59


@pytest.mark.parametrize(
    "change",
    ["UPDATE clock SET now = 1", "DELETE FROM clock", "UPDATE thread SET version = version + 99"],
)
def test_a_clock_that_is_behind_is_found(whole, tmp_path, change):
    path = tmp_path / "memory.db"
    shutil.copy(whole[0], path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change)
    with opened(path) as memory:
        assert any("its clock is behind" in problem for problem in memory.verify().problems)


def test_rows_that_are_lost_without_an_error_are_told(whole, tmp_path):
    """SQLite reads on behind a cell whose place in its page has changed."""
    path = tmp_path / "memory.db"
    data = bytearray(whole[0].read_bytes())
    leaf = data.index(b"turn 1 \xc3\xa9 of alice") // 4096 * 4096
    assert data[leaf] == 13  # a leaf of a table
    cells = int.from_bytes(data[leaf + 3 : leaf + 5])
    data[leaf + 3 : leaf + 5] = (cells - 1).to_bytes(2)
    path.write_bytes(data)
    done = repair(path, Words())
    assert (done.turns, done.lost, done.unread) == (58, {}, True)


def test_erasing_meets_damaged_pages_without_end_or_error(whole):
    """Pages that lead in circles, or out of the file, are damage and nothing else."""
    image = bytearray(whole[0].read_bytes())
    with closing(sqlite3.connect(whole[0])) as connection:
        query = "SELECT rootpage, type FROM sqlite_master WHERE rootpage > 0"
        roots = connection.execute(query).fetchall()
    told = 0
    for trial in range(300):
        rng = random.Random(trial)
        data = bytearray(image)
        for start in range(0, len(data), 4096):
            place = start + (100 if start == 0 else 0) + rng.randrange(16)
            data[place : place + 2] = rng.choice((b"\x02", b"\x05", b"\x00", b"\xff")) * 2
        for root, kind in roots:
            look = stale_pages if kind == "table" else is_stale_index
            try:
                look(bytes(data), root)
            except sqlite3.DatabaseError:
                told += 1
    assert told


def test_a_memory_in_use_is_not_repaired(whole, tmp_path):
    path = tmp_path / "memory.db"
    shutil.copy(whole[0], path)
    with opened(path) as memory:
        memory.thread("alice").add("user", "one more")
        with pytest.raises(StoreBusyError, match="in use"):
            repair(path, Words())
    with pytest.raises(InputError, match="not a file"):
        repair(tmp_path / "missing.db", Words())


def test_what_was_written_before_there_were_checksums_gets_them(whole, tmp_path):
    """Read-only it serves as it is; opened for writing, it is brought up to date."""
    source, content = whole
    path = tmp_path / "memory.db"
    shutil.copy(source, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        undo(connection, 7)
        for table in COVERED.keys() - {"sentence"}:
            for name in COVERED[table]:
                connection.execute(f"ALTER TABLE {table} DROP COLUMN {name}")
        connection.execute("DELETE FROM migration WHERE number = 5")
    with opened(path, read_only=True) as memory:
        assert exported(memory) == content
        (problem,) = memory.verify().problems
        assert "without checksums" in problem
    before = path.read_bytes()
    assert repair(path, Words()).turns == 59
    path.write_bytes(before)
    with opened(path) as memory:
        assert memory.verify().problems == ()
        assert exported(memory) == content


def test_the_command_repairs_and_says_what_it_did(whole, tmp_path, tiny, tiny_embedder):
    path = tmp_path / "memory.db"
    with Memory.open(path, model=tiny_embedder) as memory:
        memory.thread("alice").add_many(("user", f"turn {n} about a gpu") for n in range(4))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE turn SET text = 'forged' WHERE key & 4294967295 = 1")

    def doctor(*more):
        code = "from tsim.cli.app import main; main()"
        command = [sys.executable, "-c", code, "doctor", "--memory", str(path), "--model", tiny]
        return subprocess.run([*command, *more], capture_output=True, text=True, cwd=tmp_path)

    found = doctor()
    assert found.returncode == 1
    assert "turn 1 has changed" in found.stdout
    assert "--repair" in found.stderr
    mended = doctor("--repair")
    assert mended.returncode == 0, mended.stderr
    assert "saved 3 turns" in mended.stderr
    assert "lost turns of 'alice': 1" in mended.stderr
    assert "3 turns" in mended.stdout
    again = doctor("--repair")
    assert again.returncode == 0
    assert "saved" not in again.stderr
