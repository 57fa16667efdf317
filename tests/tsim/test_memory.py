import asyncio
import json
import sqlite3
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.streams import PAPER, PRESETS, exported, stream
from tests.support.tiny_bert import write_tiny_bert
from tsim import LATE, LONGMEMEVAL, OFFICIAL, Memory, NewTurn
from tsim.embed import KNOWN_MODELS, OnnxEmbedder
from tsim.embed.models import find_model, name_of
from tsim.errors import InputError, MismatchError, ThreadMissingError
from tsim.types import Term, Why


@pytest.fixture
def memory(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "memory.db", model=tiny_embedder, preset=preset) as memory:
        yield memory


def test_a_turn_is_found_the_moment_add_returns(memory):
    thread = memory.thread("a")
    for number, turn in enumerate(stream(40)):
        receipt = thread.add(turn.role, turn.text, at=turn.at)
        assert receipt.turn == number
        hits = thread.search(turn.text, k=100, budget=100_000)
        (own,) = [hit for hit in hits if number in [shown.id for shown in hit.turns]]
        if isinstance(own.why, Why):
            found = {e.id: e.similarity for e in own.why.evidence if e.term is Term.RAW}
            assert found[number] == pytest.approx(1, abs=1e-5)
    assert [turn.id for turn in thread.turns()] == list(range(40))


@PRESETS
def test_closing_and_reopening_at_any_turn_changes_nothing(tmp_path, tiny_embedder, preset):
    turns = stream(60)
    with Memory.open(tmp_path / "one.db", model=tiny_embedder, preset=preset) as memory:
        thread = memory.thread("a")
        for turn in turns:
            thread.add(turn.role, turn.text, at=turn.at)
        whole = exported(memory, tmp_path / "one.jsonl")
        hits = thread.search("budget rule", k=50)
        context = thread.context("budget rule")
    for turn in turns:
        with Memory.open(tmp_path / "many.db", model=tiny_embedder, preset=preset) as memory:
            memory.thread("a").add(turn.role, turn.text, at=turn.at)
    with Memory.open(tmp_path / "many.db", model=tiny_embedder, preset=preset) as memory:
        assert exported(memory, tmp_path / "many.jsonl") == whole
        assert memory.thread("a").search("budget rule", k=50) == hits
        assert memory.thread("a").context("budget rule") == context


