"""Handling a memory from the shell."""

import json
import os
import pty
import shlex
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tsim import Memory

LINES = "\n".join(
    json.dumps(
        {
            "role": ("user", "model", "tool")[n % 3],
            "text": f"the budget rule {n}",
            "at": 1_777_593_600 + n * 86_400,
        }
    )
    for n in range(24)
)
# Turns after which a topic that comes up again is another hit.
FAR = [f"tea {k} " * 60 for k in range(12)]
WORDS = ("the bread", "the zebra", "the train", "the garden")


@pytest.fixture
def filled(inside):
    assert inside("add", "--thread", "alice", stdin=LINES).returncode == 0
    return inside


def ids(inside, thread: str = "alice") -> list[int]:
    listed = inside("turns", "--thread", thread, "--limit", "1000", "--json")
    return [turn["id"] for turn in json.loads(listed.stdout)]


def test_one_turn_is_added_in_one_line(inside):
    assert inside("add", "--text", "one gpu", "--role", "system").returncode == 0
    assert inside("add", "--text", "-", stdin="from stdin\n").returncode == 0
    turns = json.loads(inside("turns", "--json").stdout)
    assert [(turn["role"], turn["text"]) for turn in turns] == [
        ("system", "one gpu"),
        ("user", "from stdin"),
    ]
    for wrong, message in (
        (("add", "chat.jsonl", "--text", "x"), "--text cannot be combined with chat.jsonl"),
        (("add", "--role", "user"), "--role and --at are about --text"),
        (("add", "--at", "now"), "--role and --at are about --text"),
        (("add", "--text", "x", "--at", "soon"), "at='soon' is not a time"),
        (("add", "--text", " "), "a user turn is empty"),
        (("add", "--text", "x", "--role", ""), "role '' is invalid"),
    ):
        ran = inside(*wrong)
        assert ran.returncode == 1
        assert message in " ".join(ran.stderr.split())
    assert len(ids(inside, "default")) == 2


def test_a_turn_that_is_added_in_one_line_may_have_a_time(inside):
    begun = time.time()
    for at in ("2026-05-01T14:00+02:00", "1777636800", "now", "7d"):
        assert inside("add", "--text", "one gpu", "--at", at).returncode == 0
    one, two, now, week = (turn["at"] for turn in json.loads(inside("turns", "--json").stdout))
    assert one == two == 1777636800
    assert begun <= now <= time.time()
    assert begun - 7 * 86_400 <= week < now


def test_what_the_shell_is_told_fits_the_shell(filled, tmp_path):
    """Options are called as the shell calls them, and a memory is not made for nothing."""
    nothing = filled("forget", "--thread", "alice")
    assert nothing.returncode == 1
    assert "pass --turn, --episode" in " ".join(nothing.stderr.split())
    searched = filled("forget", "--thread", "alice", "--query", "the budget rule")
    assert searched.returncode == 1
    assert "nothing was removed; to forget " in " ".join(searched.stderr.split())
    assert len(ids(filled)) == 24
    assert filled("import", "absent.jsonl", "--memory", "new.db").returncode == 1
    assert not (tmp_path / "new.db").exists()
    (tmp_path / "notes.txt").write_text("I live in Lyon.\n\nMy dog is Rex.\n")
    assert "each paragraph is a turn of the user" in filled("add", "notes.txt").stdout
    assert "paragraph" not in filled("add", "--text", "I live in Lyon.").stdout


def test_threads_and_turns_are_listed_without_a_model(filled, tmp_path):
    filled("add", "--thread", "[bob]", "--text", "one gpu")
    listed = json.loads(filled("threads", "--json").stdout)
    assert listed == [{"name": "[bob]", "turns": 1}, {"name": "alice", "turns": 24}]
    assert "[bob]" in filled("threads").stdout
    page = filled("turns", "--thread", "alice", "--limit", "5").stdout
    assert "user: the budget rule 0" in page
    assert "2026-05-01 00:00" in page
    assert "continue with --after 4" in page
    last = filled("turns", "--thread", "alice", "--after", "21").stdout
    assert "tool: the budget rule 23" in last
    assert "--after" not in last
    assert filled("turns", "--thread", "alice", "--limit", "0").returncode == 1
    # Whatever model wrote the file, and even if it is not here.
    command = [str(Path(sys.executable).with_name("tsim")), "threads", "--json"]
    env = {**os.environ, "TSIM_MODEL": "all-MiniLM-L6-v2", "TSIM_CACHE": str(tmp_path / "empty")}
    ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=True)
    assert json.loads(ran.stdout) == listed


MISSING = [
    ("search", "x", "--thread", "alcie"),
    ("search", "x", "--thread", "alice", "--thread", "alcie"),
    ("context", "x", "--thread", "alcie"),
    ("episodes", "--thread", "alcie"),
    ("turns", "--thread", "alcie"),
    ("forget", "--thread", "alcie", "--turn", "1"),
    ("forget", "--thread", "alcie", "--whole-thread", "--yes"),
    ("export", "out.jsonl", "--thread", "alcie"),
]


