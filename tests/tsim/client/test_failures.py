"""What a client does when a server fails: what may be repeated is, and doubts are spoken."""

import asyncio
import logging
import socket
import threading
import traceback
from dataclasses import replace

import pytest

from tests.support.servers import serving
from tests.tsim.client.scripted import DROP, SILENCE, ScriptedServer, html, problem
from tsim import (
    AccessError,
    InputError,
    KeyMissingError,
    LimitError,
    MismatchError,
    RemoteError,
    StoreBusyError,
    ThreadMissingError,
    TooLargeError,
    TooManyError,
    TsimError,
)
from tsim import errors as all_errors
from tsim.client import AsyncClient, Client
from tsim.client.answers import KINDS
from tsim.http import Patience

KEY = "tsim_k1_verysecret"
QUICK = Patience(timeout=30, attempts=3, first_wait=0.001, longest_wait=0.01)
RECEIPTS = {"receipts": [{"turn": 0, "episode": 0, "views": ["raw"]}], "skipped": {}}
FORGOTTEN = {"turns": [1]}
BUSY = problem(503, "over_limit", "too many requests wait already")
OK_TURNS = (200, {"turns": [], "next": None}, {})


@pytest.fixture(scope="module")
def running():
    with serving(ScriptedServer()) as running:
        yield running
        running.ended.set()


@pytest.fixture
def server(running):
    running.script, running.seen = [], []
    return running


@pytest.fixture
def memory(server, kind):
    with kind(server.url, key=KEY, patience=QUICK) as opened:
        yield opened


PASSING = {
    "dropped": DROP,
    "429": problem(429, "too_many", Retry_After="0"),
    "502": html(502),
    "503": html(503),
    "504": html(504),
    "busy": BUSY,
}
OPERATIONS = {
    "read": (lambda thread: thread.turns(), OK_TURNS),
    "add with id": (lambda thread: thread.add("user", "x", id="m1"), (200, RECEIPTS, {})),
    "add": (lambda thread: thread.add("user", "x"), (200, RECEIPTS, {})),
    "forget": (lambda thread: thread.forget(turn=1), (200, FORGOTTEN, {})),
}
REPEATED = {
    "read": {*PASSING},
    "add with id": {*PASSING},
    "add": {"429", "busy"},
    "forget": set(),
}


@pytest.mark.parametrize("failure", PASSING)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_only_what_is_safe_is_repeated(server, memory, operation, failure):
    act, good = OPERATIONS[operation]
    server.script = [PASSING[failure], good]
    if failure in REPEATED[operation]:
        act(memory.thread("alice"))
        assert len(server.seen) == 2
        assert server.seen[0][3] == server.seen[1][3]
    else:
        with pytest.raises(TsimError):
            act(memory.thread("alice"))
        assert len(server.seen) == 1


@pytest.mark.parametrize("failure", ["dropped", "502", "504"])
def test_whoever_adds_without_ids_is_told_of_the_doubt(server, memory, failure):
    server.script = [PASSING[failure]]
    with pytest.raises(RemoteError, match=r"may or may not have been added; turns with an id"):
        memory.thread("alice").add_many([NEW, ("user", "y")])


def test_silence_is_a_failure(server, kind):
    with kind(server.url, patience=replace(QUICK, timeout=0.5)) as memory:
        server.script = [SILENCE]
        with pytest.raises(RemoteError, match="failed 3 times, last with ReadTimeout"):
            memory.thread("alice").turns()
        assert len(server.seen) == 3
        with pytest.raises(RemoteError, match=r"ReadTimeout.*may or may not have been added"):
            memory.thread("alice").add("user", "x")
        assert len(server.seen) == 4


NEW = {"role": "user", "text": "x", "id": "m1"}


def test_no_doubt_is_spoken_where_there_is_none(server, memory):
    server.script = [html(502)]
    for act in (lambda thread: thread.add_many([NEW]), lambda thread: thread.turns()):
        with pytest.raises(RemoteError, match="failed 3 times, last with HTTP 502") as raised:
            act(memory.thread("alice"))
        assert "may or may not" not in str(raised.value)
    server.script = [problem(507, "store_full", "the disk is full")]
    with pytest.raises(all_errors.StoreFullError, match="the disk is full"):
        memory.thread("alice").add("user", "x")


