"""A memory on a server does what a memory in a file does."""

import inspect
import itertools
import json
from datetime import UTC, datetime
from typing import get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.hashes import Hashes
from tsim import InputError, Memory, NewTurn, Thread, TsimError
from tsim.client import AsyncClient, AsyncRemoteThread, Client, RemoteThread
from tsim.client.messages import message
from tsim.incoming import accept

# What is for whoever runs the server, and what explains a method rather than uses a memory.
NOT_REMOTE = {
    Memory: {
        *("open", "verify", "rebuild", "model", "preset", "erased", "count_tokens"),
        *("rehearse", "load_model"),
    },
    Thread: {"prepare", "find", "views", "map", "braid", "known", "unload", "warm"},
}
# Functions that count tokens stay where they are; contexts of several threads are written there.
NOT_SENT = {"tokens", "named"}
# What async code cannot do with the same name.
RENAMED = {"__iter__": "__aiter__", "__len__": "count", "__enter__": "__aenter__"}
SPECIAL = ("__iter__", "__len__")


def methods(kind):
    names = {name for name in dir(kind) if not name.startswith("_")} - NOT_REMOTE[kind]
    return sorted(names | ({*SPECIAL} if kind is Thread else {"__enter__"}))


PAIRS = [
    (local, remote, name)
    for local, remote in (
        (Memory, Client),
        (Memory, AsyncClient),
        (Thread, RemoteThread),
        (Thread, AsyncRemoteThread),
    )
    for name in methods(local)
]


@pytest.mark.parametrize(
    ("local", "remote", "name"), PAIRS, ids=[f"{pair[1].__name__}.{pair[2]}" for pair in PAIRS]
)
def test_signatures_are_those_of_the_library(local, remote, name):
    ours = getattr(local, name)
    theirs = getattr(remote, RENAMED.get(name, name) if remote.__name__.startswith("A") else name)
    expected = [
        (one.name, one.kind, one.default)
        for one in inspect.signature(ours).parameters.values()
        if one.name not in NOT_SENT
    ]
    found = [
        (one.name, one.kind, one.default) for one in inspect.signature(theirs).parameters.values()
    ]
    assert found == expected
    hints, types = get_type_hints(ours), get_type_hints(theirs)
    if name not in ("thread", "__iter__"):
        assert types == {key: hint for key, hint in hints.items() if key not in NOT_SENT}


def test_what_is_not_remote_is_there_and_nowhere_else():
    for local, remote in ((Memory, Client), (Thread, RemoteThread)):
        assert all(hasattr(local, name) for name in NOT_REMOTE[local])
        assert not any(hasattr(remote, name) for name in NOT_REMOTE[local])


WORDS = "gpu rule bread train budget letter only one new projects says the for".split()
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
roles = st.sampled_from(["user", "model", "Nadia", "AI", "Bot", "System"])
times = st.none() | st.integers(1_700_000_000, 1_700_900_000).map(float)
names = st.none() | st.sampled_from(["m1", "m2", "a/b", "é"])
metas = st.none() | st.dictionaries(
    st.sampled_from(["channel", "n"]), st.sampled_from(["ops", 1, 1.5, True, None]), max_size=2
)
new = st.builds(NewTurn, role=roles, text=texts, at=times, id=names, meta=metas)
forms = st.one_of(
    new,
    st.tuples(roles, texts),
    st.fixed_dictionaries({"role": roles, "content": texts}),
    texts.map(lambda text: {"role": "user", "content": [{"type": "text", "text": text}]}),
    st.just({"role": "user", "content": [{"type": "image_url"}]}),
    st.just({"role": "user"}),
)
threads = st.sampled_from(["alice", "bob/ä ?#%2F", ".."])
narrowing = st.fixed_dictionaries(
    {},
    optional={
        "since": st.sampled_from([1_700_100_000, "2023-11-16", datetime(2023, 11, 16, tzinfo=UTC)]),
        "until": st.sampled_from([1_700_500_000.5, "2023-11-20T10:00Z", "never"]),
        "roles": st.sampled_from([["user"], ("Nadia", "AI"), "user", []]),
        "meta": st.sampled_from([{"channel": "ops"}, {"n": 1}, {}]),
    },
)
asking = st.fixed_dictionaries(
    {"query": texts | st.just(" ")},
    optional={
        "budget": st.sampled_from([30, 200, 0]),
        "min_relevance": st.sampled_from([0, 0.2, 2]),
        "now": st.sampled_from(["2023-11-18", 1_700_300_000]),
    },
)
asked = st.tuples(asking, narrowing).map(lambda pair: pair[0] | pair[1])
ids = st.integers(-1, 12)
forgetting = st.one_of(
    narrowing,
    ids.map(lambda turn: {"turn": turn}),
    st.lists(ids, max_size=3).map(lambda turns: {"turns": turns}),
    ids.map(lambda episode: {"episode": episode}),
    st.just({"turn": 1, "turns": [1]}),
)
previewing = forgetting.map(lambda chosen: {k: v for k, v in chosen.items() if k != "turn"})


