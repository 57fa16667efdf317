"""Everything in the two packages that reads what others have written, as targets of fuzzing."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import anyio
import httpx
from mcp.server.mcpserver.exceptions import ToolError
from starlette.datastructures import QueryParams

from scaleqa.audit.book import rating, read_judgements
from scaleqa.audit.files import read_plan as read_audit
from scaleqa.audit.forms import read_form
from scaleqa.backends import read_price
from scaleqa.backends.openai import Completion
from scaleqa.construct import EXAMPLE, load_plan
from scaleqa.construct.ledger import read_receipts
from scaleqa.construct.replies import GivenUpError, MalformedError, OpenReading, read_reply
from scaleqa.datasets import open_threads
from scaleqa.datasets.tiage import load_chats
from scaleqa.desk import Person, Visit, read_entries
from scaleqa.desk.pages import Pages
from scaleqa.errors import DataError
from scaleqa.evaluate.imported import import_batch
from scaleqa.evaluate.judging import judge_rows
from scaleqa.evaluate.labels import read_labels
from scaleqa.evaluate.rowfile import all_rows, row_path, write_rows
from scaleqa.evaluate.verdicts import judged_rows, verdict_path
from scaleqa.judges import Task, open_judge
from scaleqa.leaderboard import find_results, read_result
from scaleqa.lengths import length, parse_target
from scaleqa.noise import FORMATS, load_pool
from scaleqa.packages import build, load_packages, write_packages
from scaleqa.records import load_records
from scaleqa.records.draw import read_ledger
from scaleqa.review.decisions import Decision
from scaleqa.review.forms import read_decision
from scaleqa.review.settings import Settings, content_of, digest
from scaleqa.review.settings import load as load_review
from scaleqa.shards.board import Board
from scaleqa.shards.plan import Part, Plan, Shard, cut
from scaleqa.shards.recipe import Recipe
from scaleqa.specs import Spec, split_specs
from scaleqa.systems.external.messages import Results
from scaleqa.systems.external.messages import read as read_line
from scaleqa.systems.hipporag.prompted import _object
from scaleqa.testing import WordEmbedder
from tests.support.audits import careful, tiny_plan
from tests.support.fuzzing import Target
from tests.support.records import NOISE, RECORDS, settings_of
from tests.support.reviewing import fields_of
from tests.support.runs import former_row, row
from tsim import Memory, NewTurn, ThreadMissingError
from tsim.adapters.messages import MessageCodec
from tsim.adapters.shape import lift, lower
from tsim.answers import Hits, Turns
from tsim.assemble import render
from tsim.characters import visible
from tsim.checking import check_turn
from tsim.cli.options import _note
from tsim.client import answers
from tsim.client.call import Call
from tsim.client.calls import add, forget_thread, search, turns
from tsim.client.exchange import Exchange
from tsim.client.streams import ExportReceiver
from tsim.errors import InputError
from tsim.http import Patience
from tsim.logs import Format, read_log
from tsim.proxy.answer import Answer
from tsim.proxy.chat import read_chat
from tsim.proxy.history import divide as divide_history
from tsim.proxy.ids import turns_of
from tsim.proxy.notes import Notes
from tsim.rank.when import stretches
from tsim.segment.passages import divide
from tsim.server import mcp
from tsim.server.access import Scope
from tsim.server.inspector.fields import Fields, ranges
from tsim.server.mcp.confirming import Shown, issue
from tsim.server.mcp.tool import FAILED
from tsim.times import before, moment, seconds
from tsim.tokens import ESTIMATE, estimate
from tsim.types import Hit, SpanWhy, Turn, Why
from tsim.wire import dump
from tsim.words import terms

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def targets(directory: Path) -> Iterator[Target]:
    """Yields all targets.

    Args:
        directory: An empty directory for files that are read; one in RAM is faster.
    """
    yield from _short_texts()
    yield from _texts()
    yield from _logs()
    yield from _adapters()
    yield from _replies()
    yield from _answers()
    yield from _proxied()
    yield from _files(directory)
    yield _packages(directory / "packages")
    yield _batch(directory / "batch")
    yield _export(directory / "export")
    yield _tools(directory / "tools")
    yield _fields()
    yield from _review(directory / "review")
    yield from _audit(directory / "audit")
    yield _result(directory / "result")


def encoded(text: str) -> bytes:
    """The bytes of an input; what UTF-8 does not have becomes bytes that it does not have."""
    return text.encode("utf-8", "surrogatepass")


def decoded(text: str) -> str:
    """An input as it comes from a server: without what UTF-8 does not have."""
    return encoded(text).decode("utf-8", "replace")


def _short_texts() -> Iterator[Target]:
    specs = ["tsim", "tsim:budget=5,k=2", "openai:m@http://u:p@h/v1,x=1", "a.py:make:k=1", "a;b,c"]
    yield Target(name="specs", seeds=specs, read=_read_spec)
    yield Target(name="lengths", seeds=["0", "16k", "1M", "5000"], read=_read_length)
    yield Target(name="prices", seeds=["0.15,0.6", "1,2"], read=read_price)
    times = ["2024-05-03", "2024-05-03T14:00Z", "7d", "30min", "1714744800", "2024-W01-1"]
    yield Target(name="times", seeds=times, read=_read_time)
    yield Target(name="meta", seeds=["a=1", "a=null", 'b="x"', "c=text"], read=_note)


def _read_spec(text: str) -> None:
    for subject in (False, True):
        try:
            spec = Spec.parse(text, subject=subject)
        except DataError:
            continue
        row_path(Path("out"), str(spec), "one")
    split_specs(text)


def _read_length(text: str) -> None:
    length(parse_target(text))


def _read_time(text: str) -> None:
    found = before(text, NOW)
    seconds(found, "at")
    moment(found, "at")


def _texts() -> Iterator[Target]:
    questions = [
        "what did I say last week?", "between 3 May 2024 and June", "two months ago, in March",
        "since 2024-05-03 until yesterday", "the first time, recently", "in the past 3 years",
        "on Monday, last Christmas eve, half an hour ago", "before new year's, by the 5th of may",
    ]  # fmt: skip
    yield Target(name="question periods", seeds=questions, read=_read_periods)
    prose = [
        "# Head\n\nOne sentence. Another one!\n- item\n- item\n```\ncode\n```\n",
        "他在东京工作。昨天下雨了！ 안녕하세요 세계 ภาษาไทยไม่มีช่องว่าง",
        "word " * 40,
        "https://example.org/a?b=c#d user@example.org 3.14 don't re-do naïve",
    ]
    yield Target(name="tokens", seeds=prose, read=estimate)
    yield Target(name="words", seeds=prose, read=terms)
    yield Target(name="passages", seeds=prose, read=_read_passages)
    yield Target(name="contexts", seeds=[*prose, "a\n[3-4]\nuser: x", "[1]"], read=_read_context)
    yield Target(name="terminal", seeds=[*prose, "\x1b[2J", "[/red]"], read=_read_terminal)


def _read_periods(text: str) -> None:
    stretches(text, now=NOW, first=0.0, last=NOW.timestamp())


def _read_passages(text: str) -> None:
    starts = divide(text, lambda some: [len(one.split()) for one in some], 8)
    assert starts[0] == 0
    assert list(starts) == sorted({*starts})


def _read_context(text: str) -> None:
    turn = check_turn(NewTurn(role="user", text=text))
    hit = Hit(episode=0, turns=(Turn(id=1, role="user", text=turn.text),), score=1, why=Why())
    heading, *lines = render([hit]).splitlines()
    assert heading == "[1]"
    assert [line for line in lines if not line.startswith(" ")] == lines[:1]


def _read_terminal(text: str) -> None:
    shown = visible(text)
    assert shown == visible(shown)
    assert all(char.isprintable() or char in "\n\t" or ord(char) > 0x9F for char in shown)


def _logs() -> Iterator[Target]:
    message = {"role": "user", "content": "hello", "id": "7", "timestamp": "2024-05-03T14:00Z"}
    parts = {"role": "assistant", "content": [{"type": "text", "text": "x"}, {"type": "image"}]}
    tree = {
        "mapping": {
            "a": {"message": {"author": {"role": "user"}, "content": {"content_type": "text",
                  "parts": ["hi"]}, "create_time": 1.5, "id": "m"}, "parent": None},
            "b": {"message": None, "parent": "a"},
        },
        "current_node": "b", "create_time": 3.0,
    }  # fmt: skip
    body = {"request": {"messages": [message]}, "response": {"choices": [{"message": parts}]}}
    seeds = {
        Format.JSON: [json.dumps([message, parts]), json.dumps([tree]), json.dumps(body)],
        Format.JSONL: [f"{json.dumps(message)}\n{json.dumps(parts)}\n{json.dumps(body)}\n"],
        Format.CSV: ["role,text,at\nuser,hello,2024-05-03\nmodel,\"a\nb\",\n", "from;body\na;b\n"],
        Format.WHATSAPP: ["13/05/24, 14:03 - Anna: hello\nmore\n[1.2.24, 10:00:00] Bo: x\n"],
        Format.DIALOGUE: ["Anna: hello\nBo: hi\nmore\nAnna: bye\n"],
        Format.PARAGRAPHS: ["One paragraph\nof two lines.\n\nAnother.\n"],
    }  # fmt: skip
    for form, texts in seeds.items():
        yield Target(name=f"log {form.value}", seeds=texts, read=_reader(form))
    every = [text for texts in seeds.values() for text in texts]
    yield Target(name="log of any kind", seeds=every, read=lambda text: read_log(encoded(text)))


def _adapters() -> Iterator[Target]:
    """Shapes that somebody else wrote into a memory, and data exports."""
    message = {"role": "user", "content": [{"type": "text", "text": "one gpu"}]}
    _, shape = lift(message)
    yield Target(name="shapes", seeds=[shape, '["$","$",1]'], read=lambda text: lower("gpu", text))
    codec = MessageCodec()
    yield Target(name="messages", seeds=[json.dumps(message)], read=lambda t: _said(codec, t))
    talk = [{"chat_messages": [{"uuid": "m", "sender": "human", "text": "hi"}]}]
    yield Target(name="archives", seeds=[json.dumps(talk)], read=_read_archive)


def _said(codec: MessageCodec, text: str) -> None:
    """A message goes into a turn and comes back."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("no JSON") from None
    turn = codec.turn(value)
    if turn is not None:
        codec.said(check_turn(turn).numbered(0))


