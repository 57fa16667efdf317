"""External ids make adding idempotent; meta stays with its turn."""

import hashlib
import json
import random
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace

import pytest

from tests.support.dict_store import DictStore
from tests.support.former import undo
from tests.support.streams import CUTTING, EAGER, exported, stream
from tests.tsim.test_durability import start
from tsim import Memory, NewTurn
from tsim.errors import InputError, StoreError
from tsim.store import SqliteStore
from tsim.store.sqlite.migrate import known, migrate

STORES = pytest.mark.parametrize(
    "open_store",
    [lambda path: SqliteStore(path / "memory.db"), DictStore],
    ids=["sqlite", "dictionary"],
)
META = {"channel": "ops", "n": 3, "share": 0.1, "yes": True, "none": None}


def called(count: int, seed: int = 3) -> list[NewTurn]:
    """A stream whose turns have ids, and some of them meta."""
    return [
        replace(turn, id=f"m{n}", meta={"n": n, "é": "🦜"} if n % 2 else None)
        for n, turn in enumerate(stream(count, seed))
    ]


@pytest.fixture
def memory(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "memory.db", model=tiny_embedder, preset=preset) as opened:
        yield opened


@CUTTING
@STORES
def test_what_is_added_again_gives_the_first_receipts_and_writes_nothing(
    tmp_path, tiny_embedder, preset, open_store
):
    turns = called(60)
    with closing(open_store(tmp_path)) as store:
        memory = Memory(store, tiny_embedder, preset)
        thread = memory.thread("a")
        first = thread.add_many(turns[:40])
        assert len({receipt.episode for receipt in first}) > 1
        version = store.version("a")
        assert thread.add_many(turns[:40]) == first
        assert all(receipt.known for receipt in thread.add_many(turns[:40]))
        one = turns[7]
        assert thread.add(one.role, one.text, id="m7", meta={"other": 1}) == first[7]
        assert store.version("a") == version
        # Some known, some new, one of them twice, in any order.
        mixed = [*turns[30:], *turns[:5], turns[55], *stream(3, seed=9)]
        receipts = thread.add_many(mixed)
        assert [r.turn for r in receipts] == [*range(30, 60), *range(5), 55, 60, 61, 62]
        assert [r.known for r in receipts] == [True] * 10 + [False] * 20 + [True] * 6 + [False] * 3
        again = Memory(store, tiny_embedder, preset).thread("a")
        assert again.add_many(turns[:40]) == first
        assert [(t.external_id, t.meta) for t in again.turns()[:60]] == [
            (turn.id, turn.meta) for turn in turns
        ]
        assert again.turns()[60].external_id is None
        assert memory.verify().problems == ()


@CUTTING
def test_a_stream_with_ids_is_remembered_as_one_without(tmp_path, tiny_embedder, preset):
    """However it is repeated and cut up, and apart from the ids themselves."""
    turns = called(60)
    rng = random.Random(5)
    with (
        Memory.open(tmp_path / "a.db", model=tiny_embedder, preset=preset) as one,
        Memory.open(tmp_path / "b.db", model=tiny_embedder, preset=preset) as two,
    ):
        one.thread("a").add_many(stream(60))
        done = 0
        while done < 60:
            begin, done = rng.randint(0, done), min(60, done + rng.randint(1, 12))
            two.thread("a").add_many(turns[begin:done])
        bare = [replace(t, external_id=None, meta=None) for t in two.thread("a").turns()]
        assert bare == one.thread("a").turns()
        plain, named = (
            [json.loads(line) for line in exported(memory, tmp_path / "x.jsonl").splitlines()[1:-1]]
            for memory in (one, two)
        )
        for line in named:
            line.pop("external_id", None)
            line.pop("meta", None)
        assert named == plain


@STORES
@pytest.mark.parametrize("place", [0, 600], ids=["stored", "second-chunk"])
def test_another_text_under_a_known_id_is_refused_before_anything_is_written(
    tmp_path, tiny_embedder, preset, open_store, place
):
    with closing(open_store(tmp_path)) as store:
        thread = Memory(store, tiny_embedder, preset).thread("a")
        thread.add("user", "one gpu", id="x")
        version = store.version("a")
        fine = [("user", "bread")] * place
        for role, text in (("user", "two gpus"), ("model", "one gpu")):
            with pytest.raises(InputError, match="id 'x' belongs to turn 0 with the"):
                thread.add_many([*fine, NewTurn(role=role, text=text, id="x")])
        twice = [NewTurn(role="user", text=text, id="y") for text in ("bread", "butter")]
        with pytest.raises(InputError, match="id 'y' belongs to another turn of the same call"):
            thread.add_many([twice[0], *fine, twice[1]])
        assert store.version("a") == version