def test_a_thread_that_does_not_exist_is_an_error(filled, tmp_path):
    for command in MISSING:
        ran = filled(*command, "--json")
        assert ran.returncode == 1, command
        error = json.loads(ran.stdout)["error"]
        assert error["kind"] == "thread_missing"
        assert "no thread 'alcie' in memory.db" in error["message"]
    assert not (tmp_path / "out.jsonl").exists()


def test_forgetting_more_than_one_turn_needs_a_yes(filled):
    many = ("forget", "--thread", "alice", "--role", "tool", "--until", "2026-05-10")
    refused = filled(*many)
    assert refused.returncode == 1
    assert refused.stdout.splitlines()[0] == "2 tool: the budget rule 2"
    assert "3 turns of alice would be forgotten" in " ".join(refused.stderr.split())
    as_json = filled(*many, "--json")
    assert as_json.returncode == 1
    shown = json.loads(as_json.stdout)
    assert (shown["turns"], shown["forgotten"]) == ([2, 5, 8], False)
    assert len(ids(filled)) == 24
    gone = json.loads(filled(*many, "--yes", "--json").stdout)
    assert (gone["thread"], gone["turns"], gone["scrubbed"]) == ("alice", [2, 5, 8], True)
    assert len(ids(filled)) == 21
    again = filled(*many, "--yes")
    assert (again.returncode, again.stdout) == (0, "nothing was forgotten: no turn was found\n")
    one = filled("forget", "--thread", "alice", "--turn", "0")  # needs none
    assert one.stdout == "forgot turn 0 of alice; its bytes are erased\n"
    two = ("--turn", "1", "--turn", "3")
    assert filled("forget", "--thread", "alice", *two).returncode == 1
    both = filled("forget", "--thread", "alice", *two, "-y")
    assert both.stdout == "forgot turns 1 and 3 of alice; their bytes are erased\n"
    assert ids(filled)[:3] == [4, 6, 7]
    whole = ("forget", "--thread", "alice", "--whole-thread")
    assert filled(*whole).returncode == 1
    assert len(ids(filled)) == 18
    assert filled(*whole, "--turn", "4", "--yes").returncode == 1
    assert filled(*whole, "--yes").stdout == "forgot 18 turns of alice, the whole thread\n"
    assert json.loads(filled("threads", "--json").stdout) == []


