"""BERT-family encoders on ONNX Runtime, without torch."""

import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from pydantic import BaseModel, ValidationError
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from tsim.embed.bert import OPSET, BertConfig, build_graph
from tsim.embed.models import BGE_QUERY_PREFIX, Pooling, Settings, identity_of
from tsim.embed.protocol import require_text
from tsim.embed.weights import sha256_of
from tsim.errors import InputError, ModelError
from tsim.vectors import Vector, Vectors, unit

# Larger batches no longer gain speed on CPUs, and keep hidden states in cache-sized pieces.
BATCH_TOKENS = 2048
# A token is at least one character, so text past this point cannot reach the encoder; cutting early
# keeps a megabyte of text from being tokenized for its first 256 tokens. Generous, because leading
# whitespace yields no token.
CHARACTERS_PER_TOKEN = 64


class _PoolingFile(BaseModel):
    pooling_mode_cls_token: bool = False
    pooling_mode_mean_tokens: bool = False


def read_settings(directory: Path) -> Settings:
    """Reads pooling, length limit and query prefix from a directory in Hugging Face layout.

    Raises:
        ModelError: The directory asks for something other than mean or CLS pooling.
    """
    pooling = Pooling.MEAN
    pooling_file = directory / "1_Pooling" / "config.json"
    if pooling_file.is_file():
        try:
            wanted = _PoolingFile.model_validate_json(pooling_file.read_bytes())
        except ValidationError as error:
            raise ModelError(f"{pooling_file} cannot be read: {error}") from error
        if wanted.pooling_mode_cls_token == wanted.pooling_mode_mean_tokens:
            raise ModelError(f"{pooling_file} asks for neither mean nor CLS pooling alone")
        pooling = Pooling.CLS if wanted.pooling_mode_cls_token else Pooling.MEAN
    limit = int(_read_json(directory / "config.json").get("max_position_embeddings", 512))
    sentence = directory / "sentence_bert_config.json"
    if sentence.is_file():
        limit = min(limit, int(_read_json(sentence).get("max_seq_length") or limit))
    bge = "bge-" in directory.name.lower() and pooling is Pooling.CLS
    prefix = BGE_QUERY_PREFIX if bge else ""
    prompts = directory / "config_sentence_transformers.json"
    if prompts.is_file():
        prefix = _read_json(prompts).get("prompts", {}).get("query") or prefix
    return Settings(pooling=pooling, max_tokens=limit, query_prefix=prefix)


def machine_threads() -> int:
    """Returns the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class OnnxEmbedder:
    """Runs an encoder from a directory in Hugging Face layout.

    Texts of equal token length share a batch, so nothing is padded and a text's vector is the same
    to the last bit alone or in any company.
    """

    def __init__(
        self,
        directory: Path,
        *,
        graphs: Path,
        settings: Settings | None = None,
        identity: str | None = None,
        threads: int | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        """Opens the model.

        Args:
            directory: Holds `config.json`, `tokenizer.json` and weights.
            graphs: Where graphs built from safetensors are kept for the next time.
            settings: Pooling and limits; read from the directory when not given.
            identity: Names the weights; computed from their hash when not given.
            threads: Threads of one forward pass; all allowed cores when not given.
            check: Called once, before a graph is built from the weights: raises if they are bad.

        Raises:
            ModelError: The directory holds no usable encoder.
        """
        if not directory.is_dir():
            raise ModelError(f"{directory} is not a directory; a model is one in HF layout")
        self.settings = settings or read_settings(directory)
        self.forward_passes = 0
        weights = _weights_file(directory)
        self._identity = identity or identity_of(
            directory.resolve().name, sha256_of(weights), self.settings
        )
        self._check = check
        self._tokenizer = _read_tokenizer(directory, self.settings)
        graph = weights if weights.suffix == ".onnx" else self._graph(directory, weights, graphs)
        self._session = _session(graph, threads or machine_threads())
        self._inputs = [value.name for value in self._session.get_inputs()]
        self._dimension = int(self._session.get_outputs()[0].shape[-1])

    @property
    def identity(self) -> str:
        """Names model, weights and settings."""
        return self._identity

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages, one row a text, in order.

        Raises:
            InputError: One of the texts is no encodable string.
        """
        if isinstance(texts, str):
            raise InputError("expected a list of texts, found one string; wrap it in a list")
        limit = CHARACTERS_PER_TOKEN * self.settings.max_tokens
        cut = [require_text(text)[:limit] for text in texts]
        encoded = [e.ids for e in self._tokenizer.encode_batch(cut)]
        by_length: dict[int, list[int]] = defaultdict(list)
        for index, ids in enumerate(encoded):
            by_length[len(ids)].append(index)
        out = np.empty((len(cut), self._dimension), dtype=np.float32)
        for length, members in sorted(by_length.items()):
            size = max(1, BATCH_TOKENS // length)
            for start in range(0, len(members), size):
                rows = members[start : start + size]
                out[rows] = self._forward(np.array([encoded[row] for row in rows]))
        return unit(out)

    def embed_query(self, text: str) -> Vector:
        """Embeds a search query, with the model's query prefix where it has one."""
        row: Vector = self.embed([self.settings.query_prefix + require_text(text)])[0]
        return row

    def _forward(self, ids: np.ndarray[Any, np.dtype[np.int64]]) -> Vectors:
        self.forward_passes += 1
        feed = {name: self._feed(name, ids) for name in self._inputs}
        hidden = self._session.run(None, feed)[0]
        if self.settings.pooling is Pooling.CLS:
            return np.asarray(hidden[:, 0], dtype=np.float32)
        # One text at a time: a reduction over the whole batch may sum in another order.
        return np.stack([text.mean(axis=0) for text in hidden])

    @staticmethod
    def _feed(
        name: str, ids: np.ndarray[Any, np.dtype[np.int64]]
    ) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Serves our own graph (`ids`) and exports that also want a mask and token types."""
        if name == "attention_mask":
            return np.ones_like(ids)
        return np.zeros_like(ids) if name == "token_type_ids" else ids

    def _graph(self, directory: Path, weights: Path, graphs: Path) -> Path:
        config = BertConfig.from_json(_read_json(directory / "config.json"))
        key = self._identity.replace("/", "-")
        target = graphs / f"{key}-opset{OPSET}.onnx"
        if not target.is_file():
            if self._check:
                self._check()
            graphs.mkdir(parents=True, exist_ok=True)
            model = build_graph(load_file(weights), config)
            with tempfile.NamedTemporaryFile(dir=graphs, suffix=".part", delete=False) as part:
                part.write(model.SerializeToString())
            onnx.checker.check_model(part.name)
            Path(part.name).replace(target)
        return target


def _weights_file(directory: Path) -> Path:
    names = ("model.safetensors", "onnx/model.onnx", "model.onnx")
    for name in names:
        if (directory / name).is_file():
            return directory / name
    raise ModelError(f"{directory} holds none of {', '.join(names)}; a model needs one of them")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path} is missing; a model directory in HF layout has it") from None
    except ValueError as error:
        raise ModelError(f"{path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ModelError(f"{path} holds {type(value).__name__}, expected an object")
    return value


def _read_tokenizer(directory: Path, settings: Settings) -> Tokenizer:
    path = directory / "tokenizer.json"
    if not path.is_file():
        raise ModelError(f"{path} is missing; a model directory in HF layout has it")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(settings.max_tokens)
    return tokenizer


def _session(graph: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        str(graph), sess_options=options, providers=["CPUExecutionProvider"]
    )
