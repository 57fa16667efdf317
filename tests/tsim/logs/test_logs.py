"""Logs as people have them become turns; what is not text is counted."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsim.errors import InputError
from tsim.logs import Format, read_log

MAY = 1777636800.0  # 2026-05-01, 12:00 UTC


def read(value: object, **options):
    """Reads text, bytes, or anything else as JSON."""
    if not isinstance(value, str | bytes):
        value = json.dumps(value, ensure_ascii=False)
    return read_log(value.encode() if isinstance(value, str) else value, **options)


def said(log) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in log.turns]


OPENAI = [
    {"role": "developer", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            {"type": "input_audio", "input_audio": {"data": "UklG"}},
            {"type": "text", "text": "And this?"},
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}},
            {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a parrot"},
    {"role": "function", "name": "look", "content": "a heron"},
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot say."}]},
    {"role": "assistant", "content": None, "refusal": "Nor this."},
    {"role": "assistant", "content": None, "audio": {"id": "x", "transcript": "Spoken."}},
]
OPENAI_SAID = [
    ("developer", "Be brief."),
    ("user", "What is this?\nAnd this?"),
    ("tool", "a parrot"),
    ("tool", "a heron"),
    ("assistant", "I cannot say."),
    ("assistant", "Nor this."),
    ("assistant", "Spoken."),
]


@pytest.mark.parametrize("form", ["array", "indented", "lines", "body", "gzip", "windows"])
def test_openai_messages(form):
    lines = "\n".join(map(json.dumps, OPENAI))
    log = read(
        {
            "array": OPENAI,
            "indented": json.dumps(OPENAI, indent=2),
            "lines": lines,
            "body": {"model": "gpt", "messages": OPENAI},
            "gzip": gzip.compress(lines.encode()),
            "windows": b"\xef\xbb\xbf" + lines.replace("\n", "\r\n").encode(),
        }[form]
    )
    assert said(log) == OPENAI_SAID
    assert log.skipped == {"audio": 1, "image": 1, "tool call": 2}
    assert log.problems == ()
    assert log.format == ("jsonl" if form in {"lines", "gzip", "windows"} else "json")


def test_openai_responses_give_the_first_answer_with_id_and_time():
    choices = [{"index": n, "message": {"role": "assistant", "content": f"a{n}"}} for n in range(3)]
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": MAY, "choices": choices}
    log = read(body)
    assert [(t.role, t.text, t.at, t.id) for t in log.turns] == [
        ("assistant", "a0", MAY, "chatcmpl-1")
    ]
    assert log.skipped == {"alternative": 2}
    batch = {"custom_id": "q", "response": {"status_code": 200, "body": body}}
    assert read(batch).turns == log.turns
    pair = {"request": {"messages": [{"role": "user", "content": "q"}]}, "response": body}
    assert said(read(pair)) == [("user", "q"), ("assistant", "a0")]


def test_items_of_the_responses_api():
    request = {
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
            {"type": "function_call", "name": "weather", "call_id": "c", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "rain"},
            {"type": "message", "role": "user", "content": [{"type": "input_image"}]},
        ],
    }
    log = read(request)
    assert said(log) == [("system", "Be brief."), ("user", "Weather?"), ("tool", "rain")]
    assert log.skipped == {"image": 1, "tool call": 1}
    text = {"type": "output_text", "text": "Take an umbrella.", "annotations": []}
    output = [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "web_search_call", "id": "ws_1"},
        {"type": "message", "id": "msg_1", "role": "assistant", "content": [text]},
    ]
    log = read({"object": "response", "id": "resp_1", "created_at": MAY, "output": output})
    assert [(t.role, t.text, t.id, t.at) for t in log.turns] == [
        ("assistant", "Take an umbrella.", "msg_1", MAY)
    ]
    assert log.skipped == {"thinking": 1, "web_search_call": 1}
    assert said(read({"input": "Hello", "output": "Hi"})) == [
        ("user", "Hello"),
        ("assistant", "Hi"),
    ]


def test_anthropic_blocks():
    result = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": "22"}],
    }
    messages = [
        {"role": "user", "content": "How warm is it?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "t", "name": "warm", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                result,
                {"type": "tool_result", "tool_use_id": "u", "content": [{"type": "image"}]},
                {"type": "text", "text": "And in this picture?"},
                {"type": "image", "source": {"type": "base64", "data": "iVBO"}},
                {"type": "document", "source": {"type": "text", "data": "A report."}},
            ],
        },
    ]
    log = read({"system": [{"type": "text", "text": "Be kind."}], "messages": messages})
    assert said(log) == [
        ("system", "Be kind."),
        ("user", "How warm is it?"),
        ("assistant", "Let me see."),
        ("tool", "22"),
        ("user", "And in this picture?\nA report."),
    ]
    assert log.skipped == {"image": 2, "thinking": 1, "tool call": 1}
    answer = {"id": "msg_1", "type": "message", "role": "user", "content": messages[2]["content"]}
    assert [turn.id for turn in read(answer).turns] == ["msg_1", "msg_1/1"]


def test_transcripts_of_messages_in_pieces_keep_the_id_of_each_piece():
    lines = [
        {"type": "summary", "summary": "x"},
        {
            "type": "user",
            "uuid": "u1",
            "timestamp": "2026-05-01T12:00:00.000Z",
            "message": {"role": "user", "content": "q"},
        },
        *(
            {
                "type": "assistant",
                "uuid": f"u{n}",
                "message": {
                    "id": "m",
                    "role": "assistant",
                    "content": [{"type": "text", "text": f"a{n}"}],
                },
            }
            for n in (2, 3)
        ),
    ]
    log = read("\n".join(map(json.dumps, lines)))
    assert [(t.text, t.id, t.at) for t in log.turns] == [
        ("q", "u1", MAY),
        ("a2", "u2", None),
        ("a3", "u3", None),
    ]


def test_sharegpt_and_similar_conversations():
    one = {"id": "x", "conversations": [{"from": "human", "value": "q"}]}
    two = {"id": "y", "conversations": [{"from": "gpt", "value": "a"}, {"from": "system"}]}
    log = read([one, two])
    assert said(log) == [("user", "q"), ("assistant", "a")]
    assert [str(problem) for problem in log.problems] == [
        'item 2, message 2: text: missing; expected {"role": "user", "text": "…"}'
    ]
    claude = {
        "uuid": "c",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "q",
                "content": [{"type": "text", "text": "q"}],
                "created_at": "2026-05-01T12:00:00Z",
            },
            {"uuid": "m2", "sender": "assistant", "text": "", "content": [{"text": "a"}]},
        ],
    }
    assert [(t.role, t.text, t.at, t.id) for t in read([claude]).turns] == [
        ("user", "q", MAY, "m1"),
        ("assistant", "a", None, "m2"),
    ]


def node(name: str, parent: str | None, role: str, *parts: object, kind: str = "text"):
    content = {"content_type": kind, "parts": [*parts]}
    message = {"id": name, "author": {"role": role}, "create_time": MAY, "content": content}
    return name, {"id": name, "parent": parent, "message": message}


def test_chatgpt_exports_follow_the_current_branch_oldest_conversation_first():
    tree = dict(
        [
            ("root", {"id": "root", "parent": None, "message": None}),
            node("s", "root", "system", ""),
            node("q", "s", "user", "Which bread?"),
            node("a1", "q", "assistant", "White."),
            node("a2", "q", "assistant", "Rye."),
            node("t", "a2", "assistant", kind="thoughts"),
            node("p", "t", "user", {"content_type": "image_asset_pointer"}, "This one?"),
        ]
    )
    late = {"title": "x", "create_time": 2.0, "current_node": "p", "mapping": tree}
    early = {"create_time": 1.0, "mapping": dict([node("e", None, "user", "First.")])}
    log = read([late, early])
    assert [(t.role, t.text, t.at, t.id) for t in log.turns] == [
        ("user", "First.", MAY, "e"),
        ("user", "Which bread?", MAY, "q"),
        ("assistant", "Rye.", MAY, "a2"),
        ("user", "This one?", MAY, "p"),
    ]
    assert log.skipped == {"empty message": 1, "image": 1, "thinking": 1}
    tree["root"]["parent"] = "p"  # a ring ends where it began
    assert len(read([late]).turns) == 3


def test_whatsapp_chats():
    log = read(
        "13/05/26, 09:03 - Messages and calls are end-to-end encrypted.\n"
        "13/05/26, 09:04 - Anna B: Hello: how are\nyou?\n"
        "13/05/26, 21:05 - Ben: <Media omitted>\n"
    )
    assert log.format == "whatsapp"
    assert [(t.role, t.text, t.at) for t in log.turns] == [
        ("Anna B", "Hello: how are\nyou?", 1778663040.0)
    ]
    assert log.skipped == {"media": 1, "notice": 1}
    apple = read(
        "[5/13/26, 9:04:30\u202fPM] Anna: Hi\n[5/1/26, 12:00:00 PM] Ben: \u200eimage omitted"
    )
    assert [turn.at for turn in apple.turns] == [1778706270.0]
    assert read("[2026-05-01, 12:00:00] Anna: Hi").turns[0].at == MAY
    assert read("01.05.26, 12:00 - Anna: Hi").turns[0].at == MAY
    either = read("1/5/26, 12:00 - Anna: Hi")
    assert (either.turns[0].at, either.skipped) == (None, {"unreadable time": 1})


def test_plain_text_is_a_dialogue_or_paragraphs():
    log = read("User: one\nand more\n\nAssistant: two: yes\nUser:\nthree\n")
    assert said(log) == [("user", "one\nand more"), ("assistant", "two: yes"), ("user", "three")]
    assert said(read("Anna: hi\nBen: hello")) == [("Anna", "hi"), ("Ben", "hello")]
    note = read("Note: this is\nprose.\n\n\n  Indented: code\n\tmore\n")
    assert note.format == "paragraphs"
    assert said(note) == [("user", "Note: this is\nprose."), ("user", "  Indented: code\n\tmore")]
    assert said(read("Note: a\nx\nNote: b\n", format=Format.DIALOGUE)) == [
        ("Note", "a\nx"),
        ("Note", "b"),
    ]
    assert read("[10:03] talk of the day").format == "paragraphs"


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_tables(mark):
    rows = [
        ["Speaker", "Message", "Created At", "ID"],
        ["user", '"two\nlines"', "2026-05-01 12:00", "7"],
        ["", "", "", ""],
        ["Ben", "", "", ""],
    ]
    log = read("\r\n".join(mark.join(row) for row in rows))
    assert log.format == "csv"
    assert [(t.role, t.text, t.at, t.id) for t in log.turns] == [("user", "two\nlines", MAY, "7")]
    assert (log.skipped, log.problems) == ({"empty message": 1}, ())
    short = read(mark.join(rows[0]) + "\nBen\n" + mark.join(rows[1]))
    assert (len(short.turns), [problem.where for problem in short.problems]) == (1, ["line 2"])


@pytest.mark.parametrize("name", ["at", "timestamp", "created_at", "create_time", "time"])
@pytest.mark.parametrize(
    "value",
    [
        MAY,
        int(MAY),
        MAY * 1000,
        str(MAY),
        "2026-05-01T12:00:00Z",
        "2026-05-01T14:00:00+02:00",
        "2026-05-01 12:00",
        "01.05.2026 12:00",
        "1.5.2026, 12:00:00",
        "01.05.2026 14:00+02:00",
    ],
)
def test_times_are_seconds_milliseconds_or_iso(name, value):
    assert read({"role": "user", "text": "x", name: value}).turns[0].at == MAY


def test_days_may_come_first_where_dots_are_between():
    rows = ["29.02.2028", "1.5.2026", "01.05.2026 9:30", "30.02.2026", "13.13.2026", "1.5.26"]
    log = read("name,text,date\n" + "".join(f"Ada,hello,{row}\n" for row in rows))
    assert [turn.at for turn in log.turns[:3]] == [MAY + 668.5 * 86_400, MAY - 43_200, MAY - 9_000]
    assert [turn.at for turn in log.turns[3:]] == [None, None, None]
    assert log.skipped == {"unreadable time": 3}


ASKED = {
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
}
ANSWERED = {"choices": [{"message": {"role": "assistant", "content": "Hello."}}]}


@pytest.mark.parametrize(
    ("record", "times"),
    [
        ({"timestamp": MAY, "request": ASKED, "response": ANSWERED}, [MAY] * 3),
        (
            {"timestamp": MAY, "request": ASKED, "response": {**ANSWERED, "created": MAY + 2}},
            [MAY, MAY, MAY + 2],
        ),
        ({"request": ASKED, "response": {**ANSWERED, "created": MAY}}, [MAY] * 3),
        (
            {"request": {"body": ASKED}, "response": {"body": {**ANSWERED, "created": MAY}}},
            [MAY] * 3,
        ),
        ({"created_at": MAY, "system": "Be brief.", **ASKED}, [MAY] * 3),
        ({"at": "home", **ASKED}, [None] * 2),
    ],
)
def test_what_was_asked_has_the_time_of_its_record_or_of_the_response(record, times):
    log = read(record)
    assert [turn.at for turn in log.turns] == times
    assert log.problems == ()


def test_a_message_in_a_record_keeps_its_own_time():
    messages = [{"role": "user", "text": "a", "at": MAY}, {"role": "user", "text": "b"}]
    log = read({"created_at": MAY - 60, "messages": messages})
    assert [turn.at for turn in log.turns] == [MAY, MAY - 60]


def test_a_time_that_cannot_be_read_is_refused_if_it_is_ours_and_left_out_otherwise():
    for value in ("soon", 1e300, MAY * 1e6, True, [1]):
        assert len(read({"role": "user", "text": "x", "at": value}).problems) == 1
        other = read({"role": "user", "text": "x", "time": value})
        assert (other.turns[0].at, other.skipped) == (None, {"unreadable time": 1})


def test_ids_and_meta_are_kept():
    line = {"role": "user", "text": "x", "id": 7, "meta": {"b": True, "a": 1, "deep": {"c": 2}}}
    (turn,) = read(line).turns
    assert (turn.id, turn.meta) == ("7", {"a": 1, "b": True})
    assert list(turn.meta) == ["a", "b"]
    assert read(line).skipped == {"nested meta": 1}
    assert read(line, ids=False).turns[0].id is None
    assert read([line, line]).problems == ()
    both = read([line, {**line, "text": "y"}])
    assert len(both.turns) == 1
    assert "id '7' belongs to another text in item 1" in str(both.problems[0])


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "text": " \n"},
        {"role": "assistant", "content": None},
        {"role": "tool", "content": []},
        {"role": "tool", "content": [{"type": "text", "text": ""}]},
        {"type": "function_call_output", "call_id": "c", "output": ""},
        {"role": "user", "text": "", "time": "then"},
    ],
)
def test_empty_messages_are_counted(message):
    log = read(message)
    assert (log.turns, log.problems, log.skipped["empty message"]) == ((), (), 1)


def test_every_kind_of_log_can_be_named_and_its_recognition_does_not_depend_on_it():
    logs = {
        Format.JSON: '[{"role": "user", "text": "x"}]',
        Format.JSONL: '{"role": "user", "text": "x"}\n{"role": "user", "text": "y"}',
        Format.CSV: "role,text\nuser,x",
        Format.WHATSAPP: "13/05/26, 09:04 - Anna: x",
        Format.DIALOGUE: "User: x",
        Format.PARAGRAPHS: "x",
    }
    assert {*logs} == {*Format}
    for kind, text in logs.items():
        assert read(text).format is kind
        assert read(text, format=kind) == read(text)
        assert read(text.encode("utf-16")) == read(text)


def test_a_damaged_document_is_refused_as_a_whole_and_a_damaged_line_is_not():
    with pytest.raises(InputError, match="line 3, character 1"):
        read('[\n{"role": "user", "text": "x"},\n')
    log = read('{"role": "user"\n{"role": "user", "text": "x"}')
    assert (len(log.turns), [problem.where for problem in log.problems]) == (1, ["line 1"])


@pytest.mark.parametrize("depth", [50, 900])
@pytest.mark.parametrize("around", ['{"body":%s}', "[%s]", '{"role":"tool","content":[%s]}'])
def test_nesting_is_no_trap(around, depth):
    inner = '{"type": "tool_result", "content": [%s]}' if "role" in around else around
    opening, closing = inner.split("%s")
    text = opening * depth + '{"role": "user", "text": "x"}' + closing * depth
    try:
        log = read(around.replace("%s", text))
    except InputError:
        return
    assert len(log.turns) + len(log.problems) == 1


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data):
    try:
        log = read_log(data)
    except InputError:
        return
    assert all(turn.text.strip() for turn in log.turns)


ODD = st.sampled_from(
    "\ud800 image text user 2026-05-01 chat.completion.chunk message_start content_block_start "
    "content_block_delta response.completed human message".split()
)
LEAVES = st.none() | st.booleans() | st.floats() | st.text(max_size=5) | ODD
KEYS = st.sampled_from(
    "role content text type messages choices message input output mapping parts id at meta from "
    "value conversations tool_calls system time audio author object delta index data kwargs lc "
    "content_block user user_profile prompt completion candidates attachments subtype".split()
)
ANY = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner), max_leaves=12
)


@given(ANY)
def test_any_json_is_read_or_refused(value):
    for text in (json.dumps(value), json.dumps([value]), json.dumps(value) + "\n{}"):
        try:
            log = read_log(text.encode())
        except InputError:
            continue
        for turn in log.turns:
            (turn.role + turn.text).encode()
        "".join([*map(str, log.problems), *log.skipped]).encode()


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "Ann"]), TEXTS), min_size=1))
def test_texts_come_out_of_json_and_tables_as_they_went_in(turns):
    messages = [{"role": role, "content": text} for role, text in turns]
    for log in (read(messages), read("\n".join(map(json.dumps, messages)))):
        assert said(log) == turns
        assert (log.problems, log.skipped) == ((), {})


@pytest.mark.parametrize("node", [[], {}, 7, None, "gone"])
def test_a_chatgpt_export_without_a_current_node_has_its_last_branch(node):
    message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["hi"]}}
    log = read([{"mapping": {"a": {"message": message}}, "current_node": node}])
    assert [turn.text for turn in log.turns] == ["hi"]
