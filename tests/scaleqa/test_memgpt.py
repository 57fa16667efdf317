"""MemGPT: what leaves the queue, what is kept of it, and how it is brought back."""

import re
from itertools import pairwise

import pytest

from scaleqa.backends import Call, Reply
from scaleqa.errors import DataError
from scaleqa.packages import StreamTurn
from scaleqa.systems import Asked, Exchange, Tools, open_system
from scaleqa.systems.memgpt.controller import RuleController, durable, notes, personal
from scaleqa.systems.memgpt.functions import SEARCHES
from scaleqa.systems.memgpt.memory import Memory, RefusedError, line
from scaleqa.systems.memgpt.session import Session
from tsim import tokens

SMALL = "memgpt:window=400,budget=200"
ROOM = tokens.words_within(200)
CHATTER = "bread and train go by again and again now"


def turn(number, text):
    return StreamTurn(id=number, role=("user", "model")[number % 2], text=text)


def thread(count, start=0):
    return [turn(number, f"{CHATTER} w{number}") for number in range(start, start + count)]


def asked(question):
    return Asked(id="q", question=question, options=dict.fromkeys("ABCD", "x"))


class Scribe:
    """A summariser that names what it was given."""

    def __init__(self):
        self.given = []

    def __call__(self, before, turns, most):
        self.given.append((before, turns))
        return f"summary {len(self.given)}"


@pytest.fixture
def memory(tiny_embedder):
    return Memory(tiny_embedder, Scribe(), room=200)


def session(memory, **changes):
    return Session(memory, **{"budget": 500, "page": 5, **changes})


# The queue


