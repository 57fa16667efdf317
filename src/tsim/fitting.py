"""Fits the weights of the default method to threads in which the evidence is known.

Everything is deterministic: logistic regressions and a softmax regression (`regression.py`), and
one number chosen from a few candidates. `scaleqa fit` calls this with the threads of one split.

The steps depend on each other: the boundary decides which runs there are, the weights of runs and
turns decide which hits there are, and the relevance is calibrated on these hits.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from tsim.embed import (
    Embedder,
    embed_passages,
    embed_turns,
    find_passages,
)
from tsim.engine import Host, LateSettings, Query
from tsim.engine.late.engine import LateEngine
from tsim.engine.late.passages import Range
from tsim.engine.late.scoring import Observed, masses, score, value
from tsim.rank import Values, gather
from tsim.rank.fitted import (
    COUNTED,
    RUN_FEATURES,
    TURN_FEATURES,
    features,
    log_odds,
    probability,
)
from tsim.regression import Group, Matrix, logistic, softmax_regression
from tsim.segment import cue_features, cues, gap_cosines
from tsim.state import EMPTY
from tsim.tokens import WORDS
from tsim.types import NewTurn, Turn
from tsim.vectors import Vectors

# Weight of the copies of threads in which speakers are unknown.
BLIND = 0.3
# Columns of the boundary's features that are about speakers.
SPEAKERS = (2, 3)
# Candidates kept per question and measure, and how many stand for the others. Without the latter,
# nothing would show that a candidate with no similarity at all is wrong.
KEPT, REST = 30, 100
KEPT_RUNS = ("cosine", "words", "best turn's score")
KEPT_TURNS = ("cosine", "run above turn", "words", "own score", "inherited")
# Words up to which a candidate gives its full reward; that of longer ones is inverse to length.
FULL_REWARD_WORDS = 20.0
RIDGE, WEAK_RIDGE = 1.0, 1e-5
# Candidates for the factor that is chosen.
EXTENSIONS = (0.05, 0.1, 0.2, 0.4)
CHUNK = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question about a thread.

    Attributes:
        text: The question.
        evidence: The turns that it needs; empty if the matter never came up.
        track: The kind of question; kinds have equal weight unless they are given one.
        parts: The characters of a turn that are evidence, if not all of them.
    """

    text: str
    evidence: frozenset[int]
    track: str
    parts: Mapping[int, Range] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """The hits for a question.

    Attributes:
        case: The question.
        evidence: The places of its evidence.
        question: The features of the presence of what was asked.
        spans: The places of each hit.
        masses: The probability of each hit, relative to the thread.
    """

    case: Case
    evidence: frozenset[int]
    question: list[float]
    spans: list[frozenset[int]]
    masses: list[float]


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
            embed_query=embedder.embed_query,
            read=lambda episodes: {},
            turns=lambda ids: [self._turns[turn] for turn in ids],
            since=lambda first: iter(self._turns[first:]),
        )
        for first in range(0, len(turns), CHUNK):
            some = [NewTurn(role=role, text=text) for role, text in turns[first : first + CHUNK]]
            texts = [new.text for new in some]
            starts = find_passages(embedder, texts)
            if settings.sentences:
                vectors, said = embed_turns(embedder, texts, starts)
            else:
                vectors, said = embed_passages(embedder, texts, starts), None
            self.engine.grow(some, vectors, self._host, starts=starts, sentences=said)

    def places(self, case: Case) -> list[int]:
        """Returns the places of the evidence of a question."""
        passages = self.engine.index.passages
        firsts = np.flatnonzero(passages.starts == 0)
        ends = np.append(firsts[1:], len(passages.starts))
        return [
            place
            for turn in sorted(case.evidence)
            for first, last in [case.parts.get(turn, (0, len(self._turns[turn].text)))]
            for place in range(firsts[turn], ends[turn])
            if passages[place][0] < last and first < passages[place][1]
        ]

    def observe(self, text: str) -> Observed:
        """Observes a question."""
        return self.engine.observe(Query(text=text), self._host)[1]

    def groups(self, case: Case) -> list[Group]:
        """Observes a question whose evidence is known; returns its candidates.

        If a run holds all evidence, such runs are right. Otherwise each turn of the evidence is
        looked for by itself, and what holds only other evidence is neither right nor wrong.
        """
        seen = self.observe(case.text)
        begins, ends = (edge[seen.whole] for edge in (seen.table.begins, seen.table.ends))
        places = self.places(case)
        held = np.array([(begins <= place) & (place < ends) for place in places]).T
        candidates = _Candidates(seen, self.engine.index.lengths)
        together = np.logical_and.reduce(held, axis=1)
        if len(places) > 1 and together.any():
            return [candidates.group(together, [])]
        anywhere = np.logical_or.reduce(held, axis=1)
        return [
            candidates.group(own, [place], anywhere & ~own, [p for p in places if p != place])
            for place, own in zip(places, held.T, strict=True)
        ]

    def chosen(
        self, settings: Sequence[LateSettings], case: Case, budget: int
    ) -> list[frozenset[int]]:
        """Searches with several settings; returns the places that each chooses."""
        seen = self.observe(case.text)
        worths = [value(self.engine.index, score(one.fitted, seen)) for one in settings]
        return [frozenset(self._choose(worth, budget)) for worth in worths]

    def hits(self, settings: LateSettings, case: Case, budgets: Sequence[int]) -> list[Hits]:
        """Searches with several budgets; returns what the relevance of hits is computed from."""
        scores = score(settings.fitted, self.observe(case.text))
        worth = value(self.engine.index, scores)
        out = []
        for budget in budgets:
            chosen = self._choose(worth, budget)
            turns = self.engine.index.passages.turns
            spans = gather(chosen, settings.span.max_skipped_turns, turns)
            out.append(
                Hits(
                    case=case,
                    evidence=frozenset(self.places(case)),
                    question=scores.question,
                    spans=[frozenset(span) for span in spans],
                    masses=masses(scores, spans),
                )
            )
        return out

    def _choose(self, worth: Values, budget: int) -> list[int]:
        costs = self.engine.prices(WORDS, self._host)
        return self.engine.choose(worth, WORDS.room(budget), costs)