def call(name, arguments):
    return st.tuples(st.just(name), threads, arguments)


adding = call("add_many", st.lists(forms, max_size=8).map(lambda turns: {"turns": turns}))
steps = st.one_of(
    adding,
    call("add", new.map(lambda turn: {"role": turn.role, "text": turn.text, "id": turn.id})),
    call("search", asked),
    call("search", asked.map(lambda given: given | {"k": 2})),
    call("context", asked),
    call(
        "turns",
        st.fixed_dictionaries(
            {}, optional={"after": st.integers(-2, 9), "limit": st.integers(0, 9)}
        ),
    ),
    call("recent", st.fixed_dictionaries({"limit": st.integers(1, 5)})),
    call(
        "nearest",
        st.fixed_dictionaries(
            {"query": st.sampled_from(["gpu rule", " "]), "k": st.integers(0, 4)}
        ),
    ),
    call("called", st.fixed_dictionaries({"id": st.sampled_from(["m1", "a", "", "x" * 300])})),
    call("episodes", st.fixed_dictionaries({"threshold": st.sampled_from([None, 0, 0.3, 2])})),
    call("forget", forgetting),
    call("preview_forget", previewing),
    call("preview_forget", narrowing.map(lambda only: only | {"query": "gpu rule"})),
    call("write", asked),
    call("list", st.just({})),
    call("len", st.just({})),
    st.tuples(st.just("threads"), st.none(), st.just({})),
    st.tuples(st.just("forget_thread"), threads, st.just({})),
    st.tuples(
        st.sampled_from(["search", "context"]),
        st.none(),
        st.tuples(asked, st.lists(threads, max_size=2)).map(
            lambda pair: pair[0] | {"threads": pair[1]}
        ),
    ),
)
scripts = st.tuples(
    st.lists(adding, min_size=1, max_size=2), st.lists(steps, min_size=4, max_size=10)
).map(lambda pair: pair[0] + pair[1])


def run(memory, script):
    """What each step returns, or the class of its error.

    A client checks arguments before the server looks for threads: if both are wrong, it says the
    other thing.
    """
    for name, thread, given_ in script:
        try:
            yield perform(memory, name, thread, given_)
        except TsimError as error:
            yield InputError if isinstance(error, InputError) else type(error)


def perform(memory, name, thread, given_):
    if name == "forget_thread":
        return memory.forget_thread(thread)
    if thread is None:
        return getattr(memory, name)(**given_)
    found = memory.thread(thread)
    if name == "write":
        return found.write(found.search(**given_))
    if name in ("list", "len"):
        return {"list": list, "len": len}[name](found)
    result = getattr(found, name)(**given_)
    if name == "add_many":
        return result, result.skipped, [receipt.known for receipt in result]
    return result


fresh = itertools.count()


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=scripts)
def test_the_same_script_has_the_same_results(script, place, kind, tmp_path):
    url, preset = place
    number = next(fresh)
    with Memory.open(tmp_path / f"{number}.db", model=Hashes(), preset=preset) as embedded:
        expected = [*run(embedded, script)]
    with kind(url, namespace=f"same-{number}") as client:
        found = [*run(client, script)]
    assert found == expected


@given(
    st.builds(
        NewTurn,
        role=roles | st.sampled_from(["GPT", "human", "User", "tool", "function"]),
        text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip),
        at=st.none() | st.floats(-6e10, 2.5e11),
        id=names,
        meta=metas.filter(lambda meta: meta != {}),
    )
)
def test_a_turn_is_read_from_its_message_unchanged(turn):
    checked = accept([turn]).turns
    sent = json.loads(json.dumps(message(checked[0])))
    assert accept([sent]).turns == checked


def test_a_thread_may_have_any_name(memory):
    names = [".", "..", "a/b", "%2F", "a%2Fb", "ä ?#&;", "../../memory", " x"]
    for name in names:
        memory.thread(name).add("user", name)
    assert memory.threads() == sorted(names)
    assert [memory.thread(name).turns()[0].text for name in names] == names