def test_pressure_warns_once_at_seven_tenths_and_a_full_queue_loses_its_older_half(memory):
    warned, flushed = [], []
    for one in thread(40):
        memory.receive(one)
        if memory.pressed():
            warned.append(one.id)
            assert memory.unseen()[-1] is one
        if memory.full():
            before = list(memory.queue)
            memory.flush()
            flushed.append(one.id)
            assert list(memory.queue) == before[len(before) // 2 + len(before) % 2 :]
    # 16 words of head and 11 a message: 9 messages are over 0.7 × 154 words, 13 over all of them.
    assert (warned[0], flushed[0]) == (8, 12)
    assert len(flushed) > 3
    for first, second in pairwise(flushed):
        assert sum(first < number <= second for number in warned) == 1


def test_the_summary_is_made_of_the_one_before_and_all_that_left(memory):
    for one in thread(60):
        memory.receive(one)
        while memory.full():
            memory.flush()
    given = memory._summariser.given
    assert memory.summary == f"summary {len(given)}"
    assert [before for before, _ in given] == ["", *(f"summary {n}" for n in range(1, len(given)))]
    gone = len(memory.messages) - len(memory.queue)
    assert [one for _, evicted in given for one in evicted] == memory.messages[:gone]


def test_a_summary_that_is_too_long_is_cut(tiny_embedder):
    memory = Memory(tiny_embedder, lambda before, turns, most: "word " * 500, room=200)
    for one in thread(14):
        memory.receive(one)
    memory.flush()
    assert len(memory.summary.split()) == ROOM // 5


def test_messages_that_no_warning_covered_are_not_evicted_before_one(memory):
    memory.receive(turn(0, "short"))
    memory.receive(turn(1, "very " * 200))
    assert memory.full()
    assert memory.pressed()
    assert [one.id for one in memory.unseen()] == [0, 1]
    assert not memory.pressed()
    memory.flush()
    assert not memory.queue


def test_nothing_is_lost_from_recall_storage(memory):
    for one in thread(60):
        memory.receive(one)
        while memory.full():
            memory.flush()
    for number in range(60):
        found = session(memory)
        found.call("conversation_search", {"query": f"w{number}"})
        assert found.units[0].turns == (number,)


# Core memory


def test_core_memory_is_appended_replaced_and_limited(memory):
    memory.append_core("human", "likes bread")
    memory.append_core("human", "has a dog")
    memory.replace_core("human", "likes bread", "hates bread")
    assert memory.core["human"] == "hates bread\nhas a dog"
    memory.replace_core("human", "hates bread", "")
    assert memory.core["human"] == "has a dog"
    with pytest.raises(RefusedError, match=f"103 words of at most {ROOM // 10}"):
        memory.append_core("human", "x " * 100)
    with pytest.raises(RefusedError, match="'a cat' is not in block 'human'"):
        memory.replace_core("human", "a cat", "a dog")
    with pytest.raises(RefusedError, match="no block 'pet'; there are persona, human"):
        memory.append_core("pet", "x")
    assert memory.core["human"] == "has a dog"
    assert "has a dog" in memory.head()


# Functions


def test_searches_are_paged(memory):
    for number in range(12):
        memory.receive(turn(number, "gpu " + "filler " * number))
    desk = session(memory)
    pages = [desk.call("conversation_search", {"query": "gpu", "page": p}) for p in range(4)]
    assert [len(page.scores) for page in pages] == [5, 5, 2, 0]
    assert [unit.turns[0] for unit in desk.units] == list(range(12))
    assert pages[1].text.startswith("5 of 12 results (page 1)")


def test_a_result_enters_the_context_once_whole_and_while_there_is_room(memory):
    for number in range(30):
        memory.receive(turn(number, f"gpu rule {number} " + "x " * 8))
        while memory.full():
            memory.flush()
    memory.archive("the gpu rule in short")
    desk = session(memory, budget=60)
    found = desk.call("conversation_search", {"query": "gpu rule"}).text
    assert "no room left" in found
    assert tokens.by_words(desk.found()) <= 60
    again = desk.call("conversation_search", {"query": "gpu"}).text
    assert "found before" in again
    assert len(desk.units) == len({unit.turns for unit in desk.units})
    for number in desk.shown:
        assert line(memory.messages[number]) in desk.found()


def test_what_the_queue_shows_takes_no_room(memory):
    memory.receive(turn(0, "the gpu rule"))
    desk = session(memory, budget=1)
    assert "among the recent" in desk.call("conversation_search", {"query": "gpu"}).text
    assert [unit.turns for unit in desk.units] == [(0,)]
    assert desk.found() == ""


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("send_message", {}, "no function 'send_message' here"),
        ("conversation_search", {}, "needs 'query'"),
        ("conversation_search", {"query": "x", "page": "2"}, "'page' .* is '2', not of type int"),
        ("conversation_search", {"query": "x", "page": -1}, "counted from 0"),
        ("conversation_search", {"query": "x", "limit": 2}, "no argument 'limit'"),
        ("conversation_search", {"query": " "}, "query is empty"),
        ("archival_memory_search", {"query": ["x"]}, "not of type string"),
        ("archival_memory_insert", {"content": "  "}, "content is empty"),
        ("core_memory_append", {"name": "pet", "content": "x"}, "no block 'pet'"),
        (
            "core_memory_append",
            {"name": "human", "content": "x", "request_heartbeat": 1},
            "boolean",
        ),
    ],
)
def test_a_bad_call_is_answered_with_what_is_wrong(memory, name, arguments, message):
    result = session(memory).call(name, arguments)
    assert result.failed
    assert re.search(f"^error: .*{message}", result.text)


def test_a_passage_holds_the_messages_it_quotes_whole(memory):
    for number, text in enumerate(["yes", "yes please", "take two\nor three"]):
        memory.receive(turn(number, text))
    memory.archive("model: yes please\nuser: take two\nor three")
    memory.archive("The user takes two or three.")
    assert [passage.turns for passage in memory.passages] == [(1, 2), ()]


# Rules


def test_durable_is_what_states_something():
    assert durable("The ceiling is 500.")
    assert durable("Never on the main line")
    assert durable("ask for Samuel")
    assert not durable("Which of the two?")
    assert not durable("Fine, thanks.")


