"""REALTALK in its published form: chats of two people as flat threads."""

import json

import pytest

from scaleqa.datasets import open_threads
from scaleqa.errors import DataError


def message(name, speaker, text, **more):
    return {"dia_id": name, "speaker": speaker, "clean_text": text, "date_time": "x", **more}


def chat(**changes):
    return {
        "name": {"speaker_1": "Ann", "speaker_2": "bo"},
        "session_2": [message("D2:1", "bo", "", img_file=["p.jpg"])],
        "session_1": [
            message("D1:1", "Ann", "I bought a boat."),
            message("D1:2", "bo", "Look!", blip_caption="a dog"),
        ],
        "events_session_1": {"Ann": []},
        "qa": [
            {
                "question": "What did Ann buy?",
                "answer": "a boat",
                "evidence": ["D1:1"],
                "category": 1,
            },
            {"question": "Who?", "answer": "?", "evidence": ["D9:1"], "category": 2},
        ],
        **changes,
    }


def written(directory, number=1, **changes):
    directory.mkdir(exist_ok=True)
    path = directory / f"Chat_{number}_Ann_Bo.json"
    path.write_text(json.dumps(chat(**changes)))
    return directory


def test_a_chat_is_one_thread_in_the_order_of_its_sessions(tmp_path):
    [thread] = open_threads(f"realtalk:directory={written(tmp_path / 'data')}")
    assert [(turn.role, turn.text) for turn in thread.stream] == [
        ("Ann", "I bought a boat."),
        ("bo", "Look! [shares a dog]"),
        ("bo", "[shares a photo]"),
    ]
    [question] = thread.questions
    assert (question.question, question.evidence) == ("What did Ann buy?", (0,))
    left_out = thread.settings["left_out"]
    assert (left_out["unmarked"], left_out["evidence"]) == (1, ["Chat_1_Ann_Bo D9:1"])


def test_roles_can_hide_the_names(tmp_path):
    [thread] = open_threads(f"realtalk:directory={written(tmp_path / 'data')},names=false")
    assert [turn.role for turn in thread.stream] == ["user", "model", "model"]


def test_chats_are_ordered_by_number(tmp_path):
    for number in (10, 9):
        written(tmp_path / "data", number)
    names = [thread.name for thread in open_threads(f"realtalk:directory={tmp_path / 'data'}")]
    assert names == ["Chat_9_Ann_Bo", "Chat_10_Ann_Bo"]


def test_other_files_are_refused_with_the_reason(tmp_path):
    with pytest.raises(DataError, match="holds no chat of REALTALK"):
        open_threads(f"realtalk:directory={tmp_path}")
    written(tmp_path / "data", session_1=[{"text": "no speaker"}])
    with pytest.raises(DataError, match=r"Chat_1_Ann_Bo\.json is not REALTALK as published"):
        open_threads(f"realtalk:directory={tmp_path / 'data'}")
