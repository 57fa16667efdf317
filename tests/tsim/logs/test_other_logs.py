"""Logs of other programs: streamed answers, LangChain, chats of teams, exports, pairs in tables."""

import json

import pytest

from tests.tsim.logs.test_logs import MAY, read, said


def chunk(name: str, delta: dict, index: int = 0) -> dict:
    choice = {"index": index, "delta": delta, "finish_reason": None}
    return {"id": name, "object": "chat.completion.chunk", "created": MAY, "choices": [choice]}


CHUNKS = [
    chunk("c1", {"role": "assistant", "content": ""}),
    chunk("c1", {"content": "The table"}),
    chunk("c2", {"role": "assistant", "content": "Another"}),  # streamed at the same time
    chunk("c1", {"content": "Or not."}, index=1),
    chunk("c1", {"tool_calls": [{"index": 0, "id": "t", "function": {"name": "book"}}]}),
    chunk("c1", {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}),
    chunk("c1", {"content": " is booked."}),
    chunk("c2", {"content": " answer."}),
    {**chunk("c1", {}), "choices": []},
]


@pytest.mark.parametrize("form", ["lines", "events", "array"])
def test_chunks_of_a_streamed_answer_are_one_turn(form):
    lines = [json.dumps(one) for one in CHUNKS]
    log = read(
        {
            "lines": "\n".join(lines),
            "events": ""
            + "".join(f"data: {line}\n\n: ping\n\n" for line in lines)
            + "data: [DONE]\n\n",
            "array": json.dumps(CHUNKS),
        }[form]
    )
    assert [(t.role, t.text, t.id, t.at) for t in log.turns] == [
        ("assistant", "The table is booked.", "c1", MAY),
        ("assistant", "Another answer.", "c2", MAY),
    ]
    assert (log.skipped, log.problems) == ({"alternative": 1, "tool call": 1}, ())


EVENTS = [
    {"type": "message_start", "message": {"id": "m1", "role": "assistant", "content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta"}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": " you"}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_stop"},
]


def test_events_of_a_streamed_answer_are_one_turn():
    again = json.loads(json.dumps(EVENTS).replace("m1", "m2").replace("Hello", "Bye"))
    between = {"role": "user", "content": "And?"}
    for events in ([*EVENTS, *again], [*EVENTS, between, *again]):
        log = read(
            "".join(f"event: {one.get('type')}\ndata: {json.dumps(one)}\n\n" for one in events)
        )
        mine = [(t.text, t.id) for t in log.turns if t.role == "assistant"]
        assert mine == [("Hello you", "m1"), ("Bye you", "m2")]
        assert (log.skipped, log.problems) == ({"thinking": 2}, ())
    cut_off = read("\n".join(map(json.dumps, EVENTS[3:6])))
    assert said(cut_off) == [("assistant", "Hello")]


def test_events_of_the_responses_api_give_the_whole_response():
    output = [{"type": "message", "role": "assistant", "content": [{"text": "Hi"}]}]
    events = [
        {"type": "response.created", "response": {"id": "r", "output": []}},
        {"type": "response.output_text.delta", "delta": "Hi"},
        {"type": "response.output_item.done", "item": output[0]},
        {"type": "response.completed", "response": {"id": "r", "output": output}},
    ]
    log = read("\n".join(map(json.dumps, events)))
    assert (said(log), log.skipped) == ([("assistant", "Hi")], {})


def test_a_line_that_is_no_event_is_still_named():
    log = read('{"role": "user", "text": "x"}\nid: 7\n: more\n')
    assert [problem.where for problem in log.problems] == ["line 2", "line 3"]


LANGCHAIN = {
    "message_to_dict": [
        {"type": "human", "data": {"content": "q", "type": "human", "id": None}},
        {"type": "ai", "data": {"content": "a", "tool_calls": [{"name": "f"}]}},
        {"type": "tool", "data": {"content": "42", "name": "f", "tool_call_id": "1"}},
        {"type": "chat", "data": {"content": "c", "role": "Ann"}},
    ],
    "dumpd": [
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", name], "kwargs": kwargs}
        for name, kwargs in (
            ("HumanMessage", {"content": "q", "type": "human"}),
            ("AIMessageChunk", {"content": "a", "tool_calls": [{"name": "f"}]}),
            ("ToolMessage", {"content": "42", "name": "f"}),
            ("ChatMessage", {"content": "c", "role": "Ann"}),
        )
    ],
    "model_dump": [
        {"content": "q", "type": "human", "id": None},
        {"content": "a", "type": "ai", "tool_calls": [{"name": "f"}]},
        {"content": "42", "type": "tool", "name": "f"},
        {"content": "c", "type": "chat", "role": "Ann"},
    ],
}


