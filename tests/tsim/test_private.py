"""What the packages write is for the user alone, whatever the umask."""

import json
import os
import subprocess
import sys

import pytest

from scaleqa.evaluate.rowfile import write_rows
from tests.support.modes import open_to_others
from tests.support.servers import JsonServer, completion, serving
from tsim import Memory, private
from tsim.blobs import Blobs
from tsim.embed import CachedEmbedder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")


@pytest.fixture(autouse=True)
def common_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_memory_its_log_and_its_exports_are_private(tiny_embedder, tmp_path, preset):
    path = tmp_path / "memory.db"
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        memory.thread("alice").add("user", "one gpu")
        memory.export(tmp_path / "out.jsonl")
        assert {file.name for file in tmp_path.iterdir()} == {
            "memory.db",
            "memory.db-shm",
            "memory.db-wal",
            "out.jsonl",
        }
        assert open_to_others(tmp_path) == []
        memory.thread("alice").forget(turn=0)
        assert open_to_others(tmp_path) == []


def test_caches_are_private(tiny, tiny_embedder, tmp_path):
    cached = CachedEmbedder(tiny_embedder, tmp_path / "cache" / "embeddings.db")
    cached.embed(["one gpu"])
    blobs = Blobs(tmp_path / "cache" / "replies.db", "replies")
    blobs.write({b"key": b"value"})
    assert len([*(tmp_path / "cache").iterdir()]) == 6
    assert open_to_others(tmp_path) == []
    cached.close()
    blobs.close()


def test_rows_are_private(tmp_path):
    write_rows(tmp_path / "runs" / "a" / "tsim.jsonl", [])
    assert open_to_others(tmp_path) == []


def test_a_link_to_a_missing_file_leads_to_a_private_one(tiny_embedder, tmp_path):
    (tmp_path / "link.db").symlink_to(tmp_path / "memory.db")
    with Memory.open(tmp_path / "link.db", model=tiny_embedder):
        assert open_to_others(tmp_path) == []


def test_what_exists_keeps_its_mode(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    (shared / "file").touch(mode=0o644)
    private.create(shared / "file")
    private.create(shared / "new" / "file")
    assert open_to_others(tmp_path) == ["shared", "shared/file"]


def test_everything_that_commands_write_is_private(tiny, tmp_path):
    """Weights built into graphs, packages, rows and reports included."""
    (tmp_path / "in").mkdir(mode=0o700)
    turns = tmp_path / "in" / "chat.jsonl"
    turns.write_text(json.dumps({"role": "user", "text": "one gpu"}))
    turns.chmod(0o600)
    env = {**os.environ, "TSIM_CACHE": str(tmp_path / "cache"), "TSIM_MODEL": str(tiny)}

    def run(program, *arguments):
        code = f"from {program}.cli.app import main; main()"
        command = [sys.executable, "-c", code, *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr

    run("tsim", "add", str(turns))
    run("tsim", "search", "gpu")
    run("scaleqa", "build", "--target", "0", "--subset", "2", "--out", "package")
    with serving(JsonServer(lambda _: completion("ANSWER: A"))) as server:
        env["OPENAI_BASE_URL"], env["OPENAI_API_KEY"] = server.url, "none"
        run(
            "scaleqa",
            "run",
            "package",
            "--system",
            "standard_rag",
            "--backend",
            "openai:m",
            "--out",
            "runs",
        )
    run("scaleqa", "report", "runs", "--out", "report.html")
    written = {path.name for path in tmp_path.rglob("*")}
    assert {"graphs", "memory.db", "package", "report.html", "replies.db"} <= written
    assert open_to_others(tmp_path) == []
