"""What must not happen when something goes wrong in the middle."""

import hashlib
import json
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest

from tests.support.servers import JsonServer, serving
from tests.support.streams import CUTTING, PAPER, exported, stream
from tests.support.tiny_bert import write_tiny_bert
from tsim import Memory
from tsim.embed import OnnxEmbedder
from tsim.errors import InputError, MismatchError, RemoteError, StoreError
from tsim.store import SqliteStore


@pytest.fixture
def other(tmp_path):
    return OnnxEmbedder(
        write_tiny_bert(tmp_path / "other", pooling="cls"), graphs=tmp_path / "g", threads=1
    )


class Meddling:
    """An embedder during whose work something else happens."""

    def __init__(self, inner, meddle):
        self.inner, self.meddle = inner, meddle
        self.identity, self.dimension = inner.identity, inner.dimension

    def embed(self, texts):
        self.meddle(texts)
        return self.inner.embed(texts)

    def embed_query(self, text):
        return self.inner.embed_query(text)


def test_turns_added_during_a_rebuild_are_kept_and_models_are_never_mixed(
    tmp_path, tiny_embedder, other, preset
):
    path = tmp_path / "memory.db"
    with Memory.open(path, model=tiny_embedder, preset=preset) as old:
        old.thread("a").add_many(stream(30))
        added = []

        def meddle(_texts):
            if not added:
                added.append(old.thread("a").add("user", "budget letter, meanwhile"))

        with Memory.open(path, model=Meddling(other, meddle), preset=preset, rebuild=True) as new:
            assert added[0].turn == 30
            assert new.thread("a").turns()[30].text == "budget letter, meanwhile"
            assert new.verify().problems == ()
            with pytest.raises(MismatchError, match="open it again"):
                old.thread("a").add("user", "too late")
            with pytest.raises(MismatchError):
                old.thread("a").search("budget")
            assert len(new.thread("a").turns()) == 31


@PAPER
def test_a_forget_that_fails_midway_changes_nothing(tmp_path, tiny_embedder, preset):
    failing = []

    def meddle(texts):
        if failing and texts[0].startswith("[recent] episode"):
            failing.append(texts)
            if len(failing) > 2:
                raise RemoteError("the server went away")

    with Memory.open(
        tmp_path / "m.db", model=Meddling(tiny_embedder, meddle), preset=preset
    ) as memory:
        thread = memory.thread("a")
        thread.add_many(stream(60))
        before = exported(memory, tmp_path / "before.jsonl")
        failing.append("on")
        with pytest.raises(RemoteError):
            thread.forget(turn=thread.episodes()[1].turns[0].id)
        failing.clear()
        assert exported(memory, tmp_path / "after.jsonl") == before
        thread.add_many(stream(30, seed=9))
        assert memory.verify().problems == ()


def test_export_and_verify_see_one_state_while_others_write(tmp_path, tiny_embedder, preset):
    path = tmp_path / "m.db"
    stop = threading.Event()

    def write():
        with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
            for turn in stream(5000):
                if stop.is_set():
                    return
                memory.thread("a").add(turn.role, turn.text)

    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(20))
        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(8):
                assert memory.verify().problems == ()
                memory.export(tmp_path / f"{number}.jsonl")
                with Memory.open(
                    tmp_path / f"{number}.db", model=tiny_embedder, preset=preset
                ) as copy:
                    copy.import_(tmp_path / f"{number}.jsonl")
                    assert copy.verify().problems == ()
        finally:
            stop.set()
            writer.join()


