"""Fits the weights of the default method to threads in which the evidence is known.

Everything is deterministic: logistic regressions and softmax regressions by Newton's method, and
two numbers chosen from a few candidates. `scaleqa fit` calls this with the threads of one split.

The steps depend on each other: the boundary decides which runs there are, the weights of runs and
turns decide which hits there are, and the relevance is calibrated on these hits.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tsim.embed import Embedder
from tsim.engine import Host, LateSettings, Query
from tsim.engine.late.engine import LateEngine
from tsim.engine.late.relevance import Asked, ask, resume
from tsim.engine.late.scoring import (
    Observed,
    masses,
    observe,
    score,
    value,
)
from tsim.rank import gather
from tsim.rank.fitted import (
    TURN_FEATURES,
    FittedSettings,
    log_odds,
    probability,
    question_features,
    relevance,
)
from tsim.segment import cosines, cues
from tsim.segment.confidence import MEAN_LOG_WORDS
from tsim.state import EMPTY
from tsim.tokens import words_within
from tsim.types import NewTurn, Turn
from tsim.vectors import Vectors

Matrix: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

# A user who speaks twice in a row changes the topic in all of our threads, but not in real chats;
# this weight is therefore not fitted.
USER_AFTER_USER = 4.0
# Facts in passing are the user's in all of our threads, but assistants and other people state facts
# too: a quarter of the evidence on the other tracks is not the user's. This weight is therefore not
# fitted either.
USER = 2.0
# Questions about facts in passing share no words with them, in all of our threads, by construction;
# what shared words say about a single turn, and what changes with them, cannot be fitted.
WORDS, WORDS_COVERED = 0.0, 5.0
# Weight of the copies of threads in which speakers are unknown.
BLIND = 0.3
# Weight, for the weights of turns, of questions about episodes that one turn answers.
IN_EPISODES = 0.02
# Candidates kept per question; the others have no weight in a softmax.
KEPT = 200
RIDGE, WEAK_RIDGE = 1e-2, 1e-5
ROUNDS, STEPS = 4, 40
# Candidates for the two factors that are chosen.
EXTENSIONS = (0.05, 0.1, 0.2, 0.4)
REENTRIES = (0.0, 0.02, 0.05, 0.1)
CHUNK = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question about a thread.

    Attributes:
        text: The question.
        evidence: The places of the turns that it needs; empty if the matter never came up.
        passing: Whether it is about a fact mentioned in passing.
        track: The kind of question; kinds have equal weight.
    """

    text: str
    evidence: frozenset[int]
    passing: bool
    track: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Example:
    """A question with the features of its candidates.

    Attributes:
        case: The question.
        runs: The features of runs, one row each.
        run_holds: Which of them hold the evidence.
        turns: The features of turns, one row each.
        turn_holds: Which of them hold the evidence.
        question: The features of the question.
    """

    case: Case
    runs: Matrix
    run_holds: Flags
    turns: Matrix
    turn_holds: Flags
    question: list[float]


