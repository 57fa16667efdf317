"""Whatever happens to the memory, requests are answered as if there were none."""

import asyncio
import resource
import signal
import sqlite3
import threading
import time
from contextlib import closing, contextmanager

import httpx
import pytest

from tests.support.hashes import Hashes
from tests.support.proxied import proxied
from tests.support.served import SECONDS
from tests.support.upstream import FLOOD
from tests.tsim.proxy.conftest import did, program, until
from tests.tsim.proxy.talk import QUESTION, assistant, talk, user
from tsim.errors import StoreFullError, WeightsMissingError
from tsim.proxy.keeping import MOMENT, Keeper

MESSAGES = [*talk(), user(QUESTION)]


class Missing(Hashes):
    """A model whose weights are not there, or that fails in another way."""

    def __init__(self, error):
        self.error = error

    def embed(self, texts):
        if self.error:
            raise self.error
        return super().embed(texts)


@contextmanager
def talking_to(place, model, **given):
    with proxied(place, model.url, **given) as url, program(url, place) as talking:
        yield talking


def unchanged(talking, model, reason):
    """The request passes and says why; soon, if what fails is the writing of the one before."""

    def failed(answer):
        assert answer.status_code == 200
        assert answer.json()["choices"][0]["message"]["content"] == f"You said: {QUESTION}"
        assert model.last.messages == MESSAGES
        return did(answer) == "failed"

    answer = until(lambda: talking.ask(MESSAGES), failed)
    assert answer.headers["x-tsim-reason"] == reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (WeightsMissingError("the weights are not here"), "weights_missing"),
        (RuntimeError("nobody expected this"), "unexpected"),
        (MemoryError(), "unexpected"),
    ],
    ids=["weights", "unexpected", "memory"],
)
def test_a_model_that_fails(model, place, caplog, error, reason):
    broken = Missing(error)
    with talking_to(place, model, embedder=broken) as talking:
        unchanged(talking, model, reason)
        assert "a conversation is not written" in caplog.text
        # As soon as it is mended, what was missed is learnt.
        broken.error = None
        talking.learnt(MESSAGES)


def test_a_model_that_fails_when_it_is_asked(model, place, caplog):
    broken = Missing(None)
    with talking_to(place, model, embedder=broken) as talking:
        talking.learnt(MESSAGES)
        broken.error = RuntimeError("nobody expected this")
        unchanged(talking, model, "unexpected")
        assert "a chat is sent as it came" in caplog.text


def test_a_file_that_is_no_memory(model, place):
    place.mkdir()
    (place / "default.db").write_bytes(b"no memory at all" * 100)
    with talking_to(place, model) as talking:
        unchanged(talking, model, "store_failed")


def test_a_disk_that_takes_no_more(model, place):
    with talking_to(place, model) as talking:
        talking.ask([user("hello")])
        talking.kept(2)
        size = max(path.stat().st_size for path in place.iterdir())
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
            unchanged(talking, model, "store_failed")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, previous)
        talking.learnt(MESSAGES)


def test_a_locked_file(model, place):
    with talking_to(place, model, seconds=2.0) as talking:
        talking.learnt(MESSAGES)
        with closing(sqlite3.connect(place / "default.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            begun = [*MESSAGES[:-1], user("something new " * 30)]
            answer = talking.ask(begun)  # reading goes on, and nobody waits for the writing
            assert did(answer) == "recalled"
            said = answer.json()["choices"][0]["message"]
            answer = talking.ask([*begun, said, user("more"), assistant("what?"), user("all")])
            assert did(answer) in ("learning", "failed")  # as it waited for the one or the other
            assert len(model.last.messages) == len(begun) + 4
            other.execute("ROLLBACK")


def test_a_memory_that_never_answers(model, place):
    stuck = threading.Event()

    class Stuck(Hashes):
        def embed_query(self, text):
            stuck.wait(20)
            return super().embed_query(text)

    with talking_to(place, model, embedder=Stuck(), seconds=0.2) as talking:
        talking.ask(MESSAGES)
        unchanged(talking, model, "over_limit")
        stuck.set()
        talking.learnt(MESSAGES)


def test_a_name_that_cannot_be_one_is_said_to_be(talking, model):
    answer = talking.ask([user("hello")], headers={"X-Tsim-Thread": "x" * 129})
    assert answer.status_code == 400
    assert "X-Tsim-Thread" in answer.json()["detail"]
    assert not model.seen


def test_a_slow_reader_does_not_fill_the_memory(talking, model):
    body = {"model": "flood", "stream": True, "messages": [user("hello")]}
    with talking.client.stream("POST", "/chat/completions", json=body) as answer:
        pieces = answer.iter_raw()
        next(pieces)
        before = -1
        while before != model.sent:  # nothing more is taken from it
            before = model.sent
            time.sleep(0.3)
        assert before < FLOOD // 4


def test_who_leaves_before_the_answer_begins_ends_it(talking, model):
    body = {"model": "slow", "messages": [user("hello")]}
    with pytest.raises(httpx.ReadTimeout):
        talking.client.post("/chat/completions", json=body, timeout=0.3)
    assert model.left.wait(SECONDS)
    model.go.set()
    assert talking.ask([user("other")]).status_code == 200
    assert [turn.text for turn in talking.kept(2)] == ["other", "You said: other"]


def test_what_does_not_fit_in_the_line_is_left_out():
    async def write() -> tuple[list[int], str]:
        keeper, done = Keeper(waiting=10), list[int]()
        keeper.keep("a", lambda: done.append(1), 10)
        keeper.keep("a", lambda: done.append(2), 1)
        reason = keeper.failure("a")
        assert await keeper.drain(10)
        keeper.keep("a", lambda: done.append(3), 10)
        assert await keeper.settled("a", 10)
        assert keeper.failure("a") == ""
        return done, reason

    assert asyncio.run(write()) == ([1, 3], "over_limit")


def test_writes_of_a_conversation_keep_their_order_and_failures_stay_alone():
    def fail() -> None:
        raise StoreFullError("full")

    async def write() -> list[int]:
        keeper, done = Keeper(), list[int]()
        for number in range(20):
            keeper.keep("a", lambda number=number: done.append(number), 1)
            keeper.keep("b", fail, 1)
        assert await keeper.drain(10)
        assert keeper.failure("b") == "store_full"
        return done

    assert asyncio.run(write()) == [*range(20)]


def test_draining_ends():
    async def write() -> bool:
        keeper, go = Keeper(), threading.Event()
        keeper.keep("a", lambda: go.wait(10) and None, 1)
        drained = await keeper.drain(0.05)
        go.set()
        assert await keeper.drain(10)
        return drained

    assert asyncio.run(write()) is False


def test_requests_go_first_unless_one_waits_for_what_is_written():
    async def write() -> tuple[list[str], list[str]]:
        keeper, done = Keeper(), list[str]()
        with keeper.asking():
            keeper.keep("a", lambda: done.append("a"), 1)
            keeper.keep("b", lambda: done.append("b"), 1)
            await asyncio.sleep(2 * MOMENT)
            early = [*done]
            assert await keeper.settled("a", 10)
            needed = [*done]
        assert await keeper.settled("b", 10)
        assert done == ["a", "b"]
        return early, needed

    assert asyncio.run(write()) == ([], ["a"])


def test_nobody_goes_first_for_ever():
    async def write() -> list[str]:
        keeper, done = Keeper(), list[str]()
        with keeper.asking():
            keeper.keep("a", lambda: done.append("a"), 1)
            while keeper.pending("a"):
                await asyncio.sleep(0.01)
        return done

    assert asyncio.run(write()) == ["a"]
