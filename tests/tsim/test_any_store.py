"""A memory on a store of the caller's: what holds for a file holds there too."""

from contextlib import closing
from dataclasses import replace

import pytest

from tests.support.dict_store import DictStore
from tests.support.streams import CUTTING, exported, stream
from tests.support.tiny_bert import write_tiny_bert
from tsim import LATE, OFFICIAL, Memory, Verification
from tsim.embed import OnnxEmbedder
from tsim.errors import InputError, MismatchError, StoreError
from tsim.store import SqliteStore

STORES = pytest.mark.parametrize(
    "open_store",
    [lambda path: SqliteStore(path / "memory.db"), DictStore],
    ids=["sqlite", "dictionary"],
)


@CUTTING
def test_a_store_of_dictionaries_remembers_as_a_file_does(tmp_path, tiny_embedder, preset):
    with (
        Memory.open(store=DictStore(tmp_path), model=tiny_embedder, preset=preset) as ours,
        Memory.open(tmp_path / "memory.db", model=tiny_embedder, preset=preset) as file,
    ):
        for memory in (ours, file):
            thread = memory.thread("a")
            for turn in stream(60):
                thread.add(turn.role, turn.text, at=turn.at)
            memory.thread("b").add_many(stream(30, seed=8))
            thread.forget(turn=17)
            thread.forget(episode=thread.episodes()[1].id)
            memory.forget_thread("b")
            memory.thread("c").add_many(stream(20, seed=9))
        assert ours.threads() == ["a", "c"]
        assert ours.thread("a").turns() == file.thread("a").turns()
        assert ours.thread("a").episodes() == file.thread("a").episodes()
        hits = ours.thread("a").search("budget rule", k=20)
        assert hits == file.thread("a").search("budget rule", k=20)
        assert exported(ours, tmp_path / "ours.jsonl") == exported(file, tmp_path / "file.jsonl")
        assert isinstance(ours.verify(), Verification)
        assert ours.verify() == file.verify()


def test_exports_go_from_store_to_store(tmp_path, tiny_embedder, preset):
    with Memory.open(tmp_path / "memory.db", model=tiny_embedder, preset=preset) as file:
        file.thread("a").add_many(stream(40))
        written = exported(file, tmp_path / "file.jsonl")
        hits = file.thread("a").search("bread")
    with Memory.open(store=DictStore(tmp_path), model=tiny_embedder, preset=preset) as ours:
        assert ours.import_(tmp_path / "file.jsonl") == 40
        assert exported(ours, tmp_path / "ours.jsonl") == written
        assert ours.thread("a").search("bread") == hits
        with pytest.raises(InputError, match=r"dictionary .* has thread 'a'"):
            ours.import_(tmp_path / "file.jsonl")


@STORES
def test_another_model_is_refused_by_store_and_rebuilt_on_request(
    tmp_path, tiny_embedder, preset, open_store
):
    other = OnnxEmbedder(
        write_tiny_bert(tmp_path / "other", pooling="cls", hidden=64), graphs=tmp_path / "g"
    )
    with closing(open_store(tmp_path)) as store:
        old = Memory(store, tiny_embedder, preset)
        old.thread("a").add_many(stream(40))
        old.export(tmp_path / "old.jsonl")
        for build in (
            lambda: Memory(store, other, preset),
            lambda: Memory.open(store=store, model=other, preset=preset),
        ):
            with pytest.raises(MismatchError, match="rebuild=True") as caught:
                build()
            assert store.location in str(caught.value)
        new = Memory.open(store=store, model=other, preset=preset, rebuild=True)
        assert new.rebuilt
        assert new.verify().problems == ()
        assert new.thread("a").add("user", "one more").turn == 40
        with pytest.raises(MismatchError, match="open it again"):
            old.thread("a").add("user", "too late")
        new.forget_thread("a")
        with pytest.raises(MismatchError, match="open it again"):
            old.import_(tmp_path / "old.jsonl")
        assert new.threads() == []