def _read_archive(text: str) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("conversations.json", encoded(text))
    read_log(out.getvalue())


def _reader(form: Format) -> Callable[[str], object]:
    return lambda text: read_log(encoded(text), format=form)


def _replies() -> Iterator[Target]:
    replies = [
        "ANSWER: B\nRATIONALE: since so", "**Answer:** (c)\n- rationale: x\n", "B", "(B).",
        "I think.\nANSWER: 1,000 euros\nANSWER: 1,000 euros", "the ANSWER is\n\n\nnone",
    ]  # fmt: skip
    yield Target(name="answers", seeds=replies, read=_read_reply)
    said = {"role": "assistant", "content": "x", "tool_calls": [
        {"id": "1", "function": {"name": "f", "arguments": "{}"}}]}  # fmt: skip
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    whole = {"choices": [{"message": said, "finish_reason": "stop"}], "usage": usage}
    yield Target(name="completions", seeds=[json.dumps(whole)], read=_read_completion)
    facts = ['Here: {"entities": ["a"], "triples": [["a", "is", "b"]]} done']
    yield Target(name="extracted facts", seeds=facts, read=lambda text: _object(decoded(text)))
    readings = ['```json\n{"answer": "A", "evidence": [2], "flags": ["contrived"]}\n```']
    yield Target(name="readings", seeds=[*readings, '{"drop": "no"}'], read=_read_reading)
    lines = [
        '{"id": 1, "results": [{"turns": [3], "score": 0.5}, {"text": "one gpu"}], "more": 1}',
        '{"embed": ["one gpu"], "query": true}', '{"id": 1, "error": "out of space"}',
    ]  # fmt: skip
    yield Target(
        name="programs", seeds=lines, read=lambda text: read_line(encoded(text), Results, 1)
    )


