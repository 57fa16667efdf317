"""How good probabilities are: calibrated, and higher where they should be."""

import random
from collections.abc import Sequence
from itertools import pairwise

BINS = 10
DRAWS = 200


def calibration_error(
    probabilities: Sequence[float], outcomes: Sequence[bool], bins: int = BINS
) -> float:
    """Expected calibration error, with bins of equal count.

    Cases are sorted by probability and cut into bins whose sizes differ by one at most. The error
    is the mean distance between the mean probability and the share of true outcomes of a bin,
    weighted by its size (Naeini et al., 2015). Cases with the same probability count with their
    mean outcome, so that their order does not matter.

    Raises:
        ValueError: The sequences differ in length or are empty.
    """
    if not probabilities or len(probabilities) != len(outcomes):
        raise ValueError(
            f"expected as many outcomes as probabilities, found {len(outcomes)} and "
            f"{len(probabilities)}"
        )
    totals: dict[float, tuple[int, int]] = {}
    for value, outcome in zip(probabilities, outcomes, strict=True):
        right, count = totals.get(value, (0, 0))
        totals[value] = right + outcome, count + 1
    ordered = sorted(probabilities)
    observed = [totals[value][0] / totals[value][1] for value in ordered]
    count = len(ordered)
    edges = [number * count // bins for number in range(bins + 1)]
    gaps = (
        abs(sum(ordered[start:end]) - sum(observed[start:end])) for start, end in pairwise(edges)
    )
    return sum(gaps) / count


def exact_error(probabilities: Sequence[float], *, seed: int, draws: int = DRAWS) -> float:
    """Returns the calibration error to expect if the probabilities are exactly right.

    It is not 0, because the share of true outcomes of a bin varies by chance: with ten bins of 30
    cases of probability 0.5 it is 0.07. An error near this value says nothing against the
    probabilities.

    Args:
        probabilities: The probabilities; outcomes are drawn with them.
        seed: Of the draws.
        draws: How often outcomes are drawn.
    """
    rng = random.Random(seed)
    drawn = ([rng.random() < value for value in probabilities] for _ in range(draws))
    return sum(calibration_error(probabilities, outcomes) for outcomes in drawn) / draws


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Area under the ROC curve: how often a positive case scores higher; ties count a half.

    Raises:
        ValueError: One of the sequences is empty.
    """
    if not positive or not negative:
        raise ValueError(
            f"expected cases of both kinds, found {len(positive)} positive and {len(negative)} "
            "negative"
        )
    cases = sorted([(value, True) for value in positive] + [(value, False) for value in negative])
    wins, below, start = 0.0, 0, 0
    while start < len(cases):
        end = start
        while end < len(cases) and cases[end][0] == cases[start][0]:
            end += 1
        high = sum(kind for _, kind in cases[start:end])
        low = end - start - high
        wins += high * (below + low / 2)
        below += low
        start = end
    return wins / (len(positive) * len(negative))
