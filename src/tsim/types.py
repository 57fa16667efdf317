"""The nouns of the memory: turns, episodes, hits, receipts."""

from dataclasses import dataclass
from enum import StrEnum

USER_ROLE = "user"
# The paper says "model"; the same speaker under the name most APIs give it.
MODEL_ROLES = frozenset({"model", "assistant"})


class View(StrEnum):
    """The three ways into an episode."""

    RAW = "raw"
    SUMMARY = "summary"
    CLUSTER = "cluster"


class Term(StrEnum):
    """The terms of an episode's score."""

    RAW = "raw"
    SUMMARY = "summary"
    CLUSTER = "cluster"
    EXPANSION = "expansion"
    NEIGHBOUR = "neighbour"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn on its way into the memory.

    Attributes:
        role: Who speaks: `user`, `model` (or `assistant`), or any other name.
        text: What is said, as it is.
        at: Seconds since the epoch, where known.
    """

    role: str
    text: str
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A stored turn; `id` counts the thread's turns from 0 and is never given twice."""

    id: int
    role: str
    text: str
    at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A run of consecutive turns that belong together.

    Attributes:
        id: Counts the thread's episodes from 0; never given twice.
        turns: Its turns in order, less those forgotten.
        open: Whether the next turn may still join it.
    """

    id: int
    turns: tuple[Turn, ...]
    open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One thing that spoke for an episode.

    Attributes:
        term: The term of the score it counts towards.
        id: The turn (raw), episode (summary, expansion, neighbour) or cluster it is.
        similarity: Its cosine with the query; for expansion, of the seed with this episode; for
            neighbour, the share that the distance leaves.
        points: What it added to the score.
    """

    term: Term
    id: int
    similarity: float
    points: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """The score of an episode, term by term; the terms add up to the score.

    Attributes:
        raw: From its own turns.
        summary: From its summary.
        cluster: From clusters that route to it.
        expansion: From strong episodes that resemble it.
        neighbour: From strong episodes next to it in time.
        evidence: The hits behind the terms, strongest first.
    """

    raw: float = 0.0
    summary: float = 0.0
    cluster: float = 0.0
    expansion: float = 0.0
    neighbour: float = 0.0
    evidence: tuple[Evidence, ...] = ()

    def __str__(self) -> str:
        """Says it in a line."""
        terms = ((term, getattr(self, term)) for term in Term)
        return ", ".join(f"{term} {points:.2f}" for term, points in terms if points)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanWhy:
    """Why a span was chosen at query time, and why it begins and ends where it does.

    Attributes:
        anchor: The turn in it that the question points to most.
        dense: Cosine of the query with that turn.
        lexical: Share of the weight of the query's words that stands in the span.
        share: How relevant the anchor is beside the most relevant turn of the thread, from 0 to 1.
        words: The query's words in the span, with their share of the weight, heaviest first.
        resumes: The turn whose topic seems to come up again here, where that is why the span was
            chosen.
        clues: The rare words of that topic in the anchor or in the two turns to either side of it,
            with what they tell (nats), most first.
        opens: How likely a new topic begins with its first turn.
        closes: How likely a new topic begins after its last turn; 1 at the end of the thread.
        evidence: The anchor as evidence.
    """

    anchor: int
    dense: float
    lexical: float
    share: float
    words: tuple[tuple[str, float], ...] = ()
    resumes: int | None = None
    clues: tuple[tuple[str, float], ...] = ()
    opens: float = 1.0
    closes: float = 1.0
    evidence: tuple[Evidence, ...] = ()

    def __str__(self) -> str:
        """Says it in a sentence."""
        named = ", ".join(f"{word} {weight:.0%}" for word, weight in self.words[:4])
        shared = ", ".join(word for word, _ in self.clues[:4])
        again = f"it shares rare words with the topic of turn {self.resumes} ({shared}); "
        return (
            f"{again if self.resumes is not None else ''}"
            f"turn {self.anchor} is {self.share:.0%} as relevant as the best (cosine "
            f"{self.dense:.2f}); words worth {self.lexical:.0%} of the question stand here "
            f"({named or 'none'}); a new topic begins here with {self.opens:.0%}, after it with "
            f"{self.closes:.0%}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Turns that answer a query.

    Attributes:
        episode: The episode's id; for spans chosen at query time, that of the turn it grew from.
        turns: The turns to show: a whole episode, its best part where it is capped, or a span.
        score: What it was ranked by.
        why: Where the score comes from.
    """

    episode: int
    turns: tuple[Turn, ...]
    score: float
    why: Why | SpanWhy


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of an added turn.

    Attributes:
        turn: The id it was given.
        episode: The episode it joined.
        closed: The episode that its arrival closed, if any.
        views: The views in which it can be found from now on.
    """

    turn: int
    episode: int
    closed: int | None = None
    views: tuple[View, ...] = (View.RAW,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What a `forget` removed and rebuilt.

    Attributes:
        turns: Removed turns.
        episodes: Removed episodes: all their turns are gone.
        rebuilt_episodes: Episodes that lost turns and were summarised again.
        rebuilt_clusters: Clusters whose centre and description were made again.
        removed_clusters: Clusters that lost their last episode.
        scrubbed: Whether the file is proved clean. False while others are reading it: what was
            removed cannot be found any more, but its bytes may stay in the write-ahead log until
            the next `forget` or `verify` that finds the file free.
    """

    turns: tuple[int, ...]
    episodes: tuple[int, ...] = ()
    rebuilt_episodes: tuple[int, ...] = ()
    rebuilt_clusters: tuple[int, ...] = ()
    removed_clusters: tuple[int, ...] = ()
    scrubbed: bool = True
