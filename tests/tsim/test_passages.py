"""Long turns: divided into passages, embedded once, found and shown in place."""

import hashlib
import json
import sqlite3
from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.former import undo
from tests.support.streams import exported, stream
from tests.support.tiny_bert import WORDS
from tsim import LATE, OFFICIAL, Memory, NewTurn
from tsim.assemble import excerpt, render
from tsim.codec import vector_to_bytes
from tsim.embed import embed_passages, find_passages
from tsim.embed.protocol import TokenEstimate, token_counter
from tsim.errors import InputError
from tsim.segment import CHARACTERS_PER_TOKEN, divide
from tsim.store import SqliteStore
from tsim.types import Turn


def by_words(texts):
    return [len(text.split()) for text in texts]


def passages(text, most=20, count=by_words):
    return [text[a:b] for a, b in pairwise([*divide(text, count, most), len(text)])]


def words(count, first=0):
    return " ".join(f"w{n}" for n in range(first, first + count))


# --- dividing


@given(
    st.lists(
        st.sampled_from(
            [
                "word ",
                "Ende. ",
                "\n",
                "\n\n",
                "    ",
                "- ",
                "| a | b |\n",
                "```\n",
                "# ",
                "x" * 90,
                "。",
                "日本語",
                "🦜",
                "\t",
                ",",
                "!",
            ]
        )
    ).map("".join)
    | st.text(),
    st.integers(1, 12),
)
def test_passages_joined_are_the_text_and_none_is_too_long(text, most):
    found = passages(text, most)
    assert "".join(found) == text
    assert all(found) or not text
    for passage in found:
        assert len(passage) == 1 or len(passage) <= CHARACTERS_PER_TOKEN * most
        assert len(passage.split()) <= most


def test_a_text_is_divided_at_the_strongest_boundary():
    first, second = words(14), words(14, first=14)
    for strong, weak in (
        ("\n\n## Heading\n\n", "\n\n"),
        ("\n\n", "\n- "),
        ("\n- ", "\n"),
        ("\n", "\n    "),
        (".\n", ". "),
    ):
        text = f"{first}{strong}{second}{weak}{words(14, first=28)}"
        assert passages(text, 24)[0].strip() == (first + strong.rstrip("#Heading- \n")).strip()


def test_code_blocks_and_table_rows_stay_whole():
    code = "```\n" + "x = 1\n\ny = 2\n" + "```\n"
    text = f"{words(12)}\n{code}\n{words(12)}\n"
    assert code in "".join(one for one in passages(text) if "```" in one)
    assert any(code in one for one in passages(text))
    rows = [f"| {words(4, first=4 * n)} |\n" for n in range(40)]
    assert all(one.endswith("|\n") for one in passages("".join(rows)))


def test_sentences_then_words_then_parts_are_the_last_resort():
    sentences = [f"{words(7, first=7 * n)}." for n in range(20)]
    assert all(one.rstrip().endswith(".") for one in passages(" ".join(sentences)))
    assert {len(one.split()) for one in passages(words(200))[:-1]} == {20}
    parts = passages("x" * 100_000)
    assert {len(one) for one in parts} == {319, 320}  # equal parts of at most 16 · 20 characters


