"""Talk: lives, their checks, how readings decide a release, and threads built from them."""

import json
from collections import Counter

import pytest
from typer.testing import CliRunner

from scaleqa.cli.app import app
from scaleqa.datasets import open_threads
from scaleqa.errors import DataError
from scaleqa.packages import (
    Filler,
    TalkSettings,
    build_talk,
    check_packages,
    load_packages,
    track_of,
    write_packages,
)
from scaleqa.packages.talk import roles
from scaleqa.records import Life, load_records, load_talk, shipped, shipped_asides, shipped_talk
from scaleqa.records.authored import read_authored
from scaleqa.records.load import Supplements, data_dir, read_lines
from scaleqa.records.release import release_talk
from scaleqa.records.talk import problems
from scaleqa.records.talk_readings import (
    TalkReading,
    judge_talk,
    seal_of_talk,
    shipped_talk_readings,
    talk_outcomes,
)
from scaleqa.records.validate import validate
from tests.support.records import NOISE, life, make, write

FRIENDS = [life(n, split=split) for split in ("s1", "s2") for n in (1, 2)]
ASSISTANT = [life(n, split=split, kind="assistant") for split in ("s1", "s2") for n in (3, 4)]


def changed(one, number=0, **changes):
    """A life with another question of the number."""
    questions = [*one.questions]
    questions[number] = questions[number].model_copy(update=changes)
    return one.model_copy(update={"questions": questions})


# Lives


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"id": "s1:Aside-01"}, "is not split:Talk-NN"),
        ({"split": "s2"}, "does not name s2"),
        ({"kind": "family"}, "kind"),
        ({"kind": "assistant"}, "speakers of kind assistant are user and model"),
        ({"speakers": ["Bo", "Ada"]}, "Ada, Bo speak, in this order; speakers are Bo, Ada"),
        ({"sessions": [[]]}, "a session has no turns"),
        ({"questions": []}, "questions"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_life_that_does_not_hang_together_is_named_with_its_line(tmp_path, change, problem):
    good = json.loads(life().model_dump_json())
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps(good) + "\n" + json.dumps(good | change) + "\n")
    found, (bad,) = read_lines([path], Life)
    assert found == [life()]
    assert (bad.source, bad.line) == ("talk.jsonl", 2)
    assert problem in bad.problem
    with pytest.raises(DataError, match=r"talk\.jsonl, line 2"):
        load_talk(tmp_path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"id": "s1:Talk-02-01"}, "is not s1:Talk-01-NN"),
        ({"evidence": [[3, 0]]}, r"evidence [3, 0] of s1:Talk-01-01 does not exist"),
        ({"evidence": [[0, 4]]}, "does not exist"),
        ({"evidence": [[-1, 0]]}, "does not exist"),
        ({"evidence": [[1, 0], [0, 0]]}, "not ascending"),
        ({"evidence": []}, "evidence"),
        ({"wording": "odd"}, "wording"),
        ({"quotes": ["plover", "flew"]}, "1 evidence turns and 2 quotes, expected one for each"),
        ({"quotes": ["an ostrich"]}, "'an ostrich' of s1:Talk-01-01 occurs 0 times"),
        ({"quotes": ["0"]}, "times in its evidence turn, expected once"),
    ],
)
def test_questions_belong_to_their_life_and_its_turns(change, problem):
    fields = json.loads(life().model_dump_json())
    fields["questions"][0] |= change
    with pytest.raises(ValueError) as refused:
        Life.model_validate_json(json.dumps(fields))
    assert problem in str(refused.value)


def test_lives_are_beside_records_and_are_no_records(tmp_path):
    write(tmp_path / "mine.jsonl", [make(1)])
    write(tmp_path / "talk.jsonl", [life()])
    (tmp_path / "talk-readings.jsonl").write_text("{}\n")
    assert load_records(tmp_path) == [make(1)]
    assert load_talk(tmp_path) == [life()]


@pytest.mark.parametrize(
    ("number", "change", "problem"),
    [
        (0, {"evidence": [(0, 0), (0, 2)]}, "are in one session"),
        (1, {"question": "Did it see plover1x1x3?"}, "evidence turn share plover1x1x3"),
        (0, {"wording": "same", "question": "Was it?"}, "share 0 content words, expected 3"),
        (1, {"id": "s1:Talk-01-01"}, "occurs 2 times"),
    ],
)
def test_questions_that_break_the_benchmark_are_critical(number, change, problem):
    wrong = changed(life(), number, **change)
    report = validate([make(1)], supplements=Supplements(talk=[wrong]))
    assert report.talk == 1
    assert [finding.code for finding in report.critical] == ["talk"]
    assert report.critical[0].where == wrong.questions[number].id
    assert problem in report.critical[0].message


