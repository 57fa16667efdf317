"""Embeds turns passage by passage, so that no part of a long one is left unread.

Sentences are embedded in addition, where a turn or passage has several.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from tsim.embed.protocol import Embedder, token_counter
from tsim.segment import (
    CHARACTERS_PER_TOKEN,
    PASSAGE_TOKENS,
    WHOLE_TOKENS,
    divide,
    sentences,
)
from tsim.vectors import Vectors

# The characters at which the passages of a text begin; the first is 0.
Starts: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sentences:
    """The sentences of some texts.

    Attributes:
        starts: The characters at which those of each text begin; none if it is one sentence.
        vectors: The vectors of all of them, in order.
    """

    starts: Sequence[Starts]
    vectors: Vectors


def find_passages(embedder: Embedder, texts: Sequence[str]) -> list[Starts]:
    """Divides long texts; others have one passage."""
    if not texts:  # nothing to embed, so that the model need not be loaded
        return []
    counter = token_counter(embedder)
    # No tokenizer makes more tokens of a text than it has bytes.
    whole = min(counter.reads, WHOLE_TOKENS)
    longer = [text for text in texts if len(text.encode()) > whole]
    countable = [text for text in longer if len(text) <= CHARACTERS_PER_TOKEN * whole]
    counts = dict(zip(countable, counter.count_tokens(countable), strict=True))
    most = min(counter.reads, PASSAGE_TOKENS)
    starts = {
        text: divide(text, counter.count_tokens, most)
        for text in longer
        if text not in counts or counts[text] > whole
    }
    return [starts.get(text, (0,)) for text in texts]


def find_sentences(texts: Sequence[str], starts: Sequence[Starts]) -> list[Starts]:
    """Returns where the sentences of texts begin, given their passages.

    Those of a passage that is one sentence are left out: they would be the same text again.
    """
    return [
        tuple(
            first + start
            for first, last in pairwise([*begins, len(text)])
            for start in sentences(text[first:last])
        )
        for text, begins in zip(texts, starts, strict=True)
    ]


def ends(passages: Starts, starts: Starts) -> list[int | None]:
    """Returns where sentences end: where the next one, or a passage, begins; None for the last."""
    edges = sorted({*passages, *starts})
    following = dict(zip(edges, [*edges[1:], None], strict=True))
    return [following[start] for start in starts]


def embed_passages(
    embedder: Embedder, texts: Sequence[str], starts: Sequence[Starts] | None
) -> Vectors:
    """Embeds the passages of texts, or texts that are not divided; one row per passage."""
    if starts is None:
        return embedder.embed(texts)
    return embedder.embed(passage_texts(texts, starts))


def passage_texts(texts: Sequence[str], starts: Sequence[Starts]) -> list[str]:
    """Returns the passages of texts."""
    return [
        text[start:end]
        for text, begins in zip(texts, starts, strict=True)
        for start, end in pairwise([*begins, len(text)])
    ]


def embed_turns(
    embedder: Embedder, texts: Sequence[str], starts: Sequence[Starts]
) -> tuple[Vectors, Sentences]:
    """Embeds the passages of texts and their sentences, in one call."""
    passages = passage_texts(texts, starts)
    found = find_sentences(texts, starts)
    said = [
        text[start:end].strip()
        for text, divided, begins in zip(texts, starts, found, strict=True)
        for start, end in zip(begins, ends(divided, begins), strict=True)
    ]
    vectors = embedder.embed([*passages, *said])
    count = len(passages)
    return vectors[:count], Sentences(starts=found, vectors=vectors[count:])
