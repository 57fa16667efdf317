"""Data exports as they are downloaded: zip archives with conversations in them."""

import io
import json
import zipfile

import pytest

from tsim.errors import InputError
from tsim.logs import read_log, reading


def packed(files: dict[str, object]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            archive.writestr(name, value if isinstance(value, bytes) else json.dumps(value))
    return out.getvalue()


def chatgpt(text: str, began: float) -> dict[str, object]:
    message = {
        "author": {"role": "user"},
        "content": {"content_type": "text", "parts": [text]},
        "id": text,
        "create_time": began,
    }
    return {"mapping": {"a": {"message": message, "parent": None}}, "create_time": began}


CLAUDE = [
    {
        "uuid": "c1",
        "created_at": "2026-05-01T12:00:00Z",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "one gpu",
                "created_at": "2026-05-01T12:00:00Z",
            },
            {"uuid": "m2", "sender": "assistant", "text": "noted", "content": []},
        ],
    }
]


def test_the_archive_of_chatgpt_is_read(tmp_path):
    files = {"chat.html": b"<html>", "conversations.json": [chatgpt("two", 2), chatgpt("one", 1)]}
    log = read_log(packed(files))
    assert [(turn.role, turn.text, turn.id) for turn in log.turns] == [
        ("user", "one", "one"),
        ("user", "two", "two"),
    ]


def test_a_divided_archive_is_read_as_a_whole():
    files = {f"x/conversations-00{n}.json": [chatgpt(f"t{n}", 9 - n)] for n in range(3)}
    assert [turn.text for turn in read_log(packed(files)).turns] == ["t2", "t1", "t0"]


def test_the_archive_of_claude_is_read():
    log = read_log(packed({"users.json": [], "conversations.json": CLAUDE}))
    assert [(turn.role, turn.id) for turn in log.turns] == [("user", "m1"), ("assistant", "m2")]


def test_what_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match="more than 1,000 bytes"):
        read_log(packed({"conversations.json": b" " * 5000}))
    half = b"[" + b" " * 600 + b"]"
    with pytest.raises(InputError, match="more than 1,000 bytes"):
        read_log(packed({"conversations-0.json": half, "conversations-1.json": half}))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (packed({"notes.txt": b"hello"}), "with notes.txt, expected one with conversations.json"),
        (b"PK\x03\x04 and nothing else", "damaged"),
        (packed({"conversations.json": CLAUDE})[:-30], "damaged"),
        (packed({"conversations.json": b"[{"}), "not JSON"),
        (packed({"conversations-0.json": b"\xff", "conversations-1.json": b"[]"}), "not UTF-8"),
    ],
    ids=["other", "no archive", "cut", "no json", "no text"],
)
def test_other_archives_are_refused(data, said):
    with pytest.raises(InputError, match=said):
        read_log(data)


def test_damaged_archives_are_read_or_refused():
    whole = packed({"conversations.json": CLAUDE, "x": b"x"})
    for place in range(0, len(whole), 3):
        data = bytearray(whole)
        data[place] ^= 0xFF
        try:
            read_log(bytes(data))
        except InputError:
            continue
