"""Plain baselines: chunks by BM25, turns packed under a budget."""

from scaleqa.specs import Spec
from scaleqa.systems import Asked, Tools, open_system, with_budget
from tests.support.threads import thread


def test_a_budget_goes_to_systems_that_take_one_and_name_none():
    assert with_budget("tsim", 900) == "tsim:budget=900"
    assert with_budget("tsim:budget=50", 900) == "tsim:budget=50"
    assert with_budget("hybrid_rrf:depth=9", 900) == "hybrid_rrf:depth=9,budget=900"
    assert with_budget("standard_rag", 900) == "standard_rag"


def chunks(turns, **options):
    spec = Spec(name="bm25_chunks", options=options)
    system = open_system(str(spec), Tools(embedder=None))
    system.ingest(turns)
    return system


def asked(text):
    return Asked(id="q", question=text, options={})


def test_bm25_chunks_are_whole_turns_within_the_size():
    texts = ["one two", "three four", "five " * 30, "six seven eight"]
    found = chunks(thread(texts), size=8, k=9).retrieve(asked("one five six"))
    # Each text ends with its number: three words and three make eight tokens.
    assert sorted(unit.turns for unit in found.units) == [(0, 1), (2,), (3,)]


def test_bm25_chunks_return_the_best_and_nothing_without_a_common_word():
    system = chunks(thread(["gpu gpu rule", "bread", "gpu letter", "train"]), size=4, k=2)
    assert [unit.turns for unit in system.retrieve(asked("which gpu rule?")).units] == [(0,), (2,)]
    assert system.retrieve(asked("nothing alike")).units == ()
    assert chunks([], size=4, k=2).retrieve(asked("gpu")).units == ()


def test_bm25_chunks_do_not_depend_on_the_pieces_they_came_in():
    whole, pieces = chunks(thread(), size=30, k=3), chunks([], size=30, k=3)
    for turn in thread():
        pieces.ingest([turn])
        pieces.retrieve(asked("gpu"))
    assert pieces.retrieve(asked("which gpu rule?")) == whole.retrieve(asked("which gpu rule?"))


def test_packed_turns_keep_their_budget_and_pass_over_long_turns_only_if_told(tiny_embedder):
    turns = thread(["which gpu rule " * 10, "bread and train", "only one letter"])

    def shown(**options):
        spec = Spec(name="packed_turns", options=options)
        system = open_system(str(spec), Tools(embedder=tiny_embedder))
        system.ingest(turns)
        found = system.retrieve(asked("which gpu rule?"))
        assert len(found.context.split()) * 1.3 <= options["budget"] + 0.5
        return [turn for unit in found.units for turn in unit.turns]

    assert sorted(shown(budget=200)) == [0, 1, 2]
    assert shown(budget=200, long=1)[-1] == 0
    assert shown(budget=45, long=0) == [0]
    assert sorted(shown(budget=45, long=1)) == [1, 2]
