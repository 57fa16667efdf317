"""LangGraph's store: the same answers as LangGraph's own, and searches by meaning."""

import asyncio
import threading

import pytest

pytest.importorskip("langgraph.store.base", reason="langgraph is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from tests.support.hashes import Hashes
from tests.support.served import served
from tsim import InputError, Memory
from tsim.adapters.langgraph import TsimStore
from tsim.client import Client


class Ticks:
    """A clock that counts."""

    now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "memory.db", model=Hashes()) as opened:
        yield opened


@pytest.fixture
def store(memory):
    return TsimStore(memory, clock=Ticks())


LABELS = st.sampled_from(["users", "ada", "ben"])
PATHS = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["a", "b", "c/d"])
VALUES = st.fixed_dictionaries(
    {"text": st.sampled_from(["one gpu", "", "two\nlines"]), "n": st.integers(0, 3)},
    optional={"tags": st.lists(st.text("xy", max_size=2), max_size=2)},
)
FILTERS = st.sampled_from([None, {"n": 1}, {"n": {"$gte": 2}}, {"text": {"$ne": "one gpu"}}])
STEPS = st.one_of(
    st.tuples(st.just("put"), PATHS, KEYS, VALUES),
    st.tuples(st.just("put"), PATHS, KEYS, VALUES),
    st.tuples(st.just("delete"), PATHS, KEYS),
    st.tuples(st.just("get"), PATHS, KEYS),
    st.tuples(st.just("search"), st.lists(LABELS, max_size=2).map(tuple), FILTERS),
    st.tuples(st.just("list_namespaces"), PATHS | st.just(("*", "ada"))),
)


def perform(store, name, path, *rest):
    if name == "search":
        found = store.search(path, filter=rest[0], limit=50)
        return sorted((one.namespace, one.key, str(one.value)) for one in found)
    if name == "list_namespaces":
        alike = [store.list_namespaces(prefix=path), store.list_namespaces(suffix=path)]
        return [*alike, store.list_namespaces(max_depth=1)]
    found = getattr(store, name)(path, *rest)
    return found and (found.namespace, found.key, found.value)


@settings(max_examples=15)
@given(st.lists(STEPS, max_size=12))
def test_it_answers_as_the_store_of_langgraph_does(tmp_path_factory, steps):
    known, place = InMemoryStore(), tmp_path_factory.mktemp("store")
    with Memory.open(place / "memory.db", model=Hashes()) as memory:
        ours = TsimStore(memory)
        for step in steps:
            found, expected = perform(ours, *step), perform(known, *step)
            if step[0] == "list_namespaces":
                # Theirs keeps namespaces in which there is nothing any more.
                full = {one.namespace for one in known.search((), limit=99)}
                *alike, shallow = expected
                expected = [[one for one in group if one in full] for group in alike]
                expected.append([one for one in shallow if any(f[:1] == one for f in full)])
            assert found == expected


def test_items_are_found_by_meaning_with_their_relevance(store):
    texts = ["new projects run on one gpu", "bread needs flour", "the train leaves at noon"]
    for number, text in enumerate(texts):
        store.put(("users", "ada"), f"k{number}", {"kind": "note", "text": text})
    store.put(("users", "ben"), "k", {"text": "ben has two gpu for projects"})
    first, *rest = store.search(("users", "ada"), query="how many gpu for new projects", limit=3)
    assert (first.key, first.value["text"]) == ("k0", texts[0])
    assert 0 <= first.score <= 1
    assert all(first.score >= one.score for one in rest)
    both = store.search(("users",), query="gpu for projects", limit=2)
    assert {one.namespace[-1] for one in both} == {"ada", "ben"}
    assert store.search(("nobody",), query="gpu") == []
    only = store.search(("users",), query="gpu", filter={"kind": "note"}, limit=9)
    assert {one.namespace for one in only} == {("users", "ada")}
    pages = [store.search((), query="gpu", limit=1, offset=n)[0].key for n in range(4)]
    assert len(pages) == 4


