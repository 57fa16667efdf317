"""Handling threads from Python: sizes, pages, representations, mistakes."""

from datetime import UTC, datetime

import numpy as np
import pytest

import tsim
from tests.support.dict_store import DictStore
from tests.support.streams import CUTTING, stream
from tsim import InputError, Memory, NewTurn, ThreadMissingError, Turn, errors
from tsim.excerpt import excerpt
from tsim.stored import PAGE


@pytest.fixture
def memory(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "memory.db", model=tiny_embedder, preset=preset) as memory:
        yield memory


def test_every_error_and_every_reason_is_exported():
    named = {name for name in vars(errors) if name.endswith("Error")}
    assert named <= {*tsim.__all__}
    assert {"SpanWhy", "Why", "ForgetPreview"} <= {*tsim.__all__}


@pytest.mark.parametrize("kind", ["file", "dictionary"])
def test_turns_are_counted_and_read_by_page(tmp_path, tiny_embedder, kind):
    place = (
        {"path": tmp_path / "m.db"} if kind == "file" else {"store": DictStore(tmp_path / "here")}
    )
    with Memory.open(**place, model=tiny_embedder) as memory:
        thread = memory.thread("a")
        assert len(thread) == 0
        assert not thread
        thread.add_many(stream(30))
        memory.thread("b").add_many(stream(5, seed=1))
        thread.forget(turns=[0, 11, 12])
        kept = thread.turns()
        assert len(thread) == len(kept) == 27
        assert list(thread) == kept
        assert thread.turns(limit=4) == kept[:4]
        assert thread.turns(after=10, limit=3) == [t for t in kept if t.id > 10][:3]
        assert thread.turns(after=11) == [t for t in kept if t.id > 11]  # forgotten itself
        for beyond in (29, 500, 2**32, 2**80):
            assert thread.turns(after=beyond) == []
        assert thread.turns(after=-5) == kept


def test_an_iteration_holds_neither_a_snapshot_nor_all_turns(tmp_path, tiny_embedder):
    """Turns are read in pages; what happens between two pages is seen, and nothing is blocked."""
    with Memory.open(tmp_path / "m.db", model=tiny_embedder) as memory:
        thread = memory.thread("a")
        thread.add_many(("user", f"rule {n}") for n in range(PAGE + 5))
        seen = iter(thread)
        first = [next(seen).id for _ in range(PAGE)]
        assert first == list(range(PAGE))
        assert thread.forget(turn=PAGE).scrubbed
        thread.add("user", "one more")
        assert [turn.id for turn in seen] == [*range(PAGE + 1, PAGE + 6)]


def test_representations_are_short_and_say_what_it_is(memory, preset):
    thread = memory.thread("alice")
    receipt = thread.add("user", "From May on, new projects run on one consumer GPU. " * 40)
    thread.add("model", "Noted.", at=datetime(2026, 5, 1, tzinfo=UTC))
    (hit, *_) = thread.search("gpu", min_relevance=0)
    shown = {
        repr(value): part
        for value, part in [
            (memory, f"memory.db: 1 threads, preset {preset.name}"),
            (thread, "'alice' in "),
            (thread, ": 2 turns"),
            (hit, "Hit('alice', turns 0"),
            (hit, "user: From May on"),
            (hit.turns[0], "Turn(0, user: 'From May on"),
            (thread.turns()[1], "at=1777593600"),
            (thread.episodes()[0], "Episode(0, turns 0"),
            (receipt, "Receipt(turn=0, episode=0)"),
            (thread.preview_forget(turns=[0, 1]), "ForgetPreview('alice', 2 turns: 0 user: From"),
        ]
    }
    assert all(part in text for text, part in shown.items())
    assert all(len(text) < 300 for text in shown)
    memory.close()
    assert "StoreError" in repr(memory)  # a closed memory can be shown, too
    assert "StoreError" in repr(thread)


def test_an_excerpt_is_one_line_of_bounded_length():
    assert excerpt("one\n  two\tthree") == "one two three"
    assert excerpt("x" * 100) == "x" * 100
    assert excerpt("x" * 101) == "x" * 99 + "…"
    assert excerpt("a" + " " * 9_000_000 + "b") == "a…"
    assert len(excerpt("word " * 9_000_000, 20)) <= 20