def _read_reading(text: str) -> None:
    with suppress(MalformedError, GivenUpError):
        read_reply(decoded(text), OpenReading)


def _proxied() -> Iterator[Target]:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked = [
        {"role": "system", "content": "brief"}, {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "3"},
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url"}]},
    ]  # fmt: skip
    body = json.dumps({"model": "m", "user": "u", "messages": asked})
    yield Target(name="chats", seeds=[body, '{"messages":[]}'], read=_read_chat)
    pieces = ({"role": "assistant"}, {"content": "one "}, {"tool_calls": [{**call, "index": 0}]})
    events = [{"choices": [{"index": 0, "delta": one}]} for one in pieces]
    ended = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    stream = "".join(f"data: {json.dumps(one)}\n\n" for one in (*events, ended))
    yield Target(name="streams", seeds=[f": x\n{stream}data: [DONE]\n"], read=_read_stream)


def _read_chat(text: str) -> object:
    chat = read_chat(encoded(text))
    raw = [chat.raw(number) for number in range(len(chat.messages))]
    again = read_chat(chat.having(raw))
    # Not the values, which need not be equal to themselves: NaN is read, too.
    assert len(again.messages) == len(chat.messages)
    history = divide_history(chat.messages, 1)
    places = sorted((*history.lead, *history.older, *history.recent))
    assert places == [*range(len(chat.messages))]
    return Notes(ESTIMATE).of(chat)


