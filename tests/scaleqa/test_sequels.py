"""Sequels: their shape, whether they fit their records, and where they stand in threads."""

import json

import pytest

from scaleqa.errors import DataError
from scaleqa.records import LETTERS, Sequel, load_records, load_sequels, shipped, shipped_sequels
from scaleqa.records.load import data_dir, read_lines
from scaleqa.records.validate import validate
from tests.scaleqa.test_records import make, write


def follow(record, *, named: bool = False, **changes) -> Sequel:
    """A sequel whose words depend on its record's id alone."""
    fields = {
        "id": record.id,
        "named": named,
        "dialogue": [
            {"role": ("user", "model")[n % 2], "content": f"later {record.id} goes on {n}"}
            for n in range(4)
        ],
        "answer": LETTERS[(LETTERS.index(record.answer) + 1) % 4],
        "evidence": [2],
        "keeps": [1, 4],
        "reasoning": f"It changed for {record.id}.",
    }
    return Sequel.model_validate(fields | changes)


def turns(*texts):
    return [{"role": ("user", "model")[n % 2], "content": text} for n, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"dialogue": turns("a", "b")}, "at least 3"),
        ({"dialogue": turns(*"abcdefg")}, "at most 6"),
        ({"dialogue": turns(*"abcd")[1:]}, "alternate"),
        ({"evidence": []}, "evidence"),
        ({"evidence": [2, 1]}, "ascending"),
        ({"evidence": [4]}, "outside the 4 turns"),
        ({"answer": "E"}, "answer"),
        ({"named": "yes"}, "named"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_sequel_that_does_not_hang_together_is_named_with_its_line(tmp_path, change, problem):
    good = json.loads(follow(make(1)).model_dump_json())
    path = tmp_path / "sequels.jsonl"
    path.write_text(json.dumps(good) + "\n" + json.dumps(good | change) + "\n")
    found, (bad,) = read_lines([path], Sequel)
    assert found == [follow(make(1))]
    assert (bad.source, bad.line) == ("sequels.jsonl", 2)
    assert problem in bad.problem
    with pytest.raises(DataError, match=r"sequels\.jsonl, line 2"):
        load_sequels(tmp_path)


def test_sequels_beside_records_are_found_and_are_no_records(tmp_path):
    write(tmp_path / "mine.jsonl", [make(1), make(2)])
    write(tmp_path / "sequels.jsonl", [follow(make(2))])
    assert load_records(tmp_path) == [make(1), make(2)]
    assert load_sequels(tmp_path) == [follow(make(2))]
    assert load_sequels(tmp_path / "mine.jsonl") == []


def test_those_that_ship_are_told_from_the_records():
    ids = {record.id for record in shipped()}
    assert len(ids) == 3000
    assert {sequel.id for sequel in shipped_sequels()} < ids
    assert {"sequels.jsonl", "sequel-readings.jsonl"} < {f.name for f in data_dir().iterdir()}


NAMED = make(1, question="Do we call Brandauer or Orrin's sister?")


@pytest.mark.parametrize(
    ("sequel", "problem"),
    [
        (follow(make(9)), "there is no such record"),
        (follow(NAMED, answer=NAMED.answer), "nothing changed"),
        (follow(NAMED, keeps=[7]), "keeps [7] is not ascending within the record's 7 turns"),
        (follow(NAMED, keeps=[-1]), "keeps"),
        (follow(NAMED, keeps=[3, 1]), "keeps"),
        (follow(NAMED, keeps=[1, 1]), "keeps"),
        (follow(NAMED, dialogue=turns("a", "orrin left", "c")), "says orrin as the question does"),
        (
            follow(NAMED, dialogue=turns("a", "b", NAMED.dialogue[0].content)),
            "an evidence turn stands twice",
        ),
    ],
)
def test_a_sequel_that_does_not_fit_its_record_is_critical(sequel, problem):
    report = validate([NAMED], sequels=[sequel])
    (finding,) = report.critical
    assert (finding.code, finding.where) == ("sequel", sequel.id)
    assert problem in finding.message


def test_sound_sequels_are_counted_and_may_use_the_name_if_they_say_so():
    named = follow(NAMED, named=True, dialogue=turns("a", "b", "Orrin left"), keeps=[])
    report = validate([NAMED, make(2)], sequels=[named, follow(make(2))])
    assert (report.critical, report.sequels) == ([], 2)


def test_sequels_stand_alone():
    records = [make(1), make(2)]
    same = turns("one", "two", "three")
    twins = [follow(record, dialogue=same) for record in records]
    (finding,) = validate(records, sequels=twins).critical
    assert finding.where == records[1].id
    assert finding.message == f"the same text as the sequel of {records[0].id}"
    two = [follow(records[0]), follow(records[0], dialogue=same)]
    (finding,) = validate(records, sequels=two).critical
    assert (finding.where, finding.message) == (records[0].id, "has 2 sequels")
