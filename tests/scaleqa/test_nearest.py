"""The nearest records of one, and what each cue picks for it."""

from scaleqa.records.duplicates import embedding_pairs, lexical_pairs
from scaleqa.records.nearest import Nearest
from scaleqa.records.probes import embedding_cues, lexical_cues, lexical_probes
from scaleqa.testing import WordEmbedder
from tests.support.records import make

RECORDS = [make(n) for n in range(1, 12)]
TWIN = make(20, question=RECORDS[3].question, dialogue=RECORDS[3].model_dump()["dialogue"])


def test_the_nearest_pair_of_all_is_that_of_its_record():
    records = [*RECORDS, TWIN]
    nearest = Nearest(records, WordEmbedder())
    best = [*lexical_pairs(records, 1), *embedding_pairs(records, WordEmbedder(), 1)]
    assert {(pair.one, pair.two) for pair in best} == {(RECORDS[3].id, TWIN.id)}
    found = nearest.of(3, 2)
    for pair in best:
        assert pair in found
    assert all(pair.one == RECORDS[3].id != pair.two for pair in found)
    twins = [pair for pair in nearest.of(len(RECORDS), 1) if pair.two == RECORDS[3].id]
    assert len(twins) == 4 and all(pair.value >= pair.limit for pair in twins)


def test_without_an_embedder_words_alone_are_compared():
    found = Nearest([*RECORDS, TWIN], None).of(3, 5)
    assert {pair.measure for pair in found} == {
        "dialogue: shared five-word runs",
        "question: shared five-word runs",
    }
    assert Nearest(RECORDS[:1], WordEmbedder()).of(0, 5) == []


def test_a_cue_picks_what_its_probe_counts():
    options = {"A": "short", "B": "the longest of all", "C": "another", "D": "medium x"}
    records = [make(n, options=options) for n in range(1, 9)]
    longest = lexical_cues(records)[0]
    assert [longest.picks(n) for n in range(len(records))] == [["B"]] * len(records)
    share = sum(record.answer == "B" for record in records) / len(records)
    assert lexical_probes(records)[0].accuracy == share
    tied = make(1, options={"A": "one two", "B": "six two", "C": "ten", "D": "four"})
    assert lexical_cues([tied])[0].picks(0) == ["A", "B"]
    assert len(embedding_cues([tied], WordEmbedder())) == 2
