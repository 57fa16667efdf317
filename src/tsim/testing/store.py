"""The test suite for stores. Subclass it in a test module and implement `open_store`.

class TestMyStore(StoreConformance):
    def open_store(self, path):
        return MyStore(path)
"""

from abc import abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from tsim.errors import InputError, MismatchError, StoreError
from tsim.state import MAX_ID, Changes, Counters, EpisodeRow, PassageRow, TurnRow
from tsim.store import Store
from tsim.testing.samples import (
    COUNTERS,
    FIRST,
    LATER,
    REMOVAL,
    SECOND,
    passage,
    sentence,
    span,
    turn,
    vector,
)
from tsim.types import Turn


class StoreConformance:
    """The guarantees of a store, each with its tests.

    **Durability.** Committed data is read back bit for bit after closing and reopening the store:
    texts in any script, times, vectors, sums (`test_what_is_written_…`, `test_long_texts_…`,
    `test_the_highest_ids_…`, `test_spans_are_read_back_…`, `test_passages_…`,
    `test_sentences_…`). Characters that only
    some stores support, such as NUL, are not tested; a store that cannot represent a text raises
    `InputError` and writes nothing.

    **Read your writes.** A read sees everything committed before it, through the same instance or
    another one (`test_a_read_sees_…`). Reading unknown threads, episodes or turns returns nothing
    and creates nothing (`test_an_unknown_thread_…`, `test_many_ids_…`).

    **Nearest turns.** They are found exactly, by the nearest of their passages, in order of cosine
    and id (`test_the_nearest_turns_…`).

    **External ids.** A turn is found by its external id, which no other turn of its thread has
    until it is removed (`test_turns_are_found_by_…`, `test_an_external_id_…`).

    **Versions and epochs.** A thread's version changes with every write and is never reused; of
    two writers that saw the same version, one succeeds. The epoch changes when something is
    removed, so that a reader knows whether it can load only what was added
    (`test_only_the_expected_version_…`, `test_of_racing_writers_…`, `test_additions_…`,
    `test_the_newest_spans_…`, `test_removal_…`, `test_removed_spans_…`,
    `test_a_thread_made_again_…`).

    **Turns.** While a writer is in line, those who come later or are not in line write nothing to
    the same threads, until it has written, leaves, or its place is given up (`test_whoever_…`,
    `test_a_place_in_line_…`, `test_all_threads_wait_…`).

    **Atomicity.** A write that is rejected or fails leaves nothing behind (`test_new_threads_…`,
    `test_all_threads_are_replaced_…`).

    **Snapshots.** A snapshot shows one state regardless of concurrent writes, and writers do not
    wait for it (`test_a_snapshot_…`).

    **Scrubbing.** After a removal, a scrub is due until one has succeeded (`test_a_scrub_…`,
    `test_a_sound_store_…`).

    **Settings.** They are recorded once; a writer that expects other settings is rejected
    (`test_settings_…`, `test_a_writer_for_other_settings_…`).

    **Isolation.** Threads do not affect each other (`test_threads_are_apart`).

    **Location.** Messages name the store (`test_a_store_names_itself`).
    """

    @abstractmethod
    def open_store(self, path: Path) -> Store:
        """Opens the store in this directory. Called again to open the same store twice."""

    def test_an_unknown_thread_is_empty(self, tmp_path: Path) -> None:
        """Reading creates nothing."""
        with closing(self.open_store(tmp_path)) as store:
            assert store.version("a") == (0, 0)
            for state in (store.load("a"), store.load_since("a", turn=5, episode=1)):
                assert (state.version, state.epoch) == (0, 0)
                assert (state.turn_ids, state.episodes, state.clusters) == ([], [], [])
                assert state.spans == []
                assert state.passages == []
                assert state.sentences == []
                assert state.counters == Counters()
            assert store.turns("a", [0]) == store.open_turns("a") == []
            assert [*store.all_turns("a")] == []
            assert store.count("a") == 0
            assert store.episode_turns("a", [0]) == {0: []}
            assert store.threads() == []
            assert store.settings() == {}

    def test_what_is_written_is_read_back_exactly_after_reopening(self, tmp_path: Path) -> None:
        """Texts, times and every bit of every vector survive."""
        with closing(self.open_store(tmp_path)) as store:
            assert store.commit("a", FIRST, COUNTERS, expected=0, settings={})
        with closing(self.open_store(tmp_path)) as store:
            state = store.load("a")
            assert state.turn_ids == [0, 1, 2]
            assert state.turn_episodes == [0, 0, 1]
            assert state.counters == COUNTERS
            np.testing.assert_array_equal(state.turn_vectors, [vector(n) for n in range(3)])
            assert state.turn_vectors.dtype == np.float32
            assert [e.id for e in state.episodes] == [0, 1]
            assert state.episodes[1].vector is None
            np.testing.assert_array_equal(np.asarray(state.episodes[0].vector), vector(9))
            (cluster,) = state.clusters
            assert cluster.members == (0,)
            np.testing.assert_array_equal(cluster.total, FIRST.clusters[0].total)
            np.testing.assert_array_equal(cluster.vector, FIRST.clusters[0].vector)
            assert state.open_turns == store.open_turns("a") == [FIRST.turns[2].turn]
            assert store.turns("a", [2, 0]) == [FIRST.turns[0].turn, FIRST.turns[2].turn]
            assert store.episode_turns("a", [0])[0] == [r.turn for r in FIRST.turns[:2]]
            assert [*store.all_turns("a", 1)] == [(r.episode, r.turn) for r in FIRST.turns[1:]]

    def test_spans_are_read_back_exactly_and_in_order(self, tmp_path: Path) -> None:
        """They are ordered by first and last turn, however they were written."""
        with closing(self.open_store(tmp_path)) as store:
            _both(store)
        with closing(self.open_store(tmp_path)) as store:
            spans = store.load("a").spans
            keys = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (2, 4)]
            assert [(s.first, s.last) for s in spans] == keys
            expected = [span(*key).vector for key in keys]
            np.testing.assert_array_equal([s.vector for s in spans], expected)
            assert {s.vector.dtype for s in spans} == {np.dtype(np.float32)}

    def test_passages_are_read_back_exactly_and_follow_their_turns(self, tmp_path: Path) -> None:
        """They are ordered by turn and start, read with their turns and removed with them."""
        with closing(self.open_store(tmp_path)) as store:
            _, second = _both(store)
            assert store.commit("b", FIRST, COUNTERS, expected=0, settings={})
        with closing(self.open_store(tmp_path)) as store:
            keys = [(1, 4), (1, 7), (2, 3), (4, 5)]
            for first in range(6):
                found = store.load_since("a", turn=first, episode=0).passages
                expected = [key for key in keys if key[0] >= first]
                assert [(p.turn, p.start) for p in found] == expected
                for one in found:
                    np.testing.assert_array_equal(one.vector, passage(one.turn, one.start).vector)
                    assert one.vector.dtype == np.float32
            assert store.commit("a", REMOVAL, LATER, expected=second[0], settings={})
            assert [(p.turn, p.start) for p in store.load("a").passages] == keys[2:]
            assert len(store.load("b").passages) == 3
            store.remove("b")
            assert store.commit("b", Changes(), Counters(), expected=0, settings={})
            assert store.load("b").passages == []

    def test_sentences_are_read_back_exactly_and_follow_their_turns(self, tmp_path: Path) -> None:
        """They are ordered by turn and start, read with their turns and removed with them."""
        with closing(self.open_store(tmp_path)) as store:
            _, second = _both(store)
            assert store.commit("b", FIRST, COUNTERS, expected=0, settings={})
        with closing(self.open_store(tmp_path)) as store:
            keys = [(1, 0), (1, 5), (2, 3), (4, 0)]
            for first in range(6):
                found = store.load_since("a", turn=first, episode=0).sentences
                expected = [key for key in keys if key[0] >= first]
                assert [(s.turn, s.start) for s in found] == expected
                for one in found:
                    np.testing.assert_array_equal(one.vector, sentence(one.turn, one.start).vector)
                    assert one.vector.dtype == np.float32
            assert store.commit("a", REMOVAL, LATER, expected=second[0], settings={})
            assert [(s.turn, s.start) for s in store.load("a").sentences] == keys[2:]
            assert len(store.load("b").sentences) == 3
            store.remove("b")
            assert store.commit("b", Changes(), Counters(), expected=0, settings={})
            assert store.load("b").sentences == []

    def test_the_nearest_turns_are_those_of_the_highest_cosine(self, tmp_path: Path) -> None:
        """As if all vectors were in RAM, whatever the number of turns; equal ones by id."""
        rng = np.random.default_rng(6)
        rows = rng.normal(size=(1300, 24)).astype(np.float32)
        rows[700:] = rows[:600]  # which are as near
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        query, close = 2 * rows[5] + rows[9], 3 * rows[5] + 2 * rows[9]
        query, close = query / np.linalg.norm(query), close / np.linalg.norm(close)
        changes = Changes(
            turns=tuple(
                TurnRow(turn=turn(n).turn, episode=0, vector=row) for n, row in enumerate(rows)
            ),
            passages=tuple(
                PassageRow(turn=650, start=start, vector=vector)
                for start, vector in ((3, rows[9]), (7, close), (9, rows[0]))
            ),
            episodes=(EpisodeRow(id=0, vector=None),),
        )
        cosines = {n: float(row @ query) for n, row in enumerate(rows)}
        cosines[650] = float(close @ query)
        best = sorted(cosines, key=lambda n: (-round(cosines[n], 5), n))
        with closing(self.open_store(tmp_path)) as store:
            assert store.nearest("a", query, 3) == []
            assert store.commit("a", changes, Counters(turn=1300), expected=0, settings={})
            assert store.commit("b", FIRST, COUNTERS, expected=0, settings={})
            for limit in (1, 7, 1300, 2000):
                found = store.nearest("a", query, limit)
                assert [n for n, _ in found[:40]] == best[:limit][:40]
                assert len(found) == min(limit, 1300)
                np.testing.assert_allclose(
                    [cosine for _, cosine in found], [cosines[n] for n, _ in found], atol=1e-6
                )
            assert best[0] == 650

    def test_long_texts_and_missing_times_are_kept(self, tmp_path: Path) -> None:
        """A turn may be as long as a document, and its time may be unknown."""
        said = Turn(id=0, role="наблюдатель", text="é\n" * 500_000, at=None)
        row = TurnRow(turn=said, episode=0, vector=vector(0))
        changes = Changes(turns=(row,), episodes=(EpisodeRow(id=0, vector=None),))
        with closing(self.open_store(tmp_path)) as store:
            assert store.commit("a", changes, COUNTERS, expected=0, settings={})
        with closing(self.open_store(tmp_path)) as store:
            assert store.turns("a", [0]) == [said]

    def test_the_highest_ids_stay_in_their_thread(self, tmp_path: Path) -> None:
        """Ids up to `MAX_ID` are supported."""
        changes = Changes(
            turns=(turn(MAX_ID, MAX_ID),),
            episodes=(EpisodeRow(id=MAX_ID, vector=None),),
            spans=(span(MAX_ID - 1, MAX_ID),),
        )
        counters = Counters(turn=MAX_ID + 1, episode=MAX_ID + 1, cluster=MAX_ID + 1)
        with closing(self.open_store(tmp_path)) as store:
            assert store.commit("a", changes, counters, expected=0, settings={})
            assert store.commit("b", FIRST, COUNTERS, expected=0, settings={})
            state = store.load("a")
            assert (state.turn_ids, state.counters) == ([MAX_ID], counters)
            assert [t.id for t in store.episode_turns("a", [MAX_ID])[MAX_ID]] == [MAX_ID]
            assert [t.id for t in store.open_turns("a")] == [MAX_ID]
            assert [(s.first, s.last) for s in state.spans] == [(MAX_ID - 1, MAX_ID)]
            assert store.load("b").turn_ids == [0, 1, 2]

    def test_many_ids_are_read_at_once_and_unknown_ones_left_out(self, tmp_path: Path) -> None:
        """Any number of ids can be requested, in any order."""
        count = 1300
        changes = Changes(
            turns=tuple(turn(n, n) for n in range(count)),
            episodes=tuple(EpisodeRow(id=n, vector=vector(n)) for n in range(count)),
        )
        counters = Counters(turn=count, episode=count)
        with closing(self.open_store(tmp_path)) as store:
            assert store.commit("a", changes, counters, expected=0, settings={})
            asked = [count + 5, *reversed(range(count)), 7]
            assert [turn.id for turn in store.turns("a", asked)] == [*range(count)]
            assert [turn.id for _, turn in store.all_turns("a")] == [*range(count)]
            assert [turn.id for turn in store.last_turns("a", 3)] == [*range(count)][-3:]
            assert store.last_turns("b", 3) == []
            assert store.count("a") == count
            for first, limit in ((0, 3), (0, 500), (0, 501), (7, 1200), (count - 2, 9), (0, 0)):
                some = [turn.id for _, turn in store.all_turns("a", first, limit)]
                assert some == [*range(count)][first : first + limit]
            found = store.episode_turns("a", [*range(count), count + 5])
            assert [len(found[n]) for n in range(count)] == [1] * count
            assert found[count + 5] == []

    def test_a_read_sees_what_was_committed_before(self, tmp_path: Path) -> None:
        """Whether it was written through the same instance or another one."""
        with (
            closing(self.open_store(tmp_path)) as one,
            closing(self.open_store(tmp_path)) as two,
        ):
            first = one.commit("a", FIRST, COUNTERS, expected=0, settings={})
            assert first
            for store in (one, two):
                assert store.version("a") == first
                with store.snapshot() as reader:
                    assert reader.version("a") == first
            second = two.commit("a", SECOND, LATER, expected=first[0], settings={})
            for store in (one, two):
                assert store.version("a") == second
                assert [turn.id for turn in store.open_turns("a")] == [4]

    def test_turns_are_found_by_their_external_ids(self, tmp_path: Path) -> None:
        """In their own thread, any number at once; unknown ids are left out."""
        count = 1300
        changes = Changes(
            turns=tuple(turn(n) for n in range(count)),
            episodes=(EpisodeRow(id=0, vector=None),),
        )
        with closing(self.open_store(tmp_path)) as store:
            assert store.turns_called("a", ["é/1"]) == {}
            assert store.commit("a", changes, Counters(turn=count), expected=0, settings={})
            assert store.commit("b", FIRST, COUNTERS, expected=0, settings={})
            found = store.turns_called("a", ["nobody", *(f"é/{n}" for n in range(count))])
            assert found == {f"é/{n}": turn(n).turn for n in range(1, count, 2)}
            assert store.turns_called("b", ["é/1", "é/3"]) == {"é/1": turn(1).turn}
            assert store.turns_called("b", []) == {}

    def test_an_external_id_belongs_to_one_turn(self, tmp_path: Path) -> None:
        """A write that would give it to another is refused as a whole, until it is removed."""
        again = replace(turn(5).turn, external_id="é/1")
        changes = Changes(turns=(turn(3), TurnRow(turn=again, episode=1, vector=vector(5))))
        with closing(self.open_store(tmp_path)) as store:
            version = store.commit("a", FIRST, COUNTERS, expected=0, settings={})
            assert version
            with _refused(StoreError):
                store.commit("a", changes, Counters(turn=6), expected=version[0], settings={})
            assert store.version("a") == version
            assert store.load("a").turn_ids == [0, 1, 2]
            assert store.turns_called("a", ["é/3"]) == {}
            removal = Changes(removed_turns=(1,))
            version = store.commit("a", removal, COUNTERS, expected=version[0], settings={})
            assert version
            assert store.turns_called("a", ["é/1"]) == {}
            assert store.commit("a", changes, Counters(turn=6), expected=version[0], settings={})
            assert store.turns_called("a", ["é/1"]) == {"é/1": again}

    def test_only_the_expected_version_can_be_followed(self, tmp_path: Path) -> None:
        """Of two writers that saw the same state, the second writes nothing."""
        with (
            closing(self.open_store(tmp_path)) as one,
            closing(self.open_store(tmp_path)) as two,
        ):
            written = one.commit("a", FIRST, COUNTERS, expected=0, settings={})
            assert written is not None
            assert two.commit("a", FIRST, COUNTERS, expected=0, settings={}) is None
            assert one.commit("a", SECOND, LATER, expected=written[0], settings={})
            assert two.load("a").turn_ids == [0, 1, 2, 3, 4]

    def test_of_racing_writers_one_succeeds(self, tmp_path: Path) -> None:
        """From several threads of one process, through one instance or two."""
        with (
            closing(self.open_store(tmp_path)) as one,
            closing(self.open_store(tmp_path)) as two,
            ThreadPoolExecutor(8) as pool,
        ):

            def race(number: int) -> bool:
                store = (one, two)[number % 2]
                return store.commit("a", FIRST, COUNTERS, expected=0, settings={}) is not None

            assert sorted(pool.map(race, range(8))) == [False] * 7 + [True]
            assert one.load("a").turn_ids == [0, 1, 2]

    def test_additions_can_be_read_alone_and_keep_the_epoch(self, tmp_path: Path) -> None:
        """A reader that has the earlier turns need not read them again."""
        with closing(self.open_store(tmp_path)) as store:
            first, second = _both(store)
            assert second[0] != first[0]
            assert second[1] == first[1]
            state = store.load_since("a", turn=3, episode=1)
            assert (state.version, state.epoch) == second
            assert state.turn_ids == [3, 4]
            assert [e.id for e in state.episodes] == [1, 2]
            assert [c.members for c in state.clusters] == [(0, 1), (1,)]
            assert [t.id for t in state.open_turns] == [4]

    def test_the_newest_spans_can_be_read_alone(self, tmp_path: Path) -> None:
        """From those that end at the second-last stored turn before the first unknown one."""
        changes = Changes(
            turns=(turn(0), turn(1), turn(5), turn(6)),
            episodes=(EpisodeRow(id=0, vector=None),),
            spans=(span(0, 1), span(0, 5), span(1, 5), span(5, 6)),
        )
        every = [(0, 1), (0, 5), (1, 5), (5, 6)]
        with closing(self.open_store(tmp_path)) as store:
            # A thread before and one after, whose turns and spans must not be counted.
            for name in ("first", "a", "last"):
                assert store.commit(name, changes, Counters(turn=7), expected=0, settings={})
            for first, expected in (
                (0, every),
                (1, every),
                (5, every),
                (6, every),
                (7, every[1:]),
                (MAX_ID, []),
            ):
                for name in ("first", "a", "last"):
                    spans = store.load_since(name, turn=first, episode=0).spans
                    assert [(s.first, s.last) for s in spans] == expected, (name, first)

    def test_removal_changes_the_epoch_and_keeps_other_ids(self, tmp_path: Path) -> None:
        """A reader that has the earlier turns must read them again."""
        with closing(self.open_store(tmp_path)) as store:
            _, second = _both(store)
            third = store.commit("a", REMOVAL, LATER, expected=second[0], settings={})
            assert third
            assert third[1] != second[1]
            state = store.load("a")
            assert state.turn_ids == [2, 3, 4]
            assert [e.id for e in state.episodes] == [1, 2]
            assert [(c.id, c.members) for c in state.clusters] == [(0, (1,))]
            assert [(s.first, s.last) for s in state.spans] == [(2, 3), (2, 4)]

    def test_removed_spans_change_the_epoch_and_may_be_replaced(self, tmp_path: Path) -> None:
        """A span that is removed and written in the same change gets its new vector."""
        with closing(self.open_store(tmp_path)) as store:
            first = store.commit("a", FIRST, COUNTERS, expected=0, settings={})
            assert first
            assert store.commit("b", FIRST, COUNTERS, expected=0, settings={})
            changes = Changes(spans=(span(0, 2, 99),), removed_spans=((0, 2), (0, 1)))
            second = store.commit("a", changes, COUNTERS, expected=first[0], settings={})
            assert second
            assert second[1] != first[1]
            assert store.scrub_due()
            spans = store.load("a").spans
            assert [(s.first, s.last) for s in spans] == [(0, 2), (1, 2)]
            np.testing.assert_array_equal(spans[0].vector, vector(99))
            assert len(store.load("b").spans) == 3

    def test_a_thread_made_again_never_repeats_a_version(self, tmp_path: Path) -> None:
        """A reader of the old thread cannot mistake the new one for it."""
        with closing(self.open_store(tmp_path)) as store:
            old = store.commit("a", FIRST, COUNTERS, expected=0, settings={})
            store.remove("a")
            assert store.version("a") == (0, 0)
            new = store.commit("a", FIRST, COUNTERS, expected=0, settings={})
            assert old
            assert new
            assert old[0] != new[0]
            assert old[1] != new[1]

    def test_threads_are_apart(self, tmp_path: Path) -> None:
        """Equal ids in different threads do not collide; removing a thread affects no other."""
        with closing(self.open_store(tmp_path)) as store:
            for name in ("b", "a", "A", "ä"):
                assert store.commit(name, FIRST, COUNTERS, expected=0, settings={})
            assert store.threads() == ["A", "a", "b", "ä"]
            before = store.version("b")
            assert store.remove("a")
            assert not store.remove("a")
            assert store.load("a").turn_ids == []
            assert store.version("b") == before
            for name in ("A", "b", "ä"):
                assert store.load(name).turn_ids == [0, 1, 2]
                assert [c.members for c in store.load(name).clusters] == [(0,)]
                assert len(store.load(name).spans) == 3
            assert store.commit("a", Changes(), Counters(), expected=0, settings={})
            assert store.load("a").spans == []

    def test_settings_are_noted_once(self, tmp_path: Path) -> None:
        """If two processes create a memory at once, both use the settings of the first."""
        with (
            closing(self.open_store(tmp_path)) as one,
            closing(self.open_store(tmp_path)) as two,
        ):
            one.note({"model": "x"})
            two.note({"model": "y", "preset": "p"})
            assert one.settings() == two.settings() == {"model": "x", "preset": "p"}

    def test_a_writer_for_other_settings_is_refused(self, tmp_path: Path) -> None:
        """A writer that still uses the old model cannot write to a rebuilt memory."""
        with closing(self.open_store(tmp_path)) as store:
            store.note({"model": "x"})
            either = {"model": ("w", "x")}
            assert store.commit("a", FIRST, COUNTERS, expected=0, settings=either)
            version = store.version("a")[0]
            for other in ({"model": ("y",)}, {"model": ("x",), "preset": ("p",)}):
                with _refused(MismatchError):
                    store.commit("a", SECOND, LATER, expected=version, settings=other)
                with _refused(MismatchError):
                    store.add_threads({"b": (FIRST, COUNTERS)}, settings=other)
            assert store.load("a").turn_ids == [0, 1, 2]
            assert store.threads() == ["a"]

    def test_new_threads_come_all_or_none(self, tmp_path: Path) -> None:
        """If one of them exists already, none is written."""
        with closing(self.open_store(tmp_path)) as store:
            store.add_threads({"a": (FIRST, COUNTERS)}, settings={})
            with _refused(InputError):
                store.add_threads({"c": (FIRST, COUNTERS), "a": (FIRST, COUNTERS)}, settings={})
            assert store.threads() == ["a"]
            assert store.load("c").turn_ids == []

    def test_all_threads_are_replaced_or_none(self, tmp_path: Path) -> None:
        """If a thread was changed, added or removed meanwhile, nothing is replaced."""
        with closing(self.open_store(tmp_path)) as store:
            store.note({"model": "x", "preset": "p"})
            old = store.commit("a", FIRST, COUNTERS, expected=0, settings={})
            assert old
            for expected in ({"a": old[0] + 1}, {}, {"a": old[0], "b": 1}):
                assert not store.replace_all({}, {"model": "z"}, expected=expected)
            assert store.settings() == {"model": "x", "preset": "p"}
            contents = {"a": (FIRST, COUNTERS), "c": (FIRST, COUNTERS)}
            assert store.replace_all(contents, {"model": "z"}, expected={"a": old[0]})
            assert store.threads() == ["a", "c"]
            assert store.settings() == {"model": "z"}
            new = store.version("a")
            assert new[0] != old[0]
            assert new[1] != old[1]
            assert [len(store.load(name).spans) for name in ("a", "c")] == [3, 3]
            assert [len(store.load(name).passages) for name in ("a", "c")] == [3, 3]

    def test_a_snapshot_does_not_see_what_others_write(self, tmp_path: Path) -> None:
        """A slow reader sees one state."""
        with (
            closing(self.open_store(tmp_path)) as one,
            closing(self.open_store(tmp_path)) as two,
        ):
            first = one.commit("a", FIRST, COUNTERS, expected=0, settings={})
            assert first
            with two.snapshot() as reader:
                assert reader.load("a").turn_ids == [0, 1, 2]
                assert one.commit("a", SECOND, LATER, expected=first[0], settings={})
                assert one.commit("b", FIRST, COUNTERS, expected=0, settings={})
                assert [turn.id for _, turn in reader.all_turns("a")] == [0, 1, 2]
                assert reader.version("a") == first
                assert reader.threads() == ["a"]
            assert two.load("a").turn_ids == [0, 1, 2, 3, 4]

    def test_a_snapshot_neither_hinders_nor_sees_the_stores_own_writes(
        self, tmp_path: Path
    ) -> None:
        """The store can still write, and its own reads show the latest state."""
        with closing(self.open_store(tmp_path)) as store:
            first = store.commit("a", FIRST, COUNTERS, expected=0, settings={})
            assert first
            with store.snapshot() as outer:
                assert outer.version("a") == first
                second = store.commit("a", SECOND, LATER, expected=first[0], settings={})
                assert second
                with store.snapshot() as inner:
                    assert inner.version("a") == store.version("a") == second
                    assert store.remove("a")
                    assert [turn.id for turn in inner.open_turns("a")] == [4]
                assert outer.load("a").turn_ids == [0, 1, 2]
                assert store.threads() == []

    def test_a_scrub_is_due_after_a_removal_until_it_succeeds(self, tmp_path: Path) -> None:
        """A scrub stays due, for every instance, until it has succeeded."""
        with (
            closing(self.open_store(tmp_path)) as one,
            closing(self.open_store(tmp_path)) as two,
        ):
            _, second = _both(one)
            assert not one.scrub_due()
            assert one.commit("a", REMOVAL, LATER, expected=second[0], settings={})
            assert two.scrub_due()
            assert one.scrub()
            assert not two.scrub_due()
            assert one.remove("a")
            assert two.scrub_due()
            assert one.settings() == {}
            assert two.scrub()
            assert not one.scrub_due()

    def test_a_sound_store_has_nothing_to_report(self, tmp_path: Path) -> None:
        """Checking and scrubbing do not change the contents."""
        with closing(self.open_store(tmp_path)) as store:
            assert store.commit("a", FIRST, COUNTERS, expected=0, settings={})
            store.scrub()
            assert store.check() == []
            assert store.load("a").turn_ids == [0, 1, 2]

    def test_whoever_is_in_line_writes_first(self, tmp_path: Path) -> None:
        """In the order in which they lined up, and for as long as they are in line."""
        with (
            closing(self.open_store(tmp_path)) as one,
            closing(self.open_store(tmp_path)) as two,
        ):
            written = one.commit("a", FIRST, COUNTERS, expected=0, settings={})
            assert written
            early = one.line_up("a", seconds=60)
            late = two.line_up("a", seconds=60)
            assert one.first_in_line(early, seconds=60)
            assert not two.first_in_line(late, seconds=60)
            for ticket in (None, late):
                assert not two.commit(
                    "a", SECOND, LATER, expected=written[0], settings={}, ticket=ticket
                )
            assert two.version("a") == written
            assert two.commit("b", FIRST, COUNTERS, expected=0, settings={})
            written = one.commit("a", SECOND, LATER, expected=written[0], settings={}, ticket=early)
            assert written
            assert one.first_in_line(early, seconds=60)  # used up: it is not in line again
            assert two.first_in_line(late, seconds=60)
            nothing = Changes()
            assert not one.commit("a", nothing, LATER, expected=written[0], settings={})
            two.leave_line(late)
            assert one.commit("a", nothing, LATER, expected=written[0], settings={})

    def test_a_place_in_line_is_not_kept_for_ever(self, tmp_path: Path) -> None:
        """Nobody waits for a writer that died, and whoever comes back may try."""
        with closing(self.open_store(tmp_path)) as store:
            dead = store.line_up("a", seconds=-1)
            ticket = store.line_up("a", seconds=60)
            assert store.first_in_line(ticket, seconds=60)
            written = store.commit("a", FIRST, COUNTERS, expected=0, settings={}, ticket=ticket)
            assert written
            assert store.commit("a", SECOND, LATER, expected=written[0], settings={}, ticket=dead)

    def test_all_threads_wait_for_whoever_replaces_them(self, tmp_path: Path) -> None:
        """A writer of all threads and one of a single thread wait for each other."""
        with closing(self.open_store(tmp_path)) as store:
            written = store.commit("a", FIRST, COUNTERS, expected=0, settings={})
            assert written
            single = store.line_up("a", seconds=60)
            every = store.line_up(None, seconds=60)
            expected = {"a": written[0]}
            assert not store.replace_all({}, {"x": "1"}, expected=expected)
            assert not store.replace_all({}, {"x": "1"}, expected=expected, ticket=every)
            assert not store.commit("b", FIRST, COUNTERS, expected=0, settings={})
            store.leave_line(single)
            assert store.first_in_line(every, seconds=60)
            assert store.replace_all({}, {"x": "1"}, expected=expected, ticket=every)
            assert store.settings() == {"x": "1"}
            assert store.commit("b", FIRST, COUNTERS, expected=0, settings={})

    def test_a_store_names_itself(self, tmp_path: Path) -> None:
        """Error messages contain the location of the store."""
        with closing(self.open_store(tmp_path)) as store:
            assert store.location
            store.add_threads({"a": (FIRST, COUNTERS)}, settings={})
            with _refused(InputError, naming=store.location):
                store.add_threads({"a": (FIRST, COUNTERS)}, settings={})
            with _refused(MismatchError, naming=store.location):
                store.add_threads({}, settings={"model": ("x",)})


def _both(store: Store) -> tuple[tuple[int, int], tuple[int, int]]:
    """Writes a thread in two steps; returns version and epoch after each."""
    first = store.commit("a", FIRST, COUNTERS, expected=0, settings={})
    assert first
    second = store.commit("a", SECOND, LATER, expected=first[0], settings={})
    assert second
    return first, second


@contextmanager
def _refused(kind: type[Exception], *, naming: str = "") -> Iterator[None]:
    try:
        yield
    except kind as error:
        assert naming in str(error)
    else:
        raise AssertionError(f"expected {kind.__name__}, but the store raised nothing")
