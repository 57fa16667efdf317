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
    nothing = np.zeros(len(every))
    return RunTable(
        begins=begins,
        ends=ends,
        opens=nothing,
        closes=nothing,
        words=nothing,
        length=nothing,
        owners=np.repeat(np.arange(len(every)), ends - begins),
        places=consecutive(begins, ends - begins),
        open_vectors=np.zeros((0, 2), dtype=np.float32),
        tells=nothing,
        excess=nothing,
        order=Order.of(begins, ends),
    )


run = st.tuples(st.integers(0, PLACES - 1), st.integers(1, 9)).map(
    lambda one: (one[0], min(PLACES, sum(one)))
)


@given(st.lists(run, max_size=20), st.integers(0, PLACES - 1), st.integers(1, PLACES))
def test_runs_that_overlap_a_range(runs, first, length):
    last = min(PLACES, first + length)
    wanted = [n for n, (begin, end) in enumerate(runs) if begin < last and end > first]
    assert table(runs).overlapping(first, last).tolist() == wanted
