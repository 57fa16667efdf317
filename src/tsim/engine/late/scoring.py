"""Scoring: the probability of every run and turn, and from it the value of every turn.

The value of a turn is the probability per word that it adds to a context: that of a turn divided by
its length, or that of a run divided by the run's length, whichever is higher; for a passage of a
long turn, which is both, their sum. Probabilities are
flattened first: they are fitted to find one place, and a context has room for many. Turns next to
a run inherit a share of its value, reduced at every gap where a new topic may begin, because the
run may end too early. The turns before and after a single turn inherit a share of its value as
well: what was asked for may be in the reply, and a turn alone is hard to understand.

Long turns are less probable, as far as the threads can tell that weights are fitted on: what is
asked is mostly about what people say in short turns. Where it is about what an assistant wrote, it
is in long ones. So little of it counts in packing, where the length of a turn is its price anyway.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from tsim.engine.late.columns import run_columns, turn_columns
from tsim.engine.late.index import OVERHEAD, ThreadIndex
from tsim.engine.late.relevance import TINY, Asked
from tsim.engine.late.renewing import Renewal, renew, renewals
from tsim.engine.late.runs import RunTable
from tsim.index.helpers import begun
from tsim.index.taking import consecutive
from tsim.rank import SpanSettings, Values, spread
from tsim.rank.fitted import (
    FLATTENING,
    RUN_FEATURES,
    TURN_FEATURES,
    Asking,
    Column,
    Columns,
    FittedSettings,
    flattened,
    logits,
    presence_features,
    probability,
    softmax,
)
from tsim.vectors import Vector
from tsim.words import extent

# Share of a single turn's value that the turns beside it inherit, if their speakers always talk
# about themselves; less if they rarely do. Chosen on s1 as the most that costs hardly anything
# there, where the evidence is never beside a turn that says the same.
BESIDE_SHARE = 0.15
# Share of the highest probability that turns get along the topic or, where conversations are
# interleaved, along the conversation of the places with the question's words, times the square of
# how far it is covered by them, and the words of a turn by which it is divided. Chosen on s1: what
# is needed besides the likeliest turn is more often near it than far away.
ALONG_SHARE, INTERLEAVED_SHARE = 0.3, 2.0
TURN_WORDS = 20.0
# The feature of long turns, and the share of it that counts in packing. Chosen on s1 between facts
# in passing, which lose without it, and long answers, which lose with it.
EXCESS, LENGTH_SHARE = "excess length", 0.25
# Log odds that are added to runs and turns of the time that a question is about.
# Chosen on half of LongMemEval's temporal and knowledge-update questions.
TIME_WEIGHT = 4.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observed:
    """A question's features in a thread.

    Attributes:
        asking: The question as a whole.
        table: The runs.
        eligible: Which turns may be returned; only these are candidates.
        interleaved: Which turns are in interleaved stretches.
        held: How many turns of each run are eligible.
        words: How many words these have.
        whole: Which runs have eligible turns and lie outside interleaved stretches; only these are
            candidates.
        timely: How well the time of each turn suits the question, from 0 to 1, if it is known.
        renewed: The turns that say nearly the same as earlier ones, and these.
        runs: What the features of these runs are computed from.
        turns: The same, of all turns.
    """

    asking: Asking
    table: RunTable
    eligible: npt.NDArray[np.bool_]
    interleaved: npt.NDArray[np.bool_]
    held: npt.NDArray[np.int64]
    words: Values
    whole: npt.NDArray[np.bool_]
    timely: Column | None
    renewed: list[Renewal]
    runs: Columns
    turns: Columns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """The probabilities of a thread's parts for a question.

    Attributes:
        settings: The weights.
        observed: The features.
        runs: P(run) of every run; 0 in interleaved stretches.
        turns: P(turn) of every turn.
        flat_runs: The flattened probability of every run, from which values are computed.
        flat_turns: The same of every turn.
        timely: The log odds that were added to every turn for its time, and to every run: those of
            its likeliest turn; None if the question is about no time.
        question: The features of the presence of what was asked.
        presence: Probability that the thread holds what was asked.
    """

    settings: FittedSettings
    observed: Observed
    runs: Column
    turns: Column
    flat_runs: Column
    flat_turns: Column
    timely: tuple[Column, Column] | None
    question: list[float]
    presence: float


def observe(
    span: SpanSettings, index: ThreadIndex, asked: Asked, closed: Callable[[], Vector]
) -> Observed:
    """Computes the features of a question in a thread; at least one turn must be eligible.

    Args:
        span: Constants of values and lengths.
        index: The thread.
        asked: The scores of every turn for the question.
        closed: Returns the cosines of the closed runs that were embedded.
    """
    table, eligible = index.run_table(), asked.eligible
    if everything := bool(eligible.all()):
        held, words = table.ends - table.begins, table.words
    else:
        held = table.ranges.sums(eligible)
        words = table.ranges.sums(np.where(eligible, index.lengths, 0)).astype(np.float64)
    some = slice(None) if everything else eligible
    similar = asked.similar
    cosines = table.cosines(similar, closed())
    interleaved = index.stretches.interleaved()
    whole = held > 0
    if interleaved.any():
        whole &= ~(interleaved[table.begins] | interleaved[table.ends - 1])
    candidates = slice(None) if whole.all() else whole
    of_runs = begun(partial(run_columns, index, asked, table, cosines), len(index))
    highest = table.ranges.raised(cosines, similar)
    asking = Asking(
        length=float(np.log1p(extent(asked.weights))),
        covered=asked.covered,
        rarity=asked.rarity,
        run_cosine=max(float(highest[some].max()), asked.window_cosine),
        turn_cosine=float(similar[some].max()),
        thread_length=float(np.log1p(np.count_nonzero(eligible))),
        run_peak=_peak(cosines if everything else cosines[held > 0]),
        turn_peak=_peak(similar[some]),
    )
    of_turns = turn_columns(span, index, asked, highest, interleaved)
    return Observed(
        asking=asking,
        table=table,
        eligible=eligible,
        interleaved=interleaved,
        held=held,
        words=words,
        whole=whole,
        timely=asked.timely,
        renewed=renewals(index, asked),
        runs={name: column[candidates] for name, column in of_runs().items()},
        turns=of_turns,
    )


def score(settings: FittedSettings, observed: Observed) -> Scores:
    """Computes the probability of every run and turn."""
    asking = observed.asking
    run_logits = logits(RUN_FEATURES, settings.run, asking, observed.runs)
    fitted = logits(TURN_FEATURES, settings.turn, asking, observed.turns)
    turn_logits = renew(fitted, observed.renewed)
    in_packing = renew(_mind_length_less(settings, observed, fitted), observed.renewed)
    if not observed.eligible.all():
        turn_logits[~observed.eligible] = in_packing[~observed.eligible] = -np.inf
    likely = np.concatenate([run_logits, turn_logits])
    timely = None
    if observed.timely is not None and observed.timely.any():
        of_turns = TIME_WEIGHT * observed.timely
        of_runs = observed.table.ranges.highest(of_turns)
        likely += np.concatenate([of_runs[observed.whole], of_turns])
        timely = of_turns, of_runs
    chances = softmax(likely)
    flat = flattened(chances)
    total = float(flat.sum())
    count = len(run_logits)
    changed = np.flatnonzero(in_packing != turn_logits)
    flat[count:][changed] *= np.exp(FLATTENING * (in_packing[changed] - turn_logits[changed]))
    flat /= flat.sum()
    runs, flat_runs = chances[:count], flat[:count]
    if count < len(observed.whole):
        runs, flat_runs = np.zeros((2, len(observed.whole)))
        runs[observed.whole], flat_runs[observed.whole] = chances[:count], flat[:count]
    question = presence_features(
        asking,
        spread=math.log(total),
        best_run=float(run_logits.max()) if len(run_logits) else 0.0,
        best_turn=float(turn_logits.max()),
    )
    return Scores(
        settings=settings,
        observed=observed,
        runs=runs,
        turns=chances[count:],
        flat_runs=flat_runs,
        flat_turns=flat[count:],
        timely=timely,
        question=question,
        presence=probability(settings.presence, question),
    )


def _mind_length_less(settings: FittedSettings, observed: Observed, fitted: Column) -> Column:
    """Gives back to the logits of long turns most of what their length took from them."""
    long = np.flatnonzero(observed.turns[EXCESS])
    weight = (LENGTH_SHARE - 1) * settings.turn[TURN_FEATURES.index(EXCESS)]
    out = fitted.copy()
    out[long] += weight * observed.turns[EXCESS][long]
    return out


def value(index: ThreadIndex, scores: Scores) -> Values:
    """Returns the value of every turn; minus infinity for those that must not be returned."""
    observed, table = scores.observed, scores.observed.table
    turns = table.with_passages(scores.flat_turns, scores.flat_runs)
    density = scores.flat_runs / np.maximum(observed.words + OVERHEAD * observed.held, TINY)
    least = np.zeros(len(index), dtype=np.float32)  # as precise as values are compared
    if scores.timely is None:
        inside = table.ranges.raised(density.astype(np.float32), least)
    else:  # that of a run is in those of its turns whose time suits the question best
        of_turns, of_runs = (np.exp(FLATTENING * odds) for odds in scores.timely)
        highest = table.ranges.raised((density / of_runs).astype(np.float32), least)
        inside = highest * of_turns.astype(np.float32)
    reached = begun(partial(spread, inside, index.paths()), len(index))
    joined = index.joined()[1:]
    beside = np.zeros(len(index))
    np.multiply(turns[:-1], joined, out=beside[1:])
    np.maximum(beside[:-1], turns[1:] * joined, out=beside[:-1])
    # A long turn is not shown for the sake of the turn beside it.
    beside *= BESIDE_SHARE
    beside *= index.replies()
    worth: Values = np.maximum(turns, beside, out=beside)
    worth /= index.costs()
    np.maximum(worth, inside, out=worth)
    along = _along(scores)
    around = reached()
    # A long turn around a run uses the budget without adding value.
    around *= scores.settings.extension
    around /= index.long()
    np.maximum(worth, around, out=worth)
    worth += along
    if not observed.eligible.all():
        worth[~observed.eligible] = -np.inf
    return worth


def _along(scores: Scores) -> Values:
    """Returns what turns are worth for being where the question's words lead."""
    observed = scores.observed
    highest = max(float(scores.turns.max()), float(scores.runs.max(initial=0.0)))
    scale = highest * observed.asking.covered**2 / TURN_WORDS
    out: Values = np.multiply(scale * ALONG_SHARE, observed.turns["inherited²"], dtype=np.float64)
    if observed.interleaved.any():
        out[observed.interleaved] *= INTERLEAVED_SHARE / ALONG_SHARE
    return out


