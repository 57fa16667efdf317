"""Rerankers: late interaction over token vectors, or a cross-encoder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from scaleqa.errors import DataError
from tsim import environment
from tsim.embed import CrossEncoder, Embedder, TokenEncoder, token_encoder
from tsim.toolkit import unit

DIGITS = 6


class Reranker(Protocol):
    """Scores passages (ranges of turn positions) for a question."""

    label: str

    @property
    def vectors(self) -> int:
        """Number of vectors kept."""
        ...

    def add(self, texts: Sequence[str]) -> None:
        """Adds the next turns."""
        ...

    def scores(self, question: str, passages: Sequence[range]) -> list[float]:
        """Returns a score per passage; higher is better."""
        ...


class MaxSim:
    """Late interaction: each token of the question is matched to its nearest in the passage.

    Turns are encoded when they are added, because at request time each turn of a passage would need
    a forward pass. Half precision is enough, since scores are rounded anyway.
    """

    label = "maxsim"

    def __init__(self, encoder: TokenEncoder) -> None:
        """Starts empty."""
        self.vectors = 0
        self._encoder = encoder
        self._turns: list[npt.NDArray[np.float16]] = []

    def add(self, texts: Sequence[str]) -> None:
        """Encodes turns."""
        for states in self._encoder.token_vectors(texts):
            self._turns.append(unit(states).astype(np.float16))
            self.vectors += len(states)

    def scores(self, question: str, passages: Sequence[range]) -> list[float]:
        """Returns the mean over the question's tokens of the highest cosine in each passage."""
        tokens = unit(self._encoder.token_vectors([question])[0])
        # Turn by turn, because passages overlap, and because the shape of a product then depends
        # only on the question and the turn.
        nearest = {
            turn: (self._turns[turn].astype(np.float32) @ tokens.T).max(axis=0)
            for turn in sorted({turn for passage in passages for turn in passage})
        }
        found = [np.max([nearest[turn] for turn in passage], axis=0) for passage in passages]
        return [round(float(best.mean()), DIGITS) for best in found]


class CrossEncoded:
    """Scores each passage together with the question, so nothing can be precomputed."""

    label = "cross-encoder"
    vectors = 0

    def __init__(self, encoder: CrossEncoder) -> None:
        """Starts empty."""
        self._encoder = encoder
        self._texts: list[str] = []

    def add(self, texts: Sequence[str]) -> None:
        """Keeps the texts of turns."""
        self._texts += texts

    def scores(self, question: str, passages: Sequence[range]) -> list[float]:
        """Returns the model's scores."""
        texts = ["\n".join(self._texts[turn] for turn in passage) for passage in passages]
        return [round(float(score), DIGITS) for score in self._encoder.scores(question, texts)]


def open_reranker(choice: str, embedder: Embedder) -> Reranker | None:
    """Opens `maxsim`, a cross-encoder by the path of its directory, or `none`.

    Raises:
        DataError: There is no such reranker, or the embedder gives no token vectors.
    """
    if choice == "none":
        return None
    if choice == "maxsim":
        encoder = token_encoder(embedder)
        if encoder is None:
            raise DataError(
                f"{embedder.identity} gives no token vectors, which reranker=maxsim needs; use an "
                "embedding model on this machine, reranker=DIRECTORY for a cross-encoder, or "
                "reranker=none to keep the fused order"
            )
        return MaxSim(encoder)
    if not Path(choice).is_dir():
        raise DataError(
            f"reranker={choice!r} is not a directory; write maxsim, none, or the path of a "
            "cross-encoder in Hugging Face layout, such as a copy of "
            "cross-encoder/ms-marco-MiniLM-L-6-v2"
        )
    return CrossEncoded(CrossEncoder(Path(choice), graphs=environment.cache_dir() / "graphs"))
