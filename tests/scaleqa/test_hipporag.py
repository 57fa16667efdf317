"""HippoRAG: what is read from a passage, how the graph joins it, what the walk finds."""

import sys
import zlib

import numpy as np
import pytest
from scipy import sparse

from scaleqa.backends import Reply
from scaleqa.errors import DataError
from scaleqa.packages import StreamTurn
from scaleqa.systems import Asked, Tools, open_system
from scaleqa.systems.hipporag import openie
from scaleqa.systems.hipporag.facts import Facts, phrase
from scaleqa.systems.hipporag.graph import Graph, pagerank
from scaleqa.systems.hipporag.openie import Parsed
from scaleqa.systems.hipporag.prompted import Prompted


class Words:
    """An embedder whose texts are near when they share words, by their first four letters."""

    identity = "words"
    dimension = 512

    def embed(self, texts):
        return np.array([self.embed_query(text) for text in texts], dtype=np.float32)

    def embed_query(self, text):
        out = np.zeros(self.dimension, dtype=np.float32)
        for word in phrase(text).split():
            seed = zlib.crc32(word[:4].encode())
            out += np.random.default_rng(seed).standard_normal(self.dimension, dtype=np.float32)
        return out / max(float(np.linalg.norm(out)), 1e-9)


class Model:
    """A chat model that answers from a table of what a prompt may end with."""

    identity = "model"

    def __init__(self, answers):
        self.answers = answers
        self.prompts = []

    def chat(self, messages, functions=(), *, most_tokens=300):
        self.prompts.append(messages[-1].content)
        return Reply(
            text=next(a for end, a in self.answers.items() if self.prompts[-1].endswith(end))
        )

    def close(self):
        pass


def turns(texts, start=0):
    return [StreamTurn(id=start + n, role="user", text=text) for n, text in enumerate(texts)]


def found(system, question):
    units = system.retrieve(Asked(id="q", question=question, options={})).units
    return [turn for unit in units for turn in unit.turns]


def opened(options="", model=None):
    return open_system(f"hipporag:{options}", Tools(embedder=Words(), model=model))


def read(text):
    return Parsed().read([turns([text])])[0]


def facts(*names, triples=()):
    return Facts(mentions=dict.fromkeys(names, 1), triples=tuple(triples))


@pytest.mark.parametrize(
    ("text", "triples"),
    [
        ("Kalinin took the seat of Ostrander.", "kalinin took seat|seat of ostrander"),
        ("The seat is part of the board.", "seat is part|part of board"),
        ("The originals were moved to the basement.", "originals moved to basement"),
        (
            "The letters were burned by Arauco in the yard.",
            "arauco burned letters|arauco burned in yard|letters burned in yard",
        ),
        ("Linke, the auditor, keeps the line.", "linke is auditor|linke keeps line"),
        ("I painted portraits for my party.", "portraits painted for party"),
        (
            "Mira and Jonas repaired the gate and sold the cart.",
            "mira repaired gate|jonas repaired gate|mira sold cart|jonas sold cart",
        ),
        ("A letter written by Kalinin arrived.", "kalinin written letter"),
        (
            "The Jystrup trial starts in March.",
            "jystrup trial starts in march|jystrup in jystrup trial",
        ),
        ("It is good for them.", ""),
    ],
)
def test_triples_of_a_sentence(text, triples):
    said = read(text)
    assert sorted(" ".join(triple) for triple in said.triples) == sorted(
        filter(None, triples.split("|"))
    )
    assert {end for one, _, other in said.triples for end in (one, other)} <= said.mentions.keys()


def test_phrases_are_counted_and_pronouns_name_nothing():
    said = read("She saw the gate. A gate was there, and they kept this one.")
    assert said.mentions == {"gate": 2}
    assert phrase("The campaign’s own faces!") == "campaign own faces"
    assert phrase("this one") == ""


def test_a_text_is_parsed_once(monkeypatch):
    text = "Only here does Vantablue meet the ferryman."
    first = read(text)
    monkeypatch.setattr(openie, "facts", lambda doc: pytest.fail("parsed again"))
    assert read(text) == first