def test_notes_are_runs_of_durable_messages():
    said = ["ok", "rule 1", "fine", "rule 2", "fine", "good", "rule 3", "ok"]
    turns = [turn(number, text) for number, text in enumerate(said)]
    assert [[one.id for one in run] for run in notes(turns)] == [[1, 2, 3], [6]]
    long = [turn(number, "7 " * 60) for number in range(3)]
    assert [[one.id for one in run] for run in notes(long)] == [[0], [1], [2]]
    assert list(notes([])) == []


def test_personal_statements_are_short_and_the_users_own():
    turns = [
        turn(0, "Hm. I always take the early train. Bread?"),
        turn(1, "I prefer to wait."),
        turn(2, "I prefer " + "x " * 40),
    ]
    assert list(personal(turns)) == ["I always take the early train."]


def test_core_memory_keeps_the_newest_statements(memory):
    for number in range(0, 20, 2):
        memory.receive(turn(number, f"I prefer bread number {number}."))
    RuleController().pressure(memory, session(memory))
    assert memory.core["human"].splitlines() == [
        f"I prefer bread number {number}." for number in (14, 16, 18)
    ]


def test_a_fact_evicted_long_ago_is_found_in_both_storages(tiny_embedder):
    system = open_system(SMALL, Tools(embedder=tiny_embedder))
    fact = turn(0, "The Brackenhall dairy may draw 455 thousand.")
    system.ingest([fact, *thread(200, start=1)])
    found = system.retrieve(asked("How much may the Brackenhall dairy draw?"))
    assert 0 in found.shown
    assert line(fact) in found.context
    assert found.units[-1].label == "queue"
    assert 0 not in found.units[-1].turns
    assert any("455" in passage.text for passage in system.memory.passages)
    assert system.account().vectors == len(system.memory.passages) > 0
    assert system.account().llm_calls == 0


def test_the_summary_without_a_model_is_of_sentences_that_left(tiny_embedder):
    system = open_system(SMALL, Tools(embedder=tiny_embedder))
    system.ingest([turn(number, f"Gpu rule {number} is new. Fine.") for number in range(60)])
    gone = len(system.turns) - len(system.memory.queue)
    kept = [int(number) for number in re.findall(r"rule (\d+)", system.memory.summary)]
    assert kept
    assert max(kept) < gone
    assert "user" not in system.memory.summary


def test_the_window_is_kept_whatever_comes(tiny_embedder):
    system = open_system(SMALL, Tools(embedder=tiny_embedder))
    lengths = [3, 400, 1, 90, 90, 90, 5, 150, 2] * 4
    for number, length in enumerate(lengths):
        system.ingest([turn(number, f"I prefer gpu {number}. " + "word " * length)])
        found = system.retrieve(asked("which gpu?"))
        assert tokens.by_words(found.context) <= 400
        assert all(line(system.turns[one]) in found.context for one in found.shown)


# A model in control


class Scripted:
    """A chat model that says what it is told to, then DONE; summaries are not part of it."""

    identity = "scripted"

    def __init__(self, *script):
        self.script = list(script)
        self.asked = []
        self.summarised = []

    def chat(self, messages, functions=(), *, most_tokens=300):
        if not functions:
            self.summarised.append(messages[0].content)
            return Reply(text="a summary")
        self.asked.append((list(messages), [function.name for function in functions]))
        calls = self.script.pop(0) if self.script else ()
        return Reply(text="" if calls else "DONE", calls=calls)

    def close(self):
        pass


def call(name, number=0, /, *, beat=True, **arguments):
    return Call(id=f"c{number}", name=name, arguments={**arguments, "request_heartbeat": beat})


def search(page, *, beat=True):
    return (call("conversation_search", page, beat=beat, query="gpu rule", page=page),)


def driven(tiny_embedder, *script, spec=SMALL):
    model = Scripted(*script)
    return model, open_system(spec, Tools(embedder=tiny_embedder, model=model))


