"""RAPTOR on vectors whose clusters are known, and on threads small enough to see through."""

import hashlib

import numpy as np
import pytest

from scaleqa.backends import Reply
from scaleqa.errors import DataError
from scaleqa.packages import StreamTurn
from scaleqa.systems import Asked, Exchange, Tools, open_system
from scaleqa.systems.raptor import clusters, tree
from scaleqa.systems.raptor.clusters import soft_clusters
from scaleqa.systems.raptor.system import build_point, stands_in
from scaleqa.systems.raptor.tree import Node, clusters_within, grow
from tsim import tokens
from tsim.index import terms
from tsim.vectors import unit

TOPICS = ("garden", "harbour")


def blobs(count, size=100, dimension=2, apart=9.0):
    """Round clouds in a row along one line, each of its own points."""
    rng = np.random.default_rng(5)
    clouds = rng.normal(0, 1, (count, size, dimension))
    clouds[:, :, 0] += apart * np.arange(count)[:, None]
    return clouds.reshape(-1, dimension).astype(np.float32)


class TopicEmbedder:
    """A topic is an axis; any other word points somewhere of its own."""

    identity = "topics"
    dimension = 8

    def embed(self, texts):
        return unit(np.stack([self._sum(text) for text in texts]))

    def embed_query(self, text):
        return self.embed([text])[0]

    def _sum(self, text):
        return sum((self._word(word) for word in terms(text)), np.zeros(self.dimension, np.float32))

    def _word(self, word):
        if word in TOPICS:
            return np.eye(self.dimension, dtype=np.float32)[TOPICS.index(word)]
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
        return np.random.default_rng(seed).normal(0, 0.12, self.dimension).astype(np.float32)


class FakeModel:
    identity = "fake"

    def __init__(self):
        self.prompts = []

    def chat(self, messages, functions=(), *, most_tokens=300):
        self.prompts.append(messages[0].content)
        return Reply(text=f"garden harbour gist {len(self.prompts)}")

    def close(self):
        pass


def thread(count=60, start=0):
    return [
        StreamTurn(
            id=n, role=("user", "model")[n % 2], text=f"{TOPICS[n % 2]} item{n} {TOPICS[n % 2]}."
        )
        for n in range(start, start + count)
    ]


def opened(spec="raptor:chunk=1", model=None):
    return open_system(spec, Tools(embedder=TopicEmbedder(), model=model))


def ask(system, question):
    return system.retrieve(Asked(id="q", question=question, options={}))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_bic_finds_the_number_of_clusters(count):
    expected = [tuple(range(100 * n, 100 * (n + 1))) for n in range(count)]
    assert soft_clusters(blobs(count), seed=0) == expected


def test_a_vector_between_two_clusters_belongs_to_both():
    two = blobs(2)
    between = (two[:100].mean(axis=0) + two[100:].mean(axis=0)) / 2
    found = soft_clusters(np.concatenate([two, between[None]]), seed=0)
    assert found == [(*range(100), 200), (*range(100, 200), 200)]


def test_few_or_equal_vectors_are_one_cluster():
    assert soft_clusters(blobs(1, size=11), seed=0) == [tuple(range(11))]
    assert soft_clusters(np.ones((30, 4), dtype=np.float32), seed=0) == [tuple(range(30))]