def test_wordings_are_compared_with_what_is_quoted():
    text = life().sessions[1][3].text
    asked = f"Did it see {text.split()[0]}?"
    assert len([*problems([changed(life(), 1, question=asked)])]) == 1
    assert [*problems([changed(life(), 1, question=asked, quotes=["flew."])])] == []
    (found,) = problems([changed(life(), 1, question="Who flew?", quotes=["flew."])])
    assert found == ("s1:Talk-01-02", "question and quote share flew")


def test_the_names_of_speakers_may_be_shared_and_plain_questions_may_share_words():
    one = life()
    said = one.sessions[0][0].text
    assert "Ada" not in said
    named = [[turn.model_copy(update={"text": f"Ada: {turn.text}"}) for turn in some]
             for some in one.sessions]  # fmt: skip
    assert [*problems([one.model_copy(update={"sessions": named})])] == []
    assert [*problems([changed(one, question=said)])] == []


def test_lives_are_checked_together_and_evidence_must_be_unique():
    assert [*problems([*FRIENDS, *ASSISTANT])] == []
    assert (life().id, "occurs 2 times") in [*problems([life(), life()])]
    ((where, problem),) = problems([life(split="s9")])
    assert (where, "unknown split 's9'" in problem) == ("s9:Talk-01", True)
    one = life()
    twice = [*one.sessions, [one.sessions[0][0]]]
    found = [*problems([one.model_copy(update={"sessions": twice})])]
    assert found[0] == (
        one.questions[0].id,
        "an evidence turn occurs twice in the life; its position is ambiguous",
    )


# Readings and release


def reading(one, number=0, **changes):
    question = one.questions[number]
    fields = {
        "id": question.id,
        "seal": seal_of_talk(one, question),
        "reader": "r",
        "answer": "so",
        "evidence": question.evidence,
        "clear": True,
    }
    return TalkReading.model_validate(fields | changes)


def test_a_question_is_released_if_it_is_clear_and_its_evidence_was_named():
    one, two = life(1), life(2)
    (place,) = one.questions[0].evidence
    readings = [
        reading(one, 0, evidence=[(0, 1), place]),
        reading(one, 1, clear=False),
        reading(one, 2, evidence=[one.questions[2].evidence[0]]),
        reading(one, 3, evidence=[(1, 1)], alternatives=one.questions[3].evidence),
    ]
    found = release_talk([two, one], readings)
    assert [life.id for life in found.items] == [one.id]
    assert found.items[0].questions == [one.questions[0], one.questions[3]]
    assert found.funnel == {
        "written": 8,
        "read": 4,
        "left out: not clear": 1,
        "left out: other evidence named": 1,
        "left out: a finding of the checks": 0,
        "released": 2,
    }
    judged = judge_talk(readings, found.items)
    assert (judged.readings, judged.clear, judged.released, judged.exact) == (4, 3, 2, 0)
    assert judge_talk([], found.items) is None


def test_all_readers_of_a_question_decide_and_so_do_the_checks():
    one = changed(life(), 3, evidence=[(0, 0), (0, 2)])
    readings = [
        reading(one, 0),
        reading(one, 0, reader="s", clear=False),
        reading(one, 1),
        reading(one, 3),
    ]
    found = release_talk([one], readings)
    assert [question.id for question in found.items[0].questions] == [one.questions[1].id]
    assert found.funnel["left out: a finding of the checks"] == 1


@pytest.mark.parametrize("what", ["question", "life"])
def test_what_was_changed_after_it_was_read_is_refused(what):
    one = life()
    other = (
        changed(one, question="Another?")
        if what == "question"
        else one.model_copy(update={"sessions": [*one.sessions, one.sessions[0]]})
    )
    with pytest.raises(DataError, match="is not what r read; have it read again"):
        release_talk([other], [reading(one)])


def test_the_release_command_takes_talk(tmp_path):
    place, out = tmp_path / "work", tmp_path / "out"
    (place / "talk").mkdir(parents=True)
    with pytest.raises(DataError, match=r"nor talk/lives\.jsonl"):
        read_authored(place, [])
    one = life()
    readings = [reading(one, n, clear=n != 1) for n in range(4)]
    write(place / "talk/lives.jsonl", [one])
    write(place / "talk/readings.jsonl", readings)
    found = CliRunner().invoke(app, ["data", "release-tracks", str(place), str(out)])
    assert found.exit_code == 0, found.output
    assert "left out: not clear" in found.stdout
    funnels = json.loads((out / "track-funnels.json").read_text())
    assert [*funnels["talk"].values()] == [4, 4, 1, 0, 0, 3]
    (kept,) = load_talk(out)
    assert [question.id[-2:] for question in kept.questions] == ["01", "03", "04"]
    assert read_lines([out / "talk-readings.jsonl"], TalkReading) == (readings, [])


# What ships


