"""Files are whole or absent, whatever others do and however a writer ends."""

import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from tsim import InputError, Memory, unfinished

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks and modes are those of POSIX")

SECRET = "from May on, one consumer gpu"


@pytest.fixture
def memory(tmp_path, tiny_embedder):
    with Memory.open(tmp_path / "memory.db", model=tiny_embedder) as memory:
        memory.thread("alice").add("user", SECRET)
        yield memory


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def left(directory):
    return [name for name in names(directory) if name.startswith(".tsim-")]


def killed(code, ready):
    """Runs code in a process that is killed as soon as something is there; returns it."""
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)])
    while not (found := ready()) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return found


def test_exports_at_the_same_time_do_not_mix(memory, tmp_path):
    for number in range(40):
        memory.thread("alice").add("user", f"turn {number} about {SECRET}")
    memory.export(tmp_path / "wanted.jsonl")
    target = tmp_path / "out.jsonl"

    def export():
        for _ in range(5):
            memory.export(target)

    threads = [threading.Thread(target=export) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if target.exists():
            assert target.read_bytes() == (tmp_path / "wanted.jsonl").read_bytes()
    for thread in threads:
        thread.join()
    assert target.read_bytes() == (tmp_path / "wanted.jsonl").read_bytes()
    assert left(tmp_path) == []


def test_links_are_not_followed(memory, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    for name in ("out.jsonl", "out.jsonl.part"):
        (tmp_path / name).symlink_to(victim)
    memory.export(tmp_path / "out.jsonl")
    assert victim.read_text() == "untouched"
    assert not (tmp_path / "out.jsonl").is_symlink()
    assert stat.S_IMODE((tmp_path / "out.jsonl").stat().st_mode) == 0o600


def test_names_cannot_be_guessed_and_are_private_from_the_start(tmp_path):
    seen = set()
    for _ in range(2):
        with unfinished.replacing(tmp_path / "out") as part:
            seen.add(part.path.name)
            assert stat.S_IMODE(part.path.stat().st_mode) == 0o600
    assert len(seen) == 2


def test_a_failure_leaves_what_was_there(tmp_path):
    (tmp_path / "out").write_text("before")
    with pytest.raises(RuntimeError), unfinished.replacing(tmp_path / "out") as part:
        part.file.write(b"half")
        raise RuntimeError
    assert (tmp_path / "out").read_text() == "before"
    assert names(tmp_path) == ["out"]


def test_devices_and_pipes_are_written_to_and_stay(memory, tmp_path):
    node = os.lstat("/dev/null")
    memory.export("/dev/null")
    assert os.lstat("/dev/null") == node
    os.mkfifo(tmp_path / "pipe")
    memory.export(tmp_path / "wanted.jsonl")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    memory.export(tmp_path / "pipe")
    assert reader.communicate()[0] == (tmp_path / "wanted.jsonl").read_bytes()
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    with pytest.raises(InputError, match="device or a pipe"):
        memory.backup("/dev/null", overwrite=True)
    assert os.lstat("/dev/null") == node


def test_stdout_by_its_name_is_written_to_whether_pipe_or_file(memory, tmp_path):
    memory.export(tmp_path / "wanted.jsonl")
    wanted = (tmp_path / "wanted.jsonl").read_bytes()
    code = "from tsim.cli.app import main; main()"
    command = [sys.executable, "-c", code, "export", "/dev/stdout"]
    command += ["--memory", str(tmp_path / "memory.db"), "--json"]
    link = Path("/dev/stdout").readlink()
    piped = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    assert piped.startswith(wanted)
    with (tmp_path / "file").open("wb") as file:
        subprocess.run(command, stdout=file, check=True)
    assert wanted in (tmp_path / "file").read_bytes()
    assert Path("/dev/stdout").readlink() == link


def test_what_a_killed_writer_left_is_gone_after_the_next_write(memory, tmp_path):
    code = f"""
        import time
        from pathlib import Path
        from tsim import unfinished
        with unfinished.replacing(Path({str(tmp_path)!r}) / "other.jsonl") as part:
            part.file.write(b"all that was ever said")
            part.file.flush()
            Path(str(part.path) + "-journal").write_bytes(b"and more of it")
            time.sleep(60)
    """
    assert killed(code, lambda: [n for n in left(tmp_path) if n.endswith("-journal")])
    assert len(left(tmp_path)) == 2
    memory.export(tmp_path / "out.jsonl")
    assert left(tmp_path) == []


def test_what_a_killed_writer_left_is_gone_after_the_next_start(tmp_path, tiny_embedder):
    (tmp_path / ".tsim-0123456789abcdef.part").write_text("all that was ever said")
    with Memory.open(tmp_path / "memory.db", model=tiny_embedder):
        assert left(tmp_path) == []


def test_others_files_and_live_writers_are_left_alone(tmp_path):
    (tmp_path / "keep.part").write_text("mine")
    (tmp_path / ".tsim-notes").write_text("mine")
    (tmp_path / ".tsim-link.part").symlink_to(tmp_path / "keep.part")
    with unfinished.replacing(tmp_path / "first") as first:
        with unfinished.replacing(tmp_path / "second") as second:
            second.file.write(b"2")
        assert first.path.exists()
        first.file.write(b"1")
    wanted = {".tsim-link.part", ".tsim-notes", "first", "keep.part", "second"}
    assert {*names(tmp_path)} == wanted


def test_a_finished_file_that_is_about_to_get_its_name_is_left_alone(tmp_path):
    ready = tmp_path / ".tsim-0123456789abcdef.ready"
    ready.write_text("finished")
    unfinished.sweep(tmp_path)
    assert ready.exists()
    os.utime(ready, (0, 0))
    unfinished.sweep(tmp_path)
    assert not ready.exists()


def test_a_directory_of_a_killed_process_is_gone_after_the_next_start(tmp_path):
    code = f"""
        import time
        from pathlib import Path
        from tsim import unfinished
        with unfinished.scratch(Path({str(tmp_path)!r}), "run-") as path:
            (path / "memory.db").write_text("all that was ever said")
            time.sleep(60)
    """
    assert killed(code, lambda: [*tmp_path.glob("run-*/memory.db")])
    assert len(names(tmp_path)) == 1
    with unfinished.scratch(tmp_path, "run-") as path:
        assert names(tmp_path) == [path.name]
        with unfinished.scratch(tmp_path, "run-"):
            assert path.is_dir()
    assert names(tmp_path) == []