@pytest.mark.parametrize("form", sorted(LANGCHAIN))
def test_langchain(form):
    log = read(LANGCHAIN[form])
    assert said(log) == [("user", "q"), ("assistant", "a"), ("tool", "42"), ("Ann", "c")]
    assert (log.skipped, log.problems) == ({"tool call": 1}, ())


def test_chats_of_teams_have_people_as_speakers():
    profile = {"real_name": "Ada L", "display_name": "ada"}
    slack = [
        {"type": "message", "user": "U1", "text": "At 5", "ts": str(MAY), "user_profile": profile},
        {"type": "message", "subtype": "channel_join", "user": "U2", "text": "joined"},
        {"type": "message", "user": "U2", "text": "ok", "client_msg_id": "m2"},
        {"type": "message", "subtype": "bot_message", "username": "ci", "text": "green"},
        {"type": "message", "text": "from nowhere"},
    ]
    log = read(slack)
    assert said(log) == [("ada", "At 5"), ("U2", "ok"), ("ci", "green")]
    assert [turn.id for turn in log.turns] == [None, "m2", None]
    assert log.turns[0].at == MAY
    assert log.skipped == {"notice": 1}
    assert [problem.where for problem in log.problems] == ["item 5"]
    discord = {
        "guild": {"id": "1"},
        "messages": [
            {"id": "7", "content": "Who?", "author": {"name": "ada", "nickname": "Ada"}},
            {"id": "8", "content": "", "author": {"name": "ben"}, "attachments": [{"url": "x"}]},
            {"id": "9", "content": "Me.", "author": {"id": "3", "username": "ben"}},
        ],
    }
    log = read(discord)
    assert (said(log), log.skipped) == ([("Ada", "Who?"), ("ben", "Me.")], {"file": 1})
    telegram = {
        "type": "personal_chat",
        "messages": [
            {"type": "message", "from": "Ada", "text": ["see ", {"type": "link", "text": "x.org"}]},
        ],
    }
    assert said(read(telegram)) == [("Ada", "see x.org")]


def test_exports_of_claude_are_in_order_and_whole():
    late = {
        "created_at": "2026-05-02T12:00:00Z",
        "chat_messages": [
            {
                "sender": "human",
                "text": "q",
                "content": [{"type": "text", "text": "q"}],
                "attachments": [{"file_name": "a.txt", "extracted_content": "a list"}],
                "files": [{"file_name": "b.png"}],
            },
            {
                "sender": "assistant",
                "text": "This block is not supported.",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "tool_result", "content": [{"type": "text", "text": "found"}]},
                    {"type": "text", "text": "a"},
                ],
            },
        ],
    }
    early = {
        "created_at": "2026-05-01T12:00:00Z",
        "chat_messages": [{"sender": "human", "text": "e"}],
    }
    log = read([late, early])
    assert said(log) == [
        ("user", "e"),
        ("user", "q\na list"),
        ("tool", "found"),
        ("assistant", "a"),
    ]
    assert log.skipped == {"file": 1, "thinking": 1}


def test_gemini():
    request = {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "q"}, {"inlineData": {"mimeType": "image/png"}}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"response": {"r": 42}}}]},
        ],
    }
    log = read(request)
    assert said(log) == [("system", "Be kind."), ("user", "q"), ("tool", '{"r": 42}')]
    assert (log.skipped, log.problems) == ({"image": 1, "tool call": 1}, ())
    answer = {"candidates": [{"content": {"role": "model", "parts": [{"text": "a"}]}}, {}]}
    assert (said(read(answer)), read(answer).skipped) == ([("model", "a")], {"alternative": 1})