def test_what_ships_is_sound_and_follows_from_the_raw_readings():
    lives, readings = shipped_talk(), shipped_talk_readings()
    assert [*problems(lives)] == []
    assert [life.id for life in lives] == sorted(life.id for life in lives)
    released = {question.id for life in lives for question in life.questions}
    found = talk_outcomes(readings, lives)
    assert {*found} == released
    assert all(one.clear and one.covered for one in found.values())
    funnel = json.loads(data_dir().joinpath("track-funnels.json").read_text("utf-8"))["talk"]
    assert funnel["read"] == len({reading.id for reading in readings})
    assert funnel["released"] == len(released)
    unclear = {reading.id for reading in readings if not reading.clear}
    assert funnel["left out: not clear"] == len(unclear)
    assert not unclear & released


def test_what_ships_is_even_in_split_kind_and_question():
    lives = shipped_talk()
    counts = Counter((life.split, life.kind) for life in lives)
    kinds = ("friends", "assistant", "answers")
    assert counts == {(s, k): 6 for s in ("s1", "s2") for k in kinds}
    for one in lives:
        domains = Counter(question.domain for question in one.questions)
        if one.kind == "answers":
            assert len(one.sessions) == 12
            assert 33 <= domains.total() <= 36
            continue
        assert len(one.sessions) == 14
        assert 40 <= domains.total() <= 42
        assert domains["one same"] >= 11
        assert domains["one plain"] >= 13
        assert domains["one other"] >= 4


def test_long_answers_are_long_and_most_questions_are_about_them():
    for one in shipped_talk():
        if one.kind == "answers":
            answers = [
                t.text.split() for some in one.sessions for t in some if t.speaker == "model"
            ]
            assert sum(map(len, answers)) > 150 * len(answers)
            assert all(question.quotes for question in one.questions)
            first = [question.evidence[0] for question in one.questions]
            about = [one.sessions[session][turn].speaker for session, turn in first]
            assert about.count("model") >= 20
            assert about.count("user") >= 8


def test_commands_about_the_data_count_talk():
    def said(*arguments):
        found = CliRunner().invoke(app, ["data", *arguments])
        assert found.exit_code == 0, found.output
        return found.stdout

    questions = sum(len(life.questions) for life in shipped_talk())
    facts = json.loads(said("stats", "--json"))
    assert (facts["lives"], facts["questions_about_lives"]) == (36, questions)
    judged = json.loads(said("calibration", "--json"))["talk"]
    assert judged["released"] == questions
    assert f"of {judged['readings']} readings {judged['clear']} found the question clear" in said(
        "calibration"
    )


# Threads


def by_turn(package, question):
    return [package.stream[turn].text for turn in question.evidence]


@pytest.mark.parametrize(("lives", "target"), [(FRIENDS, 0), (ASSISTANT, 0), (ASSISTANT, 3000)])
def test_each_life_is_a_thread_whose_evidence_is_where_it_was_said(lives, target):
    packages = build_talk(lives, Filler(noise=NOISE), TalkSettings(target=target))
    check_packages(packages)
    assert [package.name for package in packages] == [one.id.replace(":", "-") for one in lives]
    for one, package in zip(lives, packages, strict=True):
        assert [block.source for block in package.truth] == [f"{one.id}/{n}" for n in range(3)]
        said = [package.stream[turn].text for block in package.truth for turn in block.turns]
        assert said == [turn.text for some in one.sessions for turn in some]
        own = {turn for block in package.truth for turn in block.turns}
        assert bool(package.noise) == bool(target)
        for question, asked in zip(package.questions, one.questions, strict=True):
            assert by_turn(package, question) == one.evidence_turns(asked)
            assert {*question.evidence} <= own
            assert (question.id, question.answer) == (asked.id, asked.answer)
            assert (question.options, question.grader) == (None, "judge")
            assert question.split == one.split
        assert [q.domain for q in package.questions] == [
            "one plain", "one other", "several plain", "several other"
        ]  # fmt: skip
        assert package.settings["target"] == target
        if target:
            assert 0.98 * target < package.stats["tokens"] <= target


def test_what_is_quoted_is_quoted_in_the_thread():
    one = changed(ASSISTANT[0], 2, quotes=["flew.", "flew."])
    (package,) = build_talk([one], Filler(noise=NOISE), TalkSettings(target=3000))
    assert [question.quotes for question in package.questions] == [(), (), ("flew.", "flew."), ()]


def test_friends_have_their_names_as_roles_in_every_second_life():
    packages = build_talk(FRIENDS, Filler(noise=()), TalkSettings(target=0))
    found = [sorted({turn.role for turn in package.stream}) for package in packages]
    assert found == [["model", "user"], ["Ada", "Bo"], ["model", "user"], ["Ada", "Bo"]]
    assert roles(life(1)) == {"Ada": "user", "Bo": "model"}
    assert roles(life(4, kind="assistant")) == {"user": "user", "model": "model"}


