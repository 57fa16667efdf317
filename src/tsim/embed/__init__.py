"""Embedders: text in, unit vectors out."""

from tsim.embed.cache import CachedEmbedder
from tsim.embed.cross import CrossEncoder
from tsim.embed.models import KNOWN as KNOWN_MODELS
from tsim.embed.models import find_spec
from tsim.embed.onnx import OnnxEmbedder
from tsim.embed.opening import open_embedder
from tsim.embed.passages import Starts, embed_passages, find_passages
from tsim.embed.protocol import Embedder, TokenCounter, TokenEncoder, token_encoder
from tsim.embed.remote import RemoteEmbedder
from tsim.embed.runtime import machine_threads

__all__ = [
    "KNOWN_MODELS",
    "CachedEmbedder",
    "CrossEncoder",
    "Embedder",
    "OnnxEmbedder",
    "RemoteEmbedder",
    "Starts",
    "TokenCounter",
    "TokenEncoder",
    "embed_passages",
    "find_passages",
    "find_spec",
    "machine_threads",
    "open_embedder",
    "token_encoder",
]
