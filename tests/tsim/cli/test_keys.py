"""Keys of a server from the shell."""

import json
import sqlite3
import stat
import time
from contextlib import closing

import pytest

from tests.support.postgres import OWNER
from tsim.cli import extras
from tsim.errors import KeyMissingError
from tsim.server.access import Principal, Scope
from tsim.server.access.gate import Access


@pytest.fixture
def made(inside):
    """Makes a key and returns what is told about it."""

    def run(*arguments: str) -> dict:
        ran = inside("keys", "create", "--json", *arguments)
        assert ran.returncode == 0, ran.stdout
        return json.loads(ran.stdout)

    return run


def test_a_key_is_printed_once_and_opens_the_server(inside, tmp_path):
    ran = inside("keys", "create", "--label", "laptop")
    token = ran.stdout.strip()  # alone on stdout, so that it can be piped
    assert f"key {token[5:17]} for namespace default (read, write)" in ran.stderr
    assert token not in ran.stderr
    path = tmp_path / "memories" / "access.sqlite"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with Access(path) as access:
        assert access.admit(token) == Principal(
            namespace="default", scopes=frozenset({Scope.READ, Scope.WRITE}), key=token[5:17]
        )
        listed = inside("keys", "list")
        assert token[5:17] in listed.stdout and "laptop" in listed.stdout
        assert token[18:] not in listed.stdout + inside("keys", "list", "--json").stdout
        revoked = inside("keys", "revoke", token[5:17])
        assert f"key {token[5:17]} is revoked since" in revoked.stdout
        with pytest.raises(KeyMissingError):  # in a process that had the file open
            access.admit(token)
    assert inside("keys", "revoke", token).stdout == revoked.stdout


def test_a_key_is_for_what_the_options_say(made, inside, tmp_path):
    begun = time.time()
    one = made("--namespace", "alice", "--scope", "forget", "--scope", "read", "--expires", "90d")
    assert (one["namespace"], one["scopes"]) == ("alice", ["forget", "read"])
    assert 90 * 86_400 <= one["expires"] - begun < 90 * 86_400 + 60
    two = made("--namespace", "*", "--scope", "admin", "--expires", "2999-05-01T14:00+02:00")
    assert (two["namespace"], two["scopes"], two["expires"]) == (None, ["admin"], 32482555200)
    three = made("--at", "elsewhere/notes.db")  # a memory file, which is the only namespace
    assert (three["namespace"], three["expires"]) == ("notes", None)
    assert (tmp_path / "elsewhere" / "access.sqlite").is_file()
    listed = json.loads(inside("keys", "list", "--json").stdout)
    assert [key["id"] for key in listed] == [one["id"], two["id"]]
    assert all(key["state"].startswith("valid until 2") and "key" not in key for key in listed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--namespace", "../x"], "is no namespace"),
        (["--at", "notes.db", "--namespace", "alice"], "only the namespace notes, found alice"),
        (["--expires", "soon"], "expires='soon' is not a time"),
        (["--expires", "999999w"], "between the years 1 and 9999"),
        (["--expires", "2001-01-01"], "would have expired already"),
        (["--label", "x" * 201], "201 characters"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_made(inside, tmp_path, arguments, message):
    before = sorted(tmp_path.iterdir())
    ran = inside("keys", "create", *arguments)
    assert ran.returncode == 1
    assert message in " ".join(ran.stderr.split())
    assert sorted(tmp_path.iterdir()) == before


def test_an_unknown_scope_is_wrong_usage(inside):
    assert inside("keys", "create", "--scope", "all").returncode == 2


def test_where_there_are_no_keys_none_are_listed(inside, tmp_path):
    for command in (["list"], ["revoke", "0" * 12], ["audit"]):
        ran = inside("keys", *command)
        assert ran.returncode == 1
        assert "memories has no keys yet; make one with" in " ".join(ran.stderr.split())
    assert not (tmp_path / "memories").exists()
    assert inside("keys", "create").returncode == 0
    unknown = inside("keys", "revoke", "0" * 12, "--json")
    assert unknown.returncode == 1
    assert json.loads(unknown.stdout)["error"]["kind"] == "bad_input"


def test_the_log_says_what_was_done(made, inside, tmp_path):
    key = made("--label", "laptop")
    with Access(tmp_path / "memories" / "access.sqlite") as access:
        for turn in range(30):
            access.note(Principal(key=key["id"]), "forget", "default", thread="alice", turn=turn)
    last = json.loads(inside("keys", "audit", "--json").stdout)
    assert [entry["number"] for entry in last] == list(range(12, 32))
    assert last[-1]["about"] == {"thread": "alice", "turn": 29}
    first = inside("keys", "audit", "--after", "0", "--limit", "5")
    assert "create_key" in first.stdout and "continue with --after 5" in first.stdout
    assert inside("keys", "audit", "--limit", "0").returncode == 1
    assert key["key"][18:] not in first.stdout


def test_the_log_is_checked(made, inside, tmp_path):
    made()
    sound = inside("keys", "audit", "--verify")
    assert sound.returncode == 0 and "1 line, as it was written" in sound.stdout
    with closing(sqlite3.connect(tmp_path / "memories" / "access.sqlite")) as connection:
        connection.execute("DROP TRIGGER audit_update")
        connection.execute("UPDATE audit SET at = 0")
        connection.commit()
    broken = inside("keys", "audit", "--verify")
    assert broken.returncode == 1
    assert "line 1 of the audit log" in broken.stdout and "2 problems" in broken.stderr
    told = inside("keys", "audit", "--verify", "--json")
    assert told.returncode == 1
    assert len(json.loads(told.stdout)["problems"]) == 2


def test_labels_cannot_act_on_the_terminal(made, inside):
    made("--label", "\x1b[31m[b]")
    for command in (["list"], ["audit"]):
        shown = inside("keys", *command).stdout
        assert "\x1b" not in shown and "[b]" in shown


def test_a_missing_extra_is_named(inside, monkeypatch, tmp_path):
    found = extras.find_spec
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "mcp" else found(name))
    ran = inside("keys", "create")
    assert ran.returncode == 1
    assert "of which mcp cannot be found; run: pip install 'tsim-memory[server]'" in " ".join(
        ran.stderr.split()
    )
    assert not (tmp_path / "memories").exists()


def test_keys_may_be_in_a_database(inside, cluster, tmp_path):
    url = cluster.url(cluster.create(), f"{OWNER}:hidden")
    ran = inside("keys", "create", "--store", url, "--namespace", "alice", "--expires", "1d")
    token = ran.stdout.strip()
    assert f"key {token[5:17]} for namespace alice (read, write)" in ran.stderr
    with Access(url) as access:
        assert access.admit(token).namespace == "alice"
        assert token[5:17] in inside("keys", "list", "--store", url).stdout
        assert inside("keys", "revoke", token[5:17], "--store", url).returncode == 0
        with pytest.raises(KeyMissingError):
            access.admit(token)
    audited = inside("keys", "audit", "--store", url, "--verify")
    assert audited.stdout.startswith("2 lines, as they were written")
    refused = inside("serve", "--store", url)
    assert refused.returncode == 1
    assert "make one with: tsim keys create" in " ".join(refused.stderr.split())
    assert "hidden" not in ran.stderr + refused.stderr
    assert not (tmp_path / "memories").exists()
