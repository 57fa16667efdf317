"""The data types of the public API: turns, episodes, hits, receipts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from tsim.excerpt import excerpt
from tsim.markup import card, cards

USER_ROLE = "user"
# The paper calls this speaker "model"; most chat APIs call it "assistant".
MODEL_ROLES = frozenset({"model", "assistant"})

# What may be noted about a turn: a few names with simple values.
Meta: TypeAlias = Mapping[str, str | int | float | bool | None]


class View(StrEnum):
    """The three views through which an episode can be found."""

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
    """A turn to be added.

    Attributes:
        role: The speaker: `user`, `model` (or `assistant`), or any other name.
        text: The text of the turn, unchanged.
        at: Seconds since the epoch, if known.
        id: What the turn is called where it comes from. A thread has one turn for each such id.
        meta: Names and values to keep with the turn.
    """

    role: str
    text: str
    at: float | None = None
    id: str | None = None
    meta: Meta | None = field(default=None, hash=False)

    def numbered(self, number: int) -> "Turn":
        """Returns the turn as it is stored under a number."""
        return Turn(
            id=number,
            role=self.role,
            text=self.text,
            at=self.at,
            external_id=self.id,
            meta=self.meta,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A stored turn. Ids count from 0 within a thread and are never reused.

    Attributes:
        id: Its number in the thread.
        role: The speaker.
        text: The whole text, unchanged.
        at: Seconds since the epoch, if known.
        external_id: What it is called where it comes from, if that was given.
        meta: Names and values that were given with it, sorted by name; None if there are none.
        shown: The parts of the text that a hit shows, as ranges of characters (first, after last)
            in order; None for all of it.
    """

    id: int
    role: str
    text: str
    at: float | None = None
    external_id: str | None = None
    meta: Meta | None = field(default=None, hash=False)
    shown: tuple[tuple[int, int], ...] | None = None

    def again(self) -> NewTurn:
        """Returns the turn as it was added."""
        return NewTurn(
            role=self.role, text=self.text, at=self.at, id=self.external_id, meta=self.meta
        )

    def __repr__(self) -> str:
        """Returns the turn with the beginning of its text."""
        at = "" if self.at is None else f", at={self.at:.0f}"
        return f"Turn({self.id}, {self.role}: {excerpt(self.text, 60)!r}{at})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A run of consecutive turns that belong together.

    Attributes:
        id: Counts from 0 within a thread; never reused.
        turns: Its turns in order, without forgotten ones.
        open: Whether the next turn may still join it.
    """

    id: int
    turns: tuple[Turn, ...]
    open: bool = False

    def __repr__(self) -> str:
        """Returns the id, the turns' ids and the beginning of the first turn."""
        state = ", open" if self.open else ""
        return f"Episode({self.id}, turns {ids(self.turns)}{state}: {_beginning(self.turns)})"

    def _repr_html_(self) -> str:
        state = ", open" if self.open else ""
        return card(f"episode {self.id}, turns {ids(self.turns)}{state}", map(_said, self.turns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One contribution to the score of an episode.

    Attributes:
        term: The term of the score it belongs to.
        id: Id of the turn (raw), episode (summary, expansion, neighbour) or cluster.
        similarity: Its cosine with the query. For expansion, the cosine of the seed and this
            episode; for neighbour, the decay factor for the distance.
        points: The amount it added to the score.
    """

    term: Term
    id: int
    similarity: float
    points: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """The terms of an episode's score, which is their sum.

    Attributes:
        raw: From its own turns.
        summary: From its summary.
        cluster: From clusters that expand to it.
        expansion: From high-scoring episodes that are similar to it.
        neighbour: From high-scoring episodes next to it in time.
        evidence: The hits behind the terms, strongest first.
    """

    raw: float = 0.0
    summary: float = 0.0
    cluster: float = 0.0
    expansion: float = 0.0
    neighbour: float = 0.0
    evidence: tuple[Evidence, ...] = ()

    def __str__(self) -> str:
        """Returns the non-zero terms in one line."""
        terms = ((term, getattr(self, term)) for term in Term)
        return ", ".join(f"{term} {points:.2f}" for term, points in terms if points)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanWhy:
    """Why a span was chosen at query time, and why it begins and ends where it does.

    Attributes:
        anchor: The most relevant turn of the span.
        dense: Cosine of the query with that turn, in part with its nearest sentence.
        lexical: Share of the total weight of the query's words that the span contains.
        share: Relevance of the anchor relative to the most relevant turn of the thread, from 0
            to 1.
        words: The query's words in the span, with their share of the weight, heaviest first.
        resumes: The turn whose topic seems to resume here, if the span was chosen for that reason.
        clues: The rare words of that topic in the anchor or in the two turns on either side of it,
            with their weight in nats, heaviest first.
        opens: Probability that a new topic begins with its first turn.
        closes: Probability that a new topic begins after its last turn; 1 at the end of the thread.
        evidence: The anchor as evidence.
        relevance: Probability that the span holds what was asked.
        alone: Probability that a single turn holds what was asked, rather than a run of turns.
        terms: What the features of the anchor, or of the run around it if that is more likely,
            added to its log odds, largest first; `time` if it was said at the time that the
            question is about.
    """

    anchor: int
    dense: float
    lexical: float
    share: float
    relevance: float = 0.0
    alone: float = 0.0
    terms: tuple[tuple[str, float], ...] = ()
    words: tuple[tuple[str, float], ...] = ()
    resumes: int | None = None
    clues: tuple[tuple[str, float], ...] = ()
    opens: float = 1.0
    closes: float = 1.0
    evidence: tuple[Evidence, ...] = ()

    def __str__(self) -> str:
        """Returns the explanation as one sentence."""
        named = ", ".join(f"{word} {weight:.0%}" for word, weight in self.words[:4])
        shared = ", ".join(word for word, _ in self.clues[:4])
        again = f"it shares rare words with the topic of turn {self.resumes} ({shared}); "
        return (
            f"relevance {self.relevance:.0%}; {again if self.resumes is not None else ''}"
            f"turn {self.anchor} is {self.share:.0%} as relevant as the best (cosine "
            f"{self.dense:.2f}); the span has {self.lexical:.0%} of the question's word weight "
            f"({named or 'none'}); probability of a new topic: {self.opens:.0%} at its start, "
            f"{self.closes:.0%} after it"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Turns that match a query.

    Attributes:
        episode: Id of the episode; for a span chosen at query time, the episode of its anchor.
        turns: The turns to show: a whole episode, the best part of a long one, or a span. Of long
            turns, only some passages may be shown: see `Turn.shown`.
        episodes: Ids of all episodes that its turns belong to, ascending, as `Thread.episodes`
            lists them. A span chosen at query time may be part of several.
        thread: Name of the thread.
        score: The score it was ranked by.
        why: How the score was computed.
        relevance: Probability that it holds what was asked, comparable across queries and threads;
            None for presets without one.
    """

    episode: int
    turns: tuple[Turn, ...]
    score: float
    why: Why | SpanWhy
    relevance: float | None = None
    episodes: tuple[int, ...] = ()
    thread: str = ""

    def __repr__(self) -> str:
        """Returns where it is, how relevant it is, and the beginning of its first turn."""
        rank = "score" if self.relevance is None else "relevance"
        value = self.score if self.relevance is None else self.relevance
        where = f"{self.thread!r}, turns {ids(self.turns)}"
        return f"Hit({where}, {rank} {value:.2f}: {_beginning(self.turns)})"

    def _repr_html_(self) -> str:
        rank = (
            f"score {self.score:.2f}"
            if self.relevance is None
            else f"relevance {self.relevance:.0%}"
        )
        where = f"{self.thread}, turns {ids(self.turns)}, {rank}"
        return card(where, map(_said, self.turns), why=str(self.why))


class Hits(list[Hit]):
    """What was found, best first; a list that notebooks show."""

    def _repr_html_(self) -> str:
        return cards((hit._repr_html_() for hit in self), "hits", len(self))


class Episodes(list[Episode]):
    """Episodes in order; a list that notebooks show."""

    def _repr_html_(self) -> str:
        return cards((one._repr_html_() for one in self), "episodes", len(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class NearTurn:
    """A turn that is near to a query.

    Attributes:
        turn: The turn.
        cosine: The cosine of its vector, or of the nearest of its passages, with the query's.
    """

    turn: Turn
    cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The result of adding a turn.

    Attributes:
        turn: The id of the turn.
        episode: The episode it joined.
        closed: The episode that it closed, if any.
        views: The views in which it can now be found.
        known: Whether the turn was there already, under the same external id. Receipts are compared
            without it.
    """

    turn: int
    episode: int
    closed: int | None = None
    views: tuple[View, ...] = (View.RAW,)
    known: bool = field(default=False, compare=False)

    def __repr__(self) -> str:
        """Returns the turn, its episode, and the episode that it closed."""
        closed = "" if self.closed is None else f", closed={self.closed}"
        return f"Receipt(turn={self.turn}, episode={self.episode}{closed})"


class Receipts(list[Receipt]):
    """The receipts of turns that were added together, in order.

    Attributes:
        skipped: What the messages held that is not text, counted by kind.
    """

    def __init__(
        self, receipts: Iterable[Receipt] = (), *, skipped: Mapping[str, int] | None = None
    ) -> None:
        """Holds receipts, and what was left out."""
        super().__init__(receipts)
        self.skipped: dict[str, int] = dict(skipped or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPreview:
    """What a `forget` would remove, or what a question may mean.

    Attributes:
        thread: Name of the thread.
        turns: Ids of the turns, ascending; for a question, best first.
            `thread.forget(turns=preview.turns)` removes them.
        lines: The beginning of each turn, with its speaker, on one line.
        relevances: For a question, how likely each turn and what is around it hold what was asked;
            None for presets without relevances, and where nothing was asked.
    """

    thread: str
    turns: tuple[int, ...] = ()
    lines: tuple[str, ...] = ()
    relevances: tuple[float, ...] | None = None

    def __len__(self) -> int:
        """Returns the number of turns."""
        return len(self.turns)

    def __repr__(self) -> str:
        """Returns the number of turns and the first of them."""
        first = f": {self.turns[0]} {self.lines[0]}" if self.turns else ""
        more = ", …" if len(self) > 1 else ""
        return f"ForgetPreview({self.thread!r}, {len(self)} turns{first}{more})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What a `forget` removed and rebuilt.

    Attributes:
        turns: Removed turns.
        episodes: Removed episodes, which had no turns left.
        rebuilt_episodes: Episodes that lost some of their turns; summaries, if the preset makes
            them, were recomputed.
        rebuilt_clusters: Clusters whose centre and description were recomputed.
        removed_clusters: Clusters that lost their last episode.
        scrubbed: Whether the removed bytes have been erased from the file, and their vectors from
            the embedder's cache, if it has one. False if others had one of them open: searches no
            longer find the removed turns, but their bytes may stay in a write-ahead log until the
            next `forget` or `verify` without other readers. In PostgreSQL it is about the files of
            the tables. Nothing is known of the log of a database server, its replicas, backups,
            exports and the caches of other programs.
    """

    turns: tuple[int, ...]
    episodes: tuple[int, ...] = ()
    rebuilt_episodes: tuple[int, ...] = ()
    rebuilt_clusters: tuple[int, ...] = ()
    removed_clusters: tuple[int, ...] = ()
    scrubbed: bool = True


def ids(turns: Sequence[Turn]) -> str:
    """Returns the ids of consecutive turns as they are written everywhere: `3-9`, or `7`."""
    first, last = turns[0].id, turns[-1].id
    return str(first) if first == last else f"{first}-{last}"


def _said(turn: Turn) -> tuple[str, str]:
    shown = ((0, len(turn.text)),) if turn.shown is None else turn.shown
    return turn.role, " … ".join(turn.text[first:last] for first, last in shown)


def _beginning(turns: Sequence[Turn]) -> str:
    return repr(excerpt(f"{turns[0].role}: {turns[0].text}", 60))