HOPS = [
    "Marta Keller runs the Osprey project.",
    "Do you need more bread?",
    "What does bread need?",
    "The Osprey project uses a walnut cabinet.",
    "The old hinges of the walnut cabinet are loose.",
    "You do need what you need.",
]


def test_the_walk_finds_what_the_question_does_not_name():
    question = "What does Marta Keller need?"
    system = opened("chunk=0,k=3")
    system.ingest(turns(HOPS))
    assert found(system, question) == [0, 3, 4]
    dense = open_system("standard_rag:k=4", Tools(embedder=Words()))
    dense.ingest(turns(HOPS))
    assert not {3, 4} & set(found(dense, question))


def test_variants_of_a_phrase_are_joined():
    texts = ["Mira repaired the garden gate.", "The garden gates have a copper hinge."]
    for options, expected in (("chunk=0", [0, 1]), ("chunk=0,synonymy=1.1", [0])):
        system = opened(options)
        system.ingest(turns(texts))
        assert found(system, "What did Mira do?") == expected


def test_synonymy_joins_near_phrases_of_three_letters_or_more():
    graph = Graph(Words())
    graph.put(0, [facts(name) for name in ("stone gates", "stone gate", "stone bridge")])
    graph.put(3, [facts("a1"), facts("a1.")])
    assert (graph.rank(["stone gates"]) > 0).tolist() == [True, True, False, False, False]
    assert (graph.rank(["a1"]) > 0).tolist() == [False, False, False, True, False]


def test_a_rare_phrase_weighs_more_than_a_common_one():
    graph = Graph(Words())
    graph.put(0, [facts("common"), facts("common"), facts("common"), facts("rare")])
    assert graph.rank(["common", "rare"]).tolist() == [0.25, 0.25, 0.25, 0.75]


def test_a_passage_earns_by_every_mention_of_its_phrases():
    graph = Graph(Words())
    twice = Facts(mentions={"anchor": 2}, triples=())
    graph.put(0, [facts("anchor"), twice])
    assert graph.rank(["anchor"]).tolist() == [1, 2]


def test_a_replaced_passage_leaves_no_trace():
    fresh, changed = Graph(Words()), Graph(Words())
    new = facts("harbour", "tide", triples=[("harbour", "has", "tide")])
    other = facts("tide", "ferry", triples=[("tide", "lifts", "ferry")])
    changed.put(0, [facts("harbour", "ferry", triples=[("harbour", "has", "ferry")])])
    changed.put(0, [facts("harbours", "lamp", triples=[("harbours", "has", "lamp")])])
    for graph in (fresh, changed):
        graph.put(0, [new, other])
    assert changed.rank(["harbour"]).tolist() == fresh.rank(["harbour"]).tolist()
    assert changed.rank(["lamp"]).tolist() == fresh.rank(["lamp"]).tolist()


@pytest.mark.parametrize("damping", [0.0, 0.5, 0.9])
def test_pagerank_solves_its_equation(damping):
    rng = np.random.default_rng(7)
    half = np.triu(rng.random((40, 40)) * (rng.random((40, 40)) < 0.08), 1)
    weights = half + half.T
    weights[:, 5] = weights[5, :] = 0
    sums = weights.sum(axis=0)
    step = weights / np.where(sums == 0, 1, sums)
    reset = np.zeros(40)
    reset[[3, 5, 11]] = [0.5, 0.3, 0.2]
    whole = step + np.outer(reset, sums == 0)
    exact = np.linalg.solve(np.eye(40) - damping * whole, (1 - damping) * reset)
    assert pagerank(sparse.csr_array(step), reset, damping) == pytest.approx(exact, abs=1e-12)


STREAM = [
    f"{text} Note {n}: the {word} lies by the Osprey cabinet."
    for n, (text, word) in enumerate(
        zip(HOPS * 4, "oar map key cup pen hat net jar".split() * 3, strict=True)
    )
]


@pytest.mark.parametrize("options", ["chunk=0", "chunk=40", "chunk=128"])
def test_neither_pieces_nor_questions_change_what_is_found(options):
    whole, pieces = opened(options), opened(options)
    whole.ingest(turns(STREAM))
    for place, turn in enumerate(turns(STREAM)):
        pieces.ingest([turn])
        if place % 3 == 0:
            found(pieces, "What does Marta Keller need?")
    for question in ("What does Marta Keller need?", "Where is the oar?", "And?"):
        asked = Asked(id="q", question=question, options={})
        assert pieces.retrieve(asked) == whole.retrieve(asked)
    assert pieces.account() == whole.account()