@pytest.mark.parametrize(
    "unit",
    ["word ", "word\n", "word. ", "word,", "x", "\n", " ", "!", "| a | b |\n", "```\n", "字。"],
)
def test_the_work_is_proportional_to_the_length(unit):
    """What is counted is a multiple of the text; a quadratic rule would count it many times."""
    counted = []

    def count(texts):
        counted.append(sum(map(len, texts)))
        return by_words(texts)

    work = []
    for size in (20_000, 40_000):
        counted.clear()
        text = unit * (size // len(unit))
        assert "".join(passages(text, 50, count)) == text
        work.append(sum(counted) / len(text))
    assert work[1] <= work[0] * 1.1 + 0.1 <= 5


# --- what an embedder reads


def test_the_encoder_reads_every_token_of_a_passage(tiny_embedder):
    counter = token_counter(tiny_embedder)
    assert counter.reads == 46
    text = "\n\n".join(" ".join(WORDS[: 3 + n % 11]) + "." for n in range(60)) + " " + "z" * 500
    (starts,) = find_passages(tiny_embedder, [text])
    parts = [text[a:b] for a, b in pairwise([*starts, len(text)])]
    assert max(counter.count_tokens(parts)) <= counter.reads
    assert sum(counter.count_tokens(parts)) >= counter.count_tokens([text])[0]
    assert embed_passages(tiny_embedder, [text], [starts]).shape == (len(parts), 32)


def test_texts_that_the_encoder_reads_whole_are_not_divided(tiny_embedder):
    fits, exceeds = " ".join(["the"] * 46), " ".join(["the"] * 47)
    assert find_passages(tiny_embedder, ["rule", fits]) == [(0,), (0,)]
    (starts,) = find_passages(tiny_embedder, [exceeds])
    assert len(starts) == 2


def test_a_text_of_more_than_128_tokens_is_divided_though_the_encoder_reads_more(minilm):
    assert token_counter(minilm).reads > 128
    sentence = "The rule is old. "  # five tokens
    fits, exceeds = sentence * 25 + "the the the", sentence * 25 + "the the the the"
    assert token_counter(minilm).count_tokens([fits, exceeds]) == [128, 129]
    first, second = find_passages(minilm, [fits, exceeds])
    assert first == (0,)
    parts = [exceeds[a:b] for a, b in pairwise([*second, len(exceeds)])]
    assert max(token_counter(minilm).count_tokens(parts)) <= 64


def test_embedders_that_cannot_count_are_given_an_estimate():
    class Other:
        identity, dimension = "other", 2

    counter = token_counter(Other())
    assert isinstance(counter, TokenEstimate)
    fits, exceeds = "word " * 76, "word " * 77
    first, second = find_passages(Other(), [fits, exceeds])
    assert first == (0,)
    assert len(second) == 3
    assert counter.count_tokens(["abc", "abcd", "日本"]) == [1, 2, 2]


# --- a memory with long turns


def long_text(number, paragraphs=12):
    """Paragraphs that are long for the tiny model, each with a word of its own."""
    parts = [
        f"{' '.join(WORDS[n % 5 :])} marker{chr(97 + number)}{chr(97 + n)}."
        for n in range(paragraphs)
    ]
    return "\n\n".join(parts)


def talk(count=30):
    turns = stream(count)
    for place in (4, 11, 20):
        turns[place] = NewTurn(role="user", text=long_text(place))
    return turns


@pytest.fixture
def memory(tmp_path, tiny_embedder):
    with Memory.open(tmp_path / "memory.db", model=tiny_embedder) as memory:
        memory.thread("a").add_many(talk())
        yield memory


class Recorded:
    """An embedder that remembers what it embedded."""

    def __init__(self, inner):
        self.inner, self.texts = inner, []
        self.identity, self.dimension = inner.identity, inner.dimension

    def embed(self, texts):
        self.texts += texts
        return self.inner.embed(texts)

    def embed_query(self, text):
        return self.inner.embed_query(text)


def test_every_part_of_a_long_turn_is_embedded_exactly_once(tmp_path, tiny_embedder):
    recorded = Recorded(tiny_embedder)
    with Memory.open(tmp_path / "m.db", model=recorded) as memory:
        memory.thread("a").add_many(talk())
        memory.thread("a").search("bread")
    for place in (4, 11, 20):
        marked = [text for text in recorded.texts if f"marker{chr(97 + place)}" in text]
        (starts,) = find_passages(tiny_embedder, [long_text(place)])
        assert "".join(marked[: len(starts)]) == long_text(place)
        assert not {*marked[: len(starts)]} & {*marked[len(starts) :]}  # sentences


def test_a_hit_shows_the_passage_and_not_the_head(memory):
    thread = memory.thread("a")
    hits = thread.search("markerld", budget=60)
    (turn,) = [turn for turn in hits[0].turns if turn.id == 11]
    assert turn.text == long_text(11)
    assert turn.shown
    assert "markerld" in excerpt(turn)
    assert "markerla" not in excerpt(turn)
    assert thread.context("markerld", budget=60).count("…") >= 2


def test_a_divided_turn_of_up_to_256_words_competes_as_a_whole(tmp_path, tiny_embedder):
    short, long = long_text(0, paragraphs=8), long_text(1, paragraphs=40)
    with Memory.open(tmp_path / "m.db", model=tiny_embedder, tokens="words") as memory:
        thread = memory.thread("a")
        thread.add_many([*stream(5), ("user", short), ("user", long), *stream(5)])
        thread.search("rule")
        index = thread._engine.index
    table = index.run_table()
    runs = {*zip(table.ranges.begins.tolist(), table.ranges.ends.tolist(), strict=True)}
    starts = index.passages.starts
    edges = [*np.flatnonzero(starts == 0).tolist(), len(starts)]
    assert (edges[5], edges[6]) in runs
    assert (edges[6], edges[7]) not in runs
    assert {(place, place + 1) for place in range(edges[5], edges[7])} <= runs
    rows = index.vectors.take(np.arange(len(index)))
    query = rows[3]
    cosines = table.cosines(np.vecdot(rows, query), index.runs.vectors.scores(query))
    divided = np.flatnonzero((table.begins >= edges[5]) & (table.ends <= edges[7]))
    assert len(divided) == 1 + edges[7] - edges[5]
    for n in divided:
        mean = rows[table.begins[n] : table.ends[n]].sum(axis=0)
        assert cosines[n] == pytest.approx(float(mean @ query / np.linalg.norm(mean)), abs=1e-6)


def test_receipts_and_listings_speak_of_turns(memory):
    thread = memory.thread("a")
    assert [turn.id for turn in thread.turns()] == [*range(30)]
    assert all(turn.shown is None for turn in thread.turns())
    assert thread.add("user", long_text(0)).turn == 30
    cut = thread.episodes(threshold=0.0)
    assert [turn.id for episode in cut for turn in episode.turns] == [*range(31)]
    assert all(len(episode.turns) == 1 for episode in cut)


def test_one_by_one_in_bulk_and_across_restarts_give_the_same_bytes(
    memory, tmp_path, tiny_embedder
):
    expected = exported(memory, tmp_path / "bulk.jsonl")
    assert memory.verify().passages > 20
    path = tmp_path / "single.db"
    for start in range(0, 30, 7):
        with Memory.open(path, model=tiny_embedder) as single:
            for turn in talk()[start : start + 7]:
                single.thread("a").add(turn.role, turn.text, turn.at)
                single.thread("a").search("bread budget")
    with Memory.open(path, model=tiny_embedder) as single:
        assert exported(single, tmp_path / "single.jsonl") == expected
        for question in ("markerld", "one gpu only", "bread"):
            here, there = (one.thread("a").search(question) for one in (memory, single))
            assert here == there


def test_another_writer_s_passages_are_found(memory, tmp_path, tiny_embedder):
    thread = memory.thread("a")
    thread.search("bread")
    with Memory.open(tmp_path / "memory.db", model=tiny_embedder) as other:
        other.thread("a").add("user", long_text(25))
        other.thread("a").add("model", "bread")
    hits = thread.search("markerzc", budget=60)
    assert "markerzc" in render(hits)
    thread._engine = None
    assert thread.search("markerzc", budget=60) == hits


def test_a_forgotten_long_turn_leaves_no_passage_behind(memory, tmp_path, tiny_embedder):
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        gone = [vector_to_bytes(row.vector) for row in store.load("a").passages if row.turn == 11]
    assert len(gone) > 3
    thread = memory.thread("a")
    before = memory.verify().passages
    assert thread.forget(turn=11).turns == (11,)
    raw = b"".join(path.read_bytes() for path in sorted(tmp_path.glob("memory.db*")))
    assert not any(vector in raw for vector in gone)
    assert b"markerl" not in raw
    assert memory.verify().problems == ()
    assert memory.verify().passages == before - len(gone)
    with Memory.open(tmp_path / "never.db", model=tiny_embedder) as never:
        some = [turn for place, turn in enumerate(talk()) if place != 11]
        never.thread("a").add_many(some)
        ids = [place for place in range(30) if place != 11]
        for question in ("markerec", "one gpu only"):
            here = [[turn.id for turn in hit.turns] for hit in thread.search(question)]
            there = [
                [ids[turn.id] for turn in hit.turns] for hit in never.thread("a").search(question)
            ]
            assert here == there


def test_an_export_brings_passages_back(memory, tmp_path, tiny_embedder):
    whole = exported(memory, tmp_path / "export.jsonl")
    with Memory.open(tmp_path / "copy.db", model=tiny_embedder) as copy:
        copy.import_(tmp_path / "export.jsonl")
        assert exported(copy, tmp_path / "again.jsonl") == whole
        assert copy.thread("a").search("markerld") == memory.thread("a").search("markerld")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": 0}, "is not inside a turn"),
        ({"start": 10_000}, "does not follow the one before it"),
        ({"turn": 999}, "does not follow the one before it"),
        ({"vector": "AACAPw=="}, "has a vector of 1 numbers, expected 32"),
        ({"vector": "AAA"}, "has no vector"),
    ],
)
def test_a_passage_of_an_export_must_be_inside_its_turn(
    memory, tmp_path, tiny_embedder, change, message
):
    rows = [json.loads(text) for text in exported(memory, tmp_path / "e.jsonl").splitlines()]
    at = next(place for place, row in enumerate(rows) if row["kind"] == "passage")
    for broken in (
        [*rows[:at], rows[at] | change, *rows[at + 1 : -1]],
        [*rows[: at + 1], *rows[at:-1]],
    ):
        body = "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in broken)
        digest = hashlib.sha256(body.encode()).hexdigest()
        end = rows[-1] | {"lines": len(broken), "sha256": digest}
        (tmp_path / "broken.jsonl").write_text(body + json.dumps(end) + "\n", "utf-8")
        twice = "does not follow the one before it"
        with (
            Memory.open(tmp_path / "copy.db", model=tiny_embedder) as copy,
            pytest.raises(InputError, match=message if len(broken) < len(rows) else twice),
        ):
            copy.import_(tmp_path / "broken.jsonl")


