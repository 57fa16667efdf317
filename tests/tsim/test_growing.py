"""What is kept while a thread grows is what would be computed anew."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tsim.engine.late.growing import Growing


@given(st.lists(st.integers(0, 40), max_size=12), st.integers(0, 2))
def test_values_are_kept_but_for_those_that_may_change(counts, changing):
    values = Growing[np.float64](changing)
    computed = []
    grown = 0
    for count in counts:

        def make(first, last, count=count):
            computed.append(first)
            # The last values depend on how many there are.
            return np.array([n + (n >= count - changing) / 2 for n in range(first, last)])

        if count < grown:
            values.cut(count)
        found = values.upto(count, make)
        assert found.tolist() == (make(0, count).tolist() if count else [])
        if computed and 0 < grown < count:
            assert computed[-2] == max(0, grown - changing)
        grown = count