def test_threads_follow_from_their_life_and_seeds_alone():
    def built(lives=ASSISTANT, **changes):
        settings = TalkSettings(target=3000, **changes)
        return build_talk(lives, Filler(noise=NOISE), settings)

    packages = built()
    assert built(ASSISTANT[::-1]) == packages
    assert built(ASSISTANT[1:2])[0].sha256 == packages[1].sha256
    orders = [[block.source for block in package.noise] for package in packages]
    assert orders[0] != orders[2]
    moved, other = built(mix_seed=1)[0], built(noise_seed=1)[0]
    assert {b.source for b in moved.noise} == {b.source for b in packages[0].noise}
    assert moved.stream != packages[0].stream
    assert {b.source for b in other.noise} != {b.source for b in packages[0].noise}
    firsts = [block.turns[0] for block in packages[0].truth]
    assert firsts == sorted(firsts)


def test_packages_of_talk_are_read_back_and_have_a_track(tmp_path):
    for kind, lives, name in (("f", FRIENDS, "friends"), ("a", ASSISTANT, "assistant talk")):
        packages = build_talk(lives, Filler(noise=()), TalkSettings(target=0))
        write_packages(packages, tmp_path / kind)
        assert load_packages(tmp_path / kind) == packages
        assert {track_of(package.settings) for package in packages} == {name}


@pytest.mark.parametrize(
    ("lives", "target", "problem"),
    [
        ([], 0, "of one kind; found no life"),
        ([*FRIENDS, *ASSISTANT], 0, "of one kind; found assistant and friends"),
        (FRIENDS, 3000, "talk of friends takes no filler.*give --target 0"),
        (ASSISTANT, 50, "the target is 50; choose a longer target, or 0"),
        (ASSISTANT, 900_000, "batch s1:Talk-03 needs"),
    ],
)
def test_threads_that_cannot_be_built_are_refused(lives, target, problem):
    with pytest.raises(DataError, match=problem):
        build_talk(lives, Filler(noise=NOISE), TalkSettings(target=target))


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("asides=true", "about asides or about talk"),
        ("wording=other", "have one wording"),
        ("sequels=true", "talk has no sequels"),
        ("subset=3", "the unit of talk is a life"),
        ("mix=braid", "sessions of talk stay whole"),
        ("absent=true", "always have evidence"),
        ("split=s9", "no life of kind assistant of split s9"),
        ("talk=family", "talk=family of .* should be friends or assistant"),
    ],
)
def test_what_makes_no_sense_with_talk_is_refused(option, problem):
    given = option if option.startswith("talk") else f"talk=assistant,{option}"
    with pytest.raises(DataError, match=problem):
        open_threads(f"scaleqa:target=0,{given}")


def test_shipped_talk_fills_threads_with_records_of_its_split_only():
    packages = open_threads("scaleqa:talk=assistant,target=200k,split=s2")
    assert len(packages) == 6
    for package in packages:
        assert 198_000 < package.stats["tokens"] <= 200_000
        filling = {block.source.partition(":")[0] for block in package.noise if ":" in block.source}
        assert "s2" in filling
        assert "s1" not in filling


def test_asides_of_a_split_are_filled_with_records_of_it_only():
    by_id = {record.id: record.split for record in shipped()}
    own = [one for one in shipped_asides() if one.split == "s1"]
    (package,) = open_threads("scaleqa:asides=true,target=260k,split=s1")
    assert len(package.questions) == len(own)
    assert {by_id[b.source] for b in package.noise if b.source in by_id} == {"s1"}


def test_the_command_builds_talk(tmp_path):
    def run(*arguments):
        return CliRunner().invoke(app, ["build", *arguments])

    made = run("--talk", "friends", "--target", "0", "--out", str(tmp_path / "f"))
    assert made.exit_code == 0, made.exception
    packages = load_packages(tmp_path / "f")
    assert packages == open_threads("scaleqa:talk=friends,target=0")
    assert len(packages) == 12
    refused = run("--talk", "friends", "--out", str(tmp_path / "x"))
    assert "takes no filler" in str(refused.exception)
    mine = tmp_path / "mine"
    mine.mkdir()
    options = ["--records", str(mine), "--talk", "assistant", "--target", "0"]
    none = run(*options, "--out", str(tmp_path / "x"))
    assert "has no life of kind assistant" in str(none.exception)
    write(mine / "talk.jsonl", [*FRIENDS, *ASSISTANT])
    assert run(*options, "--split", "s2", "--out", str(tmp_path / "m")).exit_code == 0
    assert [package.name for package in load_packages(tmp_path / "m")] == [
        "s2-Talk-03",
        "s2-Talk-04",
    ]
