"""Memories of other programs: what they hold comes over once, and their files stay as they were."""

import gzip
import hashlib
import json
import random
import sqlite3
from contextlib import closing
from datetime import UTC
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.hashes import Hashes
from tsim import InputError, Memory
from tsim.cli import migrate as command
from tsim.cli.app import app
from tsim.logs import read_log
from tsim.migrate import bring, compare, read_source

FILES = Path(__file__).parent / "files"


def unpacked(name: str, target: Path) -> Path:
    target.write_bytes(gzip.decompress((FILES / f"{name}.gz").read_bytes()))
    return target


@pytest.fixture
def chroma(tmp_path):
    (tmp_path / "chroma").mkdir()
    return unpacked("chroma.sqlite3", tmp_path / "chroma" / "chroma.sqlite3").parent


@pytest.fixture
def history(tmp_path):
    return unpacked("mem0-history.db", tmp_path / "history.db")


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "memory.db", model=Hashes()) as opened:
        yield opened


def test_the_documents_of_chroma_come_over_with_ids_and_metadata(chroma):
    found = read_source(chroma)
    assert found.kind == "chroma"
    first, second = found.threads["notes"]
    assert (first.role, first.text) == ("user", "New projects run on one consumer GPU.")
    assert (first.id, first.at) == ("n1", 1777636800)
    assert first.meta == {"pinned": True, "score": 0.5, "timestamp": 1777636800}
    assert (second.role, second.text, second.at) == (
        "document",
        "The bread needs more water.",
        None,
    )
    assert [turn.text for turn in found.threads["team-chat"]] == ["We meet on Friday."]
    assert found.skipped == {"empty document": 1}
    assert found.problems == ()
    assert read_source(chroma / "chroma.sqlite3") == found


def test_the_memories_of_mem0_come_over_as_they_are_now(history):
    found = read_source(history)
    assert found.kind == "mem0"
    assert [(turn.role, turn.text) for turn in found.threads["mem0"]] == [
        ("user", "New projects run on one consumer GPU."),
        ("assistant", "Noted, one consumer GPU."),
        ("user", "I live in Porto."),
    ]
    assert all(turn.id and turn.at for turn in found.threads["mem0"])
    assert found.skipped == {"deleted memory": 1, "former text": 1}


def test_what_mem0_returns_is_a_log_of_the_same_memories(history):
    log = read_log((FILES / "mem0-get_all.json").read_bytes())
    ours = read_source(history).threads["mem0"]
    assert [(t.id, t.role, t.text, t.at) for t in log.turns] == [
        (t.id, t.role, t.text, t.at) for t in ours
    ]
    assert log.turns[0].meta == {"source": "chat", "user_id": "ada"}
    assert log.problems == ()
    inferred = [{"id": "m1", "memory": "Lives in Porto.", "hash": "x", "score": 0.3}]
    assert read_log(json.dumps(inferred).encode()).turns[0].role == "memory"


def test_a_store_of_langgraph_is_the_same_store_afterwards(tmp_path, memory):
    sqlite = pytest.importorskip("langgraph.store.sqlite", reason="langgraph is not installed")
    from tsim.adapters.langgraph import TsimStore

    file = tmp_path / "store.db"
    with sqlite.SqliteStore.from_conn_string(str(file)) as theirs:
        theirs.setup()
        theirs.put(("users", "ada"), "gpu", {"text": "New projects run on one gpu.", "n": 1})
        theirs.put(("users", "ada"), "city", {"text": "Lives in Porto.", "tags": ["a", "b"]})
        theirs.put(("users", "ben"), "city", {"text": "Lives in Lyon."})
        theirs.put(("users", "ben"), "gone", {"text": "x"})
        theirs.delete(("users", "ben"), "gone")
        expected = {(one.namespace, one.key): one.value for one in theirs.search((), limit=9)}
        made = theirs.get(("users", "ada"), "gpu").created_at
    found = read_source(file)
    assert (found.kind, found.skipped, found.problems) == ("langgraph", {}, ())
    bring(memory, found)
    ours = TsimStore(memory)
    assert {(one.namespace, one.key): one.value for one in ours.search((), limit=9)} == expected
    assert ours.get(("users", "ada"), "gpu").created_at == made.replace(tzinfo=UTC)
    assert ours.search(("users", "ada"), query="gpu for projects")[0].key == "gpu"


def test_it_comes_over_once_and_conflicts_are_refused_before_anything_is_written(chroma, memory):
    found = read_source(chroma)
    seen = []
    first = bring(memory, found, progress=lambda done, total: seen.append((done, total)))
    assert (first.added, first.known) == (
        {"notes": 2, "team-chat": 1},
        {"notes": 0, "team-chat": 0},
    )
    assert seen[-1] == (3, 3)
    again = bring(memory, found)
    assert (again.added, again.known) == (
        {"notes": 0, "team-chat": 0},
        {"notes": 2, "team-chat": 1},
    )
    memory.forget_thread("notes")
    memory.forget_thread("team-chat")
    memory.thread("team-chat").add("user", "Something else.", id="m1")
    with pytest.raises(InputError, match=r"team-chat.*'m1' belongs to turn 0.*nothing was added"):
        bring(memory, found)
    assert memory.threads() == ["team-chat"]