def test_a_replaced_value_leaves_no_trace(memory, store, tmp_path):
    store.put(("users",), "gpu", {"text": "one gpu", "n": 1})
    made = store.get(("users",), "gpu").created_at
    store.put(("users",), "gpu", {"text": "three cards", "n": 1})
    store.put(("users",), "gpu", {"text": "three cards", "n": 2})
    found = store.get(("users",), "gpu")
    assert (found.value, found.created_at) == ({"text": "three cards", "n": 2}, made)
    assert found.updated_at > made
    assert len(memory.thread("store.users")) == 1
    assert b"one gpu" not in (tmp_path / "memory.db").read_bytes()
    store.delete(("users",), "gpu")
    assert memory.threads() == []


def test_long_values_come_back_and_what_is_not_indexed_is_not_searched(store):
    value = {"numbers": [*range(5000)], "text": "one gpu"}
    store.put(("users",), "long", value)
    store.put(("users",), "hidden", {"text": "one gpu"}, index=False)
    assert store.get(("users",), "long").value == value
    assert [one.key for one in store.search(("users",), query="one gpu")] == ["long"]
    assert len(store.search(("users",))) == 2


@pytest.mark.parametrize(
    ("namespace", "key", "value"),
    [
        (("a.b",), "k", {}),
        ((), "k", {}),
        (("x" * 300,), "k", {}),
        (("a",), "", {"text": "x"}),
        (("a",), "k" * 300, {"text": "x"}),
    ],
    ids=["dot", "none", "long", "no key", "long key"],
)
def test_what_cannot_be_kept_is_refused_before_anything_is_written(
    memory, store, namespace, key, value
):
    fine = PutOp(namespace=("fine",), key="k", value={"text": "one gpu"})
    with pytest.raises(InputError):
        store.batch([fine, PutOp(namespace=namespace, key=key, value=value)])
    assert memory.threads() == []
    with pytest.raises(InvalidNamespaceError):
        store.put(("a.b",), "k", {})


def test_other_threads_of_the_memory_are_not_items(memory, store):
    memory.thread("alice").add("user", "one gpu")
    memory.thread("store.odd").add("user", "one gpu", id="k")
    shape = {"tsim:item": "{}", "tsim:created": 1e300}
    memory.thread("store.odd").add("user", "one gpu", at=1e10, id="far", meta=shape)
    assert store.get(("odd",), "far") is None
    assert store.search((), query="one gpu") == []
    assert store.get(("odd",), "k") is None


def test_async_methods_work_beside_the_loop(store, monkeypatch):
    used = []
    waiting = TsimStore.batch

    def batch(self, ops):
        used.append(threading.current_thread())
        return waiting(self, ops)

    monkeypatch.setattr(TsimStore, "batch", batch)

    async def use():
        await store.aput(("users",), "gpu", {"text": "one gpu"})
        found = await store.asearch(("users",), query="gpu")
        both = await store.abatch([GetOp(("users",), "gpu"), SearchOp(("users",))])
        await store.adelete(("users",), "gpu")
        assert await store.alist_namespaces() == []
        assert threading.current_thread() not in used
        return found[0].value, both[0].value, both[1][0].value

    assert asyncio.run(use()) == ({"text": "one gpu"},) * 3


def test_a_memory_on_a_server_is_used_alike(tmp_path):
    with served(tmp_path / "memories") as url, Client(url) as client:
        store = TsimStore(client)
        store.put(("users",), "gpu", {"text": "one gpu"})
        store.put(("users",), "gpu", {"text": "two gpu"})
        assert store.get(("users",), "gpu").value == {"text": "two gpu"}
        assert store.search((), query="gpu")[0].key == "gpu"
        store.delete(("users",), "gpu")
        assert store.list_namespaces() == []