@PRESETS
@settings(
    deadline=None,
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_add_many_equals_adding_one_by_one(tmp_path_factory, tiny_embedder, preset, sizes):
    directory = tmp_path_factory.mktemp("m")
    turns = stream(sum(sizes), seed=len(sizes))
    with Memory.open(directory / "one.db", model=tiny_embedder, preset=preset) as memory:
        singly = [memory.thread("a").add(t.role, t.text, at=t.at) for t in turns]
        one = exported(memory, directory / "one.jsonl")
    with Memory.open(directory / "many.db", model=tiny_embedder, preset=preset) as memory:
        together = []
        for size in sizes:
            start = len(together)
            together += memory.thread("a").add_many(turns[start : start + size])
        assert together == singly
        assert exported(memory, directory / "many.jsonl") == one


def test_two_openings_of_one_file_see_each_others_turns(tmp_path, tiny_embedder, preset):
    path = tmp_path / "memory.db"
    with (
        Memory.open(path, model=tiny_embedder, preset=preset) as one,
        Memory.open(path, model=tiny_embedder, preset=preset) as two,
        Memory.open(tmp_path / "alone.db", model=tiny_embedder, preset=preset) as alone,
    ):
        for number, turn in enumerate(stream(70)):
            writer = (one, two)[number % 3 % 2]
            assert writer.thread("a").add(turn.role, turn.text, at=turn.at).turn == number
            alone.thread("a").add(turn.role, turn.text, at=turn.at)
        expected = alone.thread("a").search("gpu rule", k=40)
        assert one.thread("a").search("gpu rule", k=40) == expected
        assert two.thread("a").search("gpu rule", k=40) == expected
        two.thread("a").forget(turn=5)
        assert 5 not in [turn.id for turn in one.thread("a").turns()]
        assert one.thread("a").search("gpu rule", k=40) == two.thread("a").search("gpu rule", k=40)
        one.forget_thread("a")
        assert len(two.thread("a")) == 0
        with pytest.raises(ThreadMissingError):
            two.thread("a").search("gpu rule")


@PAPER
def test_hits_are_whole_episodes_capped_at_eight_turns(memory):
    thread = memory.thread("a")
    thread.add_many([NewTurn(role=t.role, text=" ".join(t.text.split()[:4])) for t in stream(120)])
    episodes = {episode.id: episode.turns for episode in thread.episodes()}
    for hit in thread.search("train bread", k=50):
        ids = [turn.id for turn in hit.turns]
        assert ids == list(range(ids[0], ids[0] + len(ids)))
        assert len(ids) == min(8, len(episodes[hit.episode]))
        assert {*hit.turns} <= {*episodes[hit.episode]}


def test_k_and_budget_bound_the_result(memory, preset):
    thread = memory.thread("a")
    thread.add_many(stream(80))
    if preset is OFFICIAL:
        assert len(thread.search("bread")) == 5
    few = {} if preset is OFFICIAL else {"budget": 150}  # more turns would be one span
    assert len(thread.search("bread", k=2, min_relevance=0, **few)) == 2
    for budget in (5, 40, 150, 400, 1000):
        text = thread.context("bread", budget=budget, min_relevance=0)
        assert len(text.split()) * 1.3 <= budget + 1
        if budget > 20:
            assert text
    for wrong in ({"k": 0}, {"budget": 0}):
        with pytest.raises(InputError, match="at least 1"):
            thread.search("bread", **wrong)
    with pytest.raises(InputError, match="query is empty"):
        thread.search("  ")


@pytest.mark.parametrize("role", ["system", "tool", "assistant", "user:bob", "наблюдатель"])
def test_any_role_is_kept(memory, role):
    memory.thread("a").add(role, "the rule says one gpu")
    (turn,) = memory.thread("a").turns()
    assert turn.role == role
    assert f"{role}: the rule" in memory.thread("a").context("gpu")


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(min_size=1).filter(lambda text: text.strip()))
def test_any_text_is_kept_exactly(memory, text):
    thread = memory.thread("any")
    receipt = thread.add("user", text)
    assert thread.turns()[receipt.turn].text == text


def test_a_megabyte_is_kept_exactly(memory):
    text = "budget letter é\n" * 65_536
    memory.thread("a").add("user", text)
    memory.thread("a").add("model", "x")
    assert memory.thread("a").turns()[0].text == text
    assert len(memory.thread("a").context("budget", budget=100).split()) <= 80


@pytest.mark.parametrize(
    ("role", "text", "at", "message"),
    [
        ("", "x", None, "role"),
        ("two\nlines", "x", None, "role"),
        ("r" * 65, "x", None, "role"),
        ("user", "", None, "empty"),
        ("user", " \n", None, "empty"),
        ("user", "\ud800", None, "surrogate"),
        ("user", None, None, "expected text"),
        ("user", "x", float("nan"), "is not a time"),
        ("user", "x" * 10_000_001, None, "characters"),
    ],
)
def test_what_cannot_be_kept_is_refused_before_anything_is_written(memory, role, text, at, message):
    thread = memory.thread("a")
    good = NewTurn(role="user", text="fine")
    with pytest.raises(InputError, match=message):
        thread.add_many([good, NewTurn(role=role, text=text, at=at)])
    assert memory.threads() == []


