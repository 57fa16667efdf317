"""Relevance: a probability for every hit, a minimum for it, and queries that ask for little."""

import math
import string
from dataclasses import replace

import pytest

from tests.support.streams import stream
from tsim import LATE, Memory, tokens
from tsim.embed import CachedEmbedder
from tsim.engine.late.engine import DOUBT
from tsim.errors import InputError
from tsim.presets import Preset, suited
from tsim.rank.fitted import RUN_FEATURES, TURN_FEATURES

TALK = [
    ("user", "The sourdough will not rise, the kitchen is cold."),
    ("model", "Put the bowl in the oven with only the light on."),
    ("user", "And how long until I can shape it?"),
    ("model", "Four hours, then overnight in the fridge."),
    ("user", "Is the 7:40 to Bergen running on Sunday?"),
    ("model", "Only from the second platform, works on the line."),
    ("user", "I never learned to swim, by the way."),
    ("model", "Noted. The ferry has life vests."),
]
GIANT = [("user", "the rule of the harbour and the letter about the boat " * 700)]
THREADS = {
    "one turn": TALK[:1],
    "two turns": TALK[:2],
    "three turns": TALK[:3],
    "one giant turn": GIANT,
    "a giant turn among others": [*TALK[:4], *GIANT, *TALK[4:]],
    "a conversation": TALK,
    "the same turn a hundred times": TALK[:1] * 100,
    "no letters": [("user", "???"), ("model", "123 456"), ("user", "…"), ("model", "🙂")],
}
QUERIES = {
    "one word": "sourdough",
    "stop words": "what is it that you do with this and that",
    "5,000 words": "when can I shape the sourdough " * 834,
    "5,000 different words": " ".join(f"word{n}" for n in range(5000)),
    "another language": "Когда можно формовать тесто?",
    "no spaces": "什么时候可以整形面团",
    "no letters": "?!… -- 12 :: //",
    "an emoji": "🥖",
    "random letters": "qxv zzkw plmgrt vvbq",
    "one letter": "x",
    "control characters": "a\x07b\u200b\u202e c",
}


@pytest.fixture(scope="module")
def remembering(minilm, tmp_path_factory):
    """The same queries are asked of many threads, with many budgets."""
    embedder = CachedEmbedder(minilm, tmp_path_factory.mktemp("cache") / "embeddings.db")
    yield embedder
    embedder.close()


@pytest.fixture(params=THREADS)
def thread(request, tmp_path, remembering):
    with Memory.open(tmp_path / "m.db", model=remembering) as memory:
        thread = memory.thread("a")
        thread.add_many(THREADS[request.param])
        yield thread


def check(thread, hits, budget):
    """Checks what holds for the hits of any query."""
    assert all(0 <= hit.relevance <= 1 for hit in hits)
    assert all(hit.score == hit.relevance == hit.why.relevance for hit in hits)
    assert [hit.relevance for hit in hits] == sorted((h.relevance for h in hits), reverse=True)
    assert all(0 <= hit.why.alone <= 1 and 0 <= hit.why.share <= 1 for hit in hits)
    assert all(hit.turns and str(hit.why) for hit in hits)
    assert tokens.estimate(thread.write(hits)) <= budget


def test_any_query_of_any_thread_gives_hits_or_nothing_within_the_budget(thread):
    for query in QUERIES.values():
        for budget in (None, 3, 40, 300):
            for least in (None, 0):
                hits = thread.search(query, budget=budget, min_relevance=least)
                check(thread, hits, budget or LATE.settings.budget)
        assert thread.search(query, budget=40, min_relevance=0), "something always fits"
        assert isinstance(thread.views(query), dict)
        thread.context(query)


def test_a_thread_of_few_turns_can_be_searched_after_each_of_them(tmp_path, minilm):
    with Memory.open(tmp_path / "m.db", model=minilm) as memory:
        thread = memory.thread("a")
        for number, turn in enumerate(TALK):
            thread.add(*turn)
            hits = thread.search("When can I shape the sourdough?", min_relevance=0)
            shown = sorted(turn.id for hit in hits for turn in hit.turns)
            assert shown == list(range(number + 1))
            check(thread, hits, LATE.settings.budget)


def test_by_default_nothing_is_returned_if_what_was_asked_is_probably_not_there(
    tmp_path, tiny_embedder
):
    def searched(least, **options):
        fitted = replace(LATE.settings.fitted, min_relevance=least)
        preset = Preset(name="late-least", settings=replace(LATE.settings, fitted=fitted))
        with Memory.open(
            tmp_path / "m.db", model=tiny_embedder, preset=preset, rebuild=True
        ) as memory:
            thread = memory.thread("a")
            if not thread:
                thread.add_many(stream(150))
            return thread.search("bread budget", budget=400, **options)

    hits = searched(0.0)
    assert len(hits) > 2
    never = 1 / DOUBT  # the thread has few words, so that the bound counts less
    assert searched(never) == []
    assert searched(never, k=1) == []
    assert searched(never, min_relevance=0) == hits


