"""The default store: one SQLite file, written ahead, one transaction a change."""

from collections.abc import Iterator, Mapping, Sequence

from tsim.codec import (
    sum_from_bytes,
    sum_to_bytes,
    vector_from_bytes,
    vector_to_bytes,
)
from tsim.errors import InputError, MismatchError, StoreBusyError
from tsim.state import EMPTY, Changes, ClusterRow, Counters, EpisodeRow, ThreadState
from tsim.store.protocol import Written
from tsim.store.sqlite.database import READ, DatabaseFile
from tsim.store.sqlite.keys import SHIFT, id_of, key_of, span_of
from tsim.types import Turn
from tsim.vectors import Vectors

# The setting that says that a scrub is due.
SCRUB = "scrub"
SCRUB_IS_DUE = "INSERT OR REPLACE INTO setting VALUES ('scrub', '')"


class SqliteStore(DatabaseFile):
    """Threads in one file; readers never wait for writers."""

    def settings(self) -> dict[str, str]:
        """Returns what was noted about the memory as a whole."""
        query = "SELECT name, value FROM setting WHERE name <> ? ORDER BY name"
        return dict(self._rows(query, (SCRUB,)))

    def note(self, settings: Mapping[str, str]) -> None:
        """Notes something about the memory as a whole, unless it is noted already."""
        with self._writing():
            self._connection.executemany(
                "INSERT OR IGNORE INTO setting VALUES (?, ?)", sorted(settings.items())
            )

    def threads(self) -> list[str]:
        """Names all threads, sorted."""
        return [name for (name,) in self._rows("SELECT name FROM thread ORDER BY name")]

    def version(self, thread: str) -> tuple[int, int]:
        """Returns version and epoch of a thread; (0, 0) if there is none."""
        rows = self._rows("SELECT version, epoch FROM thread WHERE name = ?", (thread,))
        return rows[0] if rows else (0, 0)

    def load(self, thread: str) -> ThreadState:
        """Reads a thread; an unknown one is empty."""
        return self.load_since(thread, turn=0, episode=0)

    def load_since(self, thread: str, *, turn: int, episode: int) -> ThreadState:
        """Reads what was added to a thread of the same epoch."""
        with self._reading():
            row = self._thread(thread)
            if row is None:
                return EMPTY
            number, version, epoch, *counters = row
            ids, owners, vectors = self._turn_columns(number, turn)
            return ThreadState(
                version=version,
                epoch=epoch,
                counters=Counters(turn=counters[0], episode=counters[1], cluster=counters[2]),
                turn_ids=ids,
                turn_episodes=owners,
                turn_vectors=vectors,
                episodes=self._episodes(number, episode),
                clusters=self._clusters(number),
                open_turns=self._open_turns(number),
            )

    def commit(
        self,
        thread: str,
        changes: Changes,
        counters: Counters,
        *,
        expected: int,
        settings: Mapping[str, str],
    ) -> tuple[int, int] | None:
        """Writes changes, durably and whole, if the thread still has the expected version."""
        with self._writing():
            found = self.settings()
            if any(found.get(key) != value for key, value in settings.items()):
                raise MismatchError(
                    f"{self.location} was rebuilt for {found.get('model')} and "
                    f"{found.get('preset')} while it was open here; open it again"
                )
            if self.version(thread)[0] != expected:
                return None
            self._write(thread, changes, counters)
            return self.version(thread)

    def add_threads(self, threads: Mapping[str, Written]) -> None:
        """Writes new threads, all or none."""
        with self._writing():
            there = sorted({*threads} & {*self.threads()})
            if there:
                raise InputError(
                    f"{self.location} has thread {there[0]!r} already; forget it first, or import "
                    "into a new memory"
                )
            for name, (changes, counters) in threads.items():
                self._write(name, changes, counters)

    def replace_all(
        self,
        threads: Mapping[str, Written],
        settings: Mapping[str, str],
        *,
        expected: Mapping[str, int],
    ) -> bool:
        """Puts new contents in the place of all threads and settings, whole or not at all."""
        with self._writing():
            if {name: self.version(name)[0] for name in self.threads()} != expected:
                return False
            for name in self.threads():
                self._delete(name)
            self._connection.execute("DELETE FROM setting WHERE name <> ?", (SCRUB,))
            self._connection.executemany(
                "INSERT INTO setting VALUES (?, ?)", sorted(settings.items())
            )
            for name, (changes, counters) in threads.items():
                self._write(name, changes, counters)
            return True

    def episode_turns(self, thread: str, episodes: Sequence[int]) -> dict[int, list[Turn]]:
        """Reads the turns of some episodes."""
        found: dict[int, list[Turn]] = {episode: [] for episode in episodes}
        with self._reading():
            row = self._thread(thread)
            for some in _pieces(episodes):
                marks = ",".join("?" * len(some))
                query = (
                    "SELECT episode, key, role, at, text FROM turn "  # noqa: S608
                    f"WHERE key >> {SHIFT} = ? AND episode IN ({marks}) ORDER BY key"
                )
                for episode, *turn in self._rows(query, (row[0] if row else 0, *some)):
                    found[episode].append(_turn(*turn))
        return found

    def turns(self, thread: str, ids: Sequence[int]) -> list[Turn]:
        """Reads some turns, in order of their ids."""
        found: list[Turn] = []
        with self._reading():
            row = self._thread(thread)
            keys = sorted({key_of(row[0], turn) for turn in ids}) if row else []
            for some in _pieces(keys):
                marks = ",".join("?" * len(some))
                query = f"SELECT key, role, at, text FROM turn WHERE key IN ({marks}) ORDER BY key"  # noqa: S608
                found += [_turn(*turn) for turn in self._rows(query, some)]
        return found

    def open_turns(self, thread: str) -> list[Turn]:
        """Reads the turns of the episode that is still open."""
        with self._reading():
            row = self._thread(thread)
            return self._open_turns(row[0]) if row else []

    def all_turns(self, thread: str, first: int = 0) -> Iterator[tuple[int, Turn]]:
        """Reads all turns in order, from an id on, each with its episode."""
        query = (
            "SELECT episode, key, role, at, text FROM turn "
            "WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?"
        )
        row = self._thread(thread)
        while row:
            rows = self._rows(query, (*span_of(row[0], first), READ))
            yield from ((episode, _turn(*turn)) for episode, *turn in rows)
            if len(rows) < READ:
                return
            first = id_of(rows[-1][1]) + 1

    def remove(self, thread: str) -> bool:
        """Removes a thread; tells whether it was there."""
        with self._writing():
            there = self._delete(thread)
            if there:
                self._connection.execute(SCRUB_IS_DUE)
            return there

    def scrub(self) -> bool:
        """Makes sure that nothing removed can be read back from the file.

        Removed content is overwritten as it is deleted, but pages that were split long ago may
        hold old copies in their slack. Writing the file anew leaves those behind; emptying the
        write-ahead log removes the last ones.
        """
        try:
            if not self._rewrite():
                return False
        except StoreBusyError:
            return False
        with self._writing():
            self._connection.execute("DELETE FROM setting WHERE name = ?", (SCRUB,))
        return True

    def scrub_due(self) -> bool:
        """Tells whether something removed may still be readable."""
        return bool(self._rows("SELECT 1 FROM setting WHERE name = ?", (SCRUB,)))

    def _thread(self, name: str) -> tuple[int, ...] | None:
        query = (
            "SELECT id, version, epoch, next_turn, next_episode, next_cluster "
            "FROM thread WHERE name = ?"
        )
        rows = self._rows(query, (name,))
        return rows[0] if rows else None

    def _turn_columns(self, number: int, first: int) -> tuple[list[int], list[int], Vectors]:
        """Reads ids, episodes and vectors of turns."""
        query = "SELECT key, vector, episode FROM turn WHERE key BETWEEN ? AND ? ORDER BY key"
        keys, vectors, owners = self._columns("turn", query, span_of(number, first))
        return [id_of(key) for key in keys], owners, vectors

    def _episodes(self, number: int, first: int) -> list[EpisodeRow]:
        bounds = span_of(number, first)
        open_keys = self._rows(
            "SELECT key FROM episode WHERE key BETWEEN ? AND ? AND vector IS NULL", bounds
        )
        query = (
            "SELECT key, vector, 0 FROM episode WHERE key BETWEEN ? AND ? "
            "AND vector IS NOT NULL ORDER BY key"
        )
        keys, vectors, _ = self._columns("episode", query, bounds)
        closed = [EpisodeRow(id=id_of(k), vector=v) for k, v in zip(keys, vectors, strict=True)]
        return [*closed, *(EpisodeRow(id=id_of(key), vector=None) for (key,) in open_keys)]

    def _clusters(self, number: int) -> list[ClusterRow]:
        members: dict[int, list[int]] = {}
        rows = self._rows(
            "SELECT cluster, episode FROM member WHERE cluster BETWEEN ? AND ? "
            "ORDER BY cluster, episode",
            span_of(number),
        )
        for cluster, episode in rows:
            members.setdefault(cluster, []).append(episode)
        found = self._rows(
            "SELECT key, total, vector FROM cluster WHERE key BETWEEN ? AND ? ORDER BY key",
            span_of(number),
        )
        return [
            ClusterRow(
                id=id_of(key),
                members=tuple(members.get(key, ())),
                total=sum_from_bytes(total),
                vector=vector_from_bytes(vector),
            )
            for key, total, vector in found
        ]

    def _open_turns(self, number: int) -> list[Turn]:
        """Reads the newest episode, unless it is closed or all of it was forgotten."""
        query = (
            "SELECT key, role, at, text FROM turn WHERE key >> 32 = ?1 AND episode = "
            "(SELECT next_episode - 1 FROM thread JOIN episode ON key = (?1 << 32) + next_episode "
            "- 1 WHERE id = ?1 AND vector IS NULL) ORDER BY key"
        )
        return [_turn(*row) for row in self._rows(query, (number,))]

    def _write(self, thread: str, changes: Changes, counters: Counters) -> None:
        execute, many = self._connection.execute, self._connection.executemany
        (now,) = execute("UPDATE clock SET now = now + 1 RETURNING now").fetchone()
        removing = changes.removed_turns or changes.removed_episodes
        if removing:
            execute(SCRUB_IS_DUE)
        execute(
            "INSERT INTO thread (name, version, epoch, next_turn, next_episode, next_cluster) "
            "VALUES (?1, ?2, ?2, ?3, ?4, ?5) ON CONFLICT (name) DO UPDATE SET version = ?2, "
            "epoch = iif(?6, ?2, epoch), next_turn = ?3, next_episode = ?4, next_cluster = ?5",
            (thread, now, counters.turn, counters.episode, counters.cluster, bool(removing)),
        )
        (number,) = execute("SELECT id FROM thread WHERE name = ?", (thread,)).fetchone()
        base = number << SHIFT
        for table, column, ids in (
            ("turn", "key", changes.removed_turns),
            ("episode", "key", changes.removed_episodes),
            ("cluster", "key", changes.removed_clusters),
            ("member", "cluster", (*changes.removed_clusters, *changes.rewritten)),
        ):
            many(f"DELETE FROM {table} WHERE {column} = ?", [(base + i,) for i in ids])  # noqa: S608
        many(
            "INSERT INTO turn VALUES (?, ?, ?, ?, ?, ?)",
            (
                (
                    base + r.turn.id,
                    r.episode,
                    r.turn.role,
                    r.turn.at,
                    vector_to_bytes(r.vector),
                    r.turn.text,
                )
                for r in changes.turns
            ),
        )
        many(
            "INSERT OR REPLACE INTO episode VALUES (?, ?)",
            (
                (base + e.id, e.vector if e.vector is None else vector_to_bytes(e.vector))
                for e in changes.episodes
            ),
        )
        many(
            "INSERT OR REPLACE INTO cluster VALUES (?, ?, ?)",
            (
                (base + c.id, sum_to_bytes(c.total), vector_to_bytes(c.vector))
                for c in changes.clusters
            ),
        )
        many(
            "INSERT INTO member VALUES (?, ?)",
            ((base + cluster, episode) for cluster, episode in changes.memberships()),
        )

    def _delete(self, thread: str) -> bool:
        row = self._thread(thread)
        if row is None:
            return False
        bounds = span_of(row[0])
        execute = self._connection.execute
        for table, column in (
            ("turn", "key"),
            ("episode", "key"),
            ("cluster", "key"),
            ("member", "cluster"),
        ):
            execute(f"DELETE FROM {table} WHERE {column} BETWEEN ? AND ?", bounds)  # noqa: S608
        execute("DELETE FROM thread WHERE id = ?", (row[0],))
        return True


def _pieces(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (ids[start : start + READ] for start in range(0, len(ids), READ))


def _turn(key: int, role: str, at: float | None, text: str) -> Turn:
    return Turn(id=id_of(key), role=role, text=text, at=at)