def _read_stream(text: str) -> object:
    found = []
    for kind in ("text/event-stream", "application/json"):
        answer = Answer(kind)
        answer.take(encoded(text))
        said = answer.message()
        found.append((answer.partial, turns_of(said, "a") if said else []))
    return found


def _answers() -> Iterator[Target]:
    turn = Turn(id=1, role="user", text="one gpu", at=1.5, meta={"a": 1}, shown=((0, 3),))
    span = SpanWhy(anchor=1, dense=0.5, lexical=0.5, share=1.0, words=(("gpu", 0.5),))
    hits = [Hit(episode=0, turns=(turn,), score=1.0, why=why) for why in (Why(), span)]
    asking = search("a", "gpu", k=1, budget=1, min_relevance=1)
    kinds: list[tuple[str, Call[Any], bytes]] = [
        ("hits", asking, dump(Hits, Hits(hits=hits))),
        ("turns", next(turns("a")), dump(Turns, Turns(turns=[turn], next=3))),
        ("receipts", add("a", [turn.again()]), b'{"receipts": [{"turn": 1, "episode": 0}]}'),
        ("receipts of forgetting", forget_thread("a"), b'{"turns": [1], "scrubbed": false}'),
    ]  # fmt: skip
    for name, call, seed in kinds:
        yield Target(name=f"answers: {name}", seeds=[seed.decode()], read=_answer_to(call))
    problem = '{"type": "", "title": "", "status": 404, "kind": "thread_missing", "detail": "x"}'
    yield Target(name="answers: problems", seeds=[problem], read=_read_problem)
    lines = b'{"kind": "memory"}\n{"kind": "turn", "text": "x"}\n'
    end = f'{{"kind": "end", "lines": 2, "sha256": "{hashlib.sha256(lines).hexdigest()}"}}\n'
    yield Target(name="answers: exports", seeds=[lines.decode() + end], read=_receive_export)


def _answer_to(call: Call[Any]) -> Callable[[str], object]:
    exchange = Exchange(call, "http://server", "key", Patience())
    return lambda text: exchange.result(httpx.Response(200, content=encoded(text)))


def _read_problem(text: str) -> None:
    response = httpx.Response(404, content=encoded(text), headers={"content-type": answers.PROBLEM})
    exchange = Exchange(forget_thread("a"), "http://server", "key", Patience())
    try:
        exchange.settle(response)
    except ThreadMissingError:  # as it was sent
        return


def _receive_export(text: str) -> None:
    receiver = ExportReceiver()
    receiver.take(encoded(text))
    receiver.end()


def _read_reply(text: str) -> None:
    for options in (dict.fromkeys("ABCD", "x"), dict.fromkeys("İſß", "x"), None):
        task = Task(question="q", gold="B", options=options, kind="multi-hop", may_abstain=True)
        for judge in ("letter", "exact", "normalised", "f1", "f1:convention=locomo"):
            open_judge(judge).grade(task, text)


def _read_completion(text: str) -> None:
    try:
        found = Completion.model_validate_json(encoded(text))
    except ValueError:  # how it is refused where it is used
        return
    assert isinstance(found.reply.text, str)
    assert isinstance(found.reason, str)
    assert found.silent in (True, False)