def test_turns_come_in_the_forms_people_have_them(memory):
    thread = memory.thread("a")
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    thread.add_many(
        [
            ("user", "one"),
            ("model", "two", 5.0),
            {"role": "assistant", "content": "three"},
            {"role": "user", "text": "four", "at": noon},
            NewTurn(role="tool", text="five"),
        ]
    )
    assert [(t.role, t.text, t.at) for t in thread.turns()] == [
        ("user", "one", None),
        ("model", "two", 5.0),
        ("assistant", "three", None),
        ("user", "four", noon.timestamp()),
        ("tool", "five", None),
    ]
    for wrong in ("text", ("user",), {"content": "x"}, 7, ("user", "x", datetime(2026, 5, 1))):  # noqa: DTZ001
        with pytest.raises(InputError):
            thread.add_many([("user", "fine"), wrong])
    assert len(thread.turns()) == 5


def test_another_model_is_noticed_and_never_mixed(tmp_path, tiny_embedder, preset):
    other = OnnxEmbedder(
        write_tiny_bert(tmp_path / "other", pooling="cls", hidden=64), graphs=tmp_path / "g"
    )
    path = tmp_path / "memory.db"
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(50))
        memory.thread("a").forget(turn=7)
        before = memory.thread("a").turns()
    with pytest.raises(MismatchError, match="rebuild=True"):
        Memory.open(path, model=other, preset=preset)
    seen = []
    with Memory.open(
        path, model=other, preset=preset, rebuild=True, progress=lambda *step: seen.append(step)
    ) as memory:
        assert memory.thread("a").turns() == before
        assert memory.verify().problems == ()
        assert memory.thread("a").search("bread", min_relevance=0)
        assert memory.thread("a").add("user", "one more").turn == 50
    assert seen[-1] == (49, 49)
    with pytest.raises(MismatchError):
        Memory.open(path, model=tiny_embedder, preset=preset)


def test_a_memory_is_opened_with_the_model_it_was_written_with(tmp_path, monkeypatch):
    """Whatever the default model is now; nothing is embedded here, so no weights are needed."""
    monkeypatch.delenv("TSIM_MODEL", raising=False)
    for name in ("gte-small", "all-MiniLM-L6-v2", "minilm+gte"):
        path = tmp_path / f"{name}.db"
        Memory.open(path, model=name).close()
        with Memory.open(path) as memory:
            assert memory.model == find_model(name).identity
    monkeypatch.setenv("TSIM_MODEL", "bge-small-en-v1.5")
    with Memory.open(path) as memory:
        assert memory.model == find_model("bge-small-en-v1.5").identity


def test_a_model_is_known_by_its_weights_if_it_is_used_otherwise_now():
    for spec in KNOWN_MODELS:
        assert name_of(spec.identity) == spec.name
    assert name_of("gte-small@398a29991324e0b3/mean/512") == "gte-small"
    for other in (None, "", "tiny@00/mean/32", "minilm+gte"):
        assert name_of(other) is None


@pytest.mark.parametrize(
    ("before", "after"), [(LATE, OFFICIAL), (OFFICIAL, LATE), (OFFICIAL, LONGMEMEVAL)]
)
def test_another_preset_is_rebuilt_to_the_same_as_a_fresh_start(
    tmp_path, tiny_embedder, before, after
):
    turns = stream(50)
    with Memory.open(tmp_path / "a.db", model=tiny_embedder, preset=before) as memory:
        memory.thread("a").add_many(turns)
    with pytest.raises(MismatchError, match=before.name):
        Memory.open(tmp_path / "a.db", model=tiny_embedder, preset=after)
    with Memory.open(
        tmp_path / "a.db", model=tiny_embedder, preset=after.name, rebuild=True
    ) as memory:
        rebuilt = exported(memory, tmp_path / "a.jsonl")
        assert memory.verify().problems == ()
    with Memory.open(tmp_path / "b.db", model=tiny_embedder, preset=after) as memory:
        memory.thread("a").add_many(turns)
        assert exported(memory, tmp_path / "b.jsonl") == rebuilt


@PRESETS
def test_a_memory_is_opened_with_the_preset_it_was_written_with(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "a.db", model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(30))
        hits = memory.thread("a").search("bread")
    with Memory.open(tmp_path / "a.db", model=tiny_embedder) as memory:
        assert memory.thread("a").search("bread") == hits


