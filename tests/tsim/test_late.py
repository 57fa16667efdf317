"""Late episodes: each part against its formula, written out slowly; then the whole."""

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.feed import WIDTH, Feed, embed, relaxed, streams
from tsim import LATE, Memory, NewTurn, tokens
from tsim.assemble import excerpt, render
from tsim.engine import Query
from tsim.engine.late.relevance import ask, resume
from tsim.engine.stretches import Stretches
from tsim.errors import InputError
from tsim.filter import make_filter
from tsim.index import DenseIndex, Postings, WindowIndex, dense, helpers, terms
from tsim.presets import Preset
from tsim.rank import (
    Prices,
    clues,
    episode_extent,
    gather,
    information,
    inherited,
    names,
    pack,
    paths,
    reentry_values,
    relevance,
    term_weights,
    turn_values,
)
from tsim.rank.spans import LEAST
from tsim.segment import gap_confidences, interleaved, log_odds, membership, replies
from tsim.types import Hit, SpanWhy, Turn
from tsim.vectors import unit

SPAN, BOUNDARY, LINKS = LATE.settings.span, LATE.settings.boundary, LATE.settings.links
REENTRY = LATE.settings.reentry


def cosine(left, right):
    lengths = math.sqrt(float(left @ left) * float(right @ right))
    return float(left @ right) / lengths if lengths else 0.0


def drawn(count, seed=1):
    return unit(np.random.default_rng(seed).normal(size=(count, WIDTH)).astype(np.float32) + 0.4)


@relaxed
@given(streams, st.sampled_from([None, ["user"]]))
def test_helpers_change_nothing_that_is_found(stream, roles):
    feed = Feed(LATE)
    feed.add(stream)
    query = Query(text="which w0 and w1 is it?", least=0.0, only=make_filter(roles=roles))
    alone = feed.engine.search(query, feed.host)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense, "ONE_THREAD", 0)
        patch.setattr(helpers, "MANY", 0)
        assert feed.engine.search(query, feed.host) == alone


@given(st.integers(1, 40), st.integers(1, 8))
def test_a_window_scores_as_the_cosine_of_its_sum(count, width):
    vectors, query = drawn(count), drawn(1, seed=2)[0]
    rows = DenseIndex(WIDTH, vectors)
    found = WindowIndex(rows, width).scores(rows.scores(query))
    width = min(width, count)
    expected = [cosine(vectors[i : i + width].sum(0), query) for i in range(count - width + 1)]
    np.testing.assert_allclose(found, expected, atol=1e-5)


@given(st.lists(st.sampled_from("red blue red-green sea trees a".split()), max_size=30), st.data())
def test_coverage_is_what_stands_in_each_run(words, data):
    texts = [" ".join(words[n : n + 3]) for n in range(0, len(words), 3)]
    width = data.draw(st.integers(1, max(1, len(texts))))
    postings = Postings()
    for text in texts:
        postings.append(text)
    weights = {"red": 0.5, "tree": 0.3, "elsewhere": 0.2}
    expected = []
    for first in range(len(texts) - width + 1):
        counts = [term for text in texts[first : first + width] for term in terms(text)]
        times = {term: counts.count(term) for term in weights}
        expected.append(sum(w * times[t] / (times[t] + 1) for t, w in weights.items()))
        places = np.arange(first, first + width)
        for term in {*weights} & {*counts}:
            assert postings.counts(term, places).sum() == times[term]
    np.testing.assert_allclose(postings.coverage(weights, width), expected, atol=1e-6)


def test_long_threads_count_rare_and_frequent_terms_alike(monkeypatch):
    texts = [f"{'often' if n % 3 else 'x'} {'rare' if n % 97 == 5 else 'y'}" for n in range(400)]
    postings = Postings()
    for text in texts:
        postings.append(text)
    weights = {"often": 0.4, "rare": 0.6}
    short = postings.coverage(weights, 5)
    monkeypatch.setattr("tsim.index.postings.SHORT", 0)
    np.testing.assert_allclose(postings.coverage(weights, 5), short, atol=1e-6)


