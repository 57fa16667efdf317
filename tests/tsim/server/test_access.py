"""Keys and the audit log: who gets in, what is kept, what shows."""

import hashlib
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from argon2 import PasswordHasher, Type
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT
from tsim.errors import InputError, KeyMissingError, StoreError, TooManyError
from tsim.server.access import EVERYTHING, Principal, Scope, keys
from tsim.server.access.failures import Failures
from tsim.server.access.gate import Access
from tsim.server.access.seen import Seen
from tsim.server.rates import Rates
from tsim.server.service import Gate
from tsim.store import SqliteStore

NOTES = """
import sys
from pathlib import Path
from tsim.server.access import Principal
from tsim.server.access.gate import Access

path, name, many = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with Access(path) as access:
    for number in range(many):
        access.note(Principal(key=name), "forget", "default", thread=name, turn=number)
        print(number, flush=True)
"""


HASHER = keys.HASHER


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Unbounded(Failures):
    """For tests that are about something else."""

    def expect(self, key: str) -> None:
        pass

    def take_back(self, key: str) -> None:
        pass


@pytest.fixture(scope="module", autouse=True)
def cheap():
    """Hashes that take next to no time; the parameters are tested on their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield


@pytest.fixture(scope="module")
def shared_access(cheap, tmp_path_factory):
    """For properties, whose examples share what they need."""
    path = tmp_path_factory.mktemp("shared") / "access.sqlite"
    with Access(path, failures=Unbounded()) as access:
        yield access, new(access)


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "memories" / "access.sqlite"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def access(path, clock):
    with Access(path, clock=clock, failures=Unbounded()) as opened:
        yield opened


@pytest.fixture
def checks(monkeypatch) -> list[str]:
    """The hashes that secrets are compared with, one for each slow check."""
    found: list[str] = []
    fits = keys.fits
    monkeypatch.setattr(
        keys, "fits", lambda hashed, secret: found.append(hashed) or fits(hashed, secret)
    )
    return found


def new(access: Access, **changes) -> str:
    given = {"namespace": "alice", "scopes": [Scope.READ], **changes}
    return access.create(**given)[1]


def refusal(access: Access, token: str) -> str:
    with pytest.raises(KeyMissingError) as refused:
        access.admit(token)
    return str(refused.value)


def started(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def tampered(path: Path, *statements: str) -> None:
    """Changes the file as somebody may who has it, past the triggers."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        kept = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        triggers = kept.fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, sql in triggers:
            connection.execute(sql)


# Who gets in


def test_a_key_says_who_its_owner_is(access, clock):
    gate: Gate = access
    key, token = access.create(
        namespace="alice", scopes=[Scope.READ, Scope.FORGET], label="laptop", expires=clock.now + 9
    )
    assert token.startswith(f"tsim_{key.id}_")
    assert len(key.id) == 12 and len(token) == 5 + 12 + 1 + 43
    assert gate.admit(token) == Principal(
        namespace="alice", scopes=frozenset({Scope.READ, Scope.FORGET}), key=key.id
    )
    everywhere, other = access.create(namespace=None, scopes=EVERYTHING)
    assert gate.admit(other) == Principal(namespace=None, scopes=EVERYTHING, key=everywhere.id)
    assert access.keys() == sorted([key, everywhere], key=lambda one: (one.created, one.id))


@settings(max_examples=50)
@given(st.text() | st.from_regex(r"(tsim)?_?[0-9a-fA-F]{0,14}_?[\w-]{0,50}"))
def test_what_is_no_key_is_refused_like_any_other(shared_access, text):
    access, token = shared_access
    assert refusal(access, text) == refusal(access, "")
    assert refusal(access, f"{token}{text or 'x'}") == refusal(access, "")


def test_every_refusal_is_the_same_and_costs_one_check(access, clock, checks):
    token = new(access)
    expired = new(access, expires=clock.now + 1)
    key, revoked = access.create(namespace="alice", scopes=[Scope.READ])
    access.revoke(key.id)
    clock.now += 1
    unknown = keys.token_of("0" * 12, token[18:])
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    messages = set()
    for count, bad in enumerate((unknown, wrong, expired, revoked, "tsim_x", "é\udc80"), 1):
        messages.add(refusal(access, bad))
        assert len(checks) == count
    # No key at all has nothing to check.
    messages.add(refusal(access, ""))
    assert len(checks) == 6
    (message,) = messages
    assert not any(part in message for part in (key.id, "expired", "revoked", "/"))
    assert access.admit(token)


def test_a_secret_is_hashed_the_first_time_only(access, path, checks):
    token, other = new(access), new(access)
    for _ in range(3):
        access.admit(token)
    assert len(checks) == 1
    # Secrets are not exchanged between keys.
    refusal(access, keys.token_of(token[5:17], other[18:]))
    access.admit(other)
    assert len(checks) == 3
    access.admit(token)
    assert len(checks) == 3
    with Access(path) as another:  # nor between processes
        another.admit(token)
    assert len(checks) == 4


