"""Connections that end at any message: nothing acknowledged is lost, and the next call recovers."""

import itertools

import pytest

from tests.support.streams import EAGER, stream
from tsim import Memory, OutcomeUnknownError, StoreUnreachableError
from tsim.store.postgres import erasing

SIDES = pytest.mark.parametrize("side", ["client", "server"])


@pytest.fixture
def memories(postgres, through, tiny_embedder):
    """The same memory twice: through the proxy, and beside it."""
    with (
        Memory.open(through, model=tiny_embedder, preset=EAGER) as cut,
        Memory.open(postgres, model=tiny_embedder, preset=EAGER) as beside,
    ):
        cut.thread("a").add_many(stream(12))
        yield cut, beside


def attempts(proxy, side, prepare=lambda: None):
    """Arms the proxy for every message in turn, until an operation needs no more."""
    for number in itertools.count(1):
        prepare()
        proxy.arm(side, number)
        yield number
        if not proxy.disarm():
            assert number > 3
            return


@SIDES
def test_an_add_that_is_cut_off_is_written_or_not_as_it_says(proxy, memories, side):
    cut, beside = memories
    said = []
    for number in attempts(proxy, side):
        try:
            cut.thread("a").add("user", f"budget letter {number}")
            said.append(f"budget letter {number}")
        except StoreUnreachableError as error:
            assert "nothing was changed" in str(error)
    assert [turn.text for turn in beside.thread("a").turns()][12:] == said
    assert len(said) > 1  # of some the answer was lost, and they were written all the same
    assert beside.verify().problems == ()
    assert cut.thread("a").search("budget", k=30) == beside.thread("a").search("budget", k=30)


@SIDES
def test_a_search_that_is_cut_off_fails_and_the_next_one_does_not(proxy, memories, side):
    cut, beside = memories
    expected = beside.thread("a").search("budget rule")
    cut.thread("a").search("budget rule")
    for _ in attempts(proxy, side):
        try:
            assert cut.thread("a").search("budget rule") == expected
        except StoreUnreachableError as error:
            assert "try again" in str(error)
            assert cut.thread("a").search("budget rule") == expected


@SIDES
def test_a_forget_that_is_cut_off_is_done_or_not_as_it_says(proxy, memories, side, monkeypatch):
    monkeypatch.setattr(erasing, "LARGEST", -1)  # erasing is tried below
    cut, beside = memories
    gone, victim = 0, 11

    def prepare():
        nonlocal victim
        if victim not in {turn.id for turn in beside.thread("a").turns()}:
            victim = beside.thread("a").add("user", "budget letter").turn
        cut.thread("a").search("budget")

    for _ in attempts(proxy, side, prepare):
        try:
            cut.thread("a").forget(turn=victim)
            gone += 1
            forgotten = True
        except StoreUnreachableError as error:
            assert "nothing was changed" in str(error)
            forgotten = False
        assert (victim not in {turn.id for turn in beside.thread("a").turns()}) == forgotten
    assert gone > 1
    assert beside.verify().problems != ()  # not erased, which it says
    assert not beside.erased


@SIDES
def test_whole_threads_come_and_go_as_is_said(proxy, memories, side, monkeypatch, tmp_path):
    monkeypatch.setattr(erasing, "LARGEST", -1)
    cut, beside = memories
    cut.export(tmp_path / "a.jsonl")
    there = True
    for _ in attempts(proxy, side):
        try:
            if there:
                assert cut.forget_thread("a")
            else:
                cut.import_(tmp_path / "a.jsonl")
            there = not there
        except StoreUnreachableError:
            pass
        assert beside.threads() == (["a"] if there else [])


def test_a_server_that_is_gone_while_a_change_is_written_leaves_a_doubt(
    proxy, memories, monkeypatch
):
    """Nobody can say whether it was written, so nobody does."""
    cut, beside = memories
    monkeypatch.setattr("tsim.store.postgres.transactions.SETTLE_SECONDS", 0.1)
    said, doubts = [], []

    def prepare():
        proxy.refuse = False
        cut.thread("a").search("budget")
        proxy.refuse = True

    for number in attempts(proxy, "server", prepare):
        text = f"budget letter {number}"
        try:
            cut.thread("a").add("user", text)
            said.append(text)
        except OutcomeUnknownError as error:
            assert "unknown whether it was" in str(error)
            doubts.append(text)
        except StoreUnreachableError:
            pass
    written = [turn.text for turn in beside.thread("a").turns()][12:]
    assert {*said} < {*written} <= {*said, *doubts}  # of some doubts it was written


def test_connections_that_ended_while_idle_are_not_noticed(cluster, memories):
    for _ in range(3):
        with cluster.connected() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 9000) FROM pg_stat_activity "
                "WHERE usename = 'keeper'"
            )
        for memory in memories:
            memory.thread("a").add("user", "still here")
            assert memory.thread("a").search("still here")