def test_a_memory_from_before_works_and_a_rebuild_divides_it(memory, tmp_path, tiny_embedder):
    class Before(Recorded):
        """Embeds long turns by their heads, as earlier versions did."""

        reads = 10**9

        def count_tokens(self, texts):
            return [0 for _ in texts]

    path = tmp_path / "before.db"
    with Memory.open(path, model=Before(tiny_embedder)) as before:
        before.thread("a").add_many(talk())
        before.thread("a").search("bread")
    with closing(sqlite3.connect(path)) as file:  # as if the table had never been made
        undo(file, 5)
        file.execute("DROP TABLE passage")
        file.execute("DELETE FROM migration WHERE number = 4")
        file.commit()
    with Memory.open(path, model=tiny_embedder) as opened:
        assert opened.verify().passages == 0
        assert opened.verify().problems == ()
        hits = opened.thread("a").search("markerld", budget=60)
        assert "markerld" in render(hits)  # by its words; the vector is that of its head
        opened.thread("a").add("user", long_text(25))
        assert "markerzc" in opened.thread("a").context("markerzc", budget=60)
        opened.thread("a").forget(turn=30)
        opened.rebuild()
        with Memory.open(tmp_path / "fresh.db", model=tiny_embedder) as fresh:
            fresh.thread("a").add_many([*talk(), NewTurn(role="user", text=long_text(25))])
            fresh.thread("a").forget(turn=30)
            fresh.rebuild()
            assert exported(opened, tmp_path / "a.jsonl") == exported(fresh, tmp_path / "b.jsonl")