def test_a_key_whose_hash_was_exchanged_is_checked_again(access, path):
    token, other = new(access), new(access)
    access.admit(token)
    tampered(
        path,
        f"UPDATE key SET hash = (SELECT hash FROM key WHERE id = '{other[5:17]}') "
        f"WHERE id = '{token[5:17]}'",
    )
    refusal(access, token)


def test_few_secrets_are_remembered():
    seen = Seen(2)
    for name in "abc":
        seen.add(name, "hash", f"secret {name}")
    assert len(seen) == 2
    assert not seen.knows("a", "hash", "secret a")
    assert seen.knows("b", "hash", "secret b")
    seen.add("d", "hash", "secret d")
    assert seen.knows("b", "hash", "secret b") and not seen.knows("c", "hash", "secret c")
    assert not seen.knows("b", "hash", "secret d") and not seen.knows("b", "other", "secret b")
    seen.forget("b")
    assert not seen.knows("b", "hash", "secret b")


def test_revocation_is_seen_at_once_by_whoever_has_the_file_open(access, path, clock):
    key, token = access.create(namespace="alice", scopes=[Scope.READ])
    with Access(path, clock=clock) as another:
        assert access.admit(token) == another.admit(token)
        revoked = another.revoke(key.id)
        refusal(access, token)
        refusal(another, token)
        assert len(access._seen) == len(another._seen) == 0
        assert access.keys() == [revoked] and revoked.revoked == clock.now
        clock.now += 5
        assert access.revoke(key.id) == revoked  # and not anew
        assert access.revoke(token) == revoked
    assert [entry.action for entry in access.audit()] == ["create_key", "revoke_key"]


def test_a_key_ends_at_its_time(access, clock):
    token = new(access, expires=clock.now + 10)
    clock.now += 9.9
    access.admit(token)
    clock.now += 0.1
    refusal(access, token)
    clock.now -= 5  # a clock that was set back
    access.admit(token)


def test_a_server_knows_whether_anybody_can_use_it(access, clock):
    assert not access.usable()
    new(access, expires=clock.now + 1)
    assert access.usable()
    clock.now += 1
    assert not access.usable()
    token = new(access)
    assert access.usable()
    access.revoke(token)
    assert not access.usable()


def test_wrong_keys_are_refused_quickly_when_there_are_many(path, clock, checks):
    with Access(path, failures=Failures(Rates(2, 3, clock=clock))) as access:
        known, fresh = new(access), new(access)
        access.admit(known)
        for _ in range(3):
            refusal(access, keys.token_of("0" * 12, known[18:]))
        assert len(checks) == 4
        for _ in range(5):
            with pytest.raises(TooManyError):
                access.admit(keys.token_of("0" * 12, known[18:]))
        access.admit(known)
        assert len(checks) == 4
        access.admit(fresh)  # strangers do not keep out whoever has a key
        wrong = keys.token_of(fresh[5:17], known[18:])
        for _ in range(3):
            refusal(access, wrong)
        with pytest.raises(TooManyError):
            access.admit(wrong)
        access.admit(fresh)
        clock.now += 0.5
        refusal(access, wrong)
        clock.now += 60
        for _ in range(3):
            refusal(access, "tsim_x")
        with pytest.raises(TooManyError):
            access.admit("tsim_x")


def test_right_keys_do_not_count_as_failures(path, clock):
    with Access(path, failures=Failures(Rates(0, 1, clock=clock)), remembered=1) as access:
        tokens = [new(access) for _ in range(3)]
        for token in tokens * 2:  # none of them is remembered long enough
            access.admit(token)