@pytest.mark.parametrize("lines", [1, 5, -1])
def test_an_export_that_was_cut_off_is_not_imported(tmp_path, tiny_embedder, lines, preset):
    with Memory.open(tmp_path / "a.db", model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(20))
        memory.export(tmp_path / "a.jsonl")
    whole = (tmp_path / "a.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_text("".join(whole[:lines]))
    with Memory.open(tmp_path / "b.db", model=tiny_embedder, preset=preset) as memory:
        with pytest.raises(InputError, match="not a complete export"):
            memory.import_(tmp_path / "cut.jsonl")
        assert memory.threads() == []


def test_an_export_that_was_changed_is_not_imported(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "a.db", model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add("user", "one gpu")
        memory.export(tmp_path / "a.jsonl")
    text = (tmp_path / "a.jsonl").read_text().replace("one gpu", "two gpu")
    (tmp_path / "a.jsonl").write_text(text)
    with (
        Memory.open(tmp_path / "b.db", model=tiny_embedder, preset=preset) as memory,
        pytest.raises(InputError, match="changed or truncated"),
    ):
        memory.import_(tmp_path / "a.jsonl")


@pytest.mark.parametrize("where", ["nowhere/x.jsonl", "."])
def test_paths_that_cannot_be_used_are_named(tmp_path, tiny_embedder, where, preset):
    with Memory.open(tmp_path / "a.db", model=tiny_embedder, preset=preset) as memory:
        for work in (memory.export, memory.import_):
            with pytest.raises(InputError, match="cannot be"):
                work(tmp_path / where)


def test_ids_beyond_a_thread_touch_no_other_thread(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "a.db", model=tiny_embedder, preset=preset) as memory:
        for name in ("a", "b"):
            memory.thread(name).add_many(stream(5))
        for wrong in (2**32 + 1, 2**70, -1):
            for key in ("turn", "episode"):
                with pytest.raises(InputError, match="there is no"):
                    memory.thread("a").forget(**{key: wrong})
        assert len(memory.thread("a").turns()) == len(memory.thread("b").turns()) == 5


def test_forgetting_under_a_reader_is_told_and_made_good_later(tmp_path, tiny_embedder, preset):
    path = tmp_path / "m.db"
    with (
        closing(SqliteStore(path, busy_seconds=0.2)) as store,
        Memory.open(store=store, model=tiny_embedder, preset=preset) as memory,
    ):
        thread = memory.thread("a")
        thread.add("user", "xylophone-zebra secret")
        thread.add_many(stream(10))
        reader = sqlite3.connect(path)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM turn").fetchone()
        receipt = thread.forget(turn=0)
        assert not receipt.scrubbed
        assert any("may still be recoverable" in problem for problem in memory.verify().problems)
        reader.close()
        assert memory.verify().problems == ()
        for file in tmp_path.glob("m.db*"):
            assert b"xylophone-zebra" not in file.read_bytes()


@CUTTING
def test_a_thread_without_turns_is_sound_and_its_last_episode_stays_closed(
    tmp_path, tiny_embedder, preset
):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder, preset=preset) as memory:
        thread = memory.thread("a")
        thread.add("user", "only one")
        thread.forget(turn=0)
        assert memory.verify().problems == ()
        thread.add_many(stream(40))
        thread.forget(episode=thread.episodes()[-1].id)
        assert not thread.episodes()[-1].open


@PAPER
def test_damage_to_vectors_is_a_finding_and_a_rebuild_mends_it(tmp_path, tiny_embedder, preset):
    path = tmp_path / "m.db"
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(40))
        whole = exported(memory, tmp_path / "whole.jsonl")
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE cluster SET total = zeroblob(256)")
    connection.close()
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        assert memory.verify().problems
        memory.rebuild()
        assert memory.verify().problems == ()
        assert exported(memory, tmp_path / "mended.jsonl") == whole
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE turn SET vector = x'00' WHERE key & 3 = 1")
    connection.close()
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        assert any("different lengths" in problem for problem in memory.verify().problems)
        memory.rebuild()
        assert exported(memory, tmp_path / "again.jsonl") == whole


def test_a_database_of_another_program_is_left_alone(tmp_path, tiny_embedder, preset):
    path = tmp_path / "theirs.db"
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE invoices (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        Memory.open(path, model=tiny_embedder, preset=preset)
    assert path.read_bytes() == before


def test_an_empty_memory_takes_whatever_model_comes_first(tmp_path, tiny_embedder, other, preset):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder, preset=preset):
        pass
    with Memory.open(tmp_path / "m.db", model=other, preset=preset) as memory:
        memory.thread("a").add("user", "bread")
    with pytest.raises(MismatchError):
        Memory.open(tmp_path / "m.db", model=tiny_embedder, preset=preset)


