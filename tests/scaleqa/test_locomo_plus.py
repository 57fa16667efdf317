"""LoCoMo-Plus in its published form: where a cue goes, and what is asked about it."""

import json
from collections import Counter
from datetime import timedelta

import pytest

from scaleqa.datasets import open_threads
from scaleqa.datasets.locomo import load_conversations
from scaleqa.datasets.locomo_plus import DATASET, gap, remarks, session_dates
from scaleqa.errors import DataError


def sample(gap="two weeks later", **changes):
    return {
        "relation_type": "goal",
        "cue_dialogue": "A: I save for a boat.\nB: Good plan.",
        "trigger_query": "A: This jacket was half a month's pay.",
        "time_gap": gap,
        "model_name": "m",
        "scores": {"bm25": 1.5},
        "ranks": {"bm25": 3},
        "final_similarity_score": 0.5,
        **changes,
    }


def conversation(name="conv-1", **changes):
    """The last of three sessions is on 20 May, so a trigger comes on 27 May."""
    days = {1: "1 March", 2: "8 May", 3: "20 May"}
    said = {
        f"session_{n}": [
            {"speaker": "Bo", "dia_id": f"D{n}:1", "text": f"Session {n}."},
            {"speaker": "Ann", "dia_id": f"D{n}:2", "text": "Yes!", "blip_caption": "a dog"},
        ]
        for n in days
    }
    dates = {f"session_{n}_date_time": f"1:05 pm on {day}, 2023" for n, day in days.items()}
    return {
        "sample_id": name,
        "conversation": {"speaker_a": "Ann", "speaker_b": "Bo", **dates, **said, **changes},
        "qa": [],
    }


@pytest.fixture
def published(tmp_path):
    def write(samples, conversations=None):
        conversations = [conversation()] if conversations is None else conversations
        paths = {"file": tmp_path / "plus.json", "conversations": tmp_path / "locomo10.json"}
        paths["file"].write_text(json.dumps(samples))
        paths["conversations"].write_text(json.dumps(conversations))
        return {name: str(path) for name, path in paths.items()}

    return write


def threads(options, **more):
    return DATASET.open({**options, **more}).threads()


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("one year later", 0),
        ("two months later", 1),
        ("two weeks later", 2),
        ("about one week later", 3),
        ("several months later", 3),
    ],
)
def test_a_cue_is_a_session_of_its_own_as_long_before_the_trigger_as_it_says(
    published, said, place
):
    (package,) = threads(published([sample(said)]))
    assert package.truth[0].turns == (2 * place, 2 * place + 1)
    assert [package.stream[turn].text for turn in package.truth[0].turns] == [
        "I save for a boat.", "Good plan."
    ]  # fmt: skip
    others = [turn.text for turn in package.stream if turn.id not in package.truth[0].turns]
    assert others == [text for n in (1, 2, 3) for text in (f"Session {n}.", "Yes! [shares a dog]")]
    assert len(package.dialogues) == 4


def test_the_trigger_is_asked_and_the_cue_is_its_evidence(published):
    (package,) = threads(published([sample()]))
    (asked,) = package.questions
    assert asked.question == "This jacket was half a month's pay."
    assert (asked.domain, asked.answer, asked.evidence) == ("goal", None, (4, 5))
    assert not any(asked.question in turn.text for turn in package.stream)


def test_a_is_speaker_a_whoever_speaks_first(published):
    options = published([sample()])
    roles = [[turn.role for turn in threads(options, names=n)[0].stream] for n in ("false", "true")]
    assert roles[0][4:6] == ["model", "user"], "Bo speaks first"
    assert roles[1][4:6] == ["Ann", "Bo"]


def test_samples_go_through_the_conversations_in_turn(published):
    several = [conversation(f"conv-{n}") for n in range(3)]
    packages = threads(published([sample()] * 4, several))
    assert [p.settings["conversation"] for p in packages] == [
        "conv-0",
        "conv-1",
        "conv-2",
        "conv-0",
    ]
    assert [p.name for p in packages] == ["plus-001", "plus-002", "plus-003", "plus-004"]
    fewer = threads(published([sample()] * 4, several), subset="2")
    assert fewer == [packages[0], packages[2]]


def test_cues_of_a_conversation_can_share_its_thread(published):
    several = [conversation(f"conv-{n}") for n in range(2)]
    gaps = ["two weeks later", "two weeks later", "one year later", "later", "two months later"]
    packages = threads(published([sample(gap) for gap in gaps], several), share="2")
    asked = [(p.name, [q.id for q in p.questions], p.settings["conversation"]) for p in packages]
    assert asked == [
        ("plus-001", ["plus:1", "plus:3"], "conv-0"),
        ("plus-002", ["plus:2", "plus:4"], "conv-1"),
        ("plus-005", ["plus:5"], "conv-0"),
    ]
    first = packages[0]
    assert [q.evidence for q in first.questions] == [(6, 7), (0, 1)], "each in its own time"
    assert [block.source for block in first.truth] == ["cue_3", "cue_1"]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("A: x\nB: y", [("A", "x"), ("B", "y")]),
        ("A: x\\nB: y", [("A", "x"), ("B", "y")]),
        ("A: x. B: y", [("A", "x."), ("B", "y")]),
        ("A: plan B is it", [("A", "plan B is it")]),
        ("nobody", []),
    ],
)
def test_remarks_are_parted_however_they_were_joined(said, found):
    assert remarks(said) == found


@pytest.mark.parametrize(
    ("said", "days"),
    [
        ("two weeks later", 14),
        ("about six weeks later", 42),
        ("a month later", 30),
        ("3 months later", 90),
        ("a year after", 365),
        ("around one week after the birth", 7),
        ("a few weeks later", 0),
        ("later", 0),
    ],
)
def test_gaps_are_read_as_the_authors_do(said, days):
    assert gap(said) == timedelta(days=days)


def test_files_of_another_form_are_refused(published):
    cases = {
        "it holds no sample": ([], [conversation()]),
        r"not LoCoMo-Plus as published: 0\.relation_type": ([{}], [conversation()]),
        "sample 0 has no remark of A or B": ([sample(cue_dialogue="hm")], [conversation()]),
        "does not name speaker_a and": ([sample()], [conversation(speaker_b="")]),
        "has the date 'May'": ([sample()], [conversation(session_2_date_time="May")]),
        "holds no conversation": ([sample()], []),
    }
    for message, (samples, conversations) in cases.items():
        with pytest.raises(DataError, match=message):
            threads(published(samples, conversations))


def test_the_published_files_give_401_cues_in_ten_conversations(shared):
    paths = [shared / "data" / name for name in ("locomo_plus.json", "locomo10.json")]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        pytest.skip(f"LoCoMo-Plus is not at {missing[0]}")
    packages = open_threads(f"locomo_plus:file={paths[0]},conversations={paths[1]}")
    types = Counter(q.domain for package in packages for q in package.questions)
    assert types == {"causal": 101, "state": 100, "goal": 100, "value": 100}
    assert {len(package.questions[0].evidence) for package in packages} == {2}
    assert len({package.settings["conversation"] for package in packages}) == 10
    for one in load_conversations(paths[1])[0]:
        assert session_dates(one) == sorted(session_dates(one)), "sessions are told in order"