def test_keys_are_checked_one_at_a_time(access, monkeypatch):
    tokens = [new(access) for _ in range(4)]
    inside: list[str] = []
    met = threading.Event()
    fits = keys.fits

    def counted(hashed: str, secret: str) -> bool:
        inside.append(secret)
        if len(inside) > 1:
            met.set()
        met.wait(0.05)  # time for others to come in
        inside.remove(secret)
        return fits(hashed, secret)

    monkeypatch.setattr(keys, "fits", counted)
    threads = [threading.Thread(target=access.admit, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not met.is_set()
    assert len(access._seen) == 4


# What is kept


def test_secrets_are_nowhere_in_the_files(access, path):
    tokens = [new(access) for _ in range(3)]
    for token in tokens:
        access.admit(token)
    access.revoke(tokens[0][5:17])
    written = b"".join(file.read_bytes() for file in sorted(path.parent.iterdir()))
    for token in tokens:
        secret = token[18:].encode()
        assert token[5:17].encode() in written
        for form in (secret, secret[:20], hashlib.sha256(secret).digest()):
            assert form not in written
    assert b"$argon2id$" in written


def test_secrets_are_hashed_with_argon2id():
    assert (HASHER.type, HASHER.memory_cost, HASHER.time_cost) == (Type.ID, 19 * 1024, 2)
    hashed = HASHER.hash("secret")
    assert hashed.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert keys.fits(hashed, "secret") and not keys.fits(hashed, "Secret")
    for damaged in ("", "$argon2id$", f"{hashed[:-1]}!"):
        with pytest.raises(StoreError, match="damaged"):
            keys.fits(damaged, "secret")


def test_the_files_are_for_their_user_alone(path, monkeypatch):
    before = os.umask(0)
    try:
        with Access(path) as access:
            new(access)
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert set(modes) == {"access.sqlite", "access.sqlite-wal", "access.sqlite-shm"}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"namespace": "../etc"}, "is no namespace"),
        ({"scopes": []}, "use read, write, forget, admin"),
        ({"label": "x" * 201}, "the label has 201 characters"),
        ({"label": "\udc80"}, "not text in UTF-8"),
        ({"expires": 1_000_000.0}, "would have expired already"),
    ],
)
def test_a_key_that_cannot_be_kept_is_refused(access, changes, message):
    with pytest.raises(InputError, match=message):
        new(access, **changes)
    assert access.keys() == [] and access.audit() == []


@pytest.mark.parametrize("name", ["", "0" * 12, "x", "é\udc80"])
def test_only_keys_that_exist_are_revoked(access, name):
    with pytest.raises(InputError, match="tsim keys list"):
        access.revoke(name)
    assert access.audit() == []


def a_memory(path: Path) -> None:
    SqliteStore(path).close()


def a_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE key (id TEXT)")


def a_marked_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 7")


def a_text(path: Path) -> None:
    path.write_text("keys of the house\n" * 100)


def a_newer_file(path: Path) -> None:
    Access(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 2")


def a_cut_file(path: Path) -> None:
    with Access(path) as access:
        new(access)
    path.write_bytes(path.read_bytes()[:6000])


def an_overwritten_file(path: Path) -> None:
    Access(path).close()
    content = bytearray(path.read_bytes())
    content[100:4096] = b"\xa5" * 3996
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (a_memory, "database of another program"),
        (a_database, "database of another program"),
        (a_marked_database, "its application_id is 7"),
        (a_text, "cannot be used as the file of keys"),
        (a_newer_file, "written by a newer version"),
        (a_cut_file, "cannot be used as the file of keys"),
        (an_overwritten_file, "cannot be used as the file of keys"),
    ],
)
def test_other_and_damaged_files_are_left_as_they_are(path, make, message):
    path.parent.mkdir()
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=message):
        Access(path)
    assert path.read_bytes() == before


def test_a_file_of_keys_is_no_memory(access, path):
    new(access)
    with pytest.raises(StoreError, match="database of another program"):
        SqliteStore(path)


def test_a_file_that_is_replaced_while_it_is_open_admits_nobody(access, path, tmp_path):
    token = new(access)
    access.admit(token)
    path.rename(tmp_path / "away")
    Access(path).close()
    for use in (access.keys, lambda: access.admit(token), lambda: access.revoke(token)):
        with pytest.raises(StoreError, match="deleted or replaced"):
            use()


# What shows


def test_what_is_done_is_noted(access, clock):
    principal = Principal(namespace="alice", key="0123456789ab")
    access.note(principal, "forget", "alice", thread="work é\udc80", turns=[1, 2], whole=False)
    clock.now += 1
    access.note(Principal(), "export", "default")
    one, two = access.audit()
    assert (one.number, one.at, one.key, one.action) == (1, clock.now - 1, "0123456789ab", "forget")
    assert one.namespace == "alice"
    assert one.about == {"thread": "work é\udc80", "turns": [1, 2], "whole": False}
    assert (two.number, two.key, two.action, two.about) == (2, "", "export", {})
    assert access.audit_head() == (2, two.hash)
    assert access.audit_problems() == []


def test_a_line_has_no_room_for_what_was_said(access):
    access.note(Principal(), "forget", "default", thread="x" * 10_000, names=["y" * 10_000])
    (entry,) = access.audit()
    assert {len(entry.about["thread"]), len(entry.about["names"][0])} == {501}
    with pytest.raises(TypeError):  # such as a turn
        access.note(Principal(), "forget", "default", turn=object())
    assert access.audit() == [entry]


def test_the_hash_is_over_the_line_and_the_one_before(access, clock):
    for name in ("a", "b"):
        access.note(Principal(key=name), "forget", "default", thread=name)
    hashed = ""
    for entry in access.audit():
        about = json.dumps(entry.about)
        line = [hashed, entry.number, clock.now, entry.key, "forget", "default", about]
        hashed = hashlib.sha256(json.dumps(line).encode()).hexdigest()
        assert entry.hash == hashed


