"""MPNet encoders, told as BERT encoders with biased attention.

MPNet differs from BERT in three ways: tensors have other names, positions begin at 2 and tokens
have no types, and every attention score gets a bias that depends on how far apart two tokens are.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tsim.embed.bert import Weights, tensor

MODEL_TYPE = "mpnet"
# Parts of the names of tensors, here and in BERT.
NAMES = {
    "attention.attn.q.": "attention.self.query.",
    "attention.attn.k.": "attention.self.key.",
    "attention.attn.v.": "attention.self.value.",
    "attention.attn.o.": "attention.output.dense.",
    "attention.LayerNorm.": "attention.output.LayerNorm.",
}
POSITIONS = "embeddings.position_embeddings.weight"
TYPES = "embeddings.token_type_embeddings.weight"
BIAS = "encoder.relative_attention_bias.weight"
# Rows of the table of positions that no token has: one unused, one for padding.
UNUSED = 2
# Distances from here on are told apart no further.
FARTHEST = 128


def as_bert(
    weights: Weights, config: Mapping[str, Any], most_tokens: int
) -> tuple[dict[str, Any], dict[str, Any], npt.NDArray[np.float32]]:
    """Returns weights and configuration as BERT has them, and the biases of attention.

    Args:
        weights: Tensors by their names in checkpoints.
        config: A Hugging Face `config.json`.
        most_tokens: Tokens of a text that are read: biases are [heads, tokens, tokens].

    Raises:
        ModelError: A tensor is missing.
    """
    found: dict[str, Any] = {}
    for name, value in weights.items():
        plain = name.removeprefix("mpnet.")
        for here, there in NAMES.items():
            plain = plain.replace(here, there)
        found[plain] = value
    places, table = tensor(found, POSITIONS)[UNUSED:], tensor(found, BIAS)
    found[POSITIONS] = places
    found[TYPES] = np.zeros((1, places.shape[1]), np.float32)
    tokens = np.arange(min(most_tokens, len(places)))
    numbers = _bucket(tokens[:, None] - tokens[None, :], len(table))
    told = {**config, "model_type": "bert", "max_position_embeddings": len(places)}
    return found, told, np.ascontiguousarray(table[numbers].transpose(2, 0, 1))


def _bucket(distance: npt.NDArray[np.int64], buckets: int) -> npt.NDArray[np.int64]:
    """Numbers distances: the first half for tokens before, the second for those after.

    In each half, short distances have a number each, and longer ones share numbers by magnitude.
    """
    half = buckets // 2
    exact = half // 2
    size = np.abs(distance)
    scale = np.log(FARTHEST / exact)
    # float32 as where the model was trained: at the borders of buckets it matters.
    shares = np.log(np.maximum(size, 1).astype(np.float32) / np.float32(exact)) / np.float32(scale)
    large = exact + (shares * np.float32(half - exact)).astype(np.int64)
    number = np.where(size < exact, size, np.minimum(large, half - 1))
    return np.where(distance < 0, number + half, number)