@given(st.integers(1, 30))
def test_log_odds_follow_the_formula(count):
    x = drawn(count)
    found, arriving = log_odds(BOUNDARY, x), log_odds(BOUNDARY, x, settled=False)
    for i in range(count):
        near, far = x[max(0, i - 2) : i].sum(0), x[max(0, i - 4) : i].sum(0)
        drift = BOUNDARY.drift_weight * cosine(far, x[i])
        for z, ahead in ((found[i], x[i : i + 2].sum(0)), (arriving[i], x[i])):
            expected = BOUNDARY.bias - BOUNDARY.sides_weight * cosine(near, ahead) - drift
            assert z == pytest.approx(expected, abs=1e-4)


@given(st.integers(1, 30))
def test_confidences_of_gaps_are_those_of_the_log_odds(count):
    x = drawn(count)
    for settled in (True, False):
        odds = log_odds(BOUNDARY, x, settled=settled)
        found = gap_confidences(BOUNDARY, x, settled=settled)
        assert found == pytest.approx([1 / (1 + math.exp(-z)) for z in odds[1:]])
    for end in range(1, count):  # on arrival, nothing later is known
        assert gap_confidences(BOUNDARY, x[: end + 1])[-1] == found[end - 1]


@relaxed
@given(st.integers(1, 25), st.randoms(use_true_random=False))
def test_values_follow_the_formula(count, rng):
    own = np.array([rng.uniform(-0.2, 2) for _ in range(count)], dtype=np.float32)
    width = min(SPAN.window_turns, count)
    windows = np.array([rng.uniform(0, 1) for _ in range(count - width + 1)], dtype=np.float32)
    confidences = np.array([rng.uniform(0, 0.9) for _ in range(count)])
    words = np.array([rng.randint(2, 300) for _ in range(count)], dtype=np.uint32)
    relevant = relevance(SPAN, own, windows)
    for t in range(count):
        near = max(windows[w] for w in range(len(windows)) if w <= t < w + width)
        assert relevant[t] == pytest.approx(own[t] + SPAN.window_weight * near, abs=1e-5)
    if relevant.max() <= LEAST:
        return
    found = turn_values(SPAN, relevant, paths(SPAN, confidences, words))
    for t in range(count):
        best = 0.0
        for a in range(count):
            kept = max(float(relevant[a] / relevant.max()), 1e-9) ** SPAN.relevance_power
            for step in range(a + 1, t + 1):
                kept *= (1 - confidences[step]) * math.exp(-float(words[step]) / SPAN.fade_words)
            for step in range(a - 1, t - 1, -1):
                kept *= (1 - confidences[step + 1]) * math.exp(
                    -float(words[step]) / SPAN.fade_words
                )
            best = max(best, kept)
        assert found[t] == pytest.approx(best, rel=1e-6)


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(2, 90)), min_size=1), st.integers(1, 400))
def test_what_is_packed_fits_to_the_word_and_the_best_comes_first(turns, budget):
    worth = np.array([value for value, _ in turns])
    words = np.array([length for _, length in turns], dtype=np.uint32)
    prices = Prices(turns=lambda places: words[places].tolist(), heading=1, mark=1, shortest=2)
    chosen = pack(worth, prices, room=budget, max_skipped=SPAN.max_skipped_turns)
    shown = [
        Hit(
            episode=0,
            turns=tuple(
                Turn(id=n, role="u", text=" ".join(["w"] * (int(words[n]) - 1))) for n in span
            ),
            score=1.0,
            why=SpanWhy(anchor=0, dense=0, lexical=0, share=1),
        )
        for span in gather(chosen, SPAN.max_skipped_turns)
    ]
    assert len(render(shown).split()) <= budget
    rates = worth.astype(np.float32)
    if words[rates.argmax()] + 1 <= budget:
        assert int(rates.argmax()) in chosen or rates.tolist().count(rates.max()) > 1


