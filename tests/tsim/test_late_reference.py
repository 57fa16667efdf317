"""The engine of the default method against its formulas, written out slowly, on random streams."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import late_reference as slow
from tests.support.feed import Feed, embed, relaxed, streams
from tsim import LATE, tokens
from tsim.engine import Query
from tsim.engine.late.relevance import ask, resume
from tsim.engine.late.scoring import observe, score, value
from tsim.fitted import GROUPS
from tsim.presets import Preset
from tsim.rank import information, term_weights
from tsim.rank.fitted import FittedSettings
from tsim.vectors import unit

WORDS = [f"w{n}" for n in range(0, 60, 4)]


def drawn(rng):
    """Random weights of a size at which every feature matters; nothing is interleaved."""
    settings = LATE.settings
    groups = {group: tuple(rng.uniform(-3, 3) for _ in names) for group, names in GROUPS.items()}
    return Preset(
        name="late-drawn",
        settings=replace(
            settings,
            boundary=replace(
                settings.boundary,
                bias=rng.uniform(-1, 4),
                sides_weight=rng.uniform(0, 4),
                drift_weight=rng.uniform(0, 4),
                user_after_user_weight=rng.uniform(0, 2),
                user_weight=rng.uniform(-1, 2),
                length_weight=rng.uniform(-1, 1),
                question_weight=rng.uniform(0, 2),
            ),
            links=replace(settings.links, neighbour_margin=-1.0),
            fitted=FittedSettings(
                **groups,
                min_relevance=0.0,
                extension=rng.choice([0.0, 0.3, 1.0]),
            ),
        ),
    )


@relaxed
@given(
    stream=streams,
    asks=st.sets(st.integers(0, 59)),
    tells=st.sets(st.integers(0, 59)),
    words=st.lists(st.sampled_from([*WORDS, "elsewhere"]), min_size=1, max_size=6),
    rng=st.randoms(use_true_random=False),
)
def test_the_engine_computes_the_formulas(stream, asks, tells, words, rng):
    said = [
        (role, f"My {text}, and me" if n in tells else text)
        for n, (role, text) in enumerate(stream)
    ]
    turns = [(role, f"{text}?" if n in asks else text) for n, (role, text) in enumerate(said)]
    question = " ".join(words)
    preset = drawn(rng)
    settings, fitted, count = preset.settings, preset.settings.fitted, len(turns)
    feed = Feed(preset)
    feed.add(turns)
    index = feed.engine.index
    texts = [text for _, text in turns]
    vectors = embed(texts).tolist()
    asked_vector = embed([question])[0].tolist()
    index.settle()

    # Boundaries and runs.
    sure = slow.confidences(settings.boundary, turns, vectors)
    assert [index.confidence(n) for n in range(count)] == pytest.approx(sure, abs=1e-5)
    sure = index.confidences(0, count).tolist()
    lengths = slow.lengths(turns)
    embedded, joined, unclosed = slow.runs(settings.runs, sure, lengths)
    assert {*index.runs.embedded} == embedded
    assert {*index.runs.joined} == joined
    table = index.run_table()
    keys = list(zip(table.begins.tolist(), table.ends.tolist(), strict=True))
    assert sorted(keys) == sorted(embedded | joined | unclosed)

    # Relevance of turns.
    weights = term_weights(question, index.postings, rarity_power=2.0, name_factor=2.0)
    nats = information(weights, index.postings)
    asked = ask(settings.span, index, Query(text=question), feed.host.embed_query)
    owns, plain, covered, window = slow.relevant(
        settings.span, turns, vectors, asked_vector, weights, nats
    )
    assert asked.own.tolist() == pytest.approx(owns, abs=1e-4)
    assert asked.relevant.tolist() == pytest.approx(plain, abs=1e-4)
    asked = resume(settings.reentry, settings.span, index, asked)
    again = [0.0] * count
    if asked.resumed is not None:
        again = asked.resumed.values.tolist()
    # As in the engine, not anew: the features below are too steep for two roundings.
    shares, own = slow.relative(asked.relevant.tolist()), slow.relative(asked.own.tolist())
    inherited = slow.relative(slow.inherited(settings.span, shares, sure, lengths))

    # Features, probabilities.
    seen = observe(settings.span, index, asked, index.runs.vectors.scanning(asked.vector))
    scores = score(fitted, seen)
    cosines = [slow.dot(vector, asked_vector) for vector in vectors]
    pieces = {(b, e): embed(["\n".join(texts[b:e])])[0] for b, e in embedded}
    run_vectors = {
        run: pieces.get(run, unit(np.array([slow.joined_vector(run, pieces, vectors)]))[0])
        for run in keys
    }
    run_cosines = {run: slow.dot(run_vectors[run], asked_vector) for run in keys}
    q = slow.asking(question, cosines, run_cosines.values(), covered, nats, window)
    by_name = {
        group: dict(zip(names, getattr(fitted, group), strict=True))
        for group, names in GROUPS.items()
    }
    run_logits = {
        (b, e): slow.logit(
            by_name["run"],
            slow.run_features(
                q,
                (b, e),
                cosine=run_cosines[b, e],
                words=slow.coverage(weights, texts[b:e]),
                shares=shares,
                sure=sure,
                turns=turns,
            ),
        )
        for b, e in keys
    }
    words_of_turns = [slow.coverage(weights, [text]) for text in texts]
    turn_logits = {
        t: slow.logit(
            by_name["turn"],
            slow.turn_features(
                q,
                t,
                cosines=cosines,
                highest=max([cosines[t], *(run_cosines[b, e] for b, e in keys if b <= t < e)]),
                words=words_of_turns,
                own=own,
                inherited=inherited,
                again=again,
                turns=turns,
                length=lengths[t],
                long=settings.span.long_turn_words,
            ),
        )
        for t in range(count)
    }
    both = slow.softmax({**run_logits, **turn_logits})
    chances = {run: both[run] for run in run_logits}
    turn_chances = {t: both[t] for t in turn_logits}
    assert scores.runs.tolist() == pytest.approx([chances[run] for run in keys], abs=1e-3)
    assert scores.turns.tolist() == pytest.approx([*turn_chances.values()], abs=1e-3)

    # Values and packing.
    worth = value(index, scores)
    expected = slow.values(
        settings.span,
        fitted,
        chances,
        turn_chances,
        sure,
        turns,
        covered=seen.asking.covered,
        inherited=inherited,
    )
    assert worth.tolist() == pytest.approx(expected, rel=1e-3, abs=1e-9)
    rates = worth.astype(np.float32).tolist()
    for budget in (20, 150, 900):
        if lengths[rates.index(max(rates))] + 1 <= budget:
            prices = feed.engine.prices(tokens.WORDS, feed.host)
            found = feed.engine.choose(worth, budget, prices)
            assert found == slow.packed(rates, lengths, budget)

    # Hits: relevance, order and explanation.
    hits = feed.search(question, budget=200)
    peaks = seen.asking.run_peak, seen.asking.turn_peak
    for found, cosine in zip(peaks, ([*run_cosines.values()], cosines), strict=True):
        if cosine and slow.spread(cosine) > 1e-3:  # otherwise it depends on rounding
            assert found == pytest.approx(slow.peak(cosine), rel=1e-2)
    best_run = max(run_logits.values(), default=0.0)
    best_turn = max(turn_logits.values())
    features = slow.presence_features(q, both.values(), best_run, best_turn, *peaks)
    there = slow.logistic(slow.logit(by_name["presence"], features))
    for hit in hits:
        mass = slow.log_odds(slow.mass(hit.turns, chances, turn_chances))
        relevance = there * slow.logistic(slow.logit(by_name["relevance"], {"mass": mass}))
        assert hit.relevance == hit.why.relevance == pytest.approx(relevance, abs=2e-3)
        assert hit.why.alone == pytest.approx(sum(turn_chances.values()), abs=1e-3)
        anchor = hit.why.anchor
        owners = [run for run in keys if run[0] <= anchor < run[1]]
        top = max((chances[run] for run in owners), default=0.0)
        candidates = [run_logits[run] for run in owners if chances[run] >= top * (1 - 1e-3)]
        if turn_chances[anchor] >= top * (1 - 1e-3):
            if turn_chances[anchor] > top * (1 + 1e-3):
                candidates = []
            candidates.append(turn_logits[anchor])
        total = sum(points for _, points in hit.why.terms)
        assert min(abs(total - one) for one in candidates) < 1e-3
        points = [abs(value) for _, value in hit.why.terms]
        assert points == sorted(points, reverse=True)