class _Candidates:
    """The runs and turns of a thread as candidates for a question."""

    def __init__(self, seen: Observed, lengths: npt.NDArray[np.uint32]) -> None:
        runs, turns = (
            features(names, seen.asking, columns, np.arange(len(columns[COUNTED])))
            for names, columns in ((RUN_FEATURES, seen.runs), (TURN_FEATURES, seen.turns))
        )
        self._runs = len(runs)
        self._rows = np.zeros((len(runs) + len(turns), runs.shape[1] + turns.shape[1]))
        self._rows[: len(runs), : runs.shape[1]] = runs
        self._rows[len(runs) :, runs.shape[1] :] = turns
        words = np.concatenate([seen.table.words[seen.whole], lengths.astype(np.float64)])
        self._rewards = np.minimum(1, FULL_REWARD_WORDS / words)
        self._best = {
            *_best([seen.runs[name] for name in KEPT_RUNS]),
            *(self._runs + place for place in _best([seen.turns[name] for name in KEPT_TURNS])),
        }

    def group(
        self,
        runs: npt.NDArray[np.bool_],
        turns: Sequence[int],
        other_runs: npt.NDArray[np.bool_] | None = None,
        other_turns: Sequence[int] = (),
    ) -> Group:
        """Returns the candidates of which the given runs and turns are right, without others."""
        right = {*np.flatnonzero(runs).tolist(), *(self._runs + turn for turn in turns)}
        out = {self._runs + turn for turn in other_turns}
        if other_runs is not None:
            out.update(np.flatnonzero(other_runs).tolist())
        kept = np.array(sorted((self._best | right) - out), dtype=np.int64)
        rest = np.setdiff1d(np.arange(len(self._rows)), [*kept.tolist(), *out])
        some = rest[:: max(1, len(rest) // REST)]
        chosen = np.concatenate([kept, some])
        each = np.log(len(rest) / len(some)) if len(some) else 0.0
        return Group(
            rows=self._rows[chosen],
            rewards=np.where(np.isin(chosen, [*right]), self._rewards[chosen], 0.0),
            offsets=np.append(np.zeros(len(kept)), np.full(len(some), each)),
            weight=1.0,
        )


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
        rows.append(_gap_features(vectors, turns)[1:])
        begins.append(np.array([place in starts for place in range(1, len(turns))], dtype=float))
        weights.append(np.full(len(turns) - 1, 1 / len(turns)))
    seen, y, w = np.concatenate(rows), np.concatenate(begins), np.concatenate(weights)
    blind = seen.copy()
    blind[:, SPEAKERS] = 0
    found = logistic(
        np.concatenate([seen, blind]), np.append(y, y), np.append(w, BLIND * w), ridge=WEAK_RIDGE
    )
    sides, drift, twice, user, length, question, bias = found
    return replace(
        settings,
        boundary=replace(
            settings.boundary,
            bias=bias,
            sides_weight=-sides,
            drift_weight=-drift,
            user_after_user_weight=twice,
            user_weight=user,
            length_weight=length,
            question_weight=-question,
        ),
    )


def fit_weights(
    settings: LateSettings,
    examples: Iterable[tuple[Case, Sequence[Group]]],
    tracks: Mapping[str, float],
) -> LateSettings:
    """Fits the weights of runs and turns.

    Args:
        settings: All other constants.
        examples: Questions with their candidates.
        tracks: The weights of tracks; that of the others is 1.
    """
    by_track: dict[str, list[Group]] = {}
    for case, groups in examples:
        by_track.setdefault(case.track, []).extend(group for group in groups if group.rewards.any())
    weighted = [
        replace(group, weight=tracks.get(track, 1.0) / len(groups))
        for track, groups in by_track.items()
        for group in groups
    ]
    found = softmax_regression(weighted, ridge=RIDGE)
    run, turn = found[: len(RUN_FEATURES)], found[len(RUN_FEATURES) :]
    return replace(settings, fitted=replace(settings.fitted, run=tuple(run), turn=tuple(turn)))


def choose_extension(
    settings: LateSettings, cases: Iterable[tuple[FittingThread, Case]], *, budget: int
) -> LateSettings:
    """Chooses which share of a run's value the turns around it inherit, from a few candidates.

    The best one answers most questions within the budget, averaged over tracks; the smaller one
    wins a tie.
    """
    options = [
        replace(settings, fitted=replace(settings.fitted, extension=extension))
        for extension in EXTENSIONS
    ]
    answered: dict[str, list[list[bool]]] = {}
    for thread, case in cases:
        wanted, found = {*thread.places(case)}, thread.chosen(options, case, budget)
        answered.setdefault(case.track, []).append([wanted <= places for places in found])
    shares = np.mean([np.mean(rows, axis=0) for rows in answered.values()], axis=0)
    return options[int(np.round(shares, 9).argmax())]


def fit_relevance(
    settings: LateSettings, found: Sequence[Hits], *, lost: float = 0.01
) -> LateSettings:
    """Calibrates the relevance of hits, and chooses the default minimum.

    Args:
        settings: All other constants.
        found: Questions with their hits.
        lost: Largest share of the answered questions of a track that the minimum may lose.
    """
    share = _shares([one.case for one in found])
    presence = logistic(
        np.array([one.question for one in found]),
        np.array([float(bool(one.evidence)) for one in found]),
        np.array([share[one.case.track] for one in found]),
        ridge=WEAK_RIDGE,
    )
    rows = [
        (log_odds(mass), float(bool(span & one.evidence)), share[one.case.track])
        for one in found
        if one.evidence
        for span, mass in zip(one.spans, one.masses, strict=True)
    ]
    columns = np.array(rows)
    relevance_weights = logistic(columns[:, :1], columns[:, 1], columns[:, 2], ridge=WEAK_RIDGE)
    fitted = replace(settings.fitted, presence=tuple(presence), relevance=tuple(relevance_weights))
    answered: dict[str, list[float]] = {}
    for one in found:
        if one.evidence and one.evidence <= frozenset().union(*one.spans):
            there = probability(fitted.presence, one.question)
            answered.setdefault(one.case.track, []).append(there)
    bound = min(float(np.quantile(there, lost)) for there in answered.values())
    return replace(settings, fitted=replace(fitted, min_relevance=bound))


def _gap_features(vectors: Vectors, turns: Sequence[tuple[str, str]]) -> Matrix:
    """Returns the features of the gap before each turn."""
    found = [cues(role, text) for role, text in turns]
    before = [None, *found[:-1]]
    said = [cue_features(cue, last) for cue, last in zip(found, before, strict=True)]
    features: Matrix = np.column_stack([*gap_cosines(vectors), np.array(said)]).astype(np.float64)
    return features


def _best(measures: Sequence[npt.NDArray[np.floating]]) -> set[int]:
    """Returns the rows that are among the best by any measure."""
    return {
        row for measure in measures for row in np.argsort(-measure, kind="stable")[:KEPT].tolist()
    }


def _shares(cases: Sequence[Case]) -> dict[str, float]:
    """Returns the weight of a question of each track, so that tracks have equal weight."""
    counts: dict[str, int] = {}
    for case in cases:
        counts[case.track] = counts.get(case.track, 0) + 1
    return {track: 1 / count for track, count in counts.items()}