def test_a_turn_that_joins_two_spans_fits_where_no_other_would():
    prices = Prices(turns=lambda places: [2 for _ in places], heading=2, mark=2, shortest=2)
    worth = np.array([1.0, 0.5, 0.9, 0.8])
    # Two turns with a heading each take up all of it; the one between them saves a heading.
    assert pack(worth, prices, room=8, max_skipped=0) == [0, 1, 2]


def test_rare_words_weigh_more_and_names_more_still():
    assert names("So when does Bumblewick sail? Ask Mr. Orrin. Which one?") == {"bumblewick", "mr"}
    assert names('He said: "Timur may." Then Ludo\'s key') == {"ludo"}
    postings = Postings()
    for text in ["the boat leaves"] * 20 + ["the boat of bumblewick", "a sail"]:
        postings.append(text)
    plain = term_weights("does bumblewick boat sail", postings, rarity_power=2, name_factor=2)
    named = term_weights("does Bumblewick boat sail", postings, rarity_power=2, name_factor=2)
    assert sum(plain.values()) == pytest.approx(1)
    assert plain["bumblewick"] == plain["sail"] > 5 * plain["boat"]
    assert named["bumblewick"] == pytest.approx(2 * named["sail"])
    assert term_weights("the of and", postings, rarity_power=2, name_factor=2) == {}


