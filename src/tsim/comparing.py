"""A thread as another preset would remember it: replayed in RAM, with the vectors that are stored.

Nothing is written. What the other preset embeds besides turns, such as summaries or runs of turns,
is embedded once, which takes about as long as adding the turns did.
"""

import threading
from collections.abc import Sequence

from tsim.assemble import render
from tsim.embed import Embedder
from tsim.engine import Query
from tsim.errors import InputError
from tsim.finding import find
from tsim.presets import AnyPreset
from tsim.replay import Replay, passage_vectors
from tsim.store import Store, require_thread
from tsim.types import Hit

# Turns of a thread that is replayed.
MOST = 4_000


class Rehearsal:
    """One state of a thread under another preset. Safe to use from several threads.

    Attributes:
        thread: The name of the thread.
        preset: The preset.
        version: The version and epoch of the thread that was replayed.
    """

    def __init__(
        self, thread: str, preset: AnyPreset, version: tuple[int, int], replay: Replay
    ) -> None:
        """Takes a thread that was replayed; `rehearse` makes one."""
        self.thread = thread
        self.preset = preset
        self.version = version
        self._replay = replay
        self._lock = threading.Lock()

    def find(self, asked: Query) -> list[Hit]:
        """Finds what is relevant to a query that `Thread.prepare` checked, best first."""
        with self._lock:
            found = find(self._replay.engine, asked, self._replay.host, self.thread)
        return found.within(asked, self.preset.settings)

    def write(self, hits: Sequence[Hit]) -> str:
        """Returns hits as text for a prompt, in the preset's order."""
        return render(self.preset.settings.arrange(hits))


def rehearse(
    store: Store,
    embedder: Embedder,
    thread: str,
    preset: AnyPreset,
    *,
    most: int = MOST,
    known: Rehearsal | None = None,
) -> Rehearsal:
    """Replays a thread with another preset.

    Args:
        store: The memory.
        embedder: The model it was written with.
        thread: The name of the thread.
        preset: The preset to use.
        most: Maximum number of turns.
        known: An earlier rehearsal of the same thread, which is returned if nothing has changed.

    Raises:
        InputError: The thread has more turns.
        ThreadMissingError: It does not exist.
    """
    with store.snapshot() as reader:
        require_thread(store.location, reader, thread)
        version = reader.version(thread)
        if known and (known.thread, known.preset, known.version) == (thread, preset, version):
            return known
        count = reader.count(thread)
        if count > most:
            raise InputError(
                f"the thread has {count:,} turns; at most {most:,} can be compared under another "
                "preset, since they are replayed"
            )
        state = reader.load(thread)
        turns = [turn for _, turn in reader.all_turns(thread)]
    replay = Replay(preset, embedder)
    replay.known.update(passage_vectors(state))
    replay.extend(turns)
    return Rehearsal(thread, preset, version, replay)
