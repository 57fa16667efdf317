"""The window: whatever the messages are, within the budget, in order, and nothing torn apart."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsim.adapters.window import OVERHEAD, Said, besides, cost, latest, price
from tsim.tokens import ESTIMATE, WORDS
from tsim.types import Hit, SpanWhy, Turn, Why

NAMES = st.frozensets(st.sampled_from("abc"), max_size=2)
TEXTS = st.text("ab cd\n.", max_size=30)


def messages(count: int):
    """Messages in any order of calls, results, reasoning and users; ids are used again."""
    one = st.builds(
        dict, text=TEXTS, calls=NAMES, results=NAMES, opens=st.booleans(), leads=st.booleans()
    )
    return st.lists(one, max_size=count).map(
        lambda found: [Said(message=n, turn=n, **fields) for n, fields in enumerate(found)]
    )


def turn(number: int, text: str) -> Turn:
    return Turn(id=number, role="user", text=text)


def hit(*turns: Turn, spans: bool = True) -> Hit:
    why = SpanWhy(anchor=turns[0].id, dense=0.5, lexical=0.5, share=1.0) if spans else Why()
    return Hit(episode=0, turns=turns, score=1.0, why=why, relevance=0.5)


def user(number: int, text: str = "one two") -> Said[int]:
    return Said(message=number, text=text, turn=number, opens=True)


def model(number: int, text: str = "one two", **more) -> Said[int]:
    return Said(message=number, text=text, turn=number, **more)


def call(number: int, *names: str, **more) -> Said[int]:
    return model(number, "call", calls=frozenset(names), **more)


def result(number: int, *names: str) -> Said[int]:
    return model(number, "result", results=frozenset(names))


def shown(said, budget=1000, measure=WORDS) -> list[int]:
    return [one.message for one in latest(said, budget=budget, measure=measure)]


@given(messages(12), st.integers(-5, 120), st.sampled_from([ESTIMATE, WORDS]))
def test_the_latest_messages_are_within_the_budget_in_order_and_whole(said, budget, measure):
    chosen = latest(said, budget=budget, measure=measure)
    numbers = [one.message for one in chosen]
    assert numbers == sorted({*numbers})
    assert not chosen or cost(chosen, measure) <= budget
    assert not chosen or chosen[0].opens
    waiting: dict[str, int] = {}
    for one in chosen:
        for name in one.results:
            assert waiting.pop(name, 0)
        for name in one.calls:
            assert name not in waiting
            waiting[name] = 1
    assert not waiting
    for one, after in pairwise(said):
        if one.leads and one in chosen:
            assert after in chosen
    assert not any(one.leads and one is said[-1] for one in chosen)


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 20), TEXTS), min_size=1, max_size=4), max_size=5),
    messages(6),
    st.integers(-5, 150),
    st.sampled_from(["", "What was said before:\n\n"]),
    st.booleans(),
)
def test_what_was_found_is_within_the_budget_and_says_nothing_twice(
    found, said, budget, preamble, spans
):
    hits = [
        hit(*(turn(n, text) for n, text in sorted(dict(turns).items())), spans=spans)
        for turns in found
    ]
    beside = besides(hits, said, budget=budget, preamble=preamble)
    assert not beside.text or price(beside.text) <= budget
    assert bool(beside.text) == bool(beside.hits)
    assert beside.text.startswith(preamble) or not beside.text
    there = {one.turn for one in said}
    assert all(one.id not in there for hit in beside.hits for one in hit.turns)


def test_the_last_messages_that_fit_begin_where_a_user_speaks():
    said = [user(0), model(1), user(2), model(3), user(4), model(5)]
    each = cost(said[:1], WORDS)
    assert shown(said, 6 * each) == [0, 1, 2, 3, 4, 5]
    assert shown(said, 5 * each) == [2, 3, 4, 5]
    assert shown(said, 2 * each) == [4, 5]
    assert shown(said, each - 1) == []


def test_calls_and_results_stay_together_or_are_left_out_together():
    said = [user(0), call(1, "a", "b"), result(2, "b"), result(3, "a"), model(4)]
    assert shown(said) == [0, 1, 2, 3, 4]
    assert shown(said[:3]) == [0]  # a is never answered
    assert shown([user(0), result(1, "a"), model(2)]) == [0, 2]
    assert shown([user(0), call(1, "a"), call(2, "a"), result(3, "a")]) == [0, 2, 3]


def test_ids_that_are_used_again_belong_to_the_call_before_them():
    said = [user(0), call(1, "a"), result(2, "a"), user(3), call(4, "a"), result(5, "a")]
    assert shown(said) == [0, 1, 2, 3, 4, 5]
    assert shown(said, cost(said[3:], WORDS)) == [3, 4, 5]


def test_reasoning_goes_with_the_message_that_it_leads_to():
    said = [user(0), model(1, leads=True), call(2, "a"), result(3, "a"), model(4, leads=True)]
    assert shown(said) == [0, 1, 2, 3]
    assert shown(said[:3]) == [0]


def test_of_a_long_exchange_the_beginning_and_the_end_are_kept():
    said = [user(0), *(one for n in range(1, 20, 2) for one in (call(n, "a"), result(n + 1, "a")))]
    said.append(model(21))
    assert shown(said, cost(said[-3:] + said[:1], WORDS)) == [0, 19, 20, 21]
    assert shown(said, cost(said[-3:], WORDS)) == [0, 21]


def test_turns_without_a_known_number_hide_what_says_the_same():
    beside = besides(
        [hit(turn(1, "one gpu"), turn(2, "noted"))],
        [Said(message=None, text="one gpu")],
        budget=100,
    )
    assert [one.id for one in beside.hits[0].turns] == [2]
    assert beside.text == "[2]\nuser: noted"


def test_a_turn_that_is_too_long_is_cut_around_what_was_asked():
    long = "word " * 400 + "the gpu rule" + " word" * 400
    beside = besides([hit(turn(1, long))], [], budget=60, terms=["gpu"])
    assert "gpu rule" in beside.text
    assert price(beside.text) <= 60


@pytest.mark.parametrize("budget", [0, -1, OVERHEAD])
def test_nothing_fits_into_nothing(budget):
    assert besides([hit(turn(1, "one gpu"))], [], budget=budget).text == ""
    assert latest([user(0, "")], budget=budget - 1) == []
