"""Sequels: their shape, whether they fit their records, and where they stand in threads."""

import hashlib
import json
from collections import Counter

import pytest
from typer.testing import CliRunner

from scaleqa.cli.app import app
from scaleqa.errors import DataError
from scaleqa.packages import build, load_packages, write_packages
from scaleqa.records import Sequel, load_records, load_sequels, shipped, shipped_sequels
from scaleqa.records.load import Supplements, data_dir, read_lines
from scaleqa.records.validate import validate
from scaleqa.systems import Asked, Tools, open_system
from tests.support.records import NOISE, RECORDS, SEQUELS, follow, make, settings_of, write


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
    report = validate([NAMED], supplements=Supplements(sequels=[sequel]))
    (finding,) = report.critical
    assert (finding.code, finding.where) == ("sequel", sequel.id)
    assert problem in finding.message


def test_sound_sequels_are_counted_and_may_use_the_name_if_they_say_so():
    named = follow(NAMED, named=True, dialogue=turns("a", "b", "Orrin left"), keeps=[])
    report = validate([NAMED, make(2)], supplements=Supplements(sequels=[named, follow(make(2))]))
    assert (report.critical, report.sequels) == ([], 2)


def test_sequels_stand_alone():
    records = [make(1), make(2)]
    same = turns("one", "two", "three")
    twins = [follow(record, dialogue=same) for record in records]
    (finding,) = validate(records, supplements=Supplements(sequels=twins)).critical
    assert finding.where == records[1].id
    assert finding.message == f"the same text as the sequel of {records[0].id}"
    two = [follow(records[0]), follow(records[0], dialogue=same)]
    (finding,) = validate(records, supplements=Supplements(sequels=two)).critical
    assert (finding.where, finding.message) == (records[0].id, "has 2 sequels")


FOLLOWED = {sequel.id: sequel for sequel in SEQUELS}
ENOUGH = 9000


def both(target=ENOUGH, records=RECORDS, sequels=SEQUELS, **changes):
    """The same threads without sequels and with them."""
    plain = build(records, NOISE, settings_of(target, **changes))
    return plain, build(records, NOISE, settings_of(target, sequels=True, **changes), sequels)


def blocks_of(package):
    return {block.source: block.turns for block in (*package.truth, *package.noise)}


@pytest.mark.parametrize("target", [0, 2000, ENOUGH])
def test_each_sequel_stands_whole_between_two_dialogues(target):
    _, packages = both(target)
    found = []
    for package in packages:
        assert [turn.id for turn in package.stream] == list(range(len(package.stream)))
        blocks = blocks_of(package)
        assert sorted(t for turns in blocks.values() for t in turns) == [
            *range(len(package.stream))
        ]
        for source, turns in blocks.items():
            assert list(turns) == [*range(turns[0], turns[-1] + 1)]
            if source.endswith("/sequel"):
                said = FOLLOWED[source.removesuffix("/sequel")].dialogue
                assert [(package.stream[t].role, package.stream[t].text) for t in turns] == [
                    (turn.role, turn.content) for turn in said
                ]
                found.append(source.removesuffix("/sequel"))
    assert sorted(found) == sorted(FOLLOWED)


def test_a_topic_resumes_long_after_or_where_that_cannot_be_at_the_end():
    (plain,), (package,) = both(0)
    old, new = blocks_of(plain), blocks_of(package)
    kinds = Counter()
    for name in FOLLOWED:
        begin = new[f"{name}/sequel"][0]
        possible = any(turns[0] - old[name][-1] >= 200 for turns in plain.dialogues)
        followed = any(t[0] > begin for s, t in new.items() if not s.endswith("/sequel"))
        assert possible == followed
        assert begin - new[name][-1] >= 200 or not possible
        kinds[possible] += 1
    assert min(kinds[True], kinds[False]) > 2


def test_its_question_gets_the_new_answer_and_what_is_needed_for_it():
    plain, packages = both()
    before = {query.id: query for package in plain for query in package.questions}
    records = {record.id: record for record in RECORDS}
    for package in packages:
        for query in package.questions:
            if query.id in FOLLOWED:
                sequel, old = FOLLOWED[query.id], before[query.id]
                texts = [package.stream[turn].text for turn in query.evidence]
                kept = [records[query.id].dialogue[index].content for index in sequel.keeps]
                assert texts == [*kept, *sequel.evidence_turns]
                assert (query.answer, query.reasoning) == (sequel.answer, sequel.reasoning)
                label = "sequel_named" if sequel.named else "sequel_unnamed"
                assert query.stress == (*old.stress, label)
                assert (query.question, query.options) == (old.question, old.options)


def test_all_else_stays_as_it_is_without_sequels():
    plain, packages = both(2000)
    assert len(plain) == len(packages) > 1
    for old, new in zip(plain, packages, strict=True):
        later = {t for s, turns in blocks_of(new).items() if s.endswith("/sequel") for t in turns}
        kept = [turn for turn in new.stream if turn.id not in later]
        assert [(t.role, t.text) for t in kept] == [(t.role, t.text) for t in old.stream]
        back = {turn.id: place for place, turn in enumerate(kept)}
        for one, other in zip(old.questions, new.questions, strict=True):
            if one.id not in FOLLOWED:
                assert tuple(back[turn] for turn in other.evidence) == one.evidence
                assert {**vars_of(other), "evidence": ()} == {**vars_of(one), "evidence": ()}
        blocks = blocks_of(new)
        for source, turns in blocks_of(old).items():
            assert tuple(back[turn] for turn in blocks[source]) == turns