def test_everything_can_go_into_one_thread(chroma):
    assert [len(turns) for turns in read_source(chroma, thread="all").threads.values()] == [3]


def test_the_files_of_others_are_only_read(chroma, history):
    def state():
        files = sorted(path for path in chroma.parent.rglob("*") if path.is_file())
        return [(path, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]

    before = state()
    for source in (chroma, history):
        read_source(source)
    assert state() == before


def test_what_a_program_has_not_put_into_its_file_yet_is_read_too(history):
    with closing(sqlite3.connect(history)) as running:
        running.execute("PRAGMA journal_mode = WAL")
        running.execute(
            "INSERT INTO history (id, memory_id, new_memory, event, created_at) "
            "VALUES ('x', 'y', 'Just now.', 'ADD', '2026-05-01T12:00:00Z')"
        )
        running.commit()
        before = sorted(path.name for path in history.parent.iterdir())
        assert read_source(history).threads["mem0"][-1].text == "Just now."
        assert sorted(path.name for path in history.parent.iterdir()) == before


def test_what_cannot_be_kept_is_a_problem_and_stops_nothing(chroma, history):
    with closing(sqlite3.connect(chroma / "chroma.sqlite3")) as file:
        file.execute(
            "UPDATE embeddings SET embedding_id = ? WHERE embedding_id = 'n1'", ("x" * 300,)
        )
        noted = [(2, f"k{n}", "v" * 300) for n in range(20)]
        file.executemany(
            "INSERT INTO embedding_metadata (id, key, string_value) VALUES (?, ?, ?)", noted
        )
        file.execute(
            "INSERT INTO embedding_metadata (id, key, string_value) VALUES (2, 'date', 'x')"
        )
        file.commit()
    found = read_source(chroma)
    assert [turn.id for turn in found.threads["notes"]] == ["n2"]
    assert "1 to 256 characters" in found.problems[0].message
    assert found.skipped["meta"] > 5
    assert found.skipped["unreadable time"] == 1
    with closing(sqlite3.connect(history)) as file:
        file.execute("UPDATE history SET created_at = 'long ago' WHERE rowid = 1")
        file.commit()
    assert "created_at" in read_source(history).problems[0].message


@pytest.mark.parametrize(
    ("tables", "hint"),
    [
        ("CREATE TABLE x (y)", "neither of Chroma"),
        ("CREATE TABLE checkpoints (x)", "load checkpoints with LangGraph"),
        ("CREATE TABLE points (x)", "what get_all returns"),
        (
            "CREATE VIEW history AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) "
            "SELECT i memory_id, i new_memory, i event, i created_at, i updated_at FROM n",
            "neither of Chroma",
        ),
    ],
    ids=["other", "checkpoints", "qdrant", "endless view"],
)
def test_other_databases_are_refused(tmp_path, tables, hint):
    with closing(sqlite3.connect(tmp_path / "x.db")) as file:
        file.execute(tables)
        file.commit()
    with pytest.raises(InputError, match=hint):
        read_source(tmp_path / "x.db")


def test_what_is_no_database_is_refused(tmp_path):
    (tmp_path / "log.json").write_text("[]")
    for path, said in (
        (tmp_path / "log.json", "no SQLite file.*tsim add"),
        (tmp_path, "chroma.sqlite3 does not exist"),
        (tmp_path / "none", "does not exist"),
    ):
        with pytest.raises(InputError, match=said):
            read_source(path)


@pytest.mark.parametrize("name", ["chroma.sqlite3", "mem0-history.db"])
def test_damaged_files_are_read_or_refused(name, tmp_path):
    whole = gzip.decompress((FILES / f"{name}.gz").read_bytes())
    file = tmp_path / "x.db"
    rng = random.Random(7)
    for number in range(60):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 8, 64])):
            data[rng.randrange(100 if number % 2 else 0, len(data))] = rng.randrange(256)
        file.write_bytes(data[: rng.randrange(len(data))] if number % 5 == 0 else data)
        try:
            found = read_source(file)
        except InputError:
            continue
        compare(found, lambda _: ())


def test_the_command_says_what_came_over_and_what_did_not(chroma, tmp_path, monkeypatch):
    class Opened(Memory):
        @classmethod
        def open(cls, path, **named):
            return Memory.open(path, model=Hashes())

    monkeypatch.setattr(command, "Memory", Opened)
    target = tmp_path / "memory.db"

    def run(*words):
        ran = CliRunner().invoke(app, ["migrate", str(chroma), "--memory", str(target), *words])
        assert ran.exit_code == 0, ran.output
        return ran.stdout

    assert "would add 2 turns to notes" in run("--dry-run")
    assert not target.exists()
    assert "added 2 turns to notes" in run()
    assert "would add 0 turns to notes; 2 were there already" in run("--dry-run")
    told = json.loads(run("--json"))
    assert told["known"] == {"notes": 2, "team-chat": 1}
    assert told["skipped"] == {"empty document": 1}


def test_a_source_without_anything_that_can_be_read_adds_nothing(history, tmp_path):
    with closing(sqlite3.connect(history)) as file:
        file.execute("UPDATE history SET created_at = 'long ago'")
        file.commit()
    target = tmp_path / "memory.db"
    ran = CliRunner().invoke(app, ["migrate", str(history), "--memory", str(target)])
    assert isinstance(ran.exception, InputError)
    assert not target.exists()