def test_passages_are_runs_of_whole_turns_of_about_the_size_under_a_cap():
    system = opened("chunk=40,k=100,budget=100000")
    system.ingest(turns(STREAM))
    units = system.retrieve(Asked(id="q", question="Where is the cabinet?", options={})).units
    assert sorted(turn for unit in units for turn in unit.turns) == list(range(len(STREAM)))
    assert all(list(u.turns) == list(range(u.turns[0], u.turns[0] + len(u.turns))) for u in units)
    assert 1 < len(units[0].turns) < 5
    small = opened("chunk=40,k=100,budget=120")
    small.ingest(turns(STREAM))
    context = small.retrieve(Asked(id="q", question="Where is the cabinet?", options={})).context
    assert 60 < 1.3 * len(context.split()) <= 125


def test_a_question_that_names_nothing_goes_by_the_nearest_turn():
    system = opened("chunk=0,k=1")
    system.ingest(turns(["Bread is warm.", "They ran and ran.", "The map is old."]))
    assert Parsed().ask("ran?") == ()
    assert found(system, "ran?") == [1]


def test_what_is_kept_is_told():
    system = opened("chunk=0")
    system.ingest(turns(["Kalinin took the garden gate.", "The garden gate is old."]))
    kept = system.account()
    assert (kept.vectors, kept.indexed_words, kept.llm_calls) == (2 + 2, 10 + 3, 0)


PAIR = '{"entities": ["Ada"], "triples": [["Ada", "keeps", "the ledger"], ["bad"], [1, 2, 3], "x"]}'


def test_a_model_reads_passages_and_questions():
    model = Model(
        {
            "Ada keeps it.": f"Here you are:\n```json\n{PAIR}\n```",
            "It is in the vault.": '{"triples": [["ledger", "is in", "the vault"]], "entities": 3}',
            "Rain again.": "I could not find any.",
            "Snow.": '{"entities": ["snow"',
            "Ada?": '{"entities": ["Ada", ""]}',
        }
    )
    system = opened("chunk=0", model)
    system.ingest(turns(["Ada keeps it.", "It is in the vault.", "Rain again.", "Snow."]))
    assert (system.account().llm_calls, system.malformed) == (4, 2)
    assert found(system, "Ada?") == [0, 1]
    assert found(system, "Ada?") == [0, 1]
    assert system.account().llm_calls == 5
    assert "user: Ada keeps it." in model.prompts[0]


def test_a_model_reads_an_open_passage_only_when_asked():
    said = '{"entities": ["Ada"], "triples": []}'
    model = Model({"": said})
    system = opened("chunk=20", model)
    for turn in turns([f"Ada is here with all {n} of us." for n in range(5)]):
        system.ingest([turn])
    assert len(model.prompts) == 2
    assert sorted(found(system, "Ada?")) == [0, 1, 2, 3, 4]
    assert len(model.prompts) == 4


def test_mentions_of_a_model_are_counted_in_the_text():
    said = '{"entities": ["art"], "triples": [["Art", "is for", "party"]]}'
    [one] = Prompted(Model({"": said})).read([turns(["Art, party, art."])])
    assert one == Facts(mentions={"art": 2, "party": 1}, triples=(("art", "is for", "party"),))


def test_what_is_missing_is_named(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "spacy", None)
        openie._parser.cache_clear()
        with pytest.raises(DataError, match=r"spaCy.*pip install 'scaleqa\[rivals\]'"):
            opened()
        opened(model=Model({}))
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "scipy", None)
        patch.delitem(sys.modules, "scaleqa.systems.hipporag.graph")
        with pytest.raises(DataError, match=r"scipy.*pip install 'scaleqa\[rivals\]'"):
            opened()


@pytest.mark.parametrize("options", ["damping=1", "damping=-0.1", "chunk=big", "depth=3"])
def test_wrong_options_are_refused(options):
    with pytest.raises(DataError, match="option"):
        opened(options)