def masses(scores: Scores, spans: Sequence[Sequence[int]]) -> list[float]:
    """Returns the probability of each of some spans that do not overlap.

    Args:
        scores: The probabilities of runs and turns.
        spans: The places of each span.
    """
    if not spans:
        return []
    observed, table = scores.observed, scores.observed.table
    places = np.array([place for span in spans for place in span])
    owner = np.repeat(np.arange(len(spans)), [len(span) for span in spans])
    out = np.bincount(owner, weights=scores.turns[places], minlength=len(spans))
    runs, which = table.ranges.containing(places)
    # What a run holds is in those of its turns that may be returned.
    parts, total = observed.eligible[places[which]], observed.held[runs].astype(np.float64)
    if scores.timely is not None:
        of_turns, of_runs = scores.timely
        parts = parts * np.exp(of_turns[places[which]] - of_runs[runs])
        total = _timely_turns(scores, runs)
    each = scores.runs[runs] / np.maximum(total, TINY) * parts
    out += np.bincount(owner[which], weights=each, minlength=len(spans))
    return [min(mass, 1.0) for mass in out.tolist()]


def _timely_turns(scores: Scores, runs: npt.NDArray[np.int64]) -> Values:
    """Returns how many turns some runs have, each counted by how well its time suits."""
    of_turns, of_runs = scores.timely or (np.zeros(0), np.zeros(0))
    every, which = np.unique(runs, return_inverse=True)
    begins, ends = scores.observed.table.begins[every], scores.observed.table.ends[every]
    owners, places = np.repeat(every, ends - begins), consecutive(begins, ends - begins)
    parts = scores.observed.eligible[places] * np.exp(of_turns[places] - of_runs[owners])
    firsts = np.cumsum(ends - begins) - (ends - begins)
    return np.add.reduceat(parts, firsts)[which] if len(every) else np.zeros(0)


def _peak(values: Vector) -> float:
    """Returns by how many standard deviations the highest value exceeds the mean."""
    if not len(values):
        return 0.0
    apart = values - values.mean()
    highest = float(apart.max())
    spread = math.sqrt(np.square(apart, out=apart).mean())
    return highest / spread if spread > TINY else 0.0