@pytest.mark.slow
def test_umap_keeps_topics_apart_and_gives_the_same_twice():
    centres = 4 * np.eye(32)[[0, 1]].repeat(30, axis=0)
    vectors = unit(np.random.default_rng(2).normal(0, 0.3, (60, 32)) + centres)
    found = soft_clusters(vectors, seed=3)
    assert {place for cluster in found for place in cluster} == set(range(60))
    assert all(len({place // 30 for place in cluster}) == 1 for cluster in found)
    assert soft_clusters(vectors, seed=3) == found


def test_a_cluster_too_long_for_a_summary_is_clustered_again(monkeypatch):
    def every_other(vectors, seed):
        return [tuple(range(start, len(vectors), 2)) for start in (0, 1)]

    monkeypatch.setattr(tree, "soft_clusters", every_other)
    nodes = [Node(text="ten words " * 5, level=0, turns=(n,)) for n in range(40)]
    found = clusters_within(nodes, np.ones((40, 2), dtype=np.float32), 13 * 10, seed=0)
    assert sorted(found) == [tuple(range(start, 40, 4)) for start in range(4)]


def test_a_long_cluster_that_does_not_fall_apart_is_halved():
    nodes = [Node(text="ten words " * 5, level=0, turns=(n,)) for n in range(40)]
    found = clusters_within(nodes, np.ones((40, 2), dtype=np.float32), 13 * 10, seed=0)
    assert found == [tuple(range(start, start + 10)) for start in range(0, 40, 10)]


def test_the_tree_has_a_summary_for_each_topic():
    leaves = [Node(text=str(n), level=0, turns=(n,)) for n in range(200)]
    nodes, vectors = grow(leaves, blobs(2), " ".join, lambda new: np.ones((len(new), 2)), seed=0)
    assert [(node.level, node.turns) for node in nodes] == [
        (1, tuple(range(100))),
        (1, tuple(range(100, 200))),
    ]
    assert nodes[0].text == " ".join(map(str, range(100)))
    assert vectors.shape == (2, 2)


def test_summaries_are_summarised_until_few_are_left_and_lone_nodes_go_up(monkeypatch):
    def pairs(vectors, seed):
        return [tuple(range(n, min(n + 2, len(vectors)))) for n in range(0, len(vectors), 2)]

    monkeypatch.setattr(tree, "soft_clusters", pairs)
    leaves = [Node(text=str(n), level=0, turns=(n,)) for n in range(49)]
    rows = np.zeros((49, 2), dtype=np.float32)
    nodes, _ = grow(leaves, rows, " ".join, lambda new: np.ones((len(new), 2)), seed=0)
    assert [sum(node.level == level for node in nodes) for level in (1, 2, 3)] == [24, 12, 6]
    assert {node.level for node in nodes if 48 in node.turns} == {2, 3}


def test_a_broad_question_finds_a_summary_and_a_narrow_one_a_chunk():
    system = opened()
    system.ingest(thread())
    broad = ask(system, "garden").units[0]
    narrow = ask(system, "harbour item17 harbour").units[0]
    assert broad.label.startswith("summary L")
    assert (narrow.label, narrow.turns) == ("chunk", (17,))


def test_a_summary_counts_only_turns_it_quotes_whole():
    system = opened()
    turns = thread()
    system.ingest(turns)
    found = ask(system, "garden")
    quoted = [unit for unit in found.units if unit.label != "chunk"]
    assert quoted
    for unit_ in quoted:
        assert all(turns[turn].text in found.context for turn in unit_.turns)
    assert found.shown == {turn for unit_ in found.units for turn in unit_.turns}


@pytest.mark.parametrize(
    ("text", "summary", "stands"),
    [
        ("Take one.", "First. Take one. Then go.", True),
        ("Take one.", "Take one.", True),
        ("yes", "That was yesterday.", False),
        ("Take one. Or two.", "Take one.", False),
        ("", "Take one.", False),
    ],
)
def test_a_turn_stands_in_a_summary_with_all_its_text(text, summary, stands):
    assert stands_in(text, summary) is stands


def test_chunks_are_whole_turns_up_to_the_size():
    system = opened("raptor:chunk=10")
    long = StreamTurn(id=3, role="user", text="word " * 30)
    system.ingest([*thread(3), long, *thread(2, start=4)])
    chunks = {unit.turns for unit in ask(system, "garden").units}
    assert chunks == {(0, 1), (2,), (3,), (4, 5)}


@pytest.mark.parametrize("budget", [10, 50, 300])
def test_the_budget_is_kept_and_used(budget):
    system = opened(f"raptor:chunk=1,budget={budget}")
    system.ingest(thread())
    found = ask(system, "garden")
    assert budget - 140 < tokens.by_words(found.context) <= budget
    assert found.units


def test_a_node_longer_than_the_whole_budget_does_not_end_the_search():
    system = opened("raptor:budget=20")
    system.ingest([StreamTurn(id=0, role="user", text="garden " * 100), *thread(2, start=1)])
    assert ask(system, "garden").shown == {1, 2}


def test_an_exchange_is_found_at_once_without_a_new_tree():
    model = FakeModel()
    system = opened(model=model)
    system.ingest(thread(40))
    ask(system, "garden")
    calls = len(model.prompts)
    pair = (
        StreamTurn(id=40, role="user", text="which zebra?"),
        StreamTurn(id=41, role="model", text="zebra stripes"),
    )
    system.observe(Exchange(turns=pair))
    assert {turn for unit_ in ask(system, "zebra").units[:2] for turn in unit_.turns} == {40, 41}
    assert len(model.prompts) == calls > 0


def test_the_tree_depends_on_the_turns_alone():
    whole, pieces = opened(), opened()
    whole.ingest(thread())
    for start, count in ((0, 1), (1, 20), (21, 2), (23, 37)):
        pieces.ingest(thread(count, start))
        ask(pieces, "garden")
    for question in ("garden", "harbour", "item17"):
        assert ask(whole, question) == ask(pieces, question)
    assert whole.account() == pieces.account()


def test_build_points_are_fixed_and_leave_out_a_tenth_at_most():
    points = [build_point(complete) for complete in range(3000)]
    assert points[:13] == [0] * 12 + [12]
    assert points == sorted(points)
    assert all(10 * (n - point) <= n for n, point in enumerate(points) if point)
    assert len(set(points[1500:])) <= 8


def test_a_model_writes_the_summaries_and_is_counted():
    model = FakeModel()
    system = opened(model=model)
    system.ingest(thread())
    assert system.account().llm_calls == 0
    found = ask(system, "garden harbour gist")
    assert system.account().llm_calls == len(model.prompts) > 0
    assert found.units[0].label == "summary L1"
    assert found.units[0].turns == ()
    assert found.context.startswith("[summary] garden harbour gist")
    assert "user: garden item0 garden." in "".join(model.prompts)


def test_account_counts_chunks_and_summaries():
    system = opened()
    system.ingest(thread())
    assert system.account().vectors == 60
    assert system.account().indexed_words == 180
    ask(system, "garden")
    assert system.account().vectors > 60
    assert system.account().indexed_words > 180
    assert system.account().llm_calls == 0


@pytest.mark.parametrize("text", ["the of and", "garden"])
def test_a_thread_of_one_text_is_searched_as_any_other(text):
    system = opened()
    system.ingest([StreamTurn(id=n, role="user", text=text) for n in range(40)])
    assert ask(system, "garden").shown == set(range(40))


def test_missing_libraries_are_named_with_what_to_install(monkeypatch):
    monkeypatch.setattr(clusters, "find_spec", lambda module: None if module == "umap" else module)
    with pytest.raises(DataError, match=r"umap-learn.*scaleqa\[rivals\]"):
        opened()
