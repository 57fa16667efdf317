"""MemGPT's tiers: a main context of limited size, recall storage and archival storage.

The main context is core memory and a queue of recent messages, preceded by a summary of all
messages that left it. Sizes are counted in whole words, so that sums are exact; options are given
in tokens.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scaleqa.errors import DataError
from scaleqa.packages import StreamTurn
from tsim.embed import Embedder
from tsim.toolkit import DenseIndex, Postings, Vector, indented, said, tokens

WARNING = 0.7  # of the room: above it the controller is asked to save what matters
KEPT = 0.5  # of the queue, when it is flushed
SUMMARY_SHARE = 0.2  # of the room, at most
CORE_SHARE = 0.1  # of the room, at most, for each block
LEAST_ROOM = 200
PERSONA = "I keep one long conversation and look up what was said."
# Takes the summary so far, the messages that leave, and the approximate tokens of the result.
Summariser = Callable[[str, Sequence[StreamTurn], int], str]


class RefusedError(Exception):
    """A call that cannot be carried out; the message is for the caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A passage in archival storage.

    Attributes:
        text: The text as inserted.
        turns: The turns whose whole text it contains.
    """

    text: str
    turns: tuple[int, ...]


def line(turn: StreamTurn) -> str:
    """Returns a message as it appears in a context."""
    return said(turn.role, turn.text)


def _plain(turn: StreamTurn) -> str:
    return f"{turn.role}: {turn.text}"


def words(text: str) -> int:
    """Counts whitespace words."""
    return len(text.split())


class Memory:
    """All tiers and the rules for moving between them; a controller decides what to keep.

    Attributes:
        core: The blocks of core memory.
        summary: The recursive summary of all messages that left the queue.
        queue: The messages in the main context, oldest first.
        messages: Recall storage: every message.
        passages: Archival storage.
    """

    def __init__(self, embedder: Embedder, summariser: Summariser, *, room: int) -> None:
        """Starts empty.

        Args:
            embedder: Embeds archival passages and queries.
            summariser: Makes the recursive summary.
            room: Tokens of the main context.

        Raises:
            DataError: There is too little room.
        """
        if room < LEAST_ROOM:
            raise DataError(
                f"window less budget leaves {room} tokens for the main context; "
                f"leave at least {LEAST_ROOM}"
            )
        self.core = {"persona": PERSONA, "human": ""}
        self.summary = ""
        self.queue: deque[StreamTurn] = deque()
        self.messages: list[StreamTurn] = []
        self.passages: list[Passage] = []
        self._room = tokens.words_within(room)
        self._queued = 0
        self._unseen = 0
        self._warned = False
        self._embedder = embedder
        self._summariser = summariser
        self._recall = Postings()
        self._archival = DenseIndex(embedder.dimension)

    def receive(self, turn: StreamTurn) -> None:
        """Adds a message to recall storage and to the end of the queue."""
        self.messages.append(turn)
        self._recall.append(turn.text)
        self.queue.append(turn)
        self._queued += words(line(turn))
        self._unseen += 1

    def pressed(self) -> bool:
        """Returns whether a memory-pressure warning is due.

        There is one between two flushes, and another if messages would leave that no warning
        covered.
        """
        used = self._used()
        if used > self._room and self._leaving() > len(self.queue) - self._unseen:
            return True
        return not self._warned and used > WARNING * self._room

    def unseen(self) -> list[StreamTurn]:
        """Returns the messages that no warning has covered yet, and marks them as covered."""
        fresh = list(self.queue)[len(self.queue) - self._unseen :]
        self._unseen = 0
        self._warned = True
        return fresh

    def full(self) -> bool:
        """Returns whether the queue must be flushed."""
        return self._used() > self._room

    def flush(self) -> None:
        """Evicts the older part of the queue, which then is in recall storage only.

        The new summary is made from the old one and the evicted messages.
        """
        evicted = [self.queue.popleft() for _ in range(self._leaving())]
        self._queued -= sum(words(line(turn)) for turn in evicted)
        self._unseen = min(self._unseen, len(self.queue))
        self._warned = False
        most = int(SUMMARY_SHARE * self._room)
        said = self._summariser(self.summary, evicted, tokens.from_words(most))
        self.summary = said if words(said) <= most else " ".join(said.split()[:most])

    def append_core(self, block: str, content: str) -> None:
        """Adds a line to a block of core memory.

        Raises:
            RefusedError: There is no such block, or it would exceed its limit.
        """
        self._write_core(block, f"{self._block(block)}\n{content}".strip())

    def replace_core(self, block: str, old: str, new: str) -> None:
        """Replaces a text in a block of core memory; an empty replacement deletes it.

        Raises:
            RefusedError: There is no such block or text, or the block would exceed its limit.
        """
        before = self._block(block)
        if not old or old not in before:
            raise RefusedError(f"{old!r} is not in block {block!r}; give its exact text")
        after = before.replace(old, new, 1)
        self._write_core(block, "\n".join(row for row in after.splitlines() if row.strip()))

    def archive(self, content: str) -> None:
        """Inserts a passage into archival storage.

        It counts as containing a message of the queue if the message is a line of its own.

        Raises:
            RefusedError: There is nothing to insert.
        """
        if not content.strip():
            raise RefusedError("content is empty; give the text to keep")
        # Whoever quotes a message may leave out what indents its lines.
        framed = f"\n{content}\n"
        held = tuple(
            turn.id
            for turn in self.queue
            if any(f"\n{quoted}\n" in framed for quoted in (line(turn), _plain(turn)))
        )
        self._archival.extend(self._embedder.embed([content]))
        self.passages.append(Passage(text=content, turns=held))

    def recall_scores(self, query: str) -> Vector:
        """Scores every message by BM25."""
        return self._recall.scores(query)

    def archival_scores(self, query: str) -> Vector:
        """Scores every passage by cosine."""
        return self._archival.scores(self._embedder.embed_query(query))

    def head(self) -> str:
        """Formats core memory and the summary."""
        parts = [f"[core memory: {block}]\n{text}" for block, text in self.core.items() if text]
        if self.summary:
            parts.append(f"[summary of earlier messages]\n{self.summary}")
        return "\n".join(map(indented, parts))

    def recent(self) -> str:
        """Formats the queue."""
        return "\n".join(["[recent messages]", *(line(turn) for turn in self.queue)])

    def _used(self) -> int:
        return words(self.head()) + words("[recent messages]") + self._queued

    def _leaving(self) -> int:
        """Returns how many messages a flush evicts: the oldest, down to half of the words."""
        left = self._queued
        for count, turn in enumerate(self.queue):
            if left <= KEPT * self._queued:
                return count
            left -= words(line(turn))
        return len(self.queue)

    def _block(self, block: str) -> str:
        if block not in self.core:
            raise RefusedError(f"no block {block!r}; there are {', '.join(self.core)}")
        return self.core[block]

    def _write_core(self, block: str, text: str) -> None:
        most = int(CORE_SHARE * self._room)
        if words(text) > most:
            raise RefusedError(
                f"block {block!r} would have {words(text)} words of at most {most}; shorten it "
                "with core_memory_replace or insert into archival memory"
            )
        self.core[block] = text