def test_attempts_are_bounded_and_waits_grow_or_are_those_asked_for(server):
    waits = []
    patience = Patience(timeout=1, attempts=4, first_wait=1, longest_wait=5, sleep=waits.append)
    with Client(server.url, patience=patience) as memory:
        server.script = [html(503)]
        with pytest.raises(RemoteError, match="failed 4 times"):
            memory.threads()
        assert len(server.seen) == 4
        assert [1 <= waits[0] <= 2, 2 <= waits[1] <= 4, 4 <= waits[2] <= 5] == [True] * 3
        waits.clear()
        server.script = [problem(429, "too_many", Retry_After="3")]
        with pytest.raises(TooManyError):
            memory.threads()
        assert waits == [3, 3, 3]
        waits.clear()
        server.script = [problem(429, "too_many", Retry_After="86400")]
        with pytest.raises(TooManyError):
            memory.threads()
        assert waits == [5, 5, 5]


def test_waiting_can_be_interrupted(server):
    def interrupted(_seconds):
        raise KeyboardInterrupt

    server.script = [html(503)]
    with (
        Client(server.url, patience=Patience(sleep=interrupted)) as memory,
        pytest.raises(KeyboardInterrupt),
    ):
        memory.threads()

    async def cancelled():
        async with AsyncClient(server.url, patience=Patience(first_wait=60)) as memory:
            asking = asyncio.create_task(memory.threads())
            while len(server.seen) < 2:
                await asyncio.sleep(0.01)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking

    asyncio.run(cancelled())


def test_nobody_there_is_tried_again_by_everything(kind):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with kind(url, key=KEY, patience=QUICK) as memory:
            for act, _ in OPERATIONS.values():
                with pytest.raises(
                    RemoteError, match="failed 3 times, last with ConnectError"
                ) as e:
                    act(memory.thread("alice"))
                assert url in str(e.value)
                assert "may or may not" not in str(e.value)


@pytest.mark.parametrize("kind_of_error", sorted(KINDS))
def test_errors_are_those_of_the_library(server, memory, kind_of_error):
    server.script = [problem(400, kind_of_error, "what was found")]
    with pytest.raises(KINDS[kind_of_error], match="what was found") as raised:
        memory.threads()
    assert type(raised.value) is KINDS[kind_of_error]
    assert len(server.seen) == 1


def test_every_error_of_the_library_can_be_sent():
    expected = {AccessError, InputError, KeyMissingError, LimitError, MismatchError, RemoteError}
    more = {StoreBusyError, ThreadMissingError, TooLargeError, TooManyError}
    assert expected | more < {*KINDS.values()}


@pytest.mark.parametrize("kind_of_error", ["not_found", "error", "later_invention"])
def test_errors_that_only_servers_have_are_remote(server, memory, kind_of_error):
    server.script = [problem(500, kind_of_error, "what was found")]
    with pytest.raises(RemoteError, match="what was found"):
        memory.thread("alice").add("user", "x")