def _verdicts(directory: Path) -> Iterator[Target]:
    """What judges said of a row, and what people did."""
    known = row()
    path = row_path(directory, known.run.system, known.run.package)
    write_rows(path, [known])
    judge_rows(directory, [open_judge("letter")])
    beside = verdict_path(path, open_judge("letter").identity)
    yield Target(
        name="verdicts",
        seeds=[beside.read_text("utf-8")],
        read=_from_file(beside, lambda _: judged_rows(directory)),
    )
    label = json.dumps({"id": known.id, "system": known.run.system, "correct": True})
    yield Target(
        name="labels",
        seeds=[label],
        read=_from_file(directory / "labels.txt", lambda file: read_labels(file, [known])),
    )


def _files(directory: Path) -> Iterator[Target]:
    """Files that are one input each."""
    directory.mkdir(exist_ok=True)
    asked = {"role": "user", "content": "What do you think of it?"}
    talk = [asked, {"role": "assistant", "content": "I think that it is what you like."}] * 2
    texts = [one["content"] for one in talk]
    noise = {
        "authored": {"turns": texts, "genre": "chat"},
        "ultrachat": {"id": "1", "data": texts},
        "wildchat": {"conversation": talk, "toxic": False},
        "sharegpt": [{"conversations": [{"from": "human", "value": one} for one in texts]}],
        "oasst": {"prompt": {"role": "prompter", "text": texts[0], "replies": [
            {"role": "assistant", "text": texts[1], "rank": 0, "message_id": "a"}]}},
        "sgd": {"turns": [{"speaker": "USER", "utterance": one} for one in texts]},
        "longmemeval": [{"haystack_sessions": [talk]}],
    }  # fmt: skip
    assert {*noise} == {*FORMATS}
    for form, item in noise.items():
        yield Target(
            name=f"noise {form}",
            seeds=[json.dumps(item)],
            read=_from_file(directory / form, _pool_of(form)),
        )
    records = "".join(one.model_dump_json() + "\n" for one in RECORDS[:2])
    yield Target(
        name="records", seeds=[records], read=_from_file(directory / "r.jsonl", load_records)
    )
    receipt = json.dumps({"id": "s1:Legal-001", "seal": "0" * 64, "letter": "A"})
    yield Target(
        name="receipts", seeds=[receipt], read=_from_file(directory / "d.jsonl", read_ledger)
    )
    rows = directory / "rows"
    rows.mkdir(exist_ok=True)
    lines = [row().model_dump_json(exclude_none=True) + "\n", json.dumps(former_row()) + "\n"]
    yield Target(
        name="rows", seeds=lines, read=_from_file(rows / "one.jsonl", lambda _: all_rows(rows))
    )
    yield from _verdicts(directory / "judged")
    yield Target(
        name="plans of construction",
        seeds=[EXAMPLE],
        read=_from_file(directory / "construct.toml", load_plan),
    )
    posed = {"kind": "asked", "at": "t", "key": "k", "item": "i", "ask": "open", "model": "m",
             "prompt": "p", "sha256": "0"}  # fmt: skip
    decision = {"item": "i", "verdict": "back", "to": "dialogue", "reasons": ["no"]}
    decided = {"kind": "decided", "at": "t", "step": "read", "decisions": [decision]}
    first = {"kind": "begun", "at": "t", "identity": "0", "plan": {}, "prompts": {}}
    yield Target(
        name="receipts of construction",
        seeds=["".join(json.dumps(one) + "\n" for one in (first, posed, decided))],
        read=_from_file(directory / "c.jsonl", read_receipts),
    )
    yield Target(name="plans", seeds=[_plan()], read=_from_file(directory / "plan.json", _planned))
    yield from _published(directory)


