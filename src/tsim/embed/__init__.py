"""Embedders: text in, unit vectors out.

Names that bring ONNX Runtime, tokenizers or httpx with them are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tsim.embed.cache import CachedEmbedder
from tsim.embed.cores import machine_threads
from tsim.embed.models import SELECTABLE as KNOWN_MODELS
from tsim.embed.models import find_spec
from tsim.embed.opening import open_embedder, open_written
from tsim.embed.passages import (
    Sentences,
    Starts,
    embed_passages,
    embed_turns,
    ends,
    find_passages,
    find_sentences,
)
from tsim.embed.protocol import (
    Embedder,
    TokenCounter,
    TokenEncoder,
    embed_queries,
    token_encoder,
)

if TYPE_CHECKING:
    from tsim.embed.cross import CrossEncoder
    from tsim.embed.onnx import OnnxEmbedder
    from tsim.embed.remote import RemoteEmbedder
else:
    _LATER = {
        "CrossEncoder": "cross",
        "OnnxEmbedder": "onnx",
        "RemoteEmbedder": "remote",
    }

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)


__all__ = [
    "KNOWN_MODELS",
    "CachedEmbedder",
    "CrossEncoder",
    "Embedder",
    "OnnxEmbedder",
    "RemoteEmbedder",
    "Sentences",
    "Starts",
    "TokenCounter",
    "TokenEncoder",
    "embed_passages",
    "embed_queries",
    "embed_turns",
    "ends",
    "find_passages",
    "find_sentences",
    "find_spec",
    "machine_threads",
    "open_embedder",
    "open_written",
    "token_encoder",
]
