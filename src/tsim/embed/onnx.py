"""BERT-family encoders on ONNX Runtime, without torch."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto
from pydantic import BaseModel, ValidationError
from tokenizers import Tokenizer

from tsim.embed import common, mpnet
from tsim.embed.bert import BertConfig, Weights, build_graph
from tsim.embed.models import BGE_QUERY_PREFIX, PACKED_FILE, Pooling, Settings, identity_of
from tsim.embed.packed import packed_weights
from tsim.embed.protocol import require_text
from tsim.embed.runtime import (
    Session,
    equal_lengths,
    kept_graph,
    read_json,
    read_tokenizer,
    read_weights,
    tokenizer_file,
    weights_file,
)
from tsim.errors import InputError, ModelError
from tsim.vectors import Vector, Vectors, unit
from tsim.weights import sha256_of

# Characters kept per token of the limit. Truncating the text first avoids tokenizing a megabyte for
# its first 256 tokens. A token has at least one character; the factor is generous because leading
# whitespace yields no token.
CHARACTERS_PER_TOKEN = 64


def _trust(_: Path) -> None:
    """Checks nothing, where it is not known what the files of a model should be."""


class _PoolingFile(BaseModel):
    pooling_mode_cls_token: bool = False
    pooling_mode_mean_tokens: bool = False


def read_settings(directory: Path) -> Settings:
    """Reads pooling, length limit and prefixes from a directory in Hugging Face layout.

    Raises:
        ModelError: The directory configures something other than mean or CLS pooling.
    """
    pooling = Pooling.MEAN
    pooling_file = directory / "1_Pooling" / "config.json"
    if pooling_file.is_file():
        try:
            wanted = _PoolingFile.model_validate_json(pooling_file.read_bytes())
        except ValidationError as error:
            raise ModelError(f"{pooling_file} cannot be read: {error}") from error
        if wanted.pooling_mode_cls_token == wanted.pooling_mode_mean_tokens:
            raise ModelError(
                f"{pooling_file} must enable exactly one of mean and CLS pooling; other kinds of "
                "pooling are not supported"
            )
        pooling = Pooling.CLS if wanted.pooling_mode_cls_token else Pooling.MEAN
    config = read_json(directory / "config.json")
    limit = int(config.get("max_position_embeddings", 512))
    if config.get("model_type") == mpnet.MODEL_TYPE:
        limit -= mpnet.UNUSED
    sentence = directory / "sentence_bert_config.json"
    if sentence.is_file():
        limit = min(limit, int(read_json(sentence).get("max_seq_length") or limit))
    bge = "bge-" in directory.name.lower() and pooling is Pooling.CLS
    prefix = BGE_QUERY_PREFIX if bge else ""
    text_prefix = ""
    prompts = directory / "config_sentence_transformers.json"
    if prompts.is_file():
        found = read_json(prompts).get("prompts", {})
        prefix = found.get("query") or prefix
        text_prefix = found.get("passage") or found.get("document") or text_prefix
    return Settings(pooling=pooling, max_tokens=limit, query_prefix=prefix, text_prefix=text_prefix)


class OnnxEmbedder:
    """Runs an encoder from a directory in Hugging Face layout.

    Texts of equal token length share a batch, so nothing is padded and a text's vector is
    bit-identical whether it is embedded alone or with others.
    """

    def __init__(
        self,
        directory: Path,
        *,
        graphs: Path,
        settings: Settings | None = None,
        identity: str | None = None,
        threads: int | None = None,
        alone: bool = True,
        check: Callable[[Path], None] | None = None,
    ) -> None:
        """Opens the model.

        Args:
            directory: Contains `config.json`, `tokenizer.json` and weights, or all in one file.
            graphs: Directory in which graphs built from safetensors are cached.
            settings: Pooling and limits. Read from the directory by default.
            identity: Identifies the weights. Computed from their hash by default.
            threads: Threads per forward pass. Defaults to all available cores.
            alone: Whether no other encoder runs in turns with it; see `Session`.
            check: Called with each file of the model before it is read; raises if it is damaged.
                Weights are not read if a graph built from them is already in `graphs`, which has
                a checksum of its own.

        Raises:
            ModelError: The directory contains no usable encoder.
        """
        weights = weights_file(directory)
        check = check or _trust
        self.settings = settings or read_settings(directory)
        self.forward_passes = 0
        self._identity = identity or identity_of(
            directory.resolve().name, sha256_of(weights), self.settings
        )
        check(tokenizer_file(directory))
        self._tokenizer = read_tokenizer(directory, self.settings.max_tokens)
        graph = weights
        if weights.suffix == ".onnx":
            check(weights)
        else:
            config = directory / "config.json"

            def build() -> ModelProto:
                check(weights)
                if weights.name == PACKED_FILE:
                    return build_graph(*packed_weights(weights))
                check(config)
                return self._graph(read_weights(weights), read_json(config))

            graph = kept_graph(graphs, self._identity, build)
        self._session = Session(graph, threads, alone=alone)
        self._dimension = int(self._session.width)

    def _graph(self, weights: Weights, config: dict[str, Any]) -> ModelProto:
        biases = None
        if config.get("model_type") == mpnet.MODEL_TYPE:
            weights, config, biases = mpnet.as_bert(weights, config, self.settings.max_tokens)
        return build_graph(
            weights, BertConfig.from_json(config), biases, quantised=self.settings.quantised
        )

    @property
    def identity(self) -> str:
        """Identifies model, weights and settings."""
        return self._identity

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return self._dimension

    @cached_property
    def reads(self) -> int:
        """Number of tokens that the encoder reads of a text, without special tokens and prefix."""
        special: int = self._tokenizer.num_special_tokens_to_add(False)
        (prefix,) = self.count_tokens([self.settings.text_prefix])
        return self.settings.max_tokens - special - prefix

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Returns the number of tokens of each text, without special tokens."""
        found = self._unlimited.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(each.ids) for each in found]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages and returns one row per text, in order.

        Raises:
            InputError: One of the texts is not a valid string.
        """
        return self._embed(texts, self.settings.text_prefix)

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """Returns the encoder's states before pooling: one matrix per text, one row per token.

        Special tokens are included; rows are not scaled.

        Raises:
            InputError: One of the texts is not a valid string.
        """
        found: dict[int, Vectors] = {}
        for places, hidden in self._hidden(texts, self.settings.text_prefix):
            found.update(zip(places, hidden, strict=True))
        return [found[place] for place in range(len(texts))]

    def embed_query(self, text: str) -> Vector:
        """Embeds a search query, with the model's query prefix if it has one."""
        row: Vector = self.embed_queries([text])[0]
        return row

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embeds search queries in one pass."""
        return self._embed(texts, self.settings.query_prefix)

    @cached_property
    def _unlimited(self) -> Tokenizer:
        """The tokenizer without truncation."""
        tokenizer = Tokenizer.from_str(self._tokenizer.to_str())
        tokenizer.no_truncation()
        return tokenizer

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        out = np.empty((len(texts), self._dimension), dtype=np.float32)
        for places, hidden in self._hidden(texts, prefix):
            out[places] = self._pool(hidden)
        vectors = unit(out)
        if self.settings.common:
            return common.remove(vectors, common.load(self.settings.common))
        return vectors

    def _hidden(self, texts: Sequence[str], prefix: str) -> Iterator[tuple[list[int], Vectors]]:
        """Runs the encoder; yields the positions of texts and their states, batch by batch."""
        if isinstance(texts, str):
            raise InputError("expected a list of texts, found one string; wrap it in a list")
        limit = CHARACTERS_PER_TOKEN * self.settings.max_tokens
        cut = [prefix + require_text(text)[:limit] for text in texts]
        encoded = [e.ids for e in self._tokenizer.encode_batch(cut)]
        for places in equal_lengths(encoded):
            self.forward_passes += 1
            yield places, self._session.run(np.array([encoded[place] for place in places]))

    def _pool(self, hidden: Vectors) -> Vectors:
        if self.settings.pooling is Pooling.CLS:
            return np.asarray(hidden[:, 0], dtype=np.float32)
        # One text at a time: a reduction over the whole batch may sum in a different order.
        return np.stack([text.mean(axis=0) for text in hidden])