@pytest.mark.parametrize(
    "log",
    [
        '{"prompt": "q", "completion": "a"}',
        '{"instruction": "q", "output": "a"}',
        '{"prompt": "q"}\n{"choices": [{"text": "a"}]}',
        "prompt,response\nq,a\n",
        "turn;user_message;bot_response\n1;q;a\n",
    ],
)
def test_what_was_asked_and_answered_are_two_turns(log):
    assert said(read(log)) == [("user", "q"), ("assistant", "a")]
    assert read(log).problems == ()


def test_messages_inside_other_records_are_found_unless_a_type_says_what_they_are():
    for key in ("data", "turns", "items", "history", "sessions"):
        assert said(read({key: [{"speaker": "user", "utterance": "q"}]})) == [("user", "q")]
    assert said(read({"data": {"messages": [{"role": "user", "content": "q"}]}})) == [("user", "q")]
    progress = {"type": "progress", "data": {"message": {"role": "user", "content": "q"}}}
    assert (read(progress).turns, read(progress).skipped) == ((), {"progress": 1})


def test_indented_documents_may_follow_each_other():
    text = "\n".join(json.dumps({"role": "user", "text": f"t{n}"}, indent=2) for n in range(3))
    log = read(text)
    assert [turn.text for turn in log.turns] == ["t0", "t1", "t2"]
    assert log.format == "json"


def test_tables_with_a_column_of_users():
    assert said(read("date,username,content\n2026-05-01,ada,hi\n")) == [("ada", "hi")]
    assert said(read("user,text\nada,hi\n")) == [("ada", "hi")]


def test_lines_of_a_dialogue_may_begin_with_a_time():
    log = read("2026-05-01T12:00:00Z Ada: hi\n[2026-05-01T14:00+02:00] Ben: hello\nmore\n")
    assert [(t.role, t.text, t.at) for t in log.turns] == [
        ("Ada", "hi", MAY),
        ("Ben", "hello\nmore", MAY),
    ]


def test_notices_and_attachments_of_whatsapp_are_left_out():
    log = read(
        "[13/05/26, 09:03:00] Anna: \u200eMessages and calls are end-to-end encrypted.\n"
        "[13/05/26, 09:04:00] Anna: Hello\n"
        "[13/05/26, 09:05:00] Anna: \u200e<attached: 0001-PHOTO.jpg>\n"
        "[13/05/26, 09:06:00] Ben: IMG-2026.jpg (file attached)\n"
    )
    assert (said(log), log.skipped) == ([("Anna", "Hello")], {"media": 2, "notice": 1})


def test_a_record_without_a_speaker_is_named_with_its_keys():
    (problem,) = read({"a": 1, "b": 2}).problems
    assert "found the keys: a, b" in str(problem)


def test_an_empty_time_is_no_time():
    log = read({"role": "user", "text": "x", "time": ""})
    assert (log.turns[0].at, log.skipped) == (None, {})


def test_requests_that_repeat_the_conversation_add_what_is_new():
    said_so_far = [{"role": "system", "content": "Be brief."}]
    lines = []
    for n in range(6):
        said_so_far = [*said_so_far, {"role": "user", "content": "ok"}]
        answer = {"role": "assistant", "content": f"a{n}"}
        response = {"choices": [{"message": {**answer, "refusal": None}}]}
        lines.append(json.dumps({"request": {"messages": said_so_far}, "response": response}))
        said_so_far = [*said_so_far, answer]
    log = read("\n".join(lines))
    expected = [(one["role"], one["content"]) for one in said_so_far]
    assert said(log) == expected
    assert log.skipped == {"repeated message": sum(1 + 2 * n for n in range(1, 6))}
    assert said(read(f"[{','.join(lines)}]")) == expected
    other = json.dumps({"messages": [*said_so_far[:2], {"role": "assistant", "content": "x"}]})
    assert len(read("\n".join([*lines, other])).turns) == len(expected) + 3  # another branch


def test_turns_that_are_the_same_are_all_kept():
    lines = ['{"role": "user", "text": "ok"}'] * 3
    assert len(read("\n".join(lines)).turns) == 3
    assert len(read(f"[{','.join(lines)}]").turns) == 3
    assert len(read("User: ok\nUser: ok\n").turns) == 2