def test_bytes_that_others_keep_are_said_to_be_there(filled, tmp_path):
    with closing(sqlite3.connect(tmp_path / "memory.db")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        many = filled("forget", "--thread", "alice", "--since", "2026-05-01", "--yes").stdout
    assert many.startswith("forgot 24 turns of alice; their bytes are not erased yet, because ")


def test_what_a_query_finds_is_never_forgotten_without_a_yes(filled):
    query = ("forget", "--thread", "alice", "--query", "budget rule 3", "--min-relevance", "0")
    refused = filled(*query, "--json")
    assert refused.returncode == 1
    shown = json.loads(refused.stdout)["turns"]
    assert shown
    assert len(ids(filled)) == 24
    refused = filled(*query, "--yes")
    assert refused.returncode == 1
    assert "a search is never certain" in refused.stderr
    assert len(ids(filled)) == 24
    given = [option for turn in shown for option in ("--turn", str(turn))]
    assert filled("forget", "--thread", "alice", *given, "--yes").returncode == 0
    assert not {*shown} & {*ids(filled)}


def test_what_a_query_may_mean_is_shown_with_the_command_that_removes_it(inside, tmp_path):
    spoken = [{"role": "user", "text": f"{word} {n}"} for word in WORDS for n in range(5)]
    (tmp_path / "chat.json").write_text(json.dumps(spoken))
    where = ("--thread", "it's", "--memory", "my own.db")
    assert inside("add", "chat.json", *where).returncode == 0
    asked = inside("forget", *where, "--query", "the zebra 3")
    preview = json.loads(inside("forget", *where, "--query", "the zebra 3", "--json").stdout)
    assert asked.returncode == 1
    shown = zip(preview["turns"], preview["relevances"], preview["lines"], strict=True)
    assert asked.stdout.splitlines() == [f"{one} {share:.0%} {line}" for one, share, line in shown]
    assert 1 <= len(preview["turns"]) <= 10
    _, _, command = asked.stderr.partition(": tsim ")
    assert shlex.split(command)[-2:] == ["--turn", str(preview["turns"][0])]
    assert inside(*shlex.split(command)).returncode == 0
    left = json.loads(inside("turns", *where, "--json").stdout)
    assert {turn["id"] for turn in left} == {*range(20)} - {preview["turns"][0]}
    nobody = inside("forget", *where, "--query", "the zebra", "--role", "nobody")
    assert (nobody.returncode, nobody.stdout) == (0, "nothing was forgotten: no turn was found\n")


@pytest.mark.parametrize(("count", "asks"), [(1, True), (4, False)])
def test_on_a_terminal_several_that_a_query_finds_are_not_forgotten_at_once(
    inside, tiny, tmp_path, count, asks
):
    texts = [text for n in range(count) for text in (f"budget rule {n}", *FAR)][: 13 * count - 12]
    spoken = [{"role": "user", "text": text} for text in texts]
    (tmp_path / "chat.json").write_text(json.dumps(spoken))
    assert inside("add", "chat.json", "--thread", "alice").returncode == 0
    ran = on_a_terminal(tiny, tmp_path, "y\n", "--query", "budget rule", "--min-relevance", "0")
    assert (b"Forget 1 turn of alice?" in ran.stderr) is asks
    assert (b"to forget the best one: tsim forget" in ran.stderr) is not asks
    assert ran.returncode == (0 if asks else 1)
    assert len(ids(inside)) == (0 if asks else len(texts))


@pytest.mark.parametrize(("answer", "left"), [("y\n", 22), ("n\n", 24)])
def test_on_a_terminal_one_is_asked(filled, tiny, tmp_path, answer, left):
    ran = on_a_terminal(tiny, tmp_path, answer, "--turn", "1", "--turn", "3")
    assert b"1 model: the budget rule 1" in ran.stdout
    assert b"Forget 2 turns of alice?" in ran.stderr
    assert ran.returncode == (0 if left == 22 else 1)
    assert len(ids(filled)) == left


def on_a_terminal(tiny, tmp_path, answer: str, *choice: str) -> subprocess.CompletedProcess[bytes]:
    """Runs `tsim forget` where somebody answers."""
    ours, theirs = pty.openpty()
    command = [str(Path(sys.executable).with_name("tsim"))]
    command += ["forget", "--thread", "alice", *choice]
    env = {**os.environ, "TSIM_CACHE": str(tmp_path / "cache"), "TSIM_MODEL": str(tiny)}
    os.write(ours, answer.encode())
    ran = subprocess.run(
        command, stdin=theirs, capture_output=True, cwd=tmp_path, env=env, check=False
    )
    os.close(ours)
    os.close(theirs)
    return ran


def test_streams_stand_for_files(filled, tmp_path):
    assert filled("export", "file.jsonl").returncode == 0
    streamed = filled("export", "-")
    assert streamed.stdout == (tmp_path / "file.jsonl").read_text()
    assert "wrote 24 turns" in streamed.stderr
    assert filled("import", "-", "--memory", "copy.db", stdin=streamed.stdout).returncode == 0
    again = filled("export", "-", "--memory", "copy.db", "--thread", "alice")
    assert again.stdout == streamed.stdout
    cut = filled("import", "-", "--memory", "other.db", stdin=streamed.stdout[:-200])
    assert cut.returncode == 1
    assert "line 28" in cut.stderr
    asked = ("--thread", "alice", "--min-relevance", "0", "--json")
    as_argument = filled("search", "budget rule", *asked).stdout
    assert filled("search", "-", *asked, stdin="budget rule\n").stdout == as_argument
    refused = filled("backup", "-")
    assert refused.returncode == 1
    assert "cannot be written to stdout" in " ".join(refused.stderr.split())


def test_several_threads_are_searched_when_they_are_named(filled):
    filled("add", "--thread", "bob", stdin=LINES)
    both = ("--thread", "alice", "--thread", "bob", "--min-relevance", "0")
    hits = json.loads(filled("search", "budget rule", *both, "--json").stdout)
    assert {hit["thread"] for hit in hits} == {"alice", "bob"}
    text = filled("context", "budget rule", *both).stdout
    assert "[alice " in text
    assert "[bob " in text
    one = filled("context", "budget rule", "--thread", "bob", "--min-relevance", "0").stdout
    assert "[bob " not in one
    assert "bob" in filled("search", "budget rule", *both).stdout


def test_a_backup_is_made_and_a_protected_file_is_read(filled, tmp_path, tiny_embedder):
    made = json.loads(filled("backup", "copy.db", "--json").stdout)
    assert made["bytes"] == (tmp_path / "copy.db").stat().st_size
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    refused = filled("backup", "copy.db")
    assert refused.returncode == 1
    assert "--overwrite" in refused.stderr
    assert filled("backup", "copy.db", "--overwrite").returncode == 0
    before = sorted(tmp_path.iterdir())
    (tmp_path / "copy.db").chmod(0o400)
    protected = ("--memory", "copy.db", "--read-only")
    for command in (
        ("threads",),
        ("turns", "--thread", "alice"),
        ("search", "budget", "--thread", "alice"),
        ("context", "budget", "--thread", "alice"),
        ("episodes", "--thread", "alice"),
        ("export", "-"),
        ("doctor",),
    ):
        assert filled(*command, *protected).returncode == 0, command
    assert sorted(tmp_path.iterdir()) == before
    with Memory.open(tmp_path / "copy.db", model=tiny_embedder, read_only=True) as copy:
        assert len(copy.thread("alice")) == 24


def test_the_list_of_episodes_shows_turns_as_headings_do(inside):
    inside("add", "--text", "one gpu")
    listed = inside("episodes").stdout
    assert "0-0" not in listed
    assert "[0]" in inside("context", "gpu", "--min-relevance", "0").stdout
