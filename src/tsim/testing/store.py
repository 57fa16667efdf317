"""The suite every store passes. Subclass it in a test module and implement `open_store`.

class TestMyStore(StoreConformance):
    def open_store(self, path):
        return MyStore(path)
"""

from abc import abstractmethod
from pathlib import Path

import numpy as np

from tsim.errors import InputError, MismatchError
from tsim.state import Changes, ClusterRow, Counters, EpisodeRow, TurnRow
from tsim.store import Store
from tsim.types import Turn
from tsim.vectors import Vector

WIDTH = 3


def _vector(number: int) -> Vector:
    return np.array([number, 1, 0.5], dtype=np.float32)


def _turn(number: int, episode: int = 0, text: str = "") -> TurnRow:
    turn = Turn(id=number, role="user", text=text or f"turn {number} \0 é 🦜", at=number / 4)
    return TurnRow(turn=turn, episode=episode, vector=_vector(number))


def _cluster(number: int, *members: int) -> ClusterRow:
    total = np.array([number, 1 / 3, 2], dtype=np.float64)
    return ClusterRow(id=number, members=members, total=total, vector=_vector(number))


FIRST = Changes(
    turns=(_turn(0), _turn(1), _turn(2, 1)),
    episodes=(EpisodeRow(id=0, vector=_vector(9)), EpisodeRow(id=1, vector=None)),
    clusters=(_cluster(0, 0),),
    joined=((0, 0),),
)
COUNTERS = Counters(turn=3, episode=2, cluster=1)
SECOND = Changes(
    turns=(_turn(3, 1), _turn(4, 2)),
    episodes=(EpisodeRow(id=1, vector=_vector(7)), EpisodeRow(id=2, vector=None)),
    clusters=(_cluster(0, 0, 1), _cluster(1, 1)),
    joined=((0, 1), (1, 1)),
)
LATER = Counters(turn=5, episode=3, cluster=2)


