"""Tracks: the same threads in other words, facts told in passing, matters that never came up."""

import hashlib
import json
from collections import Counter
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from scaleqa.cli.app import app
from scaleqa.datasets import open_threads
from scaleqa.errors import DataError
from scaleqa.noise import Dialogue
from scaleqa.packages import (
    Filler,
    build,
    check_packages,
    load_packages,
    subset,
    track_of,
    write_packages,
)
from scaleqa.records import shipped
from tests.support.records import (
    ASIDES,
    NOISE,
    RECORDS,
    SEQUELS,
    WORDINGS,
    aside,
    make,
    reword,
    settings_of,
    write,
)

WORDS = {one.id: one.question for one in WORDINGS}
ABOUT = {record.id: record for record in (*RECORDS, *ASIDES)}


def questions_of(packages):
    return [question for package in packages for question in package.questions]


def said(package):
    return [(turn.id, turn.role, turn.text) for turn in package.stream]


@pytest.mark.parametrize("target", [0, 2000, 9000])
@pytest.mark.parametrize("mix", ["blocks", "braid"])
def test_other_words_are_asked_about_the_same_threads(target, mix):
    plain = build(RECORDS, NOISE, settings_of(target, mix=mix))
    other = build(RECORDS, NOISE, settings_of(target, mix=mix, wording="other"), wordings=WORDINGS)
    before = {package.name: package for package in plain}
    assert [package.name for package in other] == [
        one.name for one in plain if any(q.id in WORDS for q in one.questions)
    ]
    assert sorted(question.id for question in questions_of(other)) == sorted(WORDS)
    for package in other:
        same = before[package.name]
        assert (package.stream, package.truth, package.noise) == (
            same.stream,
            same.truth,
            same.noise,
        )
        own = {question.id: question for question in same.questions}
        for question in package.questions:
            assert question.question == WORDS[question.id] != own[question.id].question
            for name in ("options", "answer", "evidence", "stress", "reasoning"):
                assert getattr(question, name) == getattr(own[question.id], name)


def test_packages_that_ask_nothing_are_left_out():
    packages = build(RECORDS, NOISE, settings_of(2000, wording="other"), wordings=WORDINGS[:1])
    assert [len(package.questions) for package in packages] == [1]
    check_packages(packages)


def test_the_other_words_are_part_of_what_a_package_is_known_by():
    def sha(*wordings):
        packages = build(RECORDS, NOISE, settings_of(0, wording="other"), wordings=wordings)
        return packages[0].settings["records_sha256"]

    plain = build(RECORDS, NOISE, settings_of(0))[0].settings["records_sha256"]
    changed = reword(RECORDS[0], "Another?")
    assert len({plain, sha(*WORDINGS), sha(changed, *WORDINGS[1:])}) == 3
    assert sha(*WORDINGS) == sha(*WORDINGS[::-1])


@pytest.mark.parametrize("target", [0, 700, 9000])
def test_asides_take_the_place_of_records_in_threads_of_one_user_each(target):
    packages = build(ASIDES, NOISE, settings_of(target))
    assert len(packages) >= 2
    assert sorted(q.id for q in questions_of(packages)) == sorted(one.id for one in ASIDES)
    for package in packages:
        assert package.settings["asides"] is True
        assert len({question.split for question in package.questions}) == 1
        for question in package.questions:
            (turn,) = question.evidence
            assert ABOUT[question.id].fact in package.stream[turn].text
            assert package.stream[turn].role == "user"
            assert question.domain == "Aside"
            assert question.stress in (("health", "inference"), ("health", "restated"))
        assert bool(package.noise) == bool(target)
    check_packages(packages)