def test_an_id_is_free_again_after_its_turn_was_forgotten(memory, tmp_path):
    thread = memory.thread("a")
    thread.add_many(called(12))
    secret = {"whose": "Secretmeta-4711"}
    turn = thread.add("user", "one gpu", id="Secretid-4711", meta=secret).turn
    thread.forget(turn=turn)
    for file in tmp_path.iterdir():
        if file.is_file():
            assert b"4711" not in file.read_bytes()
    receipt = thread.add("user", "two gpus", id="Secretid-4711")
    assert (receipt.turn, receipt.known) == (turn + 1, False)
    assert thread.add("user", "two gpus", id="Secretid-4711") == receipt
    assert memory.thread("b").add("model", "elsewhere", id="Secretid-4711").turn == 0


def test_ids_and_meta_survive_export_import_and_rebuild(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "a.db", model=tiny_embedder, preset=preset) as memory:
        receipts = memory.thread("a").add_many(called(30))
        memory.thread("a").add("user", "one gpu", meta=META)
        turns = memory.thread("a").turns()
        written = exported(memory, tmp_path / "a.jsonl")
    assert turns[-1].meta == META
    assert {name: type(value) for name, value in turns[-1].meta.items()} == {
        name: type(value) for name, value in META.items()
    }
    assert json.loads(written.splitlines()[0])["version"] == 2
    with Memory.open(tmp_path / "b.db", model=tiny_embedder, preset=preset) as memory:
        memory.import_(tmp_path / "a.jsonl")
        assert exported(memory, tmp_path / "b.jsonl") == written
        memory.rebuild()
        assert memory.thread("a").turns() == turns
        assert memory.thread("a").add_many(called(30)) == receipts
        assert memory.verify().problems == ()


def test_an_export_without_ids_is_what_it_was(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "a.db", model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(3))
        head, _, turn, *_ = exported(memory, tmp_path / "a.jsonl").splitlines()
    assert json.loads(head)["version"] == 1
    assert {*json.loads(turn)} == {"kind", "id", "episode", "role", "at", "text", "vector"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"m1"', '"m0"', "turns 0 and 1 have the external id 'm0'"),
        ('"m1"', f'"{"x" * 257}"', "1 to 256 characters"),
        ('"n": 1', '"n": "' + "x" * 5000 + '"', "bytes as JSON"),
        ('"n": 1', '"n": [1]', "line 4"),
    ],
)
def test_an_export_with_bad_ids_or_meta_is_refused(
    tmp_path, tiny_embedder, preset, old, new, message
):
    with Memory.open(tmp_path / "a.db", model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(called(4))
        *lines, end = exported(memory, tmp_path / "a.jsonl").decode().splitlines(keepends=True)
    body = "".join(lines).replace(old, new)
    sha256 = hashlib.sha256(body.encode()).hexdigest()
    (tmp_path / "a.jsonl").write_text(body + json.dumps(json.loads(end) | {"sha256": sha256}))
    with Memory.open(tmp_path / "b.db", model=tiny_embedder, preset=preset) as memory:
        with pytest.raises(InputError, match=message):
            memory.import_(tmp_path / "a.jsonl")
        assert memory.threads() == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"id": ""}, "1 to 256 characters"),
        ({"id": "x" * 257}, "1 to 256 characters"),
        ({"id": 7}, "expected text"),
        ({"id": "\ud800"}, "surrogate"),
        ({"meta": {"x": [1]}}, "cannot be kept"),
        ({"meta": {"x": float("nan")}}, "cannot be kept"),
        ({"meta": {"x": 2**63}}, "cannot be kept"),
        ({"meta": {"x": 10**5000}}, "cannot be kept"),
        ({"meta": {1: "x"}}, "expected text, found int"),
        ({"meta": {"x": "\ud800"}}, "surrogate"),
        ({"meta": {str(n): n for n in range(33)}}, "33 names, at most 32"),
        ({"meta": {"x": "é" * 2050}}, "4108 bytes as JSON, at most 4096"),
        ({"meta": "channel"}, "expected a mapping"),
    ],
)
def test_ids_and_meta_that_cannot_be_kept_are_refused(memory, more, message):
    with pytest.raises(InputError, match=message):
        memory.thread("a").add("user", "fine", **more)
    assert memory.threads() == []


def test_an_id_and_meta_of_the_greatest_length_are_kept(memory):
    meta = {"x": "é" * 2044}
    receipt = memory.thread("a").add("user", "fine", id="🦜" * 256, meta=meta)
    (turn,) = memory.thread("a").turns()
    assert (turn.external_id, turn.meta) == ("🦜" * 256, meta)
    assert memory.thread("a").add("user", "fine", id="🦜" * 256) == receipt
    assert memory.thread("a").add("user", "bare", meta={}).turn == 1
    assert memory.thread("a").turns()[1].meta is None


