"""Budgets: a context is within its budget by whatever counts the tokens."""

import re
import unicodedata
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import corpus
from tests.support.feed import WIDTH, embed
from tsim import Memory
from tsim.assemble import excerpt
from tsim.counting import open_measure
from tsim.errors import InputError
from tsim.tokens import by_words, estimate


class Bytes:
    """A model for any text, at no cost."""

    identity, dimension = "bytes", WIDTH

    def embed(self, texts):
        return embed(texts)

    def embed_query(self, text):
        return embed([text])[0]


def uneven(text):
    """Counts pieces that do not end with lines, so that counts of lines do not add up."""
    return len(re.findall(r"\s*.{1,3}", text, re.DOTALL))


COUNTS = {"estimate": estimate, "words": by_words, "characters": len, "uneven": uneven}
GIVEN = {"estimate": "estimate", "words": "words", "characters": len, "uneven": uneven}
WILD = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from(" \n\t\r\u2028\u0301\u200d👩🇩字กab=["),
    ),
    min_size=1,
    max_size=60,
)
TEXTS = st.one_of(
    WILD,
    st.builds(lambda text, times: text * times, WILD, st.integers(1, 400)),
    st.sampled_from([*corpus.texts().values()]),
).filter(lambda text: text.strip())
TURNS = st.tuples(
    st.sampled_from(["user", "model", "[3-4]", "x: y"]),
    TEXTS,
    st.none() | st.floats(0, 4e9),
)


@pytest.fixture
def memory(tmp_path, preset):
    with Memory.open(tmp_path / "m.db", model=Bytes(), preset=preset) as opened:
        yield opened


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(TURNS, min_size=1, max_size=8),
    st.sampled_from(sorted(GIVEN)),
    st.integers(1, 60) | st.integers(60, 3000),
)
def test_any_context_is_within_its_budget_by_any_counter(memory, turns, tokens, budget):
    thread = memory.thread(f"a{next(NUMBERS)}")
    thread.add_many(turns)
    text = thread.context("word ab 字", budget=budget, min_relevance=0, tokens=GIVEN[tokens])
    assert COUNTS[tokens](text) <= budget
    hits = thread.search("word ab 字", budget=budget, min_relevance=0, tokens=GIVEN[tokens])
    assert thread.write(hits) == text
    stored = {turn.id: turn.text for turn in thread.turns()}
    assert all(turn.text == stored[turn.id] for hit in hits for turn in hit.turns)


NUMBERS = count()


@pytest.mark.parametrize("tokens", sorted(GIVEN))
@pytest.mark.parametrize("text", ["字" * 50_000, "aB3+" * 25_000, "x" * 1_000_000])
def test_a_word_without_end_is_cut(memory, tokens, text):
    thread = memory.thread("a")
    thread.add_many([("user", text), ("model", "noted, thanks")])
    for budget in (20, 600):
        context = thread.context("word", budget=budget, min_relevance=0, tokens=GIVEN[tokens])
        assert COUNTS[tokens](context) <= budget
        assert len(context) <= 100 * budget


def test_ten_megabytes_are_cut(memory):
    thread = memory.thread("a")
    thread.add("user", "x" * 10_000_000)
    assert estimate(thread.context("word", budget=600, min_relevance=0)) <= 600


def test_most_of_a_budget_is_used(memory):
    thread = memory.thread("a")
    thread.add_many(("user", text) for text in corpus.texts().values() for _ in range(2))
    for tokens in ("estimate", uneven):
        measure = open_measure(tokens)
        text = thread.context("the key", budget=1500, min_relevance=0, tokens=tokens)
        assert measure.room(1300) <= measure.size(text) <= measure.room(1500)


def test_a_tokenizer_file_counts(memory, tiny):
    path = tiny / "tokenizer.json"
    thread = memory.thread("a")
    thread.add_many(("user", text) for text in corpus.texts().values())
    for budget in (30, 400, 2000):
        text = thread.context("the key", budget=budget, min_relevance=0, tokens=path)
        assert 0 < open_measure(str(path)).size(text) <= budget


def test_dates_are_paid_for(memory):
    thread = memory.thread("a")
    thread.add_many(("user", f"word {n}", 1.7e9 + 86400 * 40 * n) for n in range(60))
    for budget in range(20, 300, 31):
        text = thread.context("word 7", budget=budget, min_relevance=0)
        assert estimate(text) <= budget
        assert "· 20" in text


@pytest.mark.parametrize("name", ["thai", "chinese", "python", "english letter"])
def test_a_turn_that_is_too_long_is_cut_around_what_was_asked(tmp_path, minilm, preset, name):
    filler = corpus.texts()[name]
    text = f"{filler}\n" * 20 + "The Zanzibar penalty is 4711.\n" + f"{filler}\n" * 20
    memory = Memory.open(tmp_path / "m.db", model=minilm, preset=preset)
    thread = memory.thread("a")
    thread.add("user", text)
    (hit,) = thread.search("What is the Zanzibar penalty?", budget=150, min_relevance=0)
    (turn,) = hit.turns
    assert turn.text == text
    shown = excerpt(turn)
    assert "The Zanzibar penalty is 4711." in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert 75 <= estimate(thread.write([hit])) <= 150
    memory.close()


def test_line_breaks_and_indentation_survive_a_cut(memory):
    code = corpus.texts()["python"]
    thread = memory.thread("a")
    thread.add("user", code)
    (hit,) = thread.search("merged append interval", budget=120, min_relevance=0)
    lines = excerpt(hit.turns[0]).split("\n")
    whole = [line for line in lines if "…" not in line]
    assert len(whole) > 3
    assert all(line in code.split("\n") for line in whole)


def test_a_cut_breaks_no_character_as_it_is_seen(memory):
    thread = memory.thread("a")
    for n, seen in enumerate(("e\u0301\u0323", "👨‍👩‍👧", "👍🏽")):
        thread = memory.thread(f"a{n}")
        thread.add("user", seen * 2000)
        for budget in (60, 61, 62, 63):
            (hit,) = thread.search("x", budget=budget, min_relevance=0)
            shown = excerpt(hit.turns[0]).strip("…")
            assert shown
            assert not shown.replace(seen, "")
            assert not unicodedata.combining(shown[0])


@pytest.mark.parametrize("wrong", ["600", 1.5, float("nan"), True, [1], 0, -3])
def test_a_budget_that_is_no_number_of_tokens_is_refused(memory, wrong):
    thread = memory.thread("a")
    thread.add("user", "word")
    for ask in (thread.search, thread.context):
        with pytest.raises(InputError, match="budget="):
            ask("word", budget=wrong)


def test_a_counter_is_checked_when_a_memory_is_opened(tmp_path):
    with pytest.raises(InputError, match="no known counter"):
        Memory.open(tmp_path / "m.db", model=Bytes(), tokens="nonsense")
    with Memory.open(tmp_path / "m.db", model=Bytes(), tokens=len) as memory:
        memory.thread("a").add("user", "word " * 50)
        assert len(memory.thread("a").context("word", budget=90)) <= 90


def test_a_tokenizer_that_counts_an_empty_text_leaves_nothing(memory):
    for name in "abc":
        memory.thread(name).add("user", f"The locker code is 18-34-07 {name}")

    def count(text):
        return 4 + len(text.split())

    for budget in range(1, 40):
        text = memory.thread("a").context("locker code", budget=budget, tokens=count)
        assert not text or count(text) <= budget
        several = memory.context("locker code", threads=[*"abc"], budget=budget, tokens=count)
        assert not several or count(several) <= budget