def test_records_fill_threads_of_asides_only_where_all_noise_is_used():
    reserve = [
        Dialogue(id=f"r{n}", genre="record", turns=(f"reserve {n} " * 20,)) for n in range(40)
    ]
    enough = build(ASIDES, Filler(noise=NOISE, reserve=reserve), settings_of(3000))
    assert enough == build(ASIDES, NOISE, settings_of(3000))
    few = NOISE[:5]
    with pytest.raises(DataError, match="tokens of noise and the pool has"):
        build(ASIDES, few, settings_of(1500))
    for package in build(ASIDES, Filler(noise=few, reserve=reserve), settings_of(1500)):
        sources = [block.source for block in package.noise]
        assert {dialogue.id for dialogue in few} < {*sources}
        assert abs(package.stats["tokens"] - 1500) < 100
    with pytest.raises(DataError, match="the pool has"):
        build(ASIDES, Filler(noise=few, reserve=reserve), settings_of(9000))


@pytest.mark.parametrize("cases", [RECORDS, ASIDES], ids=["records", "asides"])
@pytest.mark.parametrize("target", [0, 2000, 9000])
def test_every_second_dialogue_is_left_out_and_still_asked_about(cases, target):
    plain = build(cases, NOISE, settings_of(target))
    packages = build(cases, NOISE, settings_of(target, absent=True))
    assert [[q.id for q in p.questions] for p in packages] == [
        [q.id for q in p.questions] for p in plain
    ]
    for before, package in zip(plain, packages, strict=True):
        there = {block.source for block in package.truth}
        texts = Counter(turn.text for turn in package.stream)
        kept = Counter(turn.content for name in there for turn in ABOUT[name].dialogue)
        out = 0
        for question, old in zip(package.questions, before.questions, strict=True):
            case = ABOUT[question.id]
            if question.id in there:
                found = [package.stream[turn].text for turn in question.evidence]
                assert found == case.evidence_turns
                assert question.stress == old.stress
            else:
                out += 1
                assert question.evidence == ()
                assert question.stress == (*old.stress, "absent")
                assert all(texts[t.content] == kept[t.content] for t in case.dialogue)
            assert (question.question, question.answer) == (old.question, old.answer)
        assert abs(2 * out - len(package.questions)) <= 1
        if target:
            assert abs(package.stats["tokens"] - before.stats["tokens"]) < 120
    check_packages(packages)


def test_what_is_left_out_follows_from_its_seed_and_not_from_the_words():
    def out(**changes):
        packages = build(RECORDS, NOISE, settings_of(0, absent=True, **changes), wordings=WORDINGS)
        return {q.id for q in questions_of(packages) if not q.evidence}, said(packages[0])

    ids, thread = out()
    other, same = out(wording="other")
    assert other == ids & {*WORDS}
    assert 0 < len(other) < len(WORDS)
    assert same == thread
    assert out() == (ids, thread)
    assert out(absent_seed=20)[0] != ids
    assert Counter(name[:2] for name in ids) == {"s1": 15, "s2": 15}


def test_a_question_without_evidence_must_say_that_it_is_absent():
    (package,) = build(RECORDS, NOISE, settings_of(0, absent=True))
    silent = [replace(q, stress=()) for q in package.questions]
    with pytest.raises(DataError, match="give it the stress label 'absent'"):
        check_packages([replace(package, questions=tuple(silent))])


@pytest.mark.parametrize(
    ("cases", "changes", "problem"),
    [
        (ASIDES, {"sequels": True}, "asides have no sequels"),
        (ASIDES, {"wording": "other"}, "asides have one wording"),
        (RECORDS, {"sequels": True, "wording": "other"}, "not read together with sequels"),
        (RECORDS, {"sequels": True, "absent": True}, "a sequel cannot follow a dialogue"),
        ([*RECORDS, *ASIDES], {}, "about records or about asides"),
        (RECORDS[1:2], {"wording": "other"}, "none of 20 second wordings belongs to one of the 1"),
        (RECORDS[:1], {"absent": True}, "a thread has only one"),
        (RECORDS[:2], {"absent": True, "wording": "other"}, "of 1 questions are left out"),
    ],
)
def test_what_makes_no_sense_together_is_refused(cases, changes, problem):
    with pytest.raises(DataError, match=problem):
        build(cases, NOISE, settings_of(0, **changes), SEQUELS, WORDINGS)