def test_the_log_is_read_by_page(access):
    for number in range(7):
        access.note(Principal(), "forget", "default", turn=number)
    pages, after = [], 0
    while page := access.audit(after=after, limit=3):
        pages.append([entry.number for entry in page])
        after = page[-1].number
    assert pages == [[1, 2, 3], [4, 5, 6], [7]]
    for wrong in ({"limit": 0}, {"after": "x"}):
        with pytest.raises(InputError):
            access.audit(**wrong)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET action = 'x' WHERE number = 2",
        "DELETE FROM audit WHERE number = 3",
        "DELETE FROM audit",
        "REPLACE INTO audit VALUES (2, 0, '', '', '', '{}', '')",
        "INSERT INTO audit VALUES (9, 0, '', '', '', '{}', '')",
        "INSERT INTO audit SELECT NULL, at, key, action, namespace, about, hash FROM audit LIMIT 1",
        "DELETE FROM key",
        "UPDATE key SET revoked = NULL",
    ],
)
def test_the_log_can_only_grow_and_keys_stay_revoked(access, path, statement):
    access.revoke(new(access))
    access.note(Principal(), "forget", "default")
    before = access.audit(), access.keys()
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    assert (access.audit(), access.keys()) == before


@pytest.mark.parametrize(
    ("statements", "problems"),
    [
        (["UPDATE audit SET action = 'read' WHERE number = 3"], ["line 3 of the audit log, or"]),
        (["UPDATE audit SET about = x'ff' WHERE number = 3"], ["line 3 of the audit log, or"]),
        (["UPDATE audit SET about = 7 WHERE number = 3"], ["line 3 of the audit log, or"]),
        (["UPDATE audit SET at = at + 1 WHERE number = 4"], ["line 4 of the audit log, or"]),
        (["UPDATE audit SET hash = 'x' WHERE number = 3"], ["line 3", "line 4"]),
        (["DELETE FROM audit WHERE number IN (3, 4)"], ["lines 3 to 4 of the audit log are miss"]),
        (
            ["DELETE FROM audit WHERE number = 3", "UPDATE audit SET number = 3 WHERE number = 4"],
            ["line 3 of the audit log, or", "lines 4 to 4"],
        ),
        (["DELETE FROM audit WHERE number < 3"], ["lines 1 to 2", "was created", "was revoked"]),
        (["DELETE FROM audit"], ["was created", "was revoked"]),
        (["CREATE TABLE x (y)", "DROP TABLE x"], []),
    ],
)
def test_changes_of_the_log_are_found(access, path, statements, problems):
    access.revoke(new(access))
    for number in range(3):
        access.note(Principal(), "forget", "default", turn=number)
    assert access.audit_problems() == []
    tampered(path, *statements)
    found = access.audit_problems()
    assert len(found) == len(problems), found
    assert all(part in one for part, one in zip(problems, found, strict=True)), found
    access.audit()


def test_a_log_without_its_guards_is_found(access, path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER audit_delete")
    assert access.audit_problems() == [
        "the file has no longer: CREATE TRIGGER audit_delete BEFORE DELETE ON audit"
    ]


@settings(max_examples=30)
@given(
    st.lists(
        st.dictionaries(
            st.text().filter(lambda name: name not in {"principal", "action", "namespace", "self"}),
            st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text(max_size=9)),
            max_size=4,
        ),
        max_size=4,
    )
)
def test_whatever_is_noted_is_read_back(shared_access, lines):
    access, _ = shared_access
    before, _ = access.audit_head()
    for about in lines:
        access.note(Principal(), "forget", "default", **about)
    assert [entry.about for entry in access.audit(after=before)] == lines
    assert access.audit_problems() == []


# Several processes


def test_processes_that_write_at_the_same_time_leave_a_sound_log(path):
    path.parent.mkdir()
    writers = [started(NOTES, path, name, 40) for name in ("a", "b", "c")]  # all may create it
    for writer in writers:
        assert len(writer.communicate(timeout=60)[0].split()) == 40
        assert writer.returncode == 0
    with Access(path) as access:
        entries = access.audit(limit=1000)
        assert access.audit_problems() == []
    assert [entry.number for entry in entries] == list(range(1, 121))
    for name in "abc":
        assert [one.about["turn"] for one in entries if one.key == name] == list(range(40))


def test_a_killed_process_loses_no_line_that_it_was_told_of(path):
    writer = started(NOTES, path, "a", 100_000)
    assert writer.stdout
    for _ in range(25):
        writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    told = 25 + len(writer.stdout.read().splitlines())
    writer.stdout.close()
    writer.wait()
    with Access(path) as access:
        assert access.audit_problems() == []
        assert access.audit_head()[0] in (told, told + 1)