def braided(lanes, length, seed=0):
    """Conversations that take turns at random; each keeps to a direction of its own."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(length, 48))
    left = [[lane, 0] for lane in range(lanes)]
    rows, owner, users = [], [], []
    fresh = lanes
    for _ in range(length):
        slot = left[rng.integers(lanes)]
        rows.append(centres[slot[0]] + 1.1 * rng.normal(size=48))
        owner.append(slot[0])
        users.append(slot[1] % 2 == 0)
        slot[1] += 1
        if slot[1] == 16:
            slot[:] = [fresh, 0]
            fresh += 1
    return unit(np.array(rows, dtype=np.float32)), np.array(owner), np.array(users)


def test_words_tell_as_much_as_they_are_rare():
    postings = Postings()
    for n in range(200):
        postings.append(f"line {n % 2} {'Oduya' if n == 7 else 'box'}")
    rare, common = (
        term_weights("Oduya?", postings, rarity_power=2.0, name_factor=2.0),
        {"line": 1.0},
    )
    assert information(rare, postings) == pytest.approx(postings.rarity("oduya"))
    assert information(common, postings) < 0.01 < 4 < information(rare, postings)
    mixed = {"oduya": 0.5, "line": 0.5}
    assert information(mixed, postings) == pytest.approx(information(rare, postings) / 2, abs=0.01)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.data())
def test_an_episode_reaches_as_far_as_the_topic_likely_goes_on(confidences, data):
    anchor = data.draw(st.integers(0, len(confidences) - 1))
    found = episode_extent(REENTRY, np.array(confidences), anchor)
    assert anchor in found
    for places, gap in ((range(anchor + 1, len(confidences)), 0), (range(anchor - 1, -1, -1), 1)):
        kept = 1.0
        for place in places:
            kept *= 1 - confidences[place + gap]
            inside = kept >= REENTRY.min_continuation and abs(place - anchor) <= 12
            assert (place in found) == inside
            if not inside:
                break


def test_clues_are_rare_words_that_were_not_asked_for_and_long_turns_tell_less():
    postings = Postings()
    for n in range(400):
        postings.append(f"{'Oduya' if n in (3, 9) else 'box'} {'cage' if n == 3 else 'line'}")
    rare = postings.rarity("oduya") - REENTRY.common_nats
    episode = [(["oduya", "empty", "box"], 0.25), (["cage", "oduya"], 0.5)]
    found = clues(REENTRY, episode, postings, {"cage"})
    assert found["oduya"] == pytest.approx(rare * 0.5)
    assert {*found} == {"oduya"}, "neither words that are common, asked for, nor nowhere else"


@given(st.lists(st.floats(0, 30), min_size=1, max_size=12))
def test_the_worth_of_a_link_follows_the_formula(mass):
    found = reentry_values(REENTRY, np.array(mass, dtype=np.float32))
    for at, own in enumerate(mass):
        beside = [mass[at + d] for d in (-2, -1, 1, 2) if 0 <= at + d < len(mass)]
        link = own + REENTRY.neighbour_weight * sum(beside)
        expected = REENTRY.max_value * (1 - math.exp(-link / REENTRY.saturation_nats))
        assert found[at] == pytest.approx(expected, abs=1e-5)


def test_interleaved_conversations_are_noticed_and_told_apart():
    vectors, owner, users = braided(4, 190)
    assert interleaved(LINKS, vectors)
    links = replies(LINKS, vectors, users)
    assert links.min() >= 0
    assert links.sum(1).max() <= 1 + 1e-6
    own = sum(
        links[j, k - 1]
        for j in range(190)
        for k in range(1, LINKS.max_lag + 1)
        if j >= k and owner[j] == owner[j - k]
    )
    assert own / links.sum() > 0.9
    reach, anchor = SPAN.conversation_reach, 95
    member = membership(links[None, anchor - reach : anchor + reach + 1], reach)[0]
    around = owner[anchor - reach : anchor + reach + 1] == owner[anchor]
    assert member[reach] == 1
    assert member[around].mean() > 0.9
    assert member[~around].mean() < 0.3


def test_long_turns_do_not_hide_that_conversations_are_interleaved():
    """Passages of a turn are adjacent and alike, as turns of one conversation are."""
    turns, _, _ = braided(4, 400)
    parts = [4 if turn % 12 == 0 else 1 for turn in range(400)]
    begins = np.array([part == 0 for count in parts for part in range(count)])
    vectors = turns[np.cumsum(begins) - 1]
    rows = DenseIndex(vectors.shape[1], vectors)
    known, unknown = (
        Stretches(LINKS, rows, bytearray(len(rows)), lambda low, high, flags=flags: flags[low:high])
        for flags in (begins, np.ones(len(begins), dtype=np.bool_))
    )
    for stretches in (known, unknown):
        stretches.catch_up()
    assert known.interleaved_at(150)
    assert not unknown.interleaved_at(150), "otherwise this shows nothing"


def test_plain_streams_are_left_alone():
    vectors, _, _ = braided(1, 190)
    assert not interleaved(LINKS, vectors)
    assert not interleaved(LINKS, drawn(20))


def test_what_is_inherited_along_a_conversation_follows_the_formula():
    rng = np.random.default_rng(3)
    size = 2 * SPAN.conversation_reach + 1
    member, own = rng.uniform(size=(1, size)), rng.uniform(size=(1, size))
    member[0, SPAN.conversation_reach] = 1
    words = rng.integers(2, 50, size=(1, size)).astype(float)
    found = inherited(SPAN, np.array([0.8]), member, words, own)[0]
    for place in range(size):
        low, high = sorted((place, SPAN.conversation_reach))
        crossed = [n for n in range(low, high + 1) if n != SPAN.conversation_reach]
        between = sum(member[0, n] * words[0, n] for n in crossed)
        expected = (
            0.8**SPAN.relevance_power
            * member[0, place] ** SPAN.membership_power
            * math.exp(-between / SPAN.fade_words)
        )
        expected *= (1 + SPAN.own_weight * own[0, place]) / (1 + SPAN.own_weight)
        assert found[place] == pytest.approx(expected)


@relaxed
@given(stream=streams)
def test_each_run_is_embedded_once_and_every_turn_is_shown_once(stream):
    feed = Feed(LATE)
    feed.add(stream)
    runs = feed.engine.index.runs.embedded
    texts = ["\n".join(text for _, text in stream[first:end]) for first, end in runs]
    assert feed.embedded == texts
    for budget in (30, 200, 10**6):
        hits = feed.search("w3 w7 of W9", budget=budget)
        shown = [turn for hit in hits for turn in hit.turns]
        assert len(shown) == len({*shown})
        assert all([*hit.turns] == sorted(hit.turns) for hit in hits)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert sorted(shown) == list(range(len(stream)))
    assert feed.embedded == texts, "a search embeds nothing"


@pytest.fixture
def thread(tmp_path, minilm):
    with Memory.open(tmp_path / "m.db", model=minilm, tokens="words") as memory:
        yield memory.thread("a")


TALK = [
    ("user", "The sourdough will not rise, the kitchen is cold."),
    ("model", "Put the bowl in the oven with only the light on."),
    ("user", "And how long until I can shape it?"),
    ("model", "Four hours, then overnight in the fridge."),
    ("user", "From May on, new projects at Halden run on one consumer GPU."),
    ("model", "Does that hold for fine-tuning too?"),
    ("user", "For everything but the two runs that the board signed off."),
    ("model", "Noted."),
    ("user", "Is the 7:40 to Bergen running on Sunday?"),
    ("model", "Only from the second platform, works on the line."),
    ("user", "Then I take the bus."),
]


def test_a_question_brings_the_whole_episode_and_says_why(thread):
    thread.add_many(TALK)
    hits = thread.search("Which model should Halden start with?", budget=90)
    ids = [turn.id for turn in hits[0].turns]
    assert {4, 5, 6} <= {*ids}
    why = hits[0].why
    assert isinstance(why, SpanWhy)
    assert (why.anchor, why.share) == (4, 1.0)
    assert why.words[0][0] == "halden"
    assert "turn 4 is 100% as relevant as the best" in str(why)
    assert "halden" in str(why)
    assert tokens.by_words(thread.write(hits)) <= 90


PLAIN_QUESTIONS = {
    "How many GPUs may new projects at Halden use?": 4,
    "Halden": 4,
    "What did the board sign off?": 6,
    "Where should I put the bowl of sourdough?": 1,
    "What about fine-tuning?": 5,
    "Does the Bergen train run on Sunday?": 8,
    "How do I get there if the train does not run?": 10,
    "the fridge overnight": 3,
}


@pytest.mark.parametrize("others", [0, 100, 1000])
def test_plain_questions_are_answered_about_as_often_as_by_the_nearest_turns(
    tmp_path, minilm, others
):
    with Memory.open(tmp_path / "m.db", model=minilm, tokens="words") as memory:
        thread = memory.thread("a")
        thread.add_many([*_chat(others), *TALK, *_chat(others)])
        texts = [turn.text for turn in thread.turns()]
        vectors = minilm.embed(texts)
        found, nearest = set(), set()
        for question, place in PLAIN_QUESTIONS.items():
            shown = {t.id for hit in thread.search(question, budget=50) for t in hit.turns}
            ranked = np.argsort(-vectors @ minilm.embed_query(question), kind="stable")
            left, packed = tokens.words_within(50), set()
            for turn in ranked.tolist():
                price = len(texts[turn].split()) + 2  # the speaker, and a heading
                if price <= left:
                    packed.add(turn)
                    left -= price
            found |= {question} if others + place in shown else set()
            nearest |= {question} if others + place in packed else set()
        # One of eight either way says nothing; weights that misjudge such threads lose half.
        assert len(found) >= len(nearest) - 1, sorted(nearest - found)


def test_a_context_keeps_the_order_of_the_conversation_and_marks_gaps(thread):
    long = " ".join(["and then the oven and the light and the bowl"] * 40)
    thread.add_many([*TALK[:2], ("user", long), *TALK[2:4], *TALK[8:]])
    text = thread.context("When do I shape the sourdough?", budget=60)
    places = [text.find(said) for _, said in (TALK[0], TALK[2], TALK[3])]
    assert -1 not in places
    assert places == sorted(places)
    assert "…" in text
    assert long not in text


def test_episodes_are_cut_anew_at_any_threshold(thread):
    thread.add_many(TALK)
    counts = [len(thread.episodes(threshold=t)) for t in (0, 0.1, 0.25, 0.6, 1)]
    assert counts == sorted(counts, reverse=True)
    assert (counts[0], counts[-1]) == (len(TALK), 1)
    firsts = [episode.turns[0].id for episode in thread.episodes(threshold=0.1)]
    assert 4 in firsts
    for wrong in (-0.1, 1.5, math.nan):
        with pytest.raises(InputError, match="between 0 and 1"):
            thread.episodes(threshold=wrong)


@pytest.fixture
def braid(tmp_path):
    """A search of a braided thread added in pieces, and the conversation of each turn."""
    vectors, owner, users = braided(4, 230, seed=4)

    class Given:
        identity, dimension = "given", 48

        def embed(self, texts):
            # A run of turns is as similar to each of them as their mean.
            said = [[int(line.split()[1]) for line in text.split("\n")] for text in texts]
            return unit(np.stack([vectors[numbers].mean(0) for numbers in said]))

        def embed_query(self, text):
            return self.embed([text])[0]

    turns = [
        NewTurn(role="user" if users[n] else "model", text=f"turn {n} said so much more")
        for n in range(230)
    ]

    def search(pieces):
        with Memory.open(tmp_path / f"{pieces}.db", model=Given(), tokens="words") as memory:
            thread = memory.thread("a")
            for first in range(0, 230, pieces):
                thread.add_many(turns[first : first + pieces])
                thread.search("turn 0", budget=50)
            return thread.search("turn 120", budget=100, min_relevance=0)

    return search, owner


def test_a_braided_thread_is_searched_alike_whatever_way_the_turns_came(braid):
    search, _ = braid
    assert search(230) == search(37)


def test_a_braided_thread_gives_each_conversation_its_own(braid):
    """The engine follows links where streams are mixed."""
    search, owner = braid
    shown = [turn.id for hit in search(230) for turn in hit.turns]
    assert np.mean(owner[shown] == owner[120]) > 0.6


def test_the_most_relevant_turn_is_shown_even_if_it_must_be_cut(thread):
    pages = "The Zanzibar contract sets a penalty of 4711 euros. " + "And so on and on. " * 300
    thread.add_many([*TALK, ("user", pages)])
    for budget in (None, 200, 30):
        hits = thread.search("What penalty does the Zanzibar contract set?", budget=budget)
        assert any("Zanzibar contract" in excerpt(turn) for turn in hits[0].turns)
        assert tokens.by_words(thread.write(hits)) <= (budget or 1100)


def test_a_search_that_is_interrupted_harms_no_later_one(thread, monkeypatch):
    thread.add_many(TALK)
    expected = thread.search("Halden")
    thread._engine = None
    seen = []

    def stopped(self, text, append=Postings.append):
        append(self, text)
        seen.append(text)
        if len(seen) == 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Postings, "append", stopped)
        with pytest.raises(KeyboardInterrupt):
            thread.search("Halden")
    assert thread.search("Halden") == expected


def test_forgotten_turns_are_marked_and_paid_for(thread):
    thread.add_many(TALK * 6)
    for turn in (23, 26, 41):
        thread.forget(turn=turn)
    for budget in range(60, 400, 7):
        hits = thread.search("When does the sourdough rise?", budget=budget, min_relevance=0)
        length = tokens.by_words(thread.write(hits))
        assert budget - 30 < length <= budget


def test_a_question_about_nothing_still_ranks_and_explains(tmp_path):
    class Against:
        identity, dimension = "against", WIDTH

        def embed(self, texts):
            return embed(texts)

        def embed_query(self, text):
            return -embed(["said 7"])[0]

    with Memory.open(tmp_path / "m.db", model=Against(), tokens="words") as memory:
        memory.thread("a").add_many([("user", f"said {n}") for n in range(12)])
        for hit in memory.thread("a").search("elsewhere", budget=20):
            assert 0 <= hit.why.share <= 1


def test_words_that_are_said_to_stand_in_a_span_do(thread):
    long = "the sourdough contract " * 80
    thread.add_many([*TALK[:2], ("user", long), *TALK[2:]])
    for hit in thread.search("Which contract for the sourdough?", budget=80)[1:]:
        found = {term for turn in hit.turns for term in terms(turn.text)}
        assert {word for word, _ in hit.why.words} <= found


RULE = [
    ("user", "Returns at Kedichem: opened cartons stand by the gate until Oduya collects them."),
    ("model", "Every day?"),
    ("user", "Every Thursday, with his van."),
]
CHANGE = [
    ("user", "So Oduya retired. The van is sold as well."),
    ("model", "Who takes over?"),
    ("user", "Nobody, the maker sends a courier on Mondays."),
]
ASIDES = (
    "Tomatoes and roses want water every evening.",
    "The train leaves from platform two.",
    "This line of the tax form asks for income.",
    "Second tenors sing flat in that bar.",
    "Whisk egg whites for half a minute.",
    "My boiler shows an error once more.",
)


def _chat(count):
    return [(("user", "model")[n % 2], ASIDES[n // 2 % len(ASIDES)]) for n in range(count)]


def test_a_topic_that_comes_up_again_comes_along_and_says_so(tmp_path, minilm, monkeypatch):
    path = tmp_path / "m.db"
    once = replace(LATE.settings, reentry=replace(REENTRY, max_value=0.0))
    with Memory.open(path, model=minilm, tokens="words") as memory:
        memory.thread("a").add_many([*_chat(60), *RULE, *_chat(800), *CHANGE, *_chat(60)])

    def ask(preset, budget=400):
        with Memory.open(path, model=minilm, preset=preset, rebuild=True, tokens="words") as memory:
            thread = memory.thread("a")
            hits = thread.search("What do I do with an opened carton at Kedichem?", budget=budget)
            assert tokens.by_words(thread.write(hits)) <= budget
            return {turn.id: hit.why for hit in hits for turn in hit.turns}

    plain = ask(LATE)
    assert {60, 62, 863, 865} <= {*plain}
    assert plain[863].resumes == 60
    assert [word for word, _ in plain[863].clues][:2] == ["oduya", "van"]
    assert "it shares rare words with the topic of turn 60 (oduya, van" in str(plain[863])
    assert plain[60].resumes is None
    monkeypatch.setattr("tsim.engine.stretches.interleaved", lambda *_: True)
    monkeypatch.setattr(
        "tsim.engine.late.relevance.episode_extent", None
    )  # along the stream, nothing holds together
    assert {60, 62, 863} <= {*ask(LATE)}, "the same where conversations are interleaved"
    monkeypatch.undo()
    assert {60, 62} <= {*ask(Preset(name="late-once", settings=once))} - {863, 864, 865}


class Sided:
    """Vectors by first word: for the question, against it, or beside it."""

    identity, dimension = "sided", 3
    reads = 512
    sides: ClassVar = {"for": (1.0, 0.0, 0.0), "against": (-0.5, 1.0, 0.0)}

    def count_tokens(self, texts):
        return [1] * len(texts)  # no turn is long enough to be divided

    def embed(self, texts):
        rows = [self.sides.get(text.split()[0], (-0.6, 0.0, 1.0)) for text in texts]
        return unit(np.array(rows, dtype=np.float32))

    def embed_query(self, text):
        return self.embed([text])[0]


def test_a_span_that_nothing_links_is_not_said_to_resume(tmp_path):
    far = [("user", "for one"), *[("model", "long " * 200)] * 12, *[("user", "against")] * 3]
    with Memory.open(tmp_path / "m.db", model=Sided(), tokens="words") as memory:
        memory.thread("a").add_many(far)
        hits = memory.thread("a").search("for all", budget=60)
    assert [[turn.id for turn in hit.turns] for hit in hits] == [[0], [13, 14, 15]]
    assert [hit.why.resumes for hit in hits] == [None, None]


def test_a_span_that_resumes_names_the_words_though_they_stand_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr("tsim.engine.stretches.interleaved", lambda *_: False)
    talk = [("user", "for Oduya"), *[("model", "long " * 100)] * 300]
    talk[199:201] = [("user", "beside"), ("model", "Oduya " + "said " * 100)]
    with Memory.open(tmp_path / "m.db", model=Sided(), tokens="words") as memory:
        memory.thread("a").add_many(talk)
        hits = memory.thread("a").search("for all", budget=100)
    shown = {turn.id: hit.why for hit in hits for turn in hit.turns}
    assert {*shown} == {0, 199}
    assert (shown[199].resumes, [word for word, _ in shown[199].clues]) == (0, ["oduya"])


def test_the_engine_raises_turns_by_the_formula_and_none_of_the_episode(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "tsim.engine.late.relevance.episode_extent", lambda _, __, at: range(at, at + 3)
    )
    monkeypatch.setattr("tsim.engine.stretches.interleaved", lambda *_: False)

    def spied(*arguments):
        asked = resume(*arguments)
        seen.append(asked.relevant)
        return asked

    monkeypatch.setattr("tsim.engine.late.engine.resume", spied)
    texts = ["beside it"] * 300
    texts[100] = "for Oduya and Ketema " + "beside " * 80
    texts[103] = "beside Oduya, Oduya and Ketema"
    texts[200] = "beside Oduya " + "beside " * 130
    once = replace(LATE.settings, reentry=replace(REENTRY, max_value=0.0))
    for preset in (LATE, Preset(name="late-once", settings=once)):
        with Memory.open(
            tmp_path / preset.name, model=Sided(), preset=preset, tokens="words"
        ) as memory:
            memory.thread("a").add_many([("user", text) for text in texts])
            memory.thread("a").search("for all of Ketema")
    raised, plain = seen
    short = [
        min(1, SPAN.long_turn_words / (1 + len(text.split()))) for text in texts
    ]  # the speaker counts
    clue = (math.log(1 + 297.5 / 3.5) - REENTRY.common_nats) * short[100]
    mass = {103: short[103] * clue * 2 / 3, 200: short[200] * clue / 2}
    for place in range(300):
        link = sum(
            tells * (1 if at == place else REENTRY.neighbour_weight)
            for at, tells in mass.items()
            if abs(at - place) <= 2 and place not in range(100, 103)
        )
        worth = REENTRY.max_value * (1 - math.exp(-link / REENTRY.saturation_nats))
        expected = (
            max(plain[place], plain.max() * worth ** (1 / SPAN.relevance_power))
            if link
            else plain[place]
        )
        assert raised[place] == pytest.approx(expected, rel=1e-3)
    assert np.flatnonzero(raised > plain).tolist() == [103, 104, 105, *range(198, 203)]


def test_words_that_tell_more_weigh_more_beside_meaning(tmp_path):
    with Memory.open(tmp_path / "m.db", model=Sided(), tokens="words") as memory:
        thread = memory.thread("a")
        thread.add_many([("user", f"against {'Oduya' if n == 7 else 'all'}") for n in range(40)])
        thread.search("for Oduya")
        for text, place in (("for Oduya", 7), ("for all", 8)):
            index = thread._engine.index
            asked = ask(SPAN, index, Query(text=text), Sided().embed_query)
            weights, postings = asked.weights, index.postings
            nats = sum(share * postings.rarity(term) for term, share in weights.items())
            held = weights[text.split()[1].lower()] / 2
            assert asked.own[place] - asked.similar[place] == pytest.approx(
                0.35 * nats * held, rel=1e-4
            )