def test_a_chunk_that_fails_says_how_many_turns_are_kept(tmp_path, tiny_embedder, preset):
    calls = []

    def meddle(texts):
        calls.append(len(texts))
        # Long turns have several passages, and equal texts are embedded once.
        if sum(count >= 400 for count in calls) == 2:
            raise RemoteError("the server went away")

    with Memory.open(
        tmp_path / "m.db", model=Meddling(tiny_embedder, meddle), preset=preset
    ) as memory:
        with pytest.raises(RemoteError, match="the first 512 of 1100 turns are kept"):
            memory.thread("a").add_many(stream(1100))
        assert len(memory.thread("a").turns()) == 512


def test_a_budget_is_kept_to_the_token(tmp_path, tiny_embedder, preset):
    from tsim import tokens

    with Memory.open(tmp_path / "m.db", model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(60))
        for budget in range(1, 200):
            text = memory.thread("a").context("bread", budget=budget, min_relevance=0)
            assert tokens.by_words(text) <= budget


@pytest.mark.parametrize(
    "line",
    [
        '{"role": "user", "text": "x", "at": ' + "9" * 5000 + "}",
        '{"role": "user", "text": "x", "at": 1e999}',
        "[" * 100_000,
    ],
    ids=["digits", "infinite", "nested"],
)
def test_hostile_lines_are_refused_without_a_traceback(line):
    code = (
        "import sys; from tsim.logs import Format, read_log\n"
        "log = read_log(sys.stdin.buffer.read(), format=Format.JSONL)\n"
        "print(*log.turns, 'refused', log.problems[0])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], input=line, capture_output=True, text=True, check=True
    )
    assert ran.stdout.startswith("refused line 1: ")


def test_an_export_with_an_id_that_no_thread_can_have_is_refused(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "a.db", model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add("user", "one gpu")
        lines = exported(memory, tmp_path / "a.jsonl").decode().splitlines(keepends=True)
    body = "".join(lines[:-1]).replace('"id": 0', f'"id": {2**32}')
    end = json.loads(lines[-1]) | {"sha256": hashlib.sha256(body.encode()).hexdigest()}
    (tmp_path / "a.jsonl").write_text(body + json.dumps(end) + "\n")
    with Memory.open(tmp_path / "b.db", model=tiny_embedder, preset=preset) as memory:
        with pytest.raises(InputError, match="4294967295"):
            memory.import_(tmp_path / "a.jsonl")
        assert memory.threads() == []


REMOTE = """
import sys
from tsim import Memory
from tsim.embed import RemoteEmbedder

with Memory.open(sys.argv[1], model=RemoteEmbedder(sys.argv[2], "m")) as memory:
    thread = memory.thread("a")
    thread.add("user", "one")
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        thread.add("user", "two")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    sys.stdin.readline()
    thread.add("user", "three")
    print([turn.text for turn in thread.turns()], len(thread.search("one")) > 0, flush=True)
"""


@pytest.mark.parametrize("failing", ["busy", "silent"])
def test_ctrl_c_ends_waiting_for_a_server_and_the_thread_stays_usable(tmp_path, failing):
    """Between two attempts, or while the server does not answer."""
    go_on = threading.Event()

    def answer(body):
        if body["input"] == ["two"] and failing == "silent":
            assert go_on.wait(60)
        vectors = [[float(len(text)), 1.0, 2.0] for text in body["input"]]
        return {"data": [{"index": i, "embedding": vector} for i, vector in enumerate(vectors)]}

    command = [sys.executable, "-c", REMOTE, str(tmp_path / "m.db")]
    pipe = subprocess.PIPE
    with (
        serving(JsonServer(answer)) as server,
        subprocess.Popen([*command, server.url], stdin=pipe, stdout=pipe, text=True) as child,
    ):
        assert child.stdout.readline() == "ready\n"
        if failing == "busy":
            server.script = [(503, {}, {"retry-after": "60"})] * 9
        child.stdin.write("go on\n")
        child.stdin.flush()
        while not any(asked["input"] == ["two"] for asked in server.seen):
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        watch = threading.Timer(30, child.kill)  # half of what it would wait for
        watch.start()
        assert child.stdout.readline() == "interrupted\n"
        watch.cancel()
        assert sum(asked["input"] == ["two"] for asked in server.seen) == 1
        go_on.set()
        server.script = []
        assert child.communicate("go on\n", timeout=30)[0] == "['one', 'three'] True\n"
    with closing(SqliteStore(tmp_path / "m.db")) as store:
        assert store.check() == []