class StoreConformance:
    """Behaviour that the façade relies on."""

    @abstractmethod
    def open_store(self, path: Path) -> Store:
        """Opens the store under test in this directory, as a second process would."""

    def test_an_unknown_thread_is_empty(self, tmp_path: Path) -> None:
        """Nothing is created by looking."""
        store = self.open_store(tmp_path)
        assert store.version("a") == (0, 0)
        state = store.load("a")
        assert (state.turn_ids, state.episodes, state.clusters) == ([], [], [])
        assert state.counters == Counters()
        assert store.threads() == []
        store.close()

    def test_what_is_written_is_read_back_exactly_after_reopening(self, tmp_path: Path) -> None:
        """Texts, times and every bit of every vector survive."""
        store = self.open_store(tmp_path)
        assert store.commit("a", FIRST, COUNTERS, expected=0, settings={})
        store.close()
        store = self.open_store(tmp_path)
        state = store.load("a")
        assert state.turn_ids == [0, 1, 2]
        assert state.turn_episodes == [0, 0, 1]
        assert state.counters == COUNTERS
        np.testing.assert_array_equal(state.turn_vectors, [_vector(n) for n in range(3)])
        assert [e.id for e in state.episodes] == [0, 1]
        assert state.episodes[1].vector is None
        np.testing.assert_array_equal(np.asarray(state.episodes[0].vector), _vector(9))
        (cluster,) = state.clusters
        assert cluster.members == (0,)
        np.testing.assert_array_equal(cluster.total, FIRST.clusters[0].total)
        assert state.open_turns == [FIRST.turns[2].turn]
        assert store.turns("a", [2, 0]) == [FIRST.turns[0].turn, FIRST.turns[2].turn]
        assert store.episode_turns("a", [0])[0] == [r.turn for r in FIRST.turns[:2]]
        assert [e for e, _ in store.all_turns("a")] == [0, 0, 1]
        store.close()

    def test_only_the_expected_version_can_be_followed(self, tmp_path: Path) -> None:
        """Of two writers who saw the same state, the second writes nothing."""
        one, two = self.open_store(tmp_path), self.open_store(tmp_path)
        written = one.commit("a", FIRST, COUNTERS, expected=0, settings={})
        assert written is not None
        assert two.commit("a", FIRST, COUNTERS, expected=0, settings={}) is None
        assert one.commit("a", SECOND, LATER, expected=written[0], settings={})
        assert two.load("a").turn_ids == [0, 1, 2, 3, 4]
        one.close()
        two.close()

    def test_additions_can_be_read_alone_and_keep_the_epoch(self, tmp_path: Path) -> None:
        """A reader that knows the beginning need not read it again."""
        store = self.open_store(tmp_path)
        first = store.commit("a", FIRST, COUNTERS, expected=0, settings={})
        assert first
        second = store.commit("a", SECOND, LATER, expected=first[0], settings={})
        assert second
        assert second[0] != first[0]
        assert second[1] == first[1]
        state = store.load_since("a", turn=3, episode=1)
        assert state.turn_ids == [3, 4]
        assert [e.id for e in state.episodes] == [1, 2]
        assert [c.members for c in state.clusters] == [(0, 1), (1,)]
        assert [t.id for t in state.open_turns] == [4]
        store.close()

    def test_removal_changes_the_epoch_and_keeps_other_ids(self, tmp_path: Path) -> None:
        """A reader that knows the beginning must read it again."""
        store = self.open_store(tmp_path)
        first = store.commit("a", FIRST, COUNTERS, expected=0, settings={})
        assert first
        second = store.commit("a", SECOND, LATER, expected=first[0], settings={})
        assert second
        changes = Changes(
            removed_turns=(0, 1),
            removed_episodes=(0,),
            clusters=(_cluster(0, 1),),
            rewritten=(0,),
            removed_clusters=(1,),
        )
        third = store.commit("a", changes, LATER, expected=second[0], settings={})
        assert third
        assert third[1] != second[1]
        state = store.load("a")
        assert state.turn_ids == [2, 3, 4]
        assert [e.id for e in state.episodes] == [1, 2]
        assert [(c.id, c.members) for c in state.clusters] == [(0, (1,))]
        store.close()

    def test_threads_are_apart(self, tmp_path: Path) -> None:
        """Same ids in different threads never meet; a removed thread takes nothing else along."""
        store = self.open_store(tmp_path)
        for name in ("b", "a"):
            assert store.commit(name, FIRST, COUNTERS, expected=0, settings={})
        assert store.threads() == ["a", "b"]
        assert store.remove("a")
        assert not store.remove("a")
        assert store.load("a").turn_ids == []
        assert store.load("b").turn_ids == [0, 1, 2]
        store.close()

    def test_a_thread_made_again_never_repeats_a_version(self, tmp_path: Path) -> None:
        """A reader of the old thread cannot mistake the new one for it."""
        store = self.open_store(tmp_path)
        old = store.commit("a", FIRST, COUNTERS, expected=0, settings={})
        store.remove("a")
        new = store.commit("a", FIRST, COUNTERS, expected=0, settings={})
        assert old
        assert new
        assert old[0] != new[0]
        assert old[1] != new[1]
        store.close()

    def test_settings_are_noted_once(self, tmp_path: Path) -> None:
        """Two processes that create a memory at once agree on the first one's settings."""
        one, two = self.open_store(tmp_path), self.open_store(tmp_path)
        one.note({"model": "x"})
        two.note({"model": "y"})
        assert two.settings() == {"model": "x"}
        one.close()
        two.close()

    def test_new_threads_come_all_or_none(self, tmp_path: Path) -> None:
        """One that is there already stops the others."""
        store = self.open_store(tmp_path)
        store.add_threads({"a": (FIRST, COUNTERS)}, settings={})
        try:
            store.add_threads({"c": (FIRST, COUNTERS), "a": (FIRST, COUNTERS)}, settings={})
        except InputError:
            pass
        else:
            raise AssertionError("a thread was added twice")
        assert store.threads() == ["a"]
        assert not store.replace_all({}, {"model": "z"}, expected={"a": 0})
        versions = {"a": store.version("a")[0]}
        assert store.replace_all({"c": (FIRST, COUNTERS)}, {"model": "z"}, expected=versions)
        assert store.threads() == ["c"]
        assert store.settings() == {"model": "z"}
        store.close()

    def test_a_writer_for_other_settings_is_refused(self, tmp_path: Path) -> None:
        """Whoever still has the old model in hand cannot write into a rebuilt memory."""
        store = self.open_store(tmp_path)
        store.note({"model": "x"})
        assert store.commit("a", FIRST, COUNTERS, expected=0, settings={"model": ("x",)})
        version = store.version("a")[0]
        try:
            store.commit("a", SECOND, LATER, expected=version, settings={"model": ("y",)})
        except MismatchError:
            pass
        else:
            raise AssertionError("vectors of two models were mixed")
        assert store.load("a").turn_ids == [0, 1, 2]
        store.close()

    def test_a_snapshot_does_not_see_what_others_write(self, tmp_path: Path) -> None:
        """A reader that takes its time gets one state."""
        one, two = self.open_store(tmp_path), self.open_store(tmp_path)
        first = one.commit("a", FIRST, COUNTERS, expected=0, settings={})
        assert first
        with two.snapshot() as reader:
            assert reader.load("a").turn_ids == [0, 1, 2]
            assert one.commit("a", SECOND, LATER, expected=first[0], settings={})
            assert [turn.id for _, turn in reader.all_turns("a")] == [0, 1, 2]
        assert two.load("a").turn_ids == [0, 1, 2, 3, 4]
        one.close()
        two.close()

    def test_a_scrub_is_due_after_a_removal_until_it_succeeds(self, tmp_path: Path) -> None:
        """Readers can delay a scrub; it is not forgotten meanwhile."""
        one, two = self.open_store(tmp_path), self.open_store(tmp_path)
        first = one.commit("a", FIRST, COUNTERS, expected=0, settings={})
        assert first
        assert not one.scrub_due()
        gone = Changes(removed_turns=(0,))
        assert one.commit("a", gone, COUNTERS, expected=first[0], settings={})
        assert two.scrub_due()
        assert one.scrub()
        assert not two.scrub_due()
        assert "scrub" not in one.settings()
        one.close()
        two.close()

    def test_a_sound_store_has_nothing_to_report(self, tmp_path: Path) -> None:
        """Checking and scrubbing leave contents alone."""
        store = self.open_store(tmp_path)
        assert store.commit("a", FIRST, COUNTERS, expected=0, settings={})
        store.scrub()
        assert store.check() == []
        assert store.load("a").turn_ids == [0, 1, 2]
        store.close()
