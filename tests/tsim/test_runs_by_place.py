"""The runs at a place are found as if all of them were looked at."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tsim.engine.late.runs import Order, RunTable
from tsim.index.taking import consecutive

PLACES = 30


def table(runs: list[tuple[int, int]]) -> RunTable:
    every = np.array(runs, dtype=np.int64).reshape(-1, 2)
    begins, ends = every[:, 0], every[:, 1]
    owners = np.repeat(np.arange(len(every)), ends - begins)
    places = consecutive(begins, ends - begins)
    nothing = np.zeros(len(every))
    return RunTable(
        begins=begins,
        ends=ends,
        opens=nothing,
        closes=nothing,
        words=nothing,
        length=nothing,
        owners=owners,
        places=places,
        open_vectors=np.zeros((0, 2), dtype=np.float32),
        tells=nothing,
        excess=nothing,
        order=Order.of(begins, ends, owners, places),
    )


run = st.tuples(st.integers(0, PLACES - 1), st.integers(1, 9)).map(
    lambda one: (one[0], min(PLACES, sum(one)))
)


@given(st.lists(run, max_size=20), st.integers(0, PLACES - 1), st.integers(1, PLACES))
def test_runs_that_overlap_a_range(runs, first, length):
    last = min(PLACES, first + length)
    wanted = [n for n, (begin, end) in enumerate(runs) if begin < last and end > first]
    assert table(runs).overlapping(first, last).tolist() == wanted


@given(st.lists(run, max_size=20), st.integers(0, 99), st.sampled_from([np.float32, np.float64]))
def test_turns_are_worth_at_least_what_their_runs_are(runs, seed, kind):
    rng = np.random.default_rng(seed)
    own, each = rng.normal(size=PLACES).astype(kind), rng.normal(size=len(runs)).astype(kind)
    wanted = [
        max([own[place], *(each[n] for n, (begin, end) in enumerate(runs) if begin <= place < end)])
        for place in range(PLACES)
    ]
    found = table(runs).raised(own, each)
    assert found.dtype == kind
    assert found.tolist() == [float(value) for value in wanted]