def vars_of(query):
    return {name: getattr(query, name) for name in query.__slots__}


def test_packages_without_sequels_have_the_bytes_they_always_had(tmp_path):
    digest = hashlib.sha256()
    for mix in ("blocks", "braid"):
        write_packages(build(RECORDS, NOISE, settings_of(2000, mix=mix), SEQUELS), tmp_path / mix)
        for file in sorted((tmp_path / mix).rglob("*.json*")):
            digest.update(file.read_bytes())
    assert digest.hexdigest() == "e7e31cbe8be914768e73b6de1bf53e57104fcb0a2faa920ed6264e3eafe310fb"


def test_places_follow_from_the_mix_seed_for_each_sequel_by_itself():
    def before(sequels, **changes):
        (package,) = both(0, sequels=sequels, **changes)[1]
        blocks = blocks_of(package)
        starts = {turns[0]: source for source, turns in blocks.items()}
        return {
            sequel.id: next(
                (starts[t] for t in sorted(starts)
                 if t > blocks[f"{sequel.id}/sequel"][0] and not starts[t].endswith("/sequel")),
                None,
            )
            for sequel in sequels
        }  # fmt: skip

    together = before(SEQUELS)
    assert together == before(SEQUELS[::-1])
    assert {name: before([FOLLOWED[name]])[name] for name in together} == together
    assert together != before(SEQUELS, mix_seed=18)
    assert both(0)[1] == both(0, sequels=SEQUELS[::-1])[1]


def test_packages_with_sequels_are_told_from_others_and_read_back(tmp_path):
    plain, packages = both(2000)
    write_packages(packages, tmp_path / "out")
    assert load_packages(tmp_path / "out") == packages
    assert packages[0].settings["sequels"] is True
    assert "sequels" not in plain[0].settings
    assert packages[0].settings["records_sha256"] != plain[0].settings["records_sha256"]
    fewer = both(2000, sequels=SEQUELS[1:])[1]
    assert packages[0].settings["records_sha256"] != fewer[0].settings["records_sha256"]


def test_the_control_with_perfect_cuts_has_a_sequel_as_an_episode_of_its_own(tiny_embedder):
    (package,) = both(0)[1]
    control = open_system(
        "perfect_episodes:k=1000", Tools(embedder=tiny_embedder, dialogues=package.dialogues)
    )
    control.ingest(package.stream)
    units = control.retrieve(Asked(id="q", question="later?", options={})).units
    assert Counter(unit.turns for unit in units) == Counter(package.dialogues)
    assert {turns for s, turns in blocks_of(package).items() if s.endswith("/sequel")} <= {
        unit.turns for unit in units
    }


def test_sequels_that_cannot_be_had_are_refused():
    with pytest.raises(DataError, match="a braid has no such place"):
        both(mix="braid")
    with pytest.raises(DataError, match="none of 1 sequels follows one of the 60 records"):
        both(sequels=[follow(make(99))])
    with pytest.raises(DataError, match=r"the sequel of s1:Finance-001: keeps \[9\]"):
        both(sequels=[follow(RECORDS[0], keeps=[9])])


def run(*arguments):
    return CliRunner().invoke(app, ["build", "--target", "0", *arguments])


def test_the_command_takes_our_sequels_or_those_beside_the_records(tmp_path):
    assert run("--sequels", "--split", "s1", "--out", str(tmp_path / "ours")).exit_code == 0
    (package,) = load_packages(tmp_path / "ours")
    labels = Counter(query.stress[-1] for query in package.questions)
    own = Counter(s.named for s in shipped_sequels() if s.id.startswith("s1:"))
    assert (labels["sequel_named"], labels["sequel_unnamed"]) == (own[True], own[False])
    records = tmp_path / "records"
    records.mkdir()
    write(records / "mine.jsonl", RECORDS[:3])
    write(records / "sequels.jsonl", [SEQUELS[0]])
    options = ["--records", str(records), "--out", str(tmp_path / "own")]
    assert run(*options, "--sequels").exit_code == 0
    (package,) = load_packages(tmp_path / "own")
    assert [block.source for block in package.truth][3:] == [f"{SEQUELS[0].id}/sequel"]
    refused = run(*options, "--sequels", "--mix", "braid").exception
    assert "a braid has no such place" in str(refused)


def test_sequels_that_nobody_wants_are_not_read(tmp_path):
    write(tmp_path / "mine.jsonl", RECORDS[:3])
    (tmp_path / "sequels.jsonl").write_text("{}\n")
    options = ["--records", str(tmp_path), "--out", str(tmp_path / "out")]
    assert isinstance(run(*options, "--sequels").exception, DataError)
    assert run(*options).exit_code == 0