UNEXPECTED = {
    "html": b"<html><body>Log in</body></html>",
    "cut": b'{"turns": [{"id": 1, "role": "us',
    "null": b"null",
    "wrong type": b'{"turns": [{"id": "1", "role": "user", "text": "x"}], "next": null}',
    "missing": b'{"next": null}',
    "empty": b"",
    "deep": b"[" * 100_000,
    "not text": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("body", UNEXPECTED.values(), ids=UNEXPECTED)
def test_an_answer_to_another_question_is_refused_in_words(server, memory, body):
    server.script = [(200, body, {})]
    with pytest.raises(RemoteError, match="with something else"):
        memory.thread("alice").turns()
    with pytest.raises(RemoteError, match=r"with something else.*may or may not"):
        memory.thread("alice").add("user", "x")


def test_fewer_receipts_than_turns_are_refused(server, memory):
    server.script = [(200, RECEIPTS, {})]
    with pytest.raises(RemoteError, match="something else"):
        memory.thread("alice").add_many([("user", "x"), ("user", "y")])


def test_an_answer_that_is_cut_is_no_answer(server, memory):
    server.script = [(200, b'{"turns": []', {"Content-Length": "100", "Connection": "close"})]
    with pytest.raises(RemoteError, match="failed 3 times"):
        memory.thread("alice").turns()


def test_pages_without_end_are_refused(server, memory):
    turn = {"id": 3, "role": "user", "text": "x"}
    server.script = [(200, {"turns": [turn], "next": 3}, {})]
    with pytest.raises(RemoteError, match="same page"):
        memory.thread("alice").turns()
    assert len(server.seen) == 2


def test_redirects_are_not_followed(server, memory):
    server.script = [(307, b"", {"Location": "http://elsewhere.example/v1/threads"})]
    with pytest.raises(RemoteError, match=r"HTTP 307, which leads to http://elsewhere\.example"):
        memory.threads()
    assert len(server.seen) == 1


def test_keys_are_sent_and_never_shown(server, memory, kind, caplog):
    caplog.set_level(logging.DEBUG)
    quoted = f"the key {KEY} is unknown"
    for reply in (
        problem(401, "no_key", quoted),
        html(502),
        (200, quoted.encode(), {}),
        (400, quoted.encode(), {}),
    ):
        server.script = [reply]
        with pytest.raises(TsimError) as raised:
            memory.threads()
        assert KEY not in "".join(traceback.format_exception(raised.value))
    assert server.seen[0][2]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(memory) + repr(memory.thread("alice")) + caplog.text
    with pytest.raises(InputError) as refused:
        kind(server.url, key=f"{KEY}\n")
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("ftp://a", {}),
        ("127.0.0.1:8765", {}),
        (None, {}),
        ("http://a?b=c", {}),
        ("http://user:hunter2@a", {"key": KEY}),
        ("http://a", {"namespace": "../b"}),
        ("http://a", {"namespace": ""}),
        ("http://a", {"batch": 0}),
        ("http://a", {"key": "with space"}),
    ],
)
def test_what_cannot_be_a_server_is_refused(url, named):
    with pytest.raises(InputError) as raised:
        Client(url, **named)
    assert "hunter2" not in str(raised.value)


def test_proxies_are_not_used_on_this_machine(server, kind, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    server.script = [(200, {"threads": []}, {})]
    with kind(server.url) as memory:
        assert memory.threads() == []


def test_a_closed_client_says_so(server, kind):
    with Client(server.url) as memory:
        pass
    with pytest.raises(RemoteError, match="closed"):
        memory.threads()


def test_turns_go_in_batches_and_what_is_kept_is_said(server, kind):
    two = {"receipts": [{"turn": n, "episode": 0} for n in range(2)], "skipped": {}}
    seen = []
    with kind(server.url, batch=2, patience=QUICK) as memory:
        server.script = [(200, two, {}), (200, two, {}), (200, RECEIPTS, {})]
        turns = [("user", str(n)) for n in range(5)]
        receipts = memory.thread("a").add_many(turns, progress=lambda *some: seen.append(some))
        assert len(receipts) == 5
        assert seen == [(2, 5), (4, 5), (5, 5)]
        server.script = [(200, two, {}), problem(413, "too_large", "too large")]
        with pytest.raises(TooLargeError, match="the first 2 of 5 turns are kept; then: too large"):
            memory.thread("a").add_many(turns)
        server.seen.clear()
        with pytest.raises(InputError):
            memory.thread("a").add_many([*turns, ("user", " ")])
        assert server.seen == []


def test_long_turns_go_alone(server, kind):
    server.script = [(200, RECEIPTS, {})]
    with kind(server.url) as memory:
        memory.thread("a").add_many([("user", "long " * 90_000), ("user", "long " * 90_000)])
    assert len(server.seen) == 2


def test_threads_share_a_client(server):
    server.script = [(200, {"threads": [{"name": "a", "turns": 1}]}, {})]
    found = []
    with Client(server.url) as memory:
        some = [threading.Thread(target=lambda: found.append(memory.threads())) for _ in range(8)]
        for one in some:
            one.start()
        for one in some:
            one.join()
    assert found == [["a"]] * 8
