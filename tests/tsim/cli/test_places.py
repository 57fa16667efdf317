"""Memories in PostgreSQL on the command line, and copies between files and databases."""

import json

import pytest

from tests.support.postgres import OWNER
from tsim import Memory, NewTurn

TURNS = "\n".join(
    json.dumps({"role": role, "text": text, "at": 1777600800 + n})
    for n, (role, text) in enumerate(
        [("user", "new projects run on one gpu"), ("model", "the budget letter"), ("user", "bread")]
    )
)


def test_commands_take_an_address_where_they_take_a_file(inside, postgres, tmp_path):
    place = ("--memory", postgres)
    for command in (("search", "gpu"), ("threads",), ("turns",), ("doctor",), ("export", "-")):
        refused = inside(*command, *place)
        assert refused.returncode == 1
        assert "does not exist" in refused.stderr
    added = inside("add", "-", *place, "--json", stdin=TURNS)
    assert added.returncode == 0, added.stderr
    assert len(json.loads(added.stdout)["receipts"]) == 3
    assert json.loads(inside("threads", *place, "--json").stdout) == [
        {"name": "default", "turns": 3}
    ]
    assert "one gpu" in inside("search", "gpu", *place, "--min-relevance", "0").stdout
    assert "one gpu" in inside("context", "-", *place, stdin="gpu").stdout
    assert "budget letter" in inside("turns", *place).stdout
    assert "0" in inside("episodes", *place, "--read-only").stdout
    gone = inside("forget", *place, "--turn", "2")
    assert gone.returncode == 0, gone.stderr
    assert "erased from the tables; the server's log" in gone.stdout
    checked = inside("doctor", *place, "--json")
    assert json.loads(checked.stdout)["problems"] == []
    assert inside("export", "out.jsonl", *place).returncode == 0
    again = inside("import", "out.jsonl", "--memory", "new.db")
    assert "read 2 turns" in again.stdout
    repaired = inside("doctor", *place, "--repair")
    assert "--repair is for memory files" in repaired.stderr
    backed = inside("backup", "b.db", *place)
    assert "tsim copy" in backed.stderr


def test_a_password_is_never_printed(inside, cluster, shared_database):
    place = cluster.url(shared_database, f"{OWNER}:hunter2", "secretive")
    for command in (
        ("search", "gpu"),
        ("add", "--text", "one gpu"),
        ("search", "nonsense", "--min-relevance", "1"),
        ("forget", "--query", "gpu"),
        ("doctor",),
        ("threads", "--json"),
        ("backup", "b.db"),
    ):
        ran = inside(*command, "--memory", place)
        assert "hunter2" not in ran.stdout + ran.stderr, command
    copied = inside("copy", place, "copy.db", "--json")
    assert copied.returncode == 0
    assert "hunter2" not in copied.stdout + copied.stderr


@pytest.fixture
def file(tmp_path, tiny_embedder, preset):
    """A memory with all kinds of rows."""
    path = tmp_path / "source.db"
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many([NewTurn(role="user", text=f"gpu {n}") for n in range(40)])
        memory.thread("a").add("user", "rule " * 400, id="long", meta={"channel": "ops"})
        memory.thread("a").forget(turn=7)
        memory.thread("é/ü").add("user", "bread", at=-0.0)
    return path


def test_a_memory_goes_to_postgres_and_back_unchanged(inside, postgres, tmp_path, file):
    there = inside("copy", str(file), postgres, "--json")
    assert there.returncode == 0, there.stderr
    said = json.loads(there.stdout)
    assert (said["threads"], said["turns"], said["from"]) == (2, 41, str(file))
    back = inside("copy", postgres, "back.db")
    assert "copied 41 turns in 2 threads" in back.stdout
    for name, place in (("1", str(file)), ("2", postgres), ("3", "back.db")):
        assert inside("export", f"{name}.jsonl", "--memory", place).returncode == 0
    one, two, three = ((tmp_path / f"{name}.jsonl").read_bytes() for name in "123")
    assert one == two == three
    assert said["sha256"] in one.decode().splitlines()[-1]
    for place in (postgres, "back.db"):
        assert json.loads(inside("doctor", "--memory", place, "--json").stdout)["problems"] == []


def test_nothing_is_copied_where_there_is_something(inside, postgres, tmp_path, file):
    assert inside("copy", str(file), postgres).returncode == 0
    refused = inside("copy", str(file), postgres)
    assert refused.returncode == 1
    assert "has threads already" in refused.stderr
    refused = inside("copy", postgres, str(file))
    assert "exists; name a new file" in refused.stderr
    assert "does not exist" in inside("copy", "nothing.db", "x.db").stderr
    assert "is not a directory" in inside("copy", str(file), "no/such/x.db").stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"source.db", "cache"}


def test_what_postgres_cannot_represent_is_not_copied_in_part(
    inside, postgres, file, tiny_embedder
):
    with Memory.open(file, model=tiny_embedder) as memory:
        memory.thread("z").add("user", "one \0 gpu")
    refused = inside("copy", str(file), postgres)
    assert refused.returncode == 1
    assert "NUL" in refused.stderr
    assert "does not exist" in inside("threads", "--memory", postgres).stderr
    assert inside("copy", str(file), "other.db").returncode == 0
