from hypothesis import given
from hypothesis import strategies as st

from tsim import tokens


@given(st.integers(0, 10**9))
def test_tokens_are_words_times_one_point_three_rounded(words):
    assert abs(10 * tokens.from_words(words) - 13 * words) <= 5


@given(st.integers(0, 10**6))
def test_words_within_a_budget_are_the_most_that_fit(budget):
    most = tokens.words_within(budget)
    assert tokens.from_words(most) <= budget or most == 0
    assert tokens.from_words(most + 1) > budget


def test_words_are_separated_by_any_whitespace():
    assert tokens.estimate("one two\nthree\tfour  five") == 7
    assert tokens.estimate("") == 0