def test_a_model_chains_calls_by_heartbeats(tiny_embedder):
    model, system = driven(
        tiny_embedder, search(0), search(1), spec="memgpt:window=4000,budget=2000"
    )
    system.ingest([turn(number, "gpu rule " + "filler " * number) for number in range(12)])
    found = system.retrieve(asked("which gpu rule?"))
    assert [unit.turns for unit in found.units[:-1]] == [(number,) for number in range(10)]
    assert len(model.asked) == system.account().llm_calls == 3
    last, functions = model.asked[-1]
    assert [message.role for message in last] == [
        "system", "user", "assistant", "tool", "assistant", "tool",
    ]  # fmt: skip
    assert last[3].answers == last[2].calls[0].id
    assert "results (page 1)" in last[5].content
    assert sorted(functions) == sorted(SEARCHES)


def test_without_a_heartbeat_the_turn_ends(tiny_embedder):
    model, system = driven(tiny_embedder, search(0, beat=False), search(1))
    system.ingest([turn(number, "gpu rule") for number in range(12)])
    assert len(system.retrieve(asked("gpu?")).units) == 6
    assert len(model.asked) == 1


def test_bad_calls_are_told_and_do_not_end_the_turn(tiny_embedder):
    model, system = driven(
        tiny_embedder,
        (call("drop_table", beat=False),),
        (call("conversation_search", beat=False, question="gpu"),),
        (call("core_memory_append", beat=False, name="human", content="x"),),
        search(0),
    )
    system.ingest([turn(0, "the gpu rule")])
    found = system.retrieve(asked("gpu?"))
    assert found.units[0].turns == (0,)
    told = [message.content for message in model.asked[-1][0] if message.role == "tool"]
    assert [text.startswith("error: ") for text in told] == [True, True, True, False]
    assert "x" not in system.memory.core["human"]


def test_steps_are_bounded(tiny_embedder):
    model, system = driven(tiny_embedder, *[search(0)] * 50)
    system.ingest([turn(0, "the gpu rule")])
    system.retrieve(asked("gpu?"))
    assert len(model.asked) == 6


def test_a_model_is_called_under_pressure_and_its_passages_are_found(tiny_embedder):
    quote = line(thread(1)[0])
    model, system = driven(
        tiny_embedder,
        (
            call("archival_memory_insert", 0, content=quote),
            call("core_memory_append", 1, name="human", content="takes the train"),
        ),
        (call("archival_memory_insert", 2, beat=False, content="Trains go by."),),
    )
    system.ingest(thread(13))
    assert len(model.asked) == 2
    assert "memory pressure" in model.asked[0][0][1].content
    assert "last 9 messages are new" in model.asked[0][0][1].content
    assert system.account().llm_calls == 3, "two steps and a summary"
    assert quote in model.summarised[0]
    assert (system.memory.summary, system.memory.core["human"]) == (
        "a summary", "takes the train",
    )  # fmt: skip
    model.script = [(call("archival_memory_search", query="train"),)]
    found = system.retrieve(asked("train?"))
    assert {unit.turns for unit in found.units[:-1]} == {(0,), ()}
    assert 0 in found.shown
    assert "Trains go by." in found.context


def test_asking_changes_nothing_but_the_count_of_calls(tiny_embedder):
    model, system = driven(tiny_embedder)
    system.ingest(thread(40))
    model.script = [search(0)]
    first = system.retrieve(asked("w3 gpu"))
    model.script = [search(0)]
    assert system.retrieve(asked("w3 gpu")) == first
    system.observe(Exchange(turns=(turn(40, "which gpu rule?"), turn(41, "A. the gpu rule"))))
    model.script = [search(0)]
    assert {40, 41} <= system.retrieve(asked("w3 gpu")).shown


# Options


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("memgpt:window=1600", "leaves 100 tokens for the main context; leave at least 200"),
        ("memgpt:page=0", "page=0 of memgpt should be int, at least 1"),
        ("memgpt:budget=-5", "budget=-5 of memgpt should be int, at least 0"),
    ],
)
def test_options_that_cannot_work_are_refused(tiny_embedder, spec, message):
    with pytest.raises(DataError, match=message):
        open_system(spec, Tools(embedder=tiny_embedder))