READS = {
    "search": lambda thread: thread.search("bread"),
    "context": lambda thread: thread.context("bread"),
    "views": lambda thread: thread.views("bread"),
    "turns": lambda thread: thread.turns(),
    "iteration": list,
    "episodes": lambda thread: thread.episodes(),
    "forget": lambda thread: thread.forget(turn=1),
    "forget by role": lambda thread: thread.forget(roles=["user"]),
    "preview": lambda thread: thread.preview_forget("bread"),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_reading_a_thread_that_does_not_exist_is_an_error_and_creates_nothing(memory, read):
    memory.thread("alice").add("user", "bread")
    with pytest.raises(ThreadMissingError, match=r"no thread 'alcie' in .*memory\.db"):
        read(memory.thread("alcie"))
    assert memory.threads() == ["alice"]
    assert len(memory.thread("alcie")) == 0
    memory.thread("alcie").add("user", "bread")
    assert memory.thread("alcie").search("bread", min_relevance=0)


def test_a_thread_whose_turns_were_all_forgotten_exists(memory):
    thread = memory.thread("a")
    thread.add("user", "bread")
    thread.forget(turn=0)
    assert thread.turns() == thread.episodes() == thread.search("bread") == []
    assert thread.add("user", "bread").turn == 1


def test_exports_name_threads_and_may_go_to_streams(memory, tmp_path, tiny_embedder, preset):
    for name in ("a", "b", "c"):
        memory.thread(name).add_many(stream(6, seed=ord(name)))
    with (tmp_path / "out").open("wb") as out:
        assert memory.export(out, threads=["c", "a", "c"]) == 12
    with pytest.raises(ThreadMissingError, match="no thread 'z'"):
        memory.export(tmp_path / "z.jsonl", threads=["a", "z"])
    with Memory.open(tmp_path / "copy.db", model=tiny_embedder, preset=preset) as copy:
        with (tmp_path / "out").open("rb") as lines:
            assert copy.import_(lines) == 12
        assert copy.threads() == ["a", "c"]
        assert copy.thread("a").turns() == memory.thread("a").turns()
    assert not list(tmp_path.glob("*.part"))
    assert not (tmp_path / "z.jsonl").exists()


NAN = float("nan")
WRONG = [
    (lambda t: t.forget(turn="1"), "turn='1' is not a whole number"),
    (lambda t: t.forget(turn=True), "turn=True is not a whole number"),
    (lambda t: t.forget(turn=1.0), "turn=1.0 is not a whole number"),
    (lambda t: t.forget(episode="1"), "episode='1' is not a whole number"),
    (lambda t: t.forget(turns=["1"]), "turns='1' is not a whole number"),
    (lambda t: t.forget(turns="12"), "turns='12' is not a list"),
    (lambda t: t.forget(turns=3), "turns=3 is not a list"),
    (lambda t: t.forget(turns=[]), "turns is empty"),
    (lambda t: t.forget(roles=[]), "roles is empty"),
    (lambda t: t.forget(roles="user"), "roles='user' is not a list"),
    (lambda t: t.forget(since="yesterday"), "since='yesterday' is not a time"),
    (lambda t: t.forget(until=NAN), "until=nan is not a time"),
    (lambda t: t.forget(since=datetime(2026, 5, 1)), "no time zone"),  # noqa: DTZ001
    (lambda t: t.add("user", "x", at=2**63), "at=9223372036854775808 is not a time between"),
    (lambda t: t.add("user", "x", at=10**400), "is not a time between"),
    (lambda t: t.add("user", "x", at=-(10**12)), "is not a time between"),
    (lambda t: t.add("user", "x", at=1_777_593_600_000), "divide milliseconds by 1000"),
    (lambda t: t.add("user", "x", at=float("inf")), "is not a time between"),
    (lambda t: t.add("user", "x", at=NAN), "at=nan is not a time"),
    (lambda t: t.add("user", "x", at=True), "at=True is not a time"),
    (lambda t: t.add(None, "x"), "role None is invalid"),
    (lambda t: t.add("user", None), "expected text, found NoneType"),
    (lambda t: t.search(None), "expected text, found NoneType"),
    (lambda t: t.search("x", k=NAN), "k=nan is not a whole number"),
    (lambda t: t.search("x", k=True), "k=True is not a whole number"),
    (lambda t: t.search("x", k="3"), "k='3' is not a whole number"),
    (lambda t: t.search("x", k=2.0), "k=2.0 is not a whole number"),
    (lambda t: t.search("x", min_relevance="x"), "min_relevance='x' is not a number"),
    (lambda t: t.search("x", min_relevance=NAN), "min_relevance=nan is out of range"),
    (lambda t: t.search("x", min_relevance=True), "min_relevance=True is not a number"),
    (lambda t: t.episodes(threshold="0.3"), "threshold='0.3' is not a number"),
    (lambda t: t.turns(limit=0), "limit=0 is out of range"),
    (lambda t: t.turns(limit="5"), "limit='5' is not a whole number"),
    (lambda t: t.turns(after="5"), "after='5' is not a whole number"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_wrong_values_get_our_errors_and_change_nothing(tmp_path, tiny_embedder, call, message):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder) as memory:
        memory.thread("a").add("user", "bread")
        with pytest.raises(InputError, match=message.replace("(", r"\(")):
            call(memory.thread("a"))
        assert [turn.text for turn in memory.thread("a")] == ["bread"]


def test_numbers_of_numpy_and_times_in_all_forms_are_taken(memory):
    thread = memory.thread("a")
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    thread.add_many(
        [
            NewTurn(role="user", text="bread", at=np.float64(5)),
            NewTurn(role="user", text="bread", at=3),
            ("user", "bread", noon),
        ]
    )
    assert [turn.at for turn in thread] == [5.0, 3.0, noon.timestamp()]
    assert thread.search("bread", k=np.int64(1), min_relevance=np.float32(0))
    assert thread.forget(turns=np.array([0, 2])).turns == (0, 2)


@CUTTING
def test_hits_and_headings_agree_with_the_list_of_episodes(memory):
    """Headings have turn ids, as the list has; a hit says in which episodes its turns are."""
    thread = memory.thread("a")
    thread.add_many(stream(80))
    thread.forget(turns=[7, 33])
    owner = {turn.id: episode.id for episode in thread.episodes() for turn in episode.turns}
    crossing = 0
    for query in ("bread", "budget rule", "gpu letter"):
        for budget in (20, 120, 700):
            hits = thread.search(query, budget=budget, min_relevance=0)
            text = thread.write(hits)
            for hit in hits:
                ids = [turn.id for turn in hit.turns]
                assert hit.thread == "a"
                assert hit.episodes == tuple(sorted({owner[turn] for turn in ids}))
                assert hit.episode in hit.episodes
                heading = f"[{ids[0]}-{ids[-1]}" if len(ids) > 1 else f"[{ids[0]}"
                shown = (f"{heading}]", f"{heading} · ")  # with a date if it is known
                assert any(line.startswith(shown) for line in text.splitlines())
                crossing += len(hit.episodes) > 1
    assert bool(crossing) == (memory._preset.name != "official")  # spans may cross, episodes cannot


def test_a_turn_shows_its_text_in_full_only_when_asked(memory):
    turn = Turn(id=1, role="user", text="x" * 1000)
    assert len(repr(turn)) < 100
    assert len(turn.text) == 1000


def test_paths_models_and_presets_of_wrong_types_are_refused(memory, tmp_path):
    memory.thread("a").add("user", "bread")
    for wrong in (5, b"m.db", ["m.db"], True):
        for use in (memory.export, memory.import_, memory.backup, Memory.open):
            with pytest.raises(InputError, match="is not a path"):
                use(wrong)
    with pytest.raises(InputError, match="is no embedder"):
        Memory.open(tmp_path / "n.db", model=5)
    for wrong in (5, ["late"], object()):
        with pytest.raises(InputError, match="no preset"):
            Memory.open(tmp_path / "n.db", preset=wrong)
    assert not (tmp_path / "n.db").exists()


def test_a_search_in_several_threads_refuses_arguments_it_does_not_know(memory):
    """A mistyped filter would otherwise filter nothing."""
    memory.thread("a").add("user", "bread", at=5)
    for ask in (memory.search, memory.context):
        with pytest.raises(InputError, match="no argument 'sinse'; use meta, now"):
            ask("bread", threads=["a"], sinse=3)
