"""Nothing acknowledged is lost: killed processes, crowds, full disks, read-only files.

`make soak` runs the long version: TSIM_SOAK=200 is the number of kills.
"""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.streams import stream
from tsim import Memory
from tsim.errors import StoreError, StoreFullError, StoreReadOnlyError
from tsim.store import SqliteStore

TRIALS = int(os.environ.get("TSIM_SOAK", "12"))
ROOT = Path(__file__).parents[2]

WRITER = """
import sys
from pathlib import Path
from tests.support.streams import stream
from tsim import Memory
from tsim.embed import OnnxEmbedder

model, path, start, many, preset = *sys.argv[1:3], *map(int, sys.argv[3:5]), sys.argv[5]
embedder = OnnxEmbedder(Path(model), graphs=Path(sys.argv[6]), threads=1)
turns = stream(20_000)[start:]
with Memory.open(path, model=embedder, preset=preset) as memory:
    thread = memory.thread("a")
    print("ready", flush=True)
    for place in range(0, len(turns), many):
        for receipt in thread.add_many(turns[place : place + many]):
            print(receipt.turn, flush=True)
"""

CROWD = """
import sys
from pathlib import Path
from tsim import Memory
from tsim.embed import OnnxEmbedder

model, path, name, preset, graphs = sys.argv[1:]
embedder = OnnxEmbedder(Path(model), graphs=Path(graphs), threads=1)
with Memory.open(path, model=embedder, preset=preset) as memory:
    for number in range(25):
        thread = memory.thread("shared" if number % 2 else name)
        text = f"{name} says rule {number} of the budget letter " * (1 + number % 5)
        receipt = thread.add("user", text)
        assert thread.search(text, k=1)
        stored = {turn.id: turn.text for turn in thread.turns()}
        assert stored[receipt.turn] == text
        print(receipt.turn, flush=True)
"""


def start(code: str, *arguments: object, stdin: int | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, text=True, cwd=ROOT)


