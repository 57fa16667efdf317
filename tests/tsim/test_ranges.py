"""What is looked up in overlapping ranges is as if all of them were looked at."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tsim.index import Ranges

PLACES = 30


def ranges(runs: list[tuple[int, int]]) -> Ranges:
    every = np.array(runs, dtype=np.int64).reshape(-1, 2)
    return Ranges.of(every[:, 0], every[:, 1])


run = st.tuples(st.integers(0, PLACES - 1), st.integers(1, 9)).map(
    lambda one: (one[0], min(PLACES, sum(one)))
)


@given(st.lists(run, max_size=20), st.lists(st.integers(0, PLACES - 1), max_size=9))
def test_ranges_at_places(runs, places):
    found = ranges(runs).containing(np.array(places, dtype=np.int64))
    wanted = [(n, k) for n, (a, b) in enumerate(runs) for k, at in enumerate(places) if a <= at < b]
    assert sorted(zip(*(one.tolist() for one in found), strict=True)) == wanted


@given(st.lists(run, max_size=20), st.lists(st.integers(-9, 9), min_size=PLACES, max_size=PLACES))
def test_the_sum_and_the_highest_value_of_each_range(runs, values):
    every = np.array(values)
    found = ranges(runs)
    assert found.sums(every).tolist() == [sum(values[a:b]) for a, b in runs]
    for real in (every.astype(np.float32), every.astype(np.float64)):
        assert found.highest(real).tolist() == [max(values[a:b]) for a, b in runs]


@given(
    st.lists(run, max_size=20),
    st.dictionaries(st.integers(0, PLACES - 1), st.integers(1, 9)),
    st.sampled_from([PLACES, 1000 * PLACES]),  # looked up along the thread, or each place
)
def test_the_sum_of_values_at_some_places(runs, values, count):
    places = np.array(sorted(values), dtype=np.int64)
    each = np.array([values[place] for place in sorted(values)], dtype=np.uint32)
    wanted = [sum(n for place, n in values.items() if a <= place < b) for a, b in runs]
    assert ranges(runs).sums_at(places, each, count).tolist() == wanted


@given(
    st.lists(st.tuples(run, st.floats(-5, 5)), max_size=20),
    st.lists(st.floats(-5, 5), min_size=PLACES, max_size=PLACES),
)
def test_places_are_raised_to_the_highest_range_around_them(given_runs, least):
    runs, values = [one for one, _ in given_runs], [value for _, value in given_runs]
    found = ranges(runs).raised(np.array(values), np.array(least))
    for place in range(PLACES):
        around = [v for (a, b), v in zip(runs, values, strict=True) if a <= place < b]
        assert found[place] == max([least[place], *around])