def _review(directory: Path) -> Iterator[Target]:
    """Decisions of a review, and the forms that they come from."""
    directory.mkdir(exist_ok=True)
    record = RECORDS[0]
    form = {"id": "0" * 32, "version": "3", "verdict": "edit", "note": "x", **fields_of(record)}
    visit = Visit(
        person=Person(name="ana", role="reviewer"),
        form=QueryParams(""),
        path={},
        pages=Pages("scaleqa.review", title="", filters={}),
        where="",
    )

    def read(text: str) -> None:
        sent = QueryParams(encoded(text).decode("utf-8", "replace"))
        found = read_decision(replace(visit, form=sent), record)
        assert Decision.model_validate_json(found.decision.model_dump_json()) == found.decision

    changed = form | {"question": "Which one?"}
    sent = [urlencode(changed, doseq=True), urlencode(form | {"verdict": "reject:duplicate"})]
    yield Target(name="review: forms", seeds=sent, read=read)
    at: dict[str, Any] = {"id": "0" * 32, "at": "", "person": "ana", "record": record.id}
    made = [
        Decision(**at, action="reject", reason="other"),
        Decision(**at, action="edit", edited=record, changes=()),
    ]
    yield Target(
        name="review: decisions",
        seeds=[one.model_dump_json() + "\n" for one in made],
        read=_from_file(directory / "decisions.jsonl", lambda path: read_entries(path, Decision)),
    )
    (directory / "records.jsonl").write_bytes(content_of(RECORDS[:2]))
    wanted = Settings(records=digest(RECORDS[:2]), reviewers=("ana",), each=1)
    yield Target(
        name="review: settings",
        seeds=[wanted.model_dump_json()],
        read=_from_file(directory / "review.json", lambda path: load_review(path.parent)),
    )


def _audit(directory: Path) -> Iterator[Target]:
    """The plan of an audit, its ratings, and the forms that they come from."""
    directory.mkdir(exist_ok=True)
    plan = tiny_plan()
    (item,) = plan.items
    values = careful(item)
    form = {"form": "0" * 32, "base": "", "seconds": "9", "answer": "B", "cues": [*values.cues]}
    form |= {name: str(point) for name, point in values.scales.items()}

    def read(text: str) -> None:
        sent = read_form(QueryParams(encoded(text).decode("utf-8", "replace")))
        asked = sent.values.only(item.shown)
        assert asked.only(item.shown) == asked

    yield Target(name="audit: forms", seeds=[urlencode(form, doseq=True)], read=read)
    line = rating(form="0" * 32, rater=1, item=item, base="", values=values, seconds=4)
    draft = line.model_copy(update={"id": "1" * 32, "kind": "draft"})
    yield Target(
        name="audit: ratings",
        seeds=[one.model_dump_json() + "\n" for one in (line, draft)],
        read=_from_file(
            directory / "ratings.jsonl", lambda path: read_judgements(path.parent, plan)
        ),
    )
    yield Target(
        name="audit: plans",
        seeds=[plan.model_dump_json()],
        read=_from_file(directory / "plan.json", lambda path: read_audit(path.parent)),
    )


def _plan() -> str:
    part = Part(package="p", run=row().run, first=0, last=3)
    shards = (Shard(recipe=Recipe(model="m", rpm=5), parts=(part,)),)
    return Plan(id="1", lease=30, shards=shards).model_dump_json(exclude_none=True)


def _planned(path: Path) -> None:
    plan = Board(path.parent).plan()
    for shard in plan.shards if plan else ():
        assert shard.id and shard.name
        assert shard.size is not None
        cut([shard], 3)


def _pool_of(form: str) -> Callable[[Path], object]:
    return lambda path: load_pool(path, form)


