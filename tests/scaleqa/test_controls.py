"""Controls that are told a part of the truth, and the paper's rule with other constants."""

from dataclasses import replace

import pytest

from scaleqa.errors import DataError
from scaleqa.systems import Asked, Exchange, Tools, open_system
from scaleqa.systems.tsim_official import with_hops, with_theta
from tests.support.threads import THREAD, thread
from tsim.presets import OFFICIAL
from tsim.segment import Arrival, cuts
from tsim.toolkit import tokens

ASKED = Asked(id="q1", question="which gpu rule?", options=dict.fromkeys("ABCD", "x"))

DIALOGUES = (tuple(range(0, 48, 2)), tuple(range(1, 48, 2)))


@pytest.fixture
def tools(tiny_embedder):
    return Tools(embedder=tiny_embedder, truth={"q1": (3, 5)}, dialogues=DIALOGUES)


def test_gold_is_for_the_controls_alone(tools):
    system = open_system("oracle", tools)
    system.ingest(thread())
    assert system.retrieve(ASKED).shown == {3, 5}
    control = open_system("perfect_episodes", tools)
    control.ingest(thread())
    assert {unit.turns for unit in control.retrieve(ASKED).units} == {*DIALOGUES}


def test_perfect_episodes_are_dialogues_whatever_lies_between_their_turns(tools):
    whole, pieces = open_system("perfect_episodes", tools), open_system("perfect_episodes", tools)
    whole.ingest(thread())
    for turn in thread():
        pieces.ingest([turn])
    pair = tuple(thread(["which gpu rule?", "which gpu rule? one"], start=len(THREAD)))
    for system in (whole, pieces):
        system.observe(Exchange(turns=pair))
    assert whole.retrieve(ASKED) == pieces.retrieve(ASKED)
    assert {unit.turns for unit in whole.retrieve(ASKED).units} == {*DIALOGUES, (48, 49)}


def test_bm25_sessions_are_sessions_whatever_lies_between_their_turns(tools):
    whole, pieces = open_system("bm25_sessions", tools), open_system("bm25_sessions", tools)
    whole.ingest(thread())
    for turn in thread():
        pieces.ingest([turn])
    pair = tuple(thread(["which gpu rule?", "which gpu rule? one"], start=len(THREAD)))
    for system in (whole, pieces):
        system.observe(Exchange(turns=pair))
    asked = replace(ASKED, question=f"{THREAD[0]} {THREAD[1]} which gpu rule?")
    assert whole.retrieve(asked) == pieces.retrieve(asked)
    assert {unit.turns for unit in whole.retrieve(asked).units} == {*DIALOGUES, (48, 49)}


def test_bm25_sessions_rank_by_words_and_leave_out_sessions_without_any(tools):
    texts = ["bread", "gpu train", "gpu rule", "letter", "which rule", "budget"]
    pairs = replace(tools, dialogues=((0, 1), (2, 3), (4, 5)))
    system = open_system("bm25_sessions:k=5", pairs)
    system.ingest(thread(texts))
    asked = Asked(id="q", question="gpu rule", options={})
    found = [unit.turns for unit in system.retrieve(asked).units]
    assert found[0] == (2, 3)
    assert {*found} == {(0, 1), (2, 3), (4, 5)}
    asked = replace(asked, question="bread")
    assert [unit.turns for unit in system.retrieve(asked).units] == [(0, 1)]
    assert not system.retrieve(replace(asked, question="sky")).units


def test_words_help_perfect_episodes_to_exact_matches(tools):
    texts = ["bread", "train", "kx-204b", "letter", "new", "budget"]
    one_each = replace(tools, dialogues=tuple((n,) for n in range(6)))
    system = open_system("perfect_episodes:words=5,k=1", one_each)
    system.ingest(thread(texts))
    asked = Asked(id="q", question="kx-204b", options={})
    assert system.retrieve(asked).shown == {2}


def test_perfect_episodes_pack_whole_dialogues_by_rank_up_to_a_budget(tools):
    texts = ["rule gpu rule", "gpu rule " * 20, "bread train", "rule new", "letter letter"]
    one_each = replace(tools, dialogues=tuple((n,) for n in range(len(texts))))
    system = open_system("perfect_episodes:k=5", one_each)
    system.ingest(thread(texts))
    ranked = [unit.turns[0] for unit in system.retrieve(ASKED).units]
    assert len(ranked) == len(texts)
    for budget in (0, 5, 10, 13, 60, 1000):
        packed = open_system(f"perfect_episodes:k=5,budget={budget}", one_each)
        packed.ingest(thread(texts))
        found = packed.retrieve(ASKED)
        left, fitting = tokens.words_within(budget), []
        for turn in ranked:
            words = len(packed.line(turn).split())
            if words <= left:
                left -= words
                fitting.append(turn)
        expected = fitting if budget else ranked
        assert [unit.turns[0] for unit in found.units] == expected
        assert not budget or tokens.by_words(found.context) <= budget
    assert 0 < len(fitting) == len(texts)


def test_drift_windows_are_cut_where_the_paper_s_rule_cuts(tools, tiny_embedder):
    turns = thread([f"{text} " * 12 for text in THREAD])
    rule = replace(OFFICIAL.settings.segmenter, min_similarity=0.9)
    arrivals = [
        Arrival(role=turn.role, words=len(turn.text.split()), vector=vector)
        for turn, vector in zip(turns, tiny_embedder.embed([t.text for t in turns]), strict=True)
    ]
    expected = []
    for turn, cut in zip(turns, cuts(rule, arrivals), strict=True):
        if cut:
            expected.append(())
        expected[-1] += (turn.id,)
    system = open_system("drift_window:theta=0.9,k=100", tools)
    for turn in turns:
        system.ingest([turn])
    assert 1 < len(expected) < len(turns)
    assert sorted(unit.turns for unit in system.retrieve(ASKED).units) == expected


def test_hops_decide_whether_episodes_lend_to_their_neighbours(tools):
    found = {}
    for spec in ("", ",hops=0", ",hops=1"):
        system = open_system(f"tsim_official:preset=longmemeval{spec}", tools)
        system.ingest(thread([f"{text} " * 160 for text in THREAD]))
        found[spec] = {unit.turns: unit.score for unit in system.retrieve(ASKED).units}
    own, lent = found[",hops=0"], found[",hops=1"]
    assert found[""] == lent
    assert len(own.keys() & lent.keys()) > 1
    assert all(own[unit] < lent[unit] for unit in own.keys() & lent.keys())
    assert with_hops(OFFICIAL, 2).settings.rank.temporal_hops == 2
    with pytest.raises(DataError, match="preset 'late' has no hops"):
        open_system("tsim_official:preset=late,hops=0", tools)


def test_theta_changes_the_cuts_and_the_preset_s_name(tools):
    preset = with_theta(OFFICIAL, 0.66)
    assert (preset.name, preset.settings.segmenter.min_similarity) == ("official-theta=0.66", 0.66)
    assert preset.settings.rank == OFFICIAL.settings.rank
    with pytest.raises(DataError, match="preset 'late' has no theta"):
        open_system("tsim_official:preset=late,theta=0.6", tools)
    vectors = []
    for spec in ("tsim_official:theta=0.01", "tsim_official:theta=1.5"):
        system = open_system(spec, tools)
        system.ingest(thread([f"{text} " * 12 for text in THREAD]))
        vectors.append(system.account().vectors)
        system.close()
    assert vectors[0] < vectors[1]
