from hypothesis import given
from hypothesis import strategies as st

from tsim import tokens


@given(st.integers(0, 10**9))
def test_tokens_are_words_times_one_point_three_rounded(words):
    assert abs(10 * tokens.from_words(words) - 13 * words) <= 5


def test_words_are_separated_by_any_whitespace():
    assert tokens.estimate("one two\nthree\tfour  five") == 7
    assert tokens.estimate("") == 0