def test_the_paper_s_method_embeds_turns_whole_and_can_be_changed(tmp_path, tiny_embedder):
    path = tmp_path / "m.db"
    with Memory.open(path, model=tiny_embedder, preset=OFFICIAL) as memory:
        memory.thread("a").add_many(talk())
        assert memory.verify().passages == 0
        official = exported(memory, tmp_path / "official.jsonl")
    with Memory.open(path, model=tiny_embedder, preset=LATE, rebuild=True) as memory:
        found = memory.verify().passages
        assert found > 20
        kept = exported(memory, tmp_path / "kept.jsonl")
        memory.rebuild()  # embeds everything again
        assert exported(memory, tmp_path / "late.jsonl") == kept
    with Memory.open(path, model=tiny_embedder, preset=OFFICIAL, rebuild=True) as memory:
        assert exported(memory, tmp_path / "back.jsonl") == official


# --- what a context shows

CODE = '''def first(x):
    if x:
        return 1

    return 2


class Second:
    """Docs."""

    size = 3
'''


@given(st.lists(st.integers(0, len(CODE)), max_size=8).map(sorted))
def test_an_excerpt_is_the_shown_lines_and_marks(edges):
    shown = tuple((a, b) for a, b in zip(edges[::2], edges[1::2], strict=False) if a < b)
    turn = Turn(id=0, role="user", text=CODE, shown=shown)
    found = excerpt(turn)
    kept = [part.strip() for part in found.split("…")]
    place = 0
    for part in kept:  # in order, and nothing but what is shown
        place = CODE.index(part, place) + len(part)
    marked = [a for a, b in pairwise([0, *edges, len(CODE)])]
    assert found.count("…") <= len(marked)
    assert "".join("".join(kept).split()) == "".join("".join(CODE[a:b] for a, b in shown).split())


def test_line_breaks_and_indentation_are_kept():
    start, end = CODE.index("    if x"), CODE.index("class")
    turn = Turn(id=0, role="user", text=CODE, shown=((start, end),))
    assert excerpt(turn) == "…\n    if x:\n        return 1\n\n    return 2\n…"
    turn = Turn(id=0, role="user", text=CODE, shown=((0, start), (end, len(CODE))))
    assert excerpt(turn) == "def first(x):\n…\n" + CODE[end:].rstrip()


def test_a_line_of_a_log_is_found_by_its_rare_word(tmp_path, minilm):
    log = [
        f"10:{n % 60:02} INFO worker-{n % 5} finished job {n} in {n % 83} ms" for n in range(900)
    ]
    log[600] = "10:00 ERROR worker-3 OutOfMemory while resizing kittens.tiff"
    with Memory.open(tmp_path / "m.db", model=minilm) as memory:
        thread = memory.thread("a")
        thread.add_many([("user", f"The bus number {n} was late again.") for n in range(60)])
        thread.add("user", "\n".join(log))
        for query in ("OutOfMemory", "Which worker had the OutOfMemory error?"):
            assert "OutOfMemory while" in thread.context(query, budget=200)
