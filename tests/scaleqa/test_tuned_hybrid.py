"""Tuned Hybrid-Rerank: each stage on threads where the right result is known."""

import numpy as np
import pytest

from scaleqa.backends import Reply
from scaleqa.errors import DataError
from scaleqa.packages import StreamTurn
from scaleqa.systems import Asked, Tools, open_system
from scaleqa.systems.rerank import CrossEncoded, MaxSim, open_reranker
from scaleqa.systems.windows import Window, diversify, fit, grow
from tests.support.tiny_bert import reference_score, write_tiny_cross_encoder
from tsim import tokens
from tsim.embed import CrossEncoder
from tsim.vectors import unit

PIECES = "the rule says one gpu only for new projects and budget letter train bread".split()


class Words:
    """An embedder in which every word has an axis of its own: what is near is plain to see."""

    identity = "words/1"
    dimension = 64

    def __init__(self):
        self.axes = {}

    def token_vectors(self, texts):
        return [np.stack([self._axis(word) for word in text.lower().split()]) for text in texts]

    def embed(self, texts):
        means = [states.mean(axis=0) for states in self.token_vectors(texts)]
        return unit(np.array(means, dtype=np.float32).reshape(len(means), self.dimension))

    def embed_query(self, text):
        return self.embed([text])[0]

    def _axis(self, word):
        number = self.axes.setdefault(word, len(self.axes))
        return np.eye(self.dimension, dtype=np.float32)[number]


class Remote:
    """An embedder that keeps its tokens to itself, as servers do."""

    identity = "remote"
    dimension = 64

    def __init__(self):
        words = Words()
        self.embed, self.embed_query = words.embed, words.embed_query


class Writer:
    """A chat model that always says the same."""

    identity = "writer"

    def __init__(self, text):
        self.text = text
        self.prompts = []

    def chat(self, messages, functions=(), *, most_tokens=300):
        self.prompts.append(messages[-1].content)
        return Reply(text=self.text)

    def close(self):
        pass


def fed(spec, texts, embedder=None, model=None):
    system = open_system(spec, Tools(embedder=embedder or Words(), model=model))
    system.ingest([StreamTurn(id=n, role="user", text=text) for n, text in enumerate(texts)])
    return system


def ask(question):
    return Asked(id="q", question=question, options={})


FILLER = [f"filler{n}" for n in range(9)]


def test_maxsim_prefers_the_passage_that_matches_word_by_word():
    reranker = MaxSim(Words())
    reranker.add(["gpu gpu gpu", "the gpu rule", "bread"])
    single = reranker.scores("gpu rule", [range(1), range(1, 2), range(2, 3)])
    assert single == [0.5, 1.0, 0.0]
    assert reranker.scores("gpu bread", [range(1), range(1, 3)]) == [0.5, 1.0]
    assert reranker.vectors == 7


def test_the_reranker_decides_where_fusion_is_misled():
    """Fusion likes short turns with one of the words; only a long one holds them all."""
    texts = ["gpu gpu gpu", *FILLER, "rule", *FILLER[:5], "a long note on the gpu rule of today"]
    question = ask("gpu rule today")
    plain = fed("tuned_hybrid:beside=0,radius=0,reranker=none", texts).retrieve(question).units
    tuned = fed("tuned_hybrid:beside=0,radius=0", texts).retrieve(question).units
    assert tuned[0].turns == (16,)
    assert tuned[0].score == 1.0
    assert plain[0].turns != (16,)
    assert {unit.label for unit in plain} == {"fused"}
    assert {unit.label for unit in tuned} == {"maxsim"}


def test_a_cross_encoder_orders_candidates_as_a_plain_forward_pass_does(
    tmp_path, monkeypatch, tiny_embedder
):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    directory = write_tiny_cross_encoder(tmp_path / "reranker")
    texts = [" ".join(PIECES[n : n + 3]) for n in range(len(PIECES) - 2)]
    spec = f"tuned_hybrid:reranker={directory},radius=0,beside=1,mmr=1"
    found = fed(spec, texts, tiny_embedder).retrieve(ask("one gpu only")).units
    tokenizer = CrossEncoder(directory, graphs=tmp_path)._tokenizer
    scores = []
    for place in range(len(texts)):
        passage = "\n".join(texts[max(0, place - 1) : place + 2])
        scores.append(reference_score(directory, tokenizer.encode("one gpu only", passage)))
    expected = sorted(range(len(texts)), key=lambda place: -scores[place])
    assert [unit.turns for unit in found] == [(place,) for place in expected]
    np.testing.assert_allclose([unit.score for unit in found], sorted(scores)[::-1], atol=1e-5)


def test_hyde_brings_in_what_neither_words_nor_meaning_of_the_request_find():
    texts = [*FILLER, "parking levy", *FILLER[::-1], "zone tax"]
    spec = "tuned_hybrid:depth=1,radius=0,reranker=none"
    without = fed(spec, texts)
    assert 9 not in without.retrieve(ask("zone")).shown
    model = Writer("the parking levy is due")
    system = fed(spec, texts, model=model)
    assert 9 in system.retrieve(ask("zone")).shown
    assert "Request: zone" in model.prompts[0]
    system.retrieve(ask("zone"))
    assert system.account().llm_calls == 2
    assert without.account().llm_calls == 0


def test_a_model_with_nothing_to_say_changes_nothing():
    texts = [*FILLER, "zone tax"]
    silent = fed("tuned_hybrid", texts, model=Writer(" "))
    assert silent.retrieve(ask("zone")) == fed("tuned_hybrid", texts).retrieve(ask("zone"))