def test_an_export_can_be_read_into_another_memory_and_exported_to_the_same_bytes(
    tmp_path, tiny_embedder, preset
):
    with Memory.open(tmp_path / "a.db", model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(40))
        memory.thread("b").add_many(stream(9, seed=8))
        memory.thread("a").forget(turn=3)
        first = exported(memory, tmp_path / "a.jsonl")
        hits = memory.thread("a").search("rule")
    with Memory.open(tmp_path / "b.db", model=tiny_embedder, preset=preset) as memory:
        assert memory.import_(tmp_path / "a.jsonl") == 48
        assert exported(memory, tmp_path / "b.jsonl") == first
        assert memory.thread("a").search("rule") == hits
        assert memory.verify().problems == ()
        with pytest.raises(InputError, match="already has thread 'a'"):
            memory.import_(tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: lines[1:],
        lambda lines: [lines[0], "{", *lines[1:]],
        lambda lines: [*lines, '{"kind": "turn", "id": "x"}'],
    ],
)
def test_a_broken_export_is_refused_whole(tmp_path, tiny_embedder, damage, preset):
    with Memory.open(tmp_path / "a.db", model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(5))
        memory.export(tmp_path / "a.jsonl")
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    (tmp_path / "bad.jsonl").write_text("\n".join(damage(lines)))
    with Memory.open(tmp_path / "b.db", model=tiny_embedder, preset=preset) as memory:
        with pytest.raises(InputError):
            memory.import_(tmp_path / "bad.jsonl")
        assert memory.threads() == []


@pytest.mark.parametrize(
    ("preset", "damage", "problem"),
    [
        (LATE, "UPDATE turn SET vector = zeroblob(128) WHERE key & 4294967295 = 3", "length one"),
        (OFFICIAL, "DELETE FROM episode WHERE key & 4294967295 = 1", "do not match"),
        (LATE, "DELETE FROM episode WHERE key & 4294967295 = 0", "do not match"),
        (
            OFFICIAL,
            "UPDATE cluster SET total = zeroblob(256)",
            "centre of cluster 0 does not match its episodes",
        ),
        (OFFICIAL, "DELETE FROM member", "clusters and closed episodes"),
        (OFFICIAL, "UPDATE episode SET vector = NULL", "closed but has no summary"),
    ],
)
def test_verify_notices_damage(tmp_path, tiny_embedder, preset, damage, problem):
    path = tmp_path / "memory.db"
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        memory.thread("a").add_many(stream(40))
        assert memory.verify().problems == ()
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(damage)
    connection.close()
    with Memory.open(path, model=tiny_embedder, preset=preset) as memory:
        assert any(problem in found for found in memory.verify().problems), damage


def test_async_callers_use_threads(memory):
    async def talk() -> list[int]:
        thread = memory.thread("a")
        adds = (asyncio.to_thread(thread.add, "user", f"bread rule {n}") for n in range(20))
        finds = (asyncio.to_thread(thread.search, "bread") for _ in range(5))
        results = await asyncio.gather(*adds, *finds)
        return sorted(receipt.turn for receipt in results[:20])

    assert asyncio.run(talk()) == list(range(20))
    assert memory.verify().problems == ()


def test_export_lines_are_json_with_the_text_in_plain(memory, tmp_path):
    memory.thread("a").add("user", "naïve 🦜")
    lines = [json.loads(line) for line in exported(memory, tmp_path / "x").splitlines()]
    assert [line["kind"] for line in lines] == ["memory", "thread", "turn", "episode", "end"]
    assert lines[2]["text"] == "naïve 🦜"


def test_a_thread_that_is_asked_for_does_not_have_its_preset_written_again(memory, monkeypatch):
    memory.thread("a").add("user", "budget rule")

    def written(_: object) -> str:
        pytest.fail("the preset was written")

    monkeypatch.setattr(type(memory.preset), "fingerprint", property(written))
    for name in ("a", "b"):
        memory.thread(name)
    assert len(memory.thread("a")) == 1