@pytest.mark.slow
def test_kill_9_at_any_moment_loses_no_acknowledged_turn(
    tmp_path, tiny, tiny_embedder, preset, place
):
    # The transactions of a database are not ours; few kills show that we wait for them.
    trials = TRIALS if Path(place).parent == tmp_path else max(3, TRIALS // 4)
    rng = random.Random(TRIALS)
    path, graphs = place, tmp_path / "graphs"
    kept = 0
    for trial in range(trials):
        many = rng.choice((1, 1, 1, 7, 40))
        writer = start(WRITER, tiny, path, kept, many, preset.name, graphs)
        assert writer.stdout
        assert writer.stdout.readline() == "ready\n"
        printed = "".join(writer.stdout.readline() for _ in range(rng.randrange(6)))
        time.sleep(rng.uniform(0, 0.05))
        writer.send_signal(signal.SIGKILL)
        acknowledged = [int(line) for line in (printed + writer.stdout.read()).split()]
        writer.wait()
        writer.stdout.close()
        with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
            thread = memory.thread("a")
            turns = thread.turns() if thread else []  # it may have been killed before the first
            assert memory.verify().problems == (), trial
        assert [turn.id for turn in turns] == list(range(len(turns)))
        if acknowledged:
            assert len(turns) > acknowledged[-1], trial
        kept = len(turns)
    expected = stream(20_000)[:kept]
    assert [(t.role, t.text, t.at) for t in turns] == [(t.role, t.text, t.at) for t in expected]
    with Memory.open(tmp_path / "calm.db", model=tiny_embedder, preset=preset) as calm:
        calm.thread("a").add_many(expected)
        calm.export(tmp_path / "calm.jsonl")
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        memory.export(tmp_path / "killed.jsonl")
    assert (tmp_path / "calm.jsonl").read_bytes() == (tmp_path / "killed.jsonl").read_bytes()
    assert kept > trials


@pytest.mark.slow
def test_four_processes_write_and_read_one_memory_at_once(
    tmp_path, tiny, tiny_embedder, preset, place
):
    path, graphs = place, tmp_path / "graphs"
    crowd = [start(CROWD, tiny, path, f"p{n}", preset.name, graphs) for n in range(4)]
    outputs = [process.communicate(timeout=120)[0] for process in crowd]
    assert [process.returncode for process in crowd] == [0, 0, 0, 0]
    assert all(len(output.split()) == 25 for output in outputs)
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        assert memory.threads() == ["p0", "p1", "p2", "p3", "shared"]
        assert memory.verify().problems == ()
        shared = memory.thread("shared").turns()
        assert [turn.id for turn in shared] == list(range(48))
        for n in range(4):
            own = [turn.text for turn in shared if turn.text.startswith(f"p{n} ")]
            numbers = [int(text.split()[3]) for text in own]
            assert numbers == list(range(1, 25, 2))
        # The same turns in the same order, alone: the same memory.
        with Memory.open(tmp_path / "alone.db", model=tiny_embedder, preset=preset) as alone:
            for turn in shared:
                alone.thread("shared").add(turn.role, turn.text)
            hits = alone.thread("shared").search("budget letter", k=30)
        assert memory.thread("shared").search("budget letter", k=30) == hits


def test_a_full_disk_is_a_clear_error_and_no_damage(tmp_path, tiny_embedder, preset):
    with (
        closing(SqliteStore(tmp_path / "memory.db")) as store,
        Memory.open(store=store, model=tiny_embedder, preset=preset) as memory,
    ):
        thread = memory.thread("a")
        thread.add_many(stream(20))
        connection = store._file._writer  # a full disk cannot be had from outside
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 3}")
        with pytest.raises(StoreFullError, match="the existing content is intact"):
            thread.add("user", "budget " * 100_000)
        connection.execute("PRAGMA max_page_count = 1000000")
        assert len(thread.turns()) == 20
        assert thread.add("user", "there is room again").turn == 20
        assert memory.verify().problems == ()


def test_a_write_that_the_system_cuts_off_is_an_error_and_no_damage(
    tmp_path, tiny_embedder, preset
):
    """The operating system itself refuses to let the file grow."""
    with Memory.open(tmp_path / "memory.db", model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(20))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            size = (tmp_path / "memory.db-wal").stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10_000, hard))
            with pytest.raises(StoreError):
                memory.thread("a").add("user", "budget " * 100_000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, previous)
        assert len(memory.thread("a").turns()) == 20
        memory.thread("a").add("user", "room again")
        assert memory.verify().problems == ()


READER = """
import json, os, sys
from pathlib import Path
from tsim import Memory
from tsim.embed import OnnxEmbedder
from tsim.errors import TsimError

embedder = OnnxEmbedder(Path(sys.argv[1]), graphs=Path(sys.argv[3]), threads=1)
embedder.embed(["warm"])
if os.geteuid() == 0:
    os.setuid(65534)
try:
    with Memory.open(sys.argv[2], model=embedder) as memory:
        memory.thread("a").add("user", "x")
    print(json.dumps("written"))
except TsimError as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""


def test_a_read_only_file_is_a_clear_error_and_no_damage(tmp_path, tiny, tiny_embedder, preset):
    directory = tmp_path / "locked"
    directory.mkdir()
    path = directory / "memory.db"
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(5))
    before = path.read_bytes()
    for parent in (tmp_path, *tmp_path.parents):
        if parent.owner() == "root" and str(parent).startswith("/tmp/"):
            parent.chmod(0o755)
    path.chmod(0o444)
    directory.chmod(0o555)
    reader = start(READER, tiny, path, tmp_path / "graphs")
    output = reader.communicate(timeout=60)[0]
    directory.chmod(0o755)
    name, message = json.loads(output)
    assert name == StoreReadOnlyError.__name__
    assert "permissions" in message
    assert path.read_bytes() == before