def test_windows_that_overlap_are_one():
    windows = grow([(10, 0.9), (13, 0.8), (40, 0.7)], radius=2, length=42)
    assert windows == [
        Window(start=8, stop=16, centre=10, score=0.9),
        Window(start=38, stop=42, centre=40, score=0.7),
    ]
    assert len(grow([(10, 0.9), (15, 0.8)], radius=2, length=42)) == 2


def test_a_hit_inside_a_window_carries_it_further():
    (window,) = grow([(10, 0.9), (12, 0.8)], radius=2, length=50)
    assert (window.start, window.stop, window.centre) == (8, 15, 10)


def test_windows_never_overlap_nor_run_together_without_end():
    hits = [(place, 1 - place / 100) for place in (*range(0, 60, 3), *range(1, 60, 7))]
    windows = grow(hits, radius=2, length=60)
    turns = [turn for window in windows for turn in range(window.start, window.stop)]
    assert len(turns) == len(set(turns))
    assert {place for place, _ in hits} <= set(turns)
    assert max(window.stop - window.start for window in windows) <= 10
    assert [w.score for w in windows] == sorted((w.score for w in windows), reverse=True)


def test_a_window_is_cut_round_its_best_hit():
    window = Window(start=0, stop=9, centre=4, score=1)
    assert fit(window, [2] * 9, 100) == window
    assert fit(window, [2] * 9, 7) == Window(start=3, stop=6, centre=4, score=1)
    assert fit(window, [2] * 9, 1) is None


def test_mmr_puts_what_is_new_before_what_is_near_the_same():
    windows = [Window(start=n, stop=n + 1, centre=n, score=s) for n, s in enumerate((1, 0.9, 0.5))]
    vectors = unit(np.array([[1, 0], [1, 0.1], [0, 1]], dtype=np.float32))
    vectors3 = np.concatenate([vectors, vectors[:1]])
    last = Window(start=3, stop=4, centre=3, score=0)
    order = [w.start for w in diversify([*windows, last], vectors3, 0.5)]
    assert order == [0, 2, 1, 3]
    assert [w.start for w in diversify([*windows, last], vectors3, 1)] == [0, 1, 2, 3]
    assert diversify([], vectors[:0], 0.5) == []


def test_a_near_duplicate_is_left_out_when_room_is_short():
    texts = ["gpu rule one", *FILLER, "gpu rule one", *FILLER[:5], "gpu letter"]
    spec = "tuned_hybrid:radius=0,beside=0,budget=10"
    greedy = fed(f"{spec},mmr=1", texts).retrieve(ask("gpu rule")).shown
    diverse = fed(f"{spec},mmr=0.5", texts).retrieve(ask("gpu rule")).shown
    assert greedy == {0, 10}
    assert diverse == {0, 16}


@pytest.mark.parametrize("budget", [0, 5, 33, 60, 200])
def test_the_budget_is_kept_and_used(budget, tiny_embedder):
    texts = [" ".join(PIECES[n % 9 : n % 9 + 1 + n % 5]) for n in range(120)]
    found = fed(f"tuned_hybrid:budget={budget}", texts, tiny_embedder).retrieve(ask("new gpu rule"))
    assert budget - 9 < tokens.by_words(found.context) <= budget


def test_units_are_runs_of_turns_and_the_context_keeps_their_order():
    texts = [*FILLER, "gpu rule", *FILLER[:7], "letter gpu", *FILLER[::-1]]
    found = fed("tuned_hybrid:radius=1,beside=0,candidates=2", texts).retrieve(ask("gpu rule"))
    assert [unit.turns for unit in found.units[:2]] == [(8, 9, 10), (16, 17, 18)]
    assert found.context.startswith("user: filler8\nuser: gpu rule\nuser: filler0\n\nuser: filler6")


def test_what_is_kept_is_counted():
    texts = ["the gpu rule", "bread"]
    assert fed("tuned_hybrid", texts).account().vectors == 2 + 4
    assert fed("tuned_hybrid", texts).account().indexed_words == 3 * 4
    plain = fed("tuned_hybrid:reranker=none", texts).account()
    assert (plain.vectors, plain.indexed_words) == (2, 2 * 4)


def test_an_embedder_without_token_vectors_is_told_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="reranker=none to keep the fused order"):
        fed("tuned_hybrid", ["gpu"], Remote())
    assert fed("tuned_hybrid:reranker=none", ["gpu"], Remote()).retrieve(ask("gpu")).shown == {0}
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    directory = write_tiny_cross_encoder(tmp_path / "reranker")
    assert isinstance(open_reranker(str(directory), Remote()), CrossEncoded)


def test_a_reranker_that_is_not_there_is_named():
    with pytest.raises(DataError, match="'BAAI/bge-reranker-base' is not a directory"):
        fed("tuned_hybrid:reranker=BAAI/bge-reranker-base", ["gpu"])


def test_minilm_reranks_the_turn_that_answers_first(minilm):
    texts = [
        "Lunch is at noon on Fridays.",
        "We never ship glass on Mondays because the courier does not insure it.",
        "The courier was late again, what a Monday.",
        "Glass of water, please.",
    ] + [f"Note {n}: nothing of interest happened." for n in range(20)]
    system = fed("tuned_hybrid:radius=0,beside=0", texts, minilm)
    assert system.retrieve(ask("Can I ship the glass on Monday?")).units[0].turns == (1,)