def _published(directory: Path) -> Iterator[Target]:
    turn = {"role": "user", "content": "I live in Lyon.", "has_answer": True}
    asked = {
        "question_id": "q1", "question_type": "t", "question": "Where?", "answer": "Lyon",
        "question_date": "2023/05/30 (Tue) 01:50", "haystack_dates": ["2023/05/20 (Sat) 02:21"] * 2,
        "haystack_session_ids": ["s1", "s2"], "haystack_sessions": [[turn], [turn]],
        "answer_session_ids": ["s1"],
    }  # fmt: skip
    file = directory / "lme.json"
    spec = f"longmemeval:file={file},dates=true"
    yield Target(
        name="LongMemEval",
        seeds=[json.dumps([asked])],
        read=_from_file(file, lambda _: open_threads(spec)),
    )
    said = [{"speaker": "Ann", "dia_id": f"D1:{n}", "text": "I live in Lyon."} for n in range(2)]
    query = {"question": "Where?", "answer": "Lyon", "evidence": ["D1:0"], "category": 4}
    talk = {"sample_id": "c1", "conversation": {"session_1": said}, "qa": [query]}
    locomo = directory / "locomo.json"
    yield Target(
        name="LoCoMo",
        seeds=[json.dumps([talk])],
        read=_from_file(locomo, lambda _: open_threads(f"locomo:file={locomo}")),
    )
    listed = {
        "question_id": "locomo_0_qa0", "question": "Where?", "error_type": "AMBIGUOUS",
        "correct_evidence": ["D1:1"], "correct_answer": "Lyon",
    }  # fmt: skip
    whole, errors = directory / "locomo-whole.json", directory / "locomo-errors.json"
    dated = {"speaker_a": "Ann", "speaker_b": "Bo", "session_1_date_time": "1:56 pm on 8 May, 2023"}
    whole.write_text(json.dumps([{**talk, "conversation": {**dated, "session_1": said}}]))
    mended = f"locomo:file={whole},errors={errors},mend=correct"
    yield Target(
        name="errors of LoCoMo",
        seeds=[json.dumps([listed])],
        read=_from_file(errors, lambda _: open_threads(mended)),
    )
    cue = {
        "relation_type": "goal", "cue_dialogue": "A: I save.\nB: Good.",
        "trigger_query": "A: So dear!", "time_gap": "about 2 weeks later",
    }  # fmt: skip
    plus = directory / "plus.json"
    yield Target(
        name="LoCoMo-Plus",
        seeds=[json.dumps([cue])],
        read=_from_file(
            plus, lambda _: open_threads(f"locomo_plus:file={plus},conversations={whole}")
        ),
    )
    chats = directory / "realtalk"
    chats.mkdir(exist_ok=True)
    real = {"session_1": [{**one, "clean_text": one["text"]} for one in said], "qa": [query]}
    yield Target(
        name="REALTALK",
        seeds=[json.dumps(real)],
        read=_from_file(
            chats / "Chat_1.json", lambda _: open_threads(f"realtalk:directory={chats}")
        ),
    )
    chat = {"1": [["hello", "-1"], ["hi", "0"], ["so", "1"], ["bye", "0"]]}
    yield Target(
        name="TIAGE",
        seeds=[json.dumps(chat)],
        read=_from_file(directory / "tiage.json", load_chats),
    )


def _from_file(path: Path, read: Callable[[Path], object]) -> Callable[[str], object]:
    def written(text: str) -> object:
        path.write_bytes(encoded(text))
        return read(path)

    return written


def _result(directory: Path) -> Target:
    """What a submitted result says; its rows are those of runs."""
    directory.mkdir(exist_ok=True)
    said = (find_results(Path(__file__).parents[2] / "results")[0] / "result.json").read_text(
        "utf-8"
    )
    read = _from_file(directory / "result.json", read_result)
    return Target(name="result", seeds=[said], read=read)


def _packages(directory: Path) -> Target:
    """A package as one text: its files follow each other, each with its name before it."""
    write_packages(build(RECORDS[:2], NOISE, settings_of(500)), directory)
    (package,) = directory.iterdir()
    files = sorted(path.name for path in package.iterdir())
    whole = {name: (package / name).read_text() for name in files}

    def read(text: str) -> None:
        parts = text.split("\x1c")
        if len(parts) != len(files):
            parts = [text, *parts, *whole.values()][: len(files)]
        for name, content in zip(files, parts, strict=True):
            (package / name).write_bytes(encoded(content))
        with _hashes_mended(package):
            load_packages(package)

    return Target(name="packages", seeds=["\x1c".join(whole.values())], read=read)


@contextmanager
def _hashes_mended(package: Path) -> Iterator[None]:
    """Writes the hashes of what is there, as somebody would who means to deceive."""
    path = package / "manifest.json"
    try:
        manifest = json.loads(path.read_bytes())
        manifest["sha256"] = {
            name: hashlib.sha256((package / name).read_bytes()).hexdigest()
            for name in manifest["sha256"]
        }
        path.write_text(json.dumps(manifest))
    except (ValueError, KeyError, TypeError, OSError, RecursionError):
        pass
    yield