def test_facts_are_found_in_a_chat_that_repeats_itself_and_nonsense_is_not(tmp_path, minilm):
    chat = TALK[:6] * 60
    with Memory.open(tmp_path / "m.db", model=minilm) as memory:
        thread = memory.thread("a")
        thread.add_many([*chat, TALK[6], ("model", "Noted."), *chat])
        hits = thread.search("Should I book the kayak tour?", budget=150)
        assert TALK[6][1] in [turn.text for hit in hits for turn in hit.turns]
        assert thread.search("qxv zzkw plmgrt vvbq") == []


@pytest.mark.parametrize("query", ["!!!", "… ?", "the", "🎂", "what is it that you do with this"])
def test_a_query_without_a_word_that_says_something_finds_nothing(tmp_path, tiny_embedder, query):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder) as memory:
        thread = memory.thread("a")
        thread.add_many(TALK)
        assert thread.search(query) == []
        assert thread.context(query) == ""
        assert thread.search(query, min_relevance=0)


def test_a_name_or_a_filter_says_something(tmp_path, tiny_embedder):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder) as memory:
        thread = memory.thread("a")
        thread.add_many([("Will", "I sold the boat."), ("Anna", "Good for you."), *TALK])
        for query in ("What did Will do?", "What is it with the US?"):
            assert thread.search(query)
        assert thread.search("what was it?") == []
        assert thread.search("what was it?", roles=["Will"])


def test_with_a_model_that_nothing_was_fitted_for_a_search_is_never_silent(
    tmp_path, tiny_embedder, minilm
):
    for model, least in ((tiny_embedder, 0.0), (minilm, LATE.settings.fitted.min_relevance)):
        assert suited(LATE, model.identity).settings.fitted.min_relevance == least
    with Memory.open(tmp_path / "m.db", model=tiny_embedder) as memory:
        thread = memory.thread("a")
        thread.add_many(TALK)
        assert thread.search("qxv zzkw plmgrt vvbq")


def test_a_minimum_leaves_out_exactly_the_hits_below_it(tmp_path, tiny_embedder):
    with Memory.open(tmp_path / "m.db", model=tiny_embedder) as memory:
        thread = memory.thread("a")
        thread.add_many(stream(150))
        hits = thread.search("bread budget", budget=400, min_relevance=0)
        assert len({hit.relevance for hit in hits}) > 2
        for least in {hit.relevance for hit in hits}:
            for bound in (least, math.nextafter(least, 1)):
                kept = [hit for hit in hits if hit.relevance >= bound]
                assert thread.search("bread budget", budget=400, min_relevance=bound) == kept
        assert thread.search("bread budget", min_relevance=1) == []
        assert thread.context("bread budget", min_relevance=1) == ""


class Refusing:
    """A model that must not be asked for anything but turns."""

    def __init__(self, embedder):
        self.identity, self.dimension, self.embed = (
            embedder.identity,
            embedder.dimension,
            embedder.embed,
        )

    def embed_query(self, text):
        raise AssertionError("the query was embedded")


@pytest.mark.parametrize("wrong", [-0.01, 1.01, math.nan, math.inf, -math.inf, 50])
def test_a_minimum_out_of_range_is_refused_before_anything_happens(tmp_path, tiny_embedder, wrong):
    with Memory.open(tmp_path / "m.db", model=Refusing(tiny_embedder)) as memory:
        thread = memory.thread("a")
        thread.add_many(stream(12))
        for ask in (thread.search, thread.context):
            with pytest.raises(InputError, match="between 0 and 1") as caught:
                ask("bread", min_relevance=wrong)
            assert f"min_relevance={wrong}" in str(caught.value)


def test_the_terms_of_an_explanation_name_all_features_of_a_run_or_a_turn(tmp_path, minilm):
    """That they add up to the log odds is checked against the formulas on random streams."""
    with Memory.open(tmp_path / "m.db", model=minilm) as memory:
        thread = memory.thread("a")
        thread.add_many(TALK)
        for query in ("When can I shape the sourdough?", "May I book the kayak tour?"):
            for hit in thread.search(query, min_relevance=0, budget=40):
                names = {name for name, _ in hit.why.terms}
                assert names in ({*RUN_FEATURES}, {*TURN_FEATURES})
                assert all(math.isfinite(points) for _, points in hit.why.terms)
                assert f"relevance {hit.relevance:.0%}" in str(hit.why)


def test_long_queries_of_random_letters_share_no_words(tmp_path, minilm):
    with Memory.open(tmp_path / "m.db", model=minilm) as memory:
        thread = memory.thread("a")
        thread.add_many(TALK)
        for query in (string.ascii_lowercase * 400, "zq " * 5000):
            for hit in thread.search(query, min_relevance=0):
                assert hit.why.words == ()