@STORES
def test_a_memory_joined_by_hand_can_be_used_at_once(tmp_path, tiny_embedder, preset, open_store):
    with closing(open_store(tmp_path)) as store:
        memory = Memory(store, tiny_embedder, preset)
        assert memory.thread("a").add("user", "one gpu").turn == 0
        assert memory.thread("a").search("gpu")
        again = Memory.open(store=store, model=tiny_embedder)
        assert [turn.text for turn in again.thread("a").turns()] == ["one gpu"]


@STORES
def test_a_store_that_was_given_stays_open(tmp_path, tiny_embedder, preset, open_store):
    with closing(open_store(tmp_path)) as store:
        with Memory.open(store=store, model=tiny_embedder, preset=preset) as memory:
            memory.thread("a").add("user", "one gpu")
        assert store.threads() == ["a"]
        with pytest.raises(InputError, match="no preset"):
            Memory.open(store=store, model=tiny_embedder, preset="nonsense")
        assert store.threads() == ["a"]


def test_a_file_that_the_memory_opened_is_closed_with_it(tmp_path, tiny_embedder, preset):
    memory = Memory.open(tmp_path / "m.db", model=tiny_embedder, preset=preset)
    thread = memory.thread("a")
    thread.add("user", "one gpu")
    memory.close()
    with pytest.raises(StoreError, match="is closed"):
        thread.search("gpu")
    with pytest.raises(StoreError):
        thread.add("user", "two gpus")
    assert [path.name for path in tmp_path.iterdir()] == ["m.db"]


def test_open_takes_either_a_path_or_a_store(tmp_path, tiny_embedder):
    with pytest.raises(InputError, match="found neither"):
        Memory.open(model=tiny_embedder)
    with pytest.raises(InputError, match="found both"):
        Memory.open(tmp_path / "m.db", store=DictStore(tmp_path), model=tiny_embedder)
    assert list(tmp_path.iterdir()) == []


EARLIER = replace(OFFICIAL, name="earlier")
RENAMED = replace(OFFICIAL, former=("older/0", EARLIER.fingerprint))


@STORES
def test_a_memory_of_a_former_fingerprint_is_the_same_preset(tmp_path, tiny_embedder, open_store):
    turns = stream(60)
    with closing(open_store(tmp_path)) as store:
        before = Memory(store, tiny_embedder, EARLIER)
        before.thread("a").add_many(turns[:40])
        memory = Memory(store, tiny_embedder, RENAMED)
        assert not memory.rebuilt
        memory.thread("a").add_many(turns[40:])
        assert store.settings()["preset"] == EARLIER.fingerprint  # an earlier version can go on
        before.thread("a").add("user", "bread")
        memory.thread("a").forget(turn=60)
        assert memory.verify().problems == ()
        hits = memory.thread("a").search("bread")
        memory.rebuild()
        assert store.settings()["preset"] == RENAMED.fingerprint
        assert memory.thread("a").search("bread") == hits
        assert memory.thread("a").add("user", "still here").turn == 61
        with pytest.raises(MismatchError):
            Memory(store, tiny_embedder, EARLIER)


@pytest.mark.parametrize(("source", "target"), [(EARLIER, RENAMED), (RENAMED, EARLIER)])
def test_exports_cross_a_renaming_in_both_directions(tmp_path, tiny_embedder, source, target):
    with Memory.open(tmp_path / "a.db", model=tiny_embedder, preset=source) as memory:
        memory.thread("a").add_many(stream(30))
        memory.export(tmp_path / "a.jsonl")
    with Memory.open(tmp_path / "b.db", model=tiny_embedder, preset=target) as memory:
        memory.thread("b").add_many(stream(5))
    with Memory.open(tmp_path / "b.db", model=tiny_embedder, preset=RENAMED) as memory:
        assert memory.import_(tmp_path / "a.jsonl") == 30
        assert memory.threads() == ["a", "b"]
        assert memory.thread("a").search("bread")
        assert memory.verify().problems == ()


def test_fingerprints_name_the_present_one_first():
    assert OFFICIAL.fingerprints[0] == OFFICIAL.fingerprint
    assert RENAMED.fingerprint == OFFICIAL.fingerprint
    assert RENAMED.fingerprints == (OFFICIAL.fingerprint, "older/0", EARLIER.fingerprint)
    assert not {*LATE.fingerprints} & {*OFFICIAL.fingerprints}