class FittingThread:
    """A thread in memory, on which questions are observed."""

    def __init__(
        self, settings: LateSettings, embedder: Embedder, turns: Sequence[tuple[str, str]]
    ) -> None:
        """Adds all turns, given as (role, text)."""
        self._embedder = embedder
        self._turns = [Turn(id=n, role=role, text=text) for n, (role, text) in enumerate(turns)]
        self.engine = LateEngine(settings, embedder.dimension, EMPTY)
        self._host = Host(
            embed=embedder.embed,
            read=lambda episodes: {},
            turns=lambda ids: [self._turns[turn] for turn in ids],
            since=lambda first: iter(self._turns[first:]),
        )
        for first in range(0, len(turns), CHUNK):
            some = [NewTurn(role=role, text=text) for role, text in turns[first : first + CHUNK]]
            self.engine.grow(some, embedder.embed([new.text for new in some]), self._host)

    def ask(self, text: str) -> tuple[Asked, Observed]:
        """Observes a question."""
        settings, index = self.engine.settings, self.engine.index
        query = Query(text=text, vector=self._embedder.embed_query(text))
        index.settle()
        asked = ask(settings.span, index, query)
        asked = resume(
            settings.reentry,
            settings.span,
            index,
            asked,
            lambda places: [self._turns[place].text for place in places],
        )
        return asked, observe(index, asked)

    def example(self, case: Case) -> Example:
        """Observes a question whose evidence is known."""
        _, seen = self.ask(case.text)
        table, whole = seen.table, seen.whole
        runs, turns = np.stack(seen.runs, axis=1), np.stack(seen.turns, axis=1)
        held = np.zeros(len(whole))
        for place in case.evidence:
            held += (table.begins <= place) & (place < table.ends)
        held = held[whole]
        holds = held == len(case.evidence)
        if not holds.any():
            holds = held > 0
        said = np.zeros(len(turns), dtype=np.bool_)
        said[list(case.evidence)] = len(case.evidence) == 1
        keep = _kept(holds, runs[:, 0], runs[:, 0] + runs[:, 3] / 2, runs[:, 9])
        # Without the turns of similar runs, nothing would show that most of them are wrong.
        kept = _kept(said, turns[:, 0], turns[:, 0] + turns[:, 3], turns[:, 4])
        return Example(
            case=case,
            runs=runs[keep],
            run_holds=holds[keep],
            turns=turns[kept],
            turn_holds=said[kept],
            question=question_features(seen.asking),
        )

    def chosen(
        self, settings: Sequence[LateSettings], case: Case, budget: int
    ) -> list[frozenset[int]]:
        """Searches with several settings; returns the places that each chooses."""
        asked, seen = self.ask(case.text)
        out = []
        for one in settings:
            scores = score(one.fitted, seen)
            worth = value(one.span, self.engine.index, asked, scores)
            out.append(frozenset(self.engine.choose(worth, words_within(budget))))
        return out

    def hits(self, settings: LateSettings, case: Case, budget: int) -> "Hits":
        """Searches; returns the hits with what their relevance is computed from."""
        asked, seen = self.ask(case.text)
        scores = score(settings.fitted, seen)
        worth = value(settings.span, self.engine.index, asked, scores)
        chosen = self.engine.choose(worth, words_within(budget))
        spans = gather(chosen, settings.span.max_skipped_turns)
        return Hits(
            case=case,
            question=scores.question,
            spans=[frozenset(span) for span in spans],
            masses=masses(scores, worth, spans),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """The hits for a question.

    Attributes:
        case: The question.
        question: The features of the presence of what was asked.
        spans: The places of each hit.
        masses: The probability of each hit, relative to the thread.
    """

    case: Case
    question: list[float]
    spans: list[frozenset[int]]
    masses: list[float]


def fit_boundary(
    settings: LateSettings, threads: Iterable[tuple[Vectors, Sequence[tuple[str, str]], set[int]]]
) -> LateSettings:
    """Fits the weights of boundary confidences.

    Args:
        settings: All other constants.
        threads: For each thread the vectors of its turns, the turns as (role, text), and the places
            where a dialogue begins.
    """
    rows, begins, weights = [], [], []
    for vectors, turns, starts in threads:
        features = _gap_features(vectors, turns)[1:]
        rows.append(features)
        begins.append(np.array([place in starts for place in range(1, len(turns))], dtype=float))
        weights.append(np.full(len(features), 1 / len(features)))
    seen, y, w = np.concatenate(rows), np.concatenate(begins), np.concatenate(weights)
    blind = seen.copy()
    blind[:, 4:] = 0  # the columns about speakers
    both = np.concatenate([seen, blind])
    found = logistic(
        both[:, :5],
        np.append(y, y),
        np.append(w, BLIND * w),
        ridge=WEAK_RIDGE,
        offset=USER_AFTER_USER * both[:, 5],
    )
    sides, drift, length, question, user, bias = found
    return replace(
        settings,
        boundary=replace(
            settings.boundary,
            bias=bias,
            sides_weight=-sides,
            drift_weight=-drift,
            length_weight=length,
            question_weight=-question,
            user_weight=user,
            user_after_user_weight=USER_AFTER_USER,
        ),
    )


def fit_weights(settings: LateSettings, examples: Sequence[Example]) -> LateSettings:
    """Fits the weights of runs and turns, and the gate between them."""
    share = _shares([example.case for example in examples])
    episodes = [e for e in examples if not e.case.passing and e.run_holds.any()]
    run = softmax_regression(
        [(e.runs, e.run_holds, share[e.case.track]) for e in episodes], ridge=RIDGE
    )
    alone = [e for e in examples if e.turn_holds.any()]
    turn = softmax_regression(
        [
            (e.turns, e.turn_holds, share[e.case.track] * (1.0 if e.case.passing else IN_EPISODES))
            for e in alone
        ],
        ridge=RIDGE,
        fixed={
            TURN_FEATURES.index("user"): USER,
            TURN_FEATURES.index("user × covered"): 0.0,
            TURN_FEATURES.index("cosine × covered"): 0.0,
            TURN_FEATURES.index("words"): WORDS,
            TURN_FEATURES.index("words × covered"): WORDS_COVERED,
        },
    )
    kinds = {e.case.track for e in examples if not e.case.passing}
    passing = logistic(
        np.array([e.question for e in examples]),
        np.array([float(e.case.passing) for e in examples]),
        np.array([share[e.case.track] / (1 if e.case.passing else len(kinds)) for e in examples]),
        ridge=1e-3,
    )
    fitted = replace(settings.fitted, run=tuple(run), turn=tuple(turn), passing=tuple(passing))
    return replace(settings, fitted=fitted)


def choose_factors(
    settings: LateSettings, cases: Iterable[tuple[FittingThread, Case]], *, budget: int
) -> LateSettings:
    """Chooses what turns around a run inherit, and the value of a re-entry, from a few candidates.

    The best pair answers most questions within the budget, averaged over tracks; the smaller one
    wins a tie.
    """
    options = [
        replace(settings, fitted=replace(settings.fitted, extension=extension, reentry=reentry))
        for extension in EXTENSIONS
        for reentry in REENTRIES
    ]
    answered: dict[str, list[list[bool]]] = {}
    for thread, case in cases:
        found = thread.chosen(options, case, budget)
        answered.setdefault(case.track, []).append([case.evidence <= places for places in found])
    shares = np.mean([np.mean(rows, axis=0) for rows in answered.values()], axis=0)
    return options[int(np.round(shares, 9).argmax())]


def fit_relevance(
    settings: LateSettings, found: Sequence[Hits], *, lost: float = 0.01
) -> LateSettings:
    """Calibrates the relevance of hits, and chooses the default minimum.

    Args:
        settings: All other constants.
        found: Questions with their hits.
        lost: Largest share of the answered questions that the minimum may lose.
    """
    share = _shares([one.case for one in found])
    presence = logistic(
        np.array([one.question for one in found]),
        np.array([float(bool(one.case.evidence)) for one in found]),
        np.array([share[one.case.track] for one in found]),
        ridge=WEAK_RIDGE,
    )
    rows = [
        (log_odds(mass), float(bool(span & one.case.evidence)), share[one.case.track])
        for one in found
        if one.case.evidence
        for span, mass in zip(one.spans, one.masses, strict=True)
    ]
    columns = np.array(rows)
    relevance_weights = logistic(columns[:, :1], columns[:, 1], columns[:, 2], ridge=WEAK_RIDGE)
    fitted = replace(settings.fitted, presence=tuple(presence), relevance=tuple(relevance_weights))
    answered = [
        (sum(_relevances(fitted, one)), share[one.case.track])
        for one in found
        if one.case.evidence and one.case.evidence <= frozenset().union(*one.spans)
    ]
    bound = _quantile(answered, lost)
    return replace(settings, fitted=replace(fitted, min_relevance=bound))


def _relevances(fitted: FittedSettings, hits: Hits) -> list[float]:
    there = probability(fitted.presence, hits.question)
    return [relevance(fitted, there, mass) for mass in hits.masses]


def _quantile(weighted: Sequence[tuple[float, float]], share: float) -> float:
    """Returns the highest value below which lies at most a share of the weight."""
    left = share * sum(weight for _, weight in weighted)
    for found, weight in sorted(weighted):
        left -= weight
        if left < 0:
            return found
    return max(found for found, _ in weighted)


def logistic(
    rows: Matrix, y: Matrix, weights: Matrix, *, ridge: float, offset: Matrix | float = 0.0
) -> list[float]:
    """Fits a logistic regression; returns the weights of the columns, then the bias."""
    mean, scale = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    z = np.c_[(rows - mean) / scale, np.ones(len(rows))]
    w = weights / weights.sum()
    penalty = ridge * np.eye(z.shape[1])
    penalty[-1, -1] = 0
    b = np.zeros(z.shape[1])

    def loss(b: Matrix) -> float:
        s = z @ b + offset
        return float((w * (np.logaddexp(0, s) - y * s)).sum() + b @ penalty @ b / 2)

    before = loss(b)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-(z @ b + offset)))
        gradient = z.T @ (w * (p - y)) + penalty @ b
        curvature = (z * (w * p * (1 - p))[:, None]).T @ z + penalty + 1e-9 * np.eye(len(b))
        b, after = _step(loss, b, np.linalg.solve(curvature, gradient), before)
        if before - after < 1e-12:
            break
        before = after
    out = b[:-1] / scale
    return [*(float(value) for value in out), float(b[-1] - mean @ out)]


