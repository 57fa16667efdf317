"""The engine against the reference, on random streams."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import reference
from tests.support.feed import WIDTH, Feed, embed, relaxed, streams
from tsim import LATE, LONGMEMEVAL, OFFICIAL, Memory
from tsim.presets import Preset
from tsim.segment import Step

BOTH = pytest.mark.parametrize(
    ("preset", "constants"),
    [(OFFICIAL, reference.OFFICIAL), (LONGMEMEVAL, reference.LONGMEMEVAL)],
    ids=["official", "longmemeval"],
)


@BOTH
@relaxed
@given(stream=streams)
def test_segments_clusters_and_scores_agree_with_the_reference(preset, constants, stream):
    feed = Feed(preset)
    feed.add(stream)
    vectors = embed([text for _, text in stream])
    episodes = reference.segment(constants, stream, vectors)
    assert feed.episodes == episodes

    closed = episodes[:-1]
    texts = [
        reference.summary_text(e, [stream[t] for t in turns]) for e, turns in enumerate(closed)
    ]
    summaries = embed(texts)
    members = reference.clusters(constants, summaries)
    assert {k: list(c.members) for k, c in feed.clusters.items()} == members

    routes = {
        k: embed([reference.description(constants, m, texts.__getitem__)])[0]
        for k, m in members.items()
    }
    query = embed(["the question"])[0]
    expected = reference.rank(constants, query, vectors, episodes, summaries, members, routes)
    hits = feed.search(count=10**6)
    assert {hit.episode for hit in hits} == {*expected}
    for hit in hits:
        assert hit.score == pytest.approx(expected[hit.episode], abs=1e-4)
        why = hit.why
        terms = why.raw + why.summary + why.cluster + why.expansion + why.neighbour
        assert terms == pytest.approx(hit.score)
        assert sum(e.points for e in why.evidence) == pytest.approx(hit.score)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("preset", [LATE, OFFICIAL, LONGMEMEVAL], ids=lambda p: p.name)
@relaxed
@given(stream=streams, data=st.data())
def test_any_way_of_cutting_a_stream_into_calls_gives_the_same_state(preset, stream, data):
    whole = Feed(preset)
    whole.add(stream)
    pieces = Feed(preset)
    rest = stream
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        pieces.add(rest[:size])
        rest = rest[size:]
        if data.draw(st.booleans()):
            pieces.search()  # asking changes nothing
    assert pieces.receipts == whole.receipts
    assert pieces.episodes == whole.episodes
    assert pieces.clusters.keys() == whole.clusters.keys()
    for key, cluster in whole.clusters.items():
        other = pieces.clusters[key]
        assert cluster.members == other.members
        assert cluster.total.tobytes() == other.total.tobytes()
        assert cluster.vector.tobytes() == other.vector.tobytes()
    assert pieces.search() == whole.search()


@relaxed
@given(stream=streams)
def test_no_text_is_embedded_twice_and_cluster_texts_only_when_they_change(stream):
    feed = Feed(OFFICIAL)
    for one in stream:
        before = {k: c.members for k, c in feed.clusters.items()}
        feed.embedded.clear()
        feed.add([one])
        changed = [k for k, c in feed.clusters.items() if before.get(k) != c.members]
        closed = feed.receipts[-1].closed is not None
        assert len(feed.embedded) == closed + len(changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryFew:
    """Cuts after so many turns; its state is the number of turns in the open episode."""

    turns: int

    def resume(self, episode):
        return sum(1 for _ in episode) or self.turns

    def advance(self, state, turn):
        cut = state >= self.turns
        return Step(cut=cut, state=1 if cut else state + 1)


def test_episodes_are_cut_by_whatever_segmenter_the_settings_name(tmp_path):
    class Embedder:
        identity, dimension = "bytes", WIDTH

        def embed(self, texts):
            return embed(texts)

        def embed_query(self, text):
            return embed([text])[0]

    settings = replace(OFFICIAL.settings, segmenter=EveryFew(turns=3))
    preset = Preset(name="every-three", settings=settings)
    assert preset.fingerprint != Preset(name="every-three", settings=OFFICIAL.settings).fingerprint
    for first in range(0, 8, 2):  # opened anew in the midst of episodes
        with Memory.open(tmp_path / "m.db", model=Embedder(), preset=preset) as memory:
            memory.thread("a").add_many([("user", f"said {first + n}") for n in range(2)])
            episodes = memory.thread("a").episodes()
    assert [len(episode.turns) for episode in episodes] == [3, 3, 2]


@pytest.mark.parametrize("preset", [LATE, OFFICIAL], ids=lambda p: p.name)
def test_an_empty_thread_answers_with_nothing(preset):
    assert Feed(preset).search() == []


@pytest.mark.parametrize(
    ("preset", "written"),
    [
        (OFFICIAL, "official/7a00f7e80189"),
        (LONGMEMEVAL, "longmemeval/577bf31183b0"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_presets_know_what_earlier_releases_wrote_for_them(preset, written):
    assert preset.former == (written,)
    assert preset.fingerprints == (preset.fingerprint, written)
    assert preset.fingerprint != written


def test_the_default_method_does_not_claim_memories_of_its_predecessor():
    assert "late/2575c2fa21d9" not in LATE.fingerprints


def test_other_constants_have_another_fingerprint():
    settings = replace(LATE.settings, span=replace(LATE.settings.span, budget=1))
    changed = Preset(name=LATE.name, settings=settings)
    assert not {*changed.fingerprints} & {*LATE.fingerprints}


def test_presets_hold_the_papers_constants():
    segment, rank = OFFICIAL.settings.segmenter, OFFICIAL.settings.rank
    assert (segment.min_similarity, segment.min_tokens, segment.max_tokens) == (0.70, 120, 320)
    assert (segment.recent_turns, segment.user_after_model_bonus, segment.min_turns) == (4, 0.03, 2)
    assert (rank.k_raw, rank.k_summary, rank.k_cluster, rank.k_final) == (28, 20, 2, 5)
    assert (rank.w_raw, rank.w_summary, rank.w_cluster) == (1.15, 1.20, 0.75)
    assert (rank.w_expansion, rank.cluster_decay) == (0.55, 0.70)
    assert (rank.cluster_episodes, rank.seed_relatives, rank.temporal_hops) == (2, 2, 0)
    clusters, window = OFFICIAL.settings.clusters, OFFICIAL.settings.window
    assert (clusters.threshold, clusters.margin) == (0.42, 0.08)
    assert (window.turns, window.overlap) == (8, 2)
    assert OFFICIAL.settings.summary.characters == 1200
    adapted = LONGMEMEVAL.settings
    segment = adapted.segmenter
    assert (segment.min_similarity, segment.recent_turns) == (0.74, 2)
    assert segment.user_after_model_bonus == 0.06
    assert (segment.min_tokens, segment.max_tokens) == (160, 480)
    rank = adapted.rank
    assert (rank.k_raw, rank.k_summary, rank.k_cluster, rank.k_final) == (16, 24, 1, 8)
    assert (rank.w_raw, rank.w_summary, rank.w_cluster) == (1.5, 1.5, 0.35)
    assert rank.temporal_decay == 0.5
