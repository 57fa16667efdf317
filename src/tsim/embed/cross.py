"""Cross-encoders on ONNX Runtime: a question and a passage in, one score out."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tsim.embed.bert import BertConfig, build_scorer
from tsim.embed.protocol import require_text
from tsim.embed.runtime import (
    Session,
    equal_lengths,
    kept_graph,
    read_json,
    read_tokenizer,
    read_weights,
    weights_file,
)
from tsim.errors import ModelError
from tsim.vectors import Vector
from tsim.weights import sha256_of

# Rerankers are trained on pairs of at most this length, even if they have more positions.
MOST_TOKENS = 512


class CrossEncoder:
    """Scores pairs of texts with a model from a directory in Hugging Face layout.

    BERT classifiers are built from safetensors; other architectures need an ONNX export. As with
    embedders, pairs of equal length share a batch and nothing is padded.
    """

    def __init__(self, directory: Path, *, graphs: Path, threads: int | None = None) -> None:
        """Opens the model.

        Args:
            directory: Contains `config.json`, `tokenizer.json` and weights.
            graphs: Directory in which graphs built from safetensors are cached.
            threads: Threads per forward pass. Defaults to all available cores.

        Raises:
            ModelError: The directory contains no usable cross-encoder.
        """
        weights = weights_file(directory)
        config = read_json(directory / "config.json")
        limit = min(MOST_TOKENS, int(config.get("max_position_embeddings", MOST_TOKENS)))
        name = directory.resolve().name
        self.identity = f"{name}@{sha256_of(weights)[:16]}/cross/{limit}"
        self._tokenizer = read_tokenizer(directory, limit)
        graph = weights
        if weights.suffix != ".onnx":
            shape = BertConfig.from_json(config)
            graph = kept_graph(
                graphs, self.identity, lambda: build_scorer(read_weights(weights), shape)
            )
        self._session = Session(graph, threads)
        if self._session.width != 1:
            raise ModelError(
                f"{directory} returns {self._session.width} numbers per pair, expected one score; "
                "use a reranker, such as cross-encoder/ms-marco-MiniLM-L-6-v2"
            )

    def scores(self, question: str, passages: Sequence[str]) -> Vector:
        """Scores each passage for a question. Higher is better; the scale depends on the model.

        Raises:
            InputError: One of the texts is not a valid string.
        """
        pairs = [(require_text(question), require_text(passage)) for passage in passages]
        encoded = self._tokenizer.encode_batch(pairs)
        out = np.empty(len(pairs), dtype=np.float32)
        for places in equal_lengths([pair.ids for pair in encoded]):
            ids = np.array([encoded[place].ids for place in places])
            types = np.array([encoded[place].type_ids for place in places])
            out[places] = self._session.run(ids, types)[:, 0]
        return out