def softmax_regression(
    groups: Sequence[tuple[Matrix, Flags, float]],
    *,
    ridge: float,
    fixed: Mapping[int, float] | None = None,
) -> list[float]:
    """Fits weights so that the right rows of each group get most of its softmax.

    If several rows of a group are right, it does not matter which of them gets it; the fit
    alternates between dividing each group among its right rows and fitting to that division.

    Args:
        groups: For each group its rows, which of them are right, and its weight.
        ridge: Weight of the penalty on the squares of the weights.
        fixed: Columns whose weight is given.
    """
    given = fixed or {}
    rows = np.concatenate([group for group, _, _ in groups])
    counts = np.array([len(group) for group, _, _ in groups])
    starts = np.append(0, np.cumsum(counts)[:-1])
    right = np.concatenate([flags.astype(float) for _, flags, _ in groups])
    weights = np.array([weight for _, _, weight in groups])
    weights *= len(weights) / weights.sum()
    each = np.repeat(weights, counts)
    scale = rows.std(axis=0) + 1e-9
    z = (rows - rows.mean(axis=0)) / scale
    offset = sum((weight * rows[:, column] for column, weight in given.items()), np.zeros(len(z)))
    z[:, [*given]] = 0.0
    b = np.zeros(z.shape[1])

    def chances(b: Matrix) -> tuple[Matrix, Matrix]:
        s = z @ b + offset
        top = np.maximum.reduceat(s, starts)
        powers = np.exp(s - np.repeat(top, counts))
        total = np.add.reduceat(powers, starts)
        return powers / np.repeat(total, counts), top + np.log(total)

    divided = right / np.repeat(np.add.reduceat(right, starts), counts)
    for _ in range(ROUNDS):
        target = (divided * each) @ z

        def loss(b: Matrix, target: Matrix = target) -> float:
            return float(ridge * b @ b / 2 + weights @ chances(b)[1] - target @ b)

        before = loss(b)
        for _ in range(STEPS):
            p = chances(b)[0]
            means = np.add.reduceat(z * p[:, None], starts)
            gradient = ridge * b + (p * each) @ z - target
            curvature = (z * (p * each)[:, None]).T @ z - (means * weights[:, None]).T @ means
            step = np.linalg.solve(curvature + ridge * np.eye(len(b)), gradient)
            b, after = _step(loss, b, step, before)
            if before - after < 1e-7:
                break
            before = after
        divided = right * chances(b)[0]
        divided /= np.repeat(np.maximum(np.add.reduceat(divided, starts), 1e-300), counts)
    return [given.get(column, float(value)) for column, value in enumerate(b / scale)]