def test_each_track_has_a_name_that_follows_from_the_settings():
    def name(cases=RECORDS, **changes):
        built = build(cases, NOISE, settings_of(0, **changes), SEQUELS, WORDINGS)
        return track_of(built[0].settings)

    assert name() == "as written"
    assert name(wording="other") == "other words"
    assert name(ASIDES) == "asides"
    assert name(absent=True) == "absent"
    assert name(mix="braid") == "braided"
    assert name(sequels=True) == "resumed"
    assert name(wording="other", absent=True) == "other words, absent"
    assert name(ASIDES, absent=True, mix="braid") == "asides, braided, absent"
    assert track_of({"dataset": "longmemeval"}) is None


def test_packages_of_tracks_are_read_back_and_others_keep_their_bytes(tmp_path):
    settings = settings_of(2000, absent=True, wording="other")
    packages = build(RECORDS, NOISE, settings, wordings=WORDINGS)
    write_packages(packages, tmp_path / "out")
    assert load_packages(tmp_path / "out") == packages
    plain = build(RECORDS, NOISE, settings_of(2000))
    assert {"wording", "asides", "absent", "absent_seed", "sequels"} & {*plain[0].settings} == set()


def test_the_shipped_records_give_the_packages_they_always_gave():
    digest = hashlib.sha256()
    for options in ("target=16k,subset=40", "target=16k,subset=40,mix=braid", "target=0,split=s2"):
        for package in open_threads(f"scaleqa:{options}"):
            digest.update(package.sha256.encode())
            digest.update(json.dumps(package.settings, sort_keys=True).encode())
    assert digest.hexdigest() == "b86a62aff29b0812e9e23c7d9b9e7eee2d5cd0ddff8f08931d11593ac78893cd"


def run(*arguments):
    return CliRunner().invoke(app, ["build", *arguments])


def test_the_command_takes_tracks_from_beside_the_records(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    write(mine / "records.jsonl", RECORDS)
    options = ["--records", str(mine), "--target", "2000"]
    assert "asides.jsonl" in str(run(*options, "--asides", "--out", str(tmp_path / "x")).exception)
    write(mine / "wordings.jsonl", WORDINGS)
    write(mine / "asides.jsonl", ASIDES)
    for name, flags, track in (
        ("w", ["--wording", "other"], "other words"),
        ("a", ["--asides", "--split", "s2"], "asides"),
        ("n", ["--absent", "--absent-seed", "3"], "absent"),
        ("wn", ["--absent", "--wording", "other"], "other words, absent"),
    ):
        made = run(*options, *flags, "--out", str(tmp_path / name))
        assert made.exit_code == 0, made.exception
        packages = load_packages(tmp_path / name)
        assert {track_of(package.settings) for package in packages} == {track}
    assert {q.split for q in questions_of(load_packages(tmp_path / "a"))} == {"s2"}
    assert load_packages(tmp_path / "n")[0].settings["absent_seed"] == 3
    refused = run(*options, "--asides", "--wording", "other", "--out", str(tmp_path / "no"))
    assert "asides have one wording" in str(refused.exception)
    as_data = open_threads(f"scaleqa:records={mine},target=2000,wording=other,absent=true")
    assert as_data == load_packages(tmp_path / "wn")
    some = open_threads(f"scaleqa:records={mine},target=2000,asides=true,subset=7")
    chosen = {one.id for one in subset(ASIDES, 7, 11)}
    assert {question.id for question in questions_of(some)} == chosen


def test_our_records_fill_long_threads_of_asides(tmp_path):
    write(tmp_path / "asides.jsonl", [aside(n) for n in range(1, 5)])
    (package,) = open_threads(f"scaleqa:records={tmp_path},target=200k,asides=true")
    ids = {record.id for record in shipped()}
    filling = [block.source in ids for block in package.noise]
    assert True in filling
    assert False in filling
    assert 198_000 < package.stats["tokens"] <= 200_500


def test_records_are_asked_about_in_their_own_words_unless_others_are_wanted():
    (package,) = build([make(1)], NOISE, settings_of(0), wordings=[reword(make(1))])
    assert package.questions[0].question == make(1).question
