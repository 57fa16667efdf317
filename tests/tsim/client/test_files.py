"""Whole memories over HTTP: complete or absent, and never in RAM."""

import hashlib
import io
import json

import pytest

from tests.support.hashes import Hashes
from tests.support.servers import serving
from tests.tsim.client.scripted import ScriptedServer
from tsim import InputError, Memory, RemoteError, ThreadMissingError
from tsim.client.streams import ExportReceiver

TURNS = [("user", "one gpu only"), {"role": "Nadia", "text": "bread", "id": "m1"}]


@pytest.fixture
def filled(memory):
    memory.thread("alice").add_many(TURNS)
    memory.thread("bob").add("user", "train the bread")
    return memory


def test_an_export_is_the_same_as_that_of_the_library(filled, kind, server, tmp_path):
    target = tmp_path / "out.jsonl"
    assert filled.export(target) == 3
    stream = io.BytesIO()
    assert filled.export(stream, threads=["bob"]) == 1
    assert target.stat().st_mode & 0o777 == 0o600
    with Memory.open(tmp_path / "local.db", model=Hashes()) as local:
        assert local.import_(target) == 3
        local.export(tmp_path / "again.jsonl")
        assert local.thread("alice").turns() == filled.thread("alice").turns()
    assert (tmp_path / "again.jsonl").read_bytes() == target.read_bytes()
    with kind(server, namespace=f"copy-of-{abs(hash(filled))}") as other:
        assert other.import_(str(target)) == 3
        with target.open("rb") as opened, pytest.raises(InputError, match="alice"):
            other.import_(opened)
        assert other.forget_thread("bob") is True
        assert other.forget_thread("bob") is False
        assert other.import_(io.BytesIO(stream.getvalue())) == 1
        assert other.threads() == ["alice", "bob"]


def test_a_backup_is_a_memory(filled, tmp_path):
    target = tmp_path / "copy.db"
    filled.backup(target)
    assert target.stat().st_mode & 0o777 == 0o600
    with Memory.open(target, model=Hashes()) as copy:
        assert copy.threads() == ["alice", "bob"]
    with pytest.raises(InputError, match="exists"):
        filled.backup(target)
    filled.backup(target, overwrite=True)
    (tmp_path / "other.db-wal").touch()
    with pytest.raises(InputError, match="in use"):
        filled.backup(tmp_path / "other.db")
    assert [*tmp_path.glob(".tsim-*")] == []


def test_what_cannot_be_written_or_read_is_named(filled, tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        filled.export(tmp_path / "missing" / "out.jsonl")
    with pytest.raises(InputError, match="cannot be read"):
        filled.import_(tmp_path / "missing.jsonl")
    with pytest.raises(InputError, match="binary"):
        filled.import_(io.StringIO("{}"))
    with pytest.raises(InputError):
        filled.import_(io.BytesIO(b'{"kind": "turn"}\n'))
    with pytest.raises(InputError, match="not a path"):
        filled.export(7)
    with pytest.raises(ThreadMissingError):
        filled.export(tmp_path / "out.jsonl", threads=["nobody"])
    assert [*tmp_path.iterdir()] == []


def export_of(turns):
    lines = [{"kind": "memory"}, *({"kind": "turn", "id": n} for n in range(turns))]
    content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    end = {"kind": "end", "lines": len(lines), "sha256": hashlib.sha256(content).hexdigest()}
    return content + json.dumps(end).encode() + b"\n"


WHOLE = export_of(50)
DAMAGED = {
    "cut in a line": WHOLE[:-20],
    "without its end": WHOLE[: WHOLE.rindex(b'{"kind": "end"')],
    "empty": b"",
    "changed": WHOLE.replace(b'"id": 7}', b'"id": 8}'),
    "longer": WHOLE + b'{"kind": "turn"}\n',
    "with a rest": WHOLE + b"{",
    "html": b"<html>\n</html>\n",
}


@pytest.fixture(scope="module")
def scripted():
    with serving(ScriptedServer()) as running:
        yield running


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_half_an_export_is_none(scripted, kind, content, tmp_path):
    scripted.script = [(200, content, {})]
    with kind(scripted.url) as memory, pytest.raises(RemoteError, match="whole export"):
        memory.export(tmp_path / "out.jsonl")
    assert [*tmp_path.iterdir()] == []


def test_an_export_is_whole_however_it_is_cut_into_pieces():
    for size in (1, 7, 64, len(WHOLE)):
        receiver = ExportReceiver()
        for start in range(0, len(WHOLE), size):
            receiver.take(WHOLE[start : start + size])
        receiver.end()
        assert receiver.turns == 50


HEADER = b"SQLite format 3\0" + bytes([16, 0]) + bytes(10) + (2).to_bytes(4)


@pytest.mark.parametrize(
    "content", [b"", b"<html>", HEADER.ljust(4096, b"\0"), HEADER.ljust(8193, b"\0")]
)
def test_half_a_backup_is_none(scripted, kind, content, tmp_path):
    old = tmp_path / "copy.db"
    old.write_bytes(b"old")
    scripted.script = [(200, content, {})]
    with kind(scripted.url) as memory, pytest.raises(RemoteError, match="memory file"):
        memory.backup(old, overwrite=True)
    assert old.read_bytes() == b"old"
    scripted.script = [(200, HEADER.ljust(8192, b"\0"), {})]
    with kind(scripted.url) as memory:
        memory.backup(old, overwrite=True)
    assert len(old.read_bytes()) == 8192


def test_an_answer_that_breaks_off_leaves_nothing(scripted, kind, tmp_path):
    scripted.script = [(200, WHOLE[:100], {"Content-Length": "9999", "Connection": "close"})]
    with kind(scripted.url) as memory:
        with pytest.raises(RemoteError, match="broke off"):
            memory.export(tmp_path / "out.jsonl")
        with pytest.raises(RemoteError, match="broke off"):
            memory.backup(tmp_path / "copy.db")
    assert [*tmp_path.iterdir()] == []


class Pieces(io.BytesIO):
    """Notes how much is read or written at once."""

    largest = 0

    def read(self, size=-1):
        found = super().read(size)
        self.largest = max(self.largest, len(found))
        return found

    def write(self, piece):
        self.largest = max(self.largest, len(piece))
        return super().write(piece)


def test_large_files_go_in_pieces(scripted, kind):
    large = export_of(100_000)
    assert len(large) > 2 << 20
    source, target = Pieces(large), Pieces()
    with kind(scripted.url) as memory:
        scripted.script = [(200, {"turns": 0}, {})]
        scripted.seen.clear()
        memory.import_(source)
        assert scripted.seen[0][3] == large
        scripted.script = [(200, large, {})]
        assert memory.export(target) == 100_000
    assert target.getvalue() == large
    assert max(source.largest, target.largest) <= 1 << 20
