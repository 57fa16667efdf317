"""Embeds turns passage by passage, so that no part of a long one is left unread."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from tsim.embed.protocol import Embedder, token_counter
from tsim.segment import CHARACTERS_PER_TOKEN, PASSAGE_TOKENS, WHOLE_TOKENS, divide
from tsim.vectors import Vectors

# The characters at which the passages of a text begin; the first is 0.
Starts: TypeAlias = tuple[int, ...]


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


def embed_passages(
    embedder: Embedder, texts: Sequence[str], starts: Sequence[Starts] | None
) -> Vectors:
    """Embeds the passages of texts, or texts that are not divided; one row per passage."""
    if starts is None:
        return embedder.embed(texts)
    return embedder.embed(
        [
            text[start:end]
            for text, begins in zip(texts, starts, strict=True)
            for start, end in pairwise([*begins, len(text)])
        ]
    )