def _batch(directory: Path) -> Target:
    """The rows beside a batch and its answers, as one text."""
    directory.mkdir()
    asked = row().model_dump(mode="json", exclude_none=True)
    body = {"choices": [{"message": {"content": "ANSWER: A\nRATIONALE: so"}}], "usage": None}
    answer = {"custom_id": "1", "response": {"status_code": 200, "body": body}, "error": None}
    seed = f"{json.dumps({'custom_id': '1', 'row': asked})}\x1c{json.dumps(answer)}"
    embedder = WordEmbedder()

    def read(text: str) -> None:
        rows, _, answers = text.partition("\x1c")
        (directory / "p.rows.jsonl").write_bytes(encoded(rows))
        (directory / "a.jsonl").write_bytes(encoded(answers))
        out = directory / "out"
        import_batch(directory / "p.jsonl", [directory / "a.jsonl"], out, embedder, partial=True)
        for path in sorted(directory.rglob("*"), reverse=True):
            if out in path.parents:
                path.unlink() if path.is_file() else path.rmdir()
        assert {path.name for path in directory.parent.iterdir()} >= {"batch"}

    return Target(name="batches", seeds=[seed], read=read)


def _export(directory: Path) -> Target:
    """An export; its last line is made to fit, as somebody would who means to deceive."""
    directory.mkdir()
    embedder = WordEmbedder()
    source, copy = directory / "a.db", directory / "b.db"
    with Memory.open(source, model=embedder) as memory:
        for n in range(3):
            memory.thread("one").add(role="user", text=f"turn {n} about bees", id=str(n))
        memory.export(directory / "a.jsonl")
    *lines, _ = (directory / "a.jsonl").read_text().splitlines(keepends=True)
    opened = Memory.open(copy, model=embedder)

    def read(text: str) -> None:
        content = encoded(text)
        count = len(content.splitlines())
        digest = hashlib.sha256(content).hexdigest()
        end = json.dumps({"kind": "end", "lines": count, "sha256": digest})
        opened.import_(io.BytesIO(content + end.encode() + b"\n"))
        for name in opened.threads():
            opened.forget_thread(name)

    return Target(name="exports", seeds=["".join(lines)], read=read)


def _tools(directory: Path) -> Target:
    """Calls of tools by assistants."""
    directory.mkdir()
    shown = Shown(namespace="", thread="default", turns=(0,), lines=("user: one gpu",))
    confirm = issue(b"secret", shown, NOW.timestamp())
    calls = {
        "remember": {"text": "one gpu", "role": "user", "at": "2d", "id": "a", "turns": None},
        "recall": {"query": "one gpu", "since": "7d", "roles": ["user"], "min_relevance": 0.1},
        "recent": {"thread": "default", "n": 3},
        "forget": {"turns": [0], "confirm": confirm},
        "explain": {"query": "one gpu", "budget": 100},
    }

    @contextmanager
    def opened(scope: Scope, *, create: bool = False) -> Iterator[mcp.Opened]:
        with Memory.open(directory / "memory.db", model=WordEmbedder()) as memory:
            memory.thread("default").add("user", "one gpu for new projects", id="first")
            with mcp.single(memory)(scope, create=create) as one:
                yield one
            memory.forget_thread("default")

    server = mcp.build(opened, secret=b"secret", clock=lambda: NOW)

    def read(text: str) -> None:
        try:
            called = json.loads(text)
        except (ValueError, RecursionError):
            raise InputError("no message") from None
        if not (isinstance(called, list) and len(called) == 2 and isinstance(called[1], dict)):
            raise InputError("no call")
        try:
            answer: Any = anyio.run(server.call_tool, str(called[0]), called[1])
        except ToolError:
            raise InputError("no such tool") from None
        said = answer.content[0].text
        assert said != FAILED
        if answer.is_error:
            raise InputError(said)

    return Target(name="tools", seeds=[json.dumps([*one]) for one in calls.items()], read=read)


def _fields() -> Target:
    """The addresses and forms of the inspector's pages."""
    seeds = [
        "thread=a%2Fb&threshold=0.5&first=10&last=99&page=1",
        "thread=t&query=which+gpu%3F&budget=400&min_relevance=.1&since=2024-05-03&roles=user%2C+Ada",
        "thread=t&turns=3-9%2C12&turns=4&episode=7&token=1.ab",
    ]

    def read(text: str) -> None:
        found = Fields.read(text)
        for name in ("thread", "query", "since", "roles", "token"):
            found.text(name)
        for name in ("first", "last", "page", "budget", "episode"):
            found.whole(name)
        found.share("threshold")
        found.share("min_relevance")
        chosen = found.turns()
        if chosen is not None:
            assert Fields.read(urlencode({"turns": ranges(chosen)})).turns() == (chosen or None)

    return Target(name="fields", seeds=seeds, read=read)