def _step(
    loss: Callable[[Matrix], float], b: Matrix, step: Matrix, before: float
) -> tuple[Matrix, float]:
    """Takes a Newton step, halved until the loss does not grow."""
    length = 1.0
    while length > 1e-4:
        after = loss(b - length * step)
        if after <= before:
            return b - length * step, after
        length /= 2
    return b, before


def _gap_features(vectors: Vectors, turns: Sequence[tuple[str, str]]) -> Matrix:
    """Returns the features of the gap before each turn: those of `confidence.py`, unweighted."""
    found = [cues(role, text) for role, text in turns]
    padded = np.concatenate([np.zeros_like(vectors[:4]), vectors, np.zeros_like(vectors[:1])])
    n = len(vectors)
    near = padded[2 : n + 2] + padded[3 : n + 3]
    far = padded[:n] + padded[1 : n + 1] + near
    ahead = vectors + padded[5 : n + 5]
    length = [np.log1p(cue.words) - MEAN_LOG_WORDS for cue in found]
    after = [False, *(cue.asks for cue in found[:-1])]
    before = [False, *(cue.user for cue in found[:-1])]
    user = [
        0.5 if cue.user else -0.5 if previous else 0.0
        for cue, previous in zip(found, before, strict=True)
    ]
    twice = [cue.user and previous for cue, previous in zip(found, before, strict=True)]
    columns = [cosines(near, ahead), cosines(far, vectors), length, after, user, twice]
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)


def _kept(holds: Flags, *measures: Matrix) -> npt.NDArray[np.int64]:
    """Returns the rows to keep: the best by any measure, and those that hold the evidence."""
    best = {
        row for measure in measures for row in np.argsort(-measure, kind="stable")[:KEPT].tolist()
    }
    return np.array(sorted(best | {*np.flatnonzero(holds).tolist()}), dtype=np.int64)


def _shares(cases: Sequence[Case]) -> dict[str, float]:
    """Returns the weight of a question of each track, so that tracks have equal weight."""
    counts: dict[str, int] = {}
    for case in cases:
        counts[case.track] = counts.get(case.track, 0) + 1
    return {track: 1 / count for track, count in counts.items()}