def test_messages_of_chat_apis_are_added_as_they_are(memory):
    thread = memory.thread("a")
    receipts = thread.add_many(
        [
            {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image"}]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]},
            {"role": "tool", "content": "22", "id": "t1", "meta": {"tool": "warm"}},
            {"choices": [{"message": {"role": "assistant", "content": "warm"}}]},
            ("user", "thanks"),
        ]
    )
    assert [receipt.turn for receipt in receipts] == [0, 1, 2, 3]
    assert receipts.skipped == {"image": 1, "tool call": 1}
    assert [(t.role, t.text, t.external_id, t.meta) for t in thread.turns()] == [
        ("user", "look", None, None),
        ("tool", "22", "t1", {"tool": "warm"}),
        ("assistant", "warm", None, None),
        ("user", "thanks", None, None),
    ]


def test_a_file_from_before_gets_ids_when_it_is_opened(tmp_path, tiny_embedder, preset):
    path = tmp_path / "m.db"
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(20))
        before = memory.thread("a").turns()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        undo(connection, 5)
        for statement in (
            "DROP INDEX turn_by_external",
            "ALTER TABLE turn DROP COLUMN meta",
            "ALTER TABLE turn DROP COLUMN external",
            "DELETE FROM migration WHERE number = 3",
        ):
            connection.execute(statement)
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        thread = memory.thread("a")
        assert thread.turns() == before
        assert thread.add("user", "one gpu", id="x", meta=META).turn == 20
        assert thread.turns()[-1].meta == META
        assert memory.verify().problems == ()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, known())  # all steps are applied


def test_damaged_meta_is_a_problem_that_is_named(tmp_path, tiny_embedder, preset):
    path = tmp_path / "m.db"
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add("user", "one gpu", meta=META)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("UPDATE turn SET meta = '['")
        assert "turn 0 has changed" in memory.verify().problems[0]
        with pytest.raises(StoreError, match="the meta of turn 0 is not JSON"):
            memory.thread("a").turns()


RACER = """
import sys
from pathlib import Path
from tests.tsim.test_external_ids import called
from tsim import Memory
from tsim.embed import OnnxEmbedder

model, path, preset = sys.argv[1:]
embedder = OnnxEmbedder(Path(model), graphs=Path(path).parent / "graphs", threads=1)
with Memory.open(path, model=embedder, preset=preset) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    for turn in called(40):
        receipt = memory.thread("a").add(turn.role, turn.text, turn.at, id=turn.id, meta=turn.meta)
        print(turn.id, receipt.turn, receipt.episode, receipt.closed, flush=True)
"""


@pytest.mark.slow
def test_processes_that_add_the_same_ids_get_the_same_receipts(
    tmp_path, tiny, tiny_embedder, preset
):
    path = tmp_path / "memory.db"
    racers = [start(RACER, tiny, path, preset.name, stdin=subprocess.PIPE) for _ in range(4)]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    outputs = [racer.communicate("go\n", timeout=120)[0] for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * 4
    assert len({*outputs}) == 1
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        assert [turn.external_id for turn in memory.thread("a").turns()] == [
            f"m{n}" for n in range(40)
        ]
        assert memory.verify().problems == ()


RESTARTED = """
import sys
from pathlib import Path
from tests.tsim.test_external_ids import called
from tsim import Memory
from tsim.embed import OnnxEmbedder

model, path, preset = sys.argv[1:]
embedder = OnnxEmbedder(Path(model), graphs=Path(path).parent / "graphs", threads=1)
with Memory.open(path, model=embedder, preset=preset) as memory:
    print("ready", flush=True)
    for place in range(0, 2000, 10):
        memory.thread("a").add_many(called(2000)[place : place + 10])
        print(place, flush=True)
"""


@pytest.mark.slow
def test_a_writer_that_is_killed_and_begins_again_adds_each_turn_once(
    tmp_path, tiny, tiny_embedder
):
    path = tmp_path / "memory.db"
    for _ in range(6):
        writer = start(RESTARTED, tiny, path, EAGER.name)
        lines = [writer.stdout.readline() for _ in range(12)]
        writer.kill()
        writer.communicate()
        assert lines[0] == "ready\n"
        with Memory.open(path, model=tiny_embedder) as memory:
            turns = memory.thread("a").turns()
            assert [turn.external_id for turn in turns] == [f"m{n}" for n in range(len(turns))]
            assert memory.verify().problems == ()
    assert len(turns) >= 100
