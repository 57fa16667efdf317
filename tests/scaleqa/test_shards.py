"""Shards: how work is cut, claimed, fenced and put together again."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scaleqa.backends import SharedLimiter, Stop, StoppedError
from scaleqa.errors import DataError
from scaleqa.evaluate import RunSettings, run_package
from scaleqa.evaluate.grading import Grading
from scaleqa.evaluate.loop import run_of
from scaleqa.evaluate.rowfile import write_rows
from scaleqa.packages import build
from scaleqa.shards import Worker
from scaleqa.shards.board import MOST_LOST, Board, Claim, Lease, Piece, over
from scaleqa.shards.gathering import assembled, gaps
from scaleqa.shards.plan import Part, Plan, Shard, cut
from scaleqa.shards.recipe import Recipe, opened
from scaleqa.shards.vectors import SharedVectors
from scaleqa.testing import WordEmbedder
from tests.support.processes import wait_for
from tests.support.records import NOISE, RECORDS, settings_of
from tests.support.runs import row, without_times
from tests.support.servers import JsonServer, completion, serving
from tsim.embed import open_embedder

SYSTEM = "standard_rag"


@pytest.fixture(scope="module")
def package():
    return build(RECORDS[:8], NOISE, settings_of(2500))[0]


@pytest.fixture
def shard(package, tiny):
    """All questions of a package, as a plan has them."""
    run = run_of(package, RunSettings(system=SYSTEM), open_embedder(str(tiny)), None)
    part = Part(package="p", run=run, first=0, last=len(package.questions))
    return Shard(recipe=Recipe(model=str(tiny)), parts=(part,))


@pytest.fixture
def publish(tmp_path, package):
    def put_up(*shards, lease=30.0):
        board = Board(tmp_path / "board")
        board.path.mkdir(exist_ok=True)
        board.publish(Plan(id="1", lease=lease, shards=shards), {"p": package})
        return board

    return put_up


def with_questions(shard, count, turns=100, **recipe):
    run = shard.parts[0].run.model_copy(update={"stream_turns": turns})
    part = shard.parts[0].model_copy(update={"run": run, "last": count})
    return Shard(recipe=Recipe(**recipe), parts=(part,))


def ranges(shards):
    return [[(part.first, part.last) for part in shard.parts] for shard in shards]


def test_a_shard_is_cut_if_there_are_fewer_than_workers(shard):
    one = with_questions(shard, 41)
    assert ranges(cut([one], 2)) == [[(0, 20)], [(20, 41)]]
    assert ranges(cut([one], 1)) == [[(0, 41)]]
    assert ranges(cut([one] * 3, 2)) == [[(0, 41)]] * 3
    assert len(cut([one] * 3, 4)) == 6


def test_a_shard_is_not_cut_where_taking_in_the_thread_would_be_most_of_the_work(shard):
    assert len(cut([with_questions(shard, 40, turns=900)], 2)) == 1
    assert len(cut([with_questions(shard, 40, turns=400)], 2)) == 2
    assert len(cut([with_questions(shard, 40, turns=400)], 64)) == 2


@pytest.mark.parametrize("recipe", [{"backend": "extractive"}, {"assist": "openai:m"}])
def test_a_shard_is_not_cut_where_questions_depend_on_each_other_or_calls_cost(shard, recipe):
    assert len(cut([with_questions(shard, 40, **recipe)], 4)) == 1


def test_answers_that_are_not_written_back_do_not_depend_on_each_other(shard):
    alone = with_questions(shard, 40, backend="extractive", writeback=False)
    assert len(cut([alone], 4)) == 4


def test_packages_that_share_a_thread_are_cut_together(shard):
    (part,) = with_questions(shard, 10).parts
    other = part.model_copy(update={"package": "q", "first": 4, "last": 24})
    both = Shard(recipe=Recipe(), parts=(part, other))
    assert ranges(cut([both], 3)) == [[(0, 10)], [(4, 14)], [(14, 24)]]
    assert ranges(cut([both], 2)) == [[(0, 10), (4, 9)], [(9, 24)]]
    named = [part.package for piece in cut([both], 2) for part in piece.parts]
    assert named == ["p", "q", "q"]


def piece(shard, first, count, *, done=True, said="x"):
    part = shard.parts[0].model_copy(update={"first": first, "last": 99})
    own = shard.model_copy(update={"parts": (part,)})
    rows = [row(place, answer=said) for place in range(first, first + count)]
    return Piece(shard=own, part=0, rows=rows, done=done)


def places(rows):
    return [one.place for one in rows]


def test_rows_are_put_together_as_far_as_there_is_no_gap(shard):
    known = [row(place) for place in range(3)]
    pieces = [piece(shard, 8, 2), piece(shard, 3, 2)]
    assert places(assembled(known, pieces)) == [0, 1, 2, 3, 4]
    assert gaps(12, 3, pieces) == [(5, 8), (10, 12)]
    assert places(assembled(known, [*pieces, piece(shard, 5, 3)])) == [*range(10)]
    assert gaps(10, 3, [*pieces, piece(shard, 5, 3)]) == []


def test_rows_of_two_attempts_at_the_same_questions_are_not_mixed(shard):
    """Answers may differ from one attempt to the next, and later ones depend on them."""
    left, done = piece(shard, 0, 6, done=False, said="A"), piece(shard, 0, 8, said="B")
    for pieces in ([left, done], [done, left]):
        found = assembled([row(0, answer="A")], pieces)
        assert [one.answered.answer for one in found] == ["B"] * 8


def test_a_shard_is_claimed_once(publish, shard):
    board = publish(shard)
    barrier, won = threading.Barrier(8), []

    def claim(name):
        barrier.wait()
        won.append(board.claim(shard, name, "here"))

    threads = [threading.Thread(target=claim, args=(f"w{n}",)) for n in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len([one for one in won if one]) == 1
    (only,) = board.attempts()[shard.id]
    assert only.number == 1


def test_who_was_given_up_can_finish_nothing(publish, shard, package, tiny):
    board = publish(shard)
    rows = run_package(package, RunSettings(system=SYSTEM), open_embedder(str(tiny)))
    first = board.claim(shard, "first", "here")
    (file,) = board.files(first, shard)
    file.begin()
    file.append(rows[0])
    assert board.end(first, "lost")
    second = board.claim(shard, "second", "here")
    assert len(board.files(second, shard)[0].rows) == 1  # what was done is not done again
    file.append(rows[1])  # the first comes back
    assert not board.beat(first, Claim(worker="first", beat=9))
    assert not board.end(first, "done")
    assert not board.end(first, "failed")
    with pytest.raises(FileNotFoundError):
        board.files(first, shard)[0].begin()
    board.put(second, [rows])
    assert board.end(second, "done")
    file.close()
    assert [one.end for one in board.attempts()[shard.id]] == ["lost", "done"]
    done = [one for one in board.pieces() if one.done]
    assert without_times(done[0].rows) == without_times(rows)


def test_a_claim_by_an_old_listing_is_given_back(publish, shard, monkeypatch):
    board = publish(shard)
    done = board.claim(shard, "first", "here")
    board.end(done, "done")
    current, stale = board.attempts, iter([{}])
    monkeypatch.setattr(board, "attempts", lambda: next(stale, None) or current())
    assert board.claim(shard, "second", "here") is None
    assert [*current()[shard.id]] == [replace(done, path=Path(f"{done.path}.done"), end="done")]


def test_a_shard_is_given_up_when_enough_workers_have_died(publish, shard):
    board = publish(shard)
    for number in range(MOST_LOST):
        assert not over(board.attempts().get(shard.id, []))
        board.end(board.claim(shard, f"w{number}", "there"), "left")  # those are no deaths
        board.end(board.claim(shard, f"w{number}", "there"), "lost")
    attempts = board.attempts()[shard.id]
    assert over(attempts)
    assert "worker w2 on there" in board.reason_of(attempts[-1]).message
    board.forgive(alone=False)
    assert not over(board.attempts()[shard.id])


def test_a_lease_is_measured_by_the_clock_of_who_watches(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    lease, path = Lease(30), Path("x")
    assert not lease.expired(path, 7)
    now[0] += 29
    assert not lease.expired(path, 7)
    assert not lease.expired(path, 8)
    now[0] += 29
    assert not lease.expired(path, 8)
    now[0] += 1
    assert lease.expired(path, 8)


def test_a_worker_takes_over_from_one_that_gives_no_sign_of_life(publish, shard, package, tiny):
    board = publish(shard, lease=0.5)
    board.claim(shard, "dead", "elsewhere")
    worker = Worker(board=board, stop=Stop())
    assert worker.work() == 1
    assert [one.end for one in board.attempts()[shard.id]] == ["lost", "done"]
    (found,) = [one for one in board.pieces() if one.done]
    alone = run_package(package, RunSettings(system=SYSTEM), open_embedder(str(tiny)))
    assert without_times(found.rows) == without_times(alone)


def test_a_worker_ends_when_its_plan_is_withdrawn(publish, shard):
    board = publish(shard, lease=0.6)
    board.claim(shard, "other", "here")
    others = Worker(board=board, stop=Stop())
    thread = threading.Thread(target=others.work)
    thread.start()
    wait_for(lambda: others._packages)  # it has read the plan
    board.withdraw()
    thread.join(60)
    assert not thread.is_alive()
    assert others.done == 0


def test_a_worker_can_be_interrupted_while_it_waits(tmp_path):
    told = []
    worker = Worker(board=Board(tmp_path), stop=Stop(), tell=told.append)
    worker.interrupt()
    with pytest.raises(StoppedError):
        worker.work()
    assert "waiting for a plan" in told[0]


def test_a_worker_that_would_make_other_rows_claims_nothing(publish, shard, package):
    run = shard.parts[0].run.model_copy(update={"embedder": "another"})
    part = shard.parts[0].model_copy(update={"run": run})
    board = publish(shard.model_copy(update={"parts": (part,)}))
    with pytest.raises(DataError, match=r"embedder is .* and the plan has 'another'"):
        Worker(board=board, stop=Stop()).work()
    assert board.attempts() == {}


def test_a_shard_that_breaks_is_given_up_with_the_reason(publish, shard):
    own = shard.model_copy(update={"parts": (shard.parts[0].model_copy(update={"last": 10_000}),)})
    board = publish(own)
    assert Worker(board=board, stop=Stop()).work() == 0
    attempts = board.attempts()[own.id]
    assert [one.end for one in attempts] == ["lost"] * MOST_LOST
    assert "IndexError" in board.reason_of(attempts[-1]).message


def test_a_plan_of_another_version_is_refused(publish, shard, tmp_path):
    board = publish(shard)
    path = board.path / "plan.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "more": 1}))
    with pytest.raises(DataError, match="is no plan of this version of scaleqa"):
        Worker(board=board, stop=Stop()).work()


def test_rows_that_do_not_follow_each_other_do_not_count(publish, shard):
    board = publish(shard)
    attempt = board.claim(shard, "w", "here")
    write_rows(attempt.path / "0.rows", [row(3), row(4)])
    assert [one.rows for one in board.pieces()] == [[]]
    assert not board.complete(attempt, shard)


def test_requests_of_all_processes_have_one_pace(tmp_path):
    now, slept = [1000.0], []
    limiters = [
        SharedLimiter(tmp_path / "rate", 60, clock=lambda: now[0], sleep=slept.append)
        for _ in range(3)
    ]
    for limiter in limiters:
        limiter.wait()
    assert slept == [1.0, 2.0]
    now[0] += 10
    limiters[0].wait()
    assert slept == [1.0, 2.0]


def test_vectors_do_not_depend_on_the_number_of_threads(minilm):
    """Workers on one machine share its cores, so that each has fewer than a process alone."""
    texts = [f"turn {n} about project {n * 7 % 13} {'word ' * (n % 40)}" for n in range(60)]
    found = [open_embedder(threads=count).embed(texts) for count in (1, 2)]
    assert np.array_equal(*found)


def test_a_pace_survives_wrong_clocks_and_torn_files(tmp_path):
    slept = []
    path = tmp_path / "rate"
    ahead = SharedLimiter(path, 60, clock=lambda: 1e9, sleep=slept.append)
    ahead.wait()
    behind = SharedLimiter(path, 60, clock=lambda: 1e9 - 5, sleep=slept.append)
    behind.wait()
    assert slept == [6.0]  # later than needed, and never earlier
    SharedLimiter(path, 60, clock=lambda: 1000.0, sleep=slept.append).wait()
    path.write_text("10.")
    SharedLimiter(path, 60, clock=lambda: 2.0, sleep=slept.append).wait()
    path.write_text("x")
    SharedLimiter(path, 60, clock=lambda: 2.0, sleep=slept.append).wait()
    assert slept == [6.0, 8.0]


def test_a_worker_asks_servers_at_the_pace_of_its_board(publish, shard, package, tiny):
    answer = completion("ANSWER: A\nRATIONALE: so")
    with serving(JsonServer(lambda _: answer)) as server:
        recipe = Recipe(
            model=str(tiny), backend=f"openai:m@{server.url}", prompt="answer.v1", cached=False,
            rpm=60_000,
        )  # fmt: skip
        with opened(recipe, Stop()) as tools:
            settings = tools.settings("zero_shot")
            grading = Grading(settings.reading, package, tools.embedder)
            run = run_of(package, settings, tools.embedder, grading)
        part = shard.parts[0].model_copy(update={"run": run})
        board = publish(Shard(recipe=recipe, parts=(part,)))
        assert Worker(board=board, stop=Stop()).work() == 1
        assert len(server.seen) == len(package.questions)
    assert float((board.path / "rate").read_text()) > 1e9


class Counting(WordEmbedder):
    """Counts the texts that it embeds."""

    def __init__(self):
        self.texts = []

    def embed(self, texts):
        self.texts += texts
        return super().embed(texts)


def test_vectors_are_shared_by_files(tmp_path):
    first, second = Counting(), Counting()
    one, other = SharedVectors(first, tmp_path), SharedVectors(second, tmp_path)
    made = one.embed(["a b", "c", "a b"])
    assert first.texts == ["a b", "c"]
    assert np.array_equal(other.embed(["c", "d", "a b"])[[2, 0, 2]], made)
    assert second.texts == ["d"]
    assert one.embed(["d"]).shape == (1, 10)
    assert first.texts == ["a b", "c"]
    assert one.embed([]).shape == (0, 10)
    assert np.array_equal(one.embed_query("c"), made[1])


def test_damaged_vectors_are_computed_again(tmp_path):
    SharedVectors(Counting(), tmp_path).embed(["a"])
    (path,) = (one for one in tmp_path.rglob("*") if one.is_file())
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    (path.parent / ".unfinished").write_bytes(b"")
    fresh = Counting()
    SharedVectors(fresh, tmp_path).embed(["a"])
    assert fresh.texts == ["a"]


def test_vectors_of_different_models_are_apart(tmp_path):
    other = Counting()
    other.identity = "other"
    SharedVectors(Counting(), tmp_path).embed(["a"])
    SharedVectors(other, tmp_path).embed(["a"])
    assert other.texts == ["a"]
