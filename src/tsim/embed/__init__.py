"""Embedders: text in, unit vectors out."""

from tsim.embed.cache import CachedEmbedder
from tsim.embed.cross import CrossEncoder
from tsim.embed.onnx import OnnxEmbedder
from tsim.embed.opening import open_embedder
from tsim.embed.protocol import Embedder, TokenEncoder, token_encoder
from tsim.embed.remote import RemoteEmbedder

__all__ = [
    "CachedEmbedder",
    "CrossEncoder",
    "Embedder",
    "OnnxEmbedder",
    "RemoteEmbedder",
    "TokenEncoder",
    "open_embedder",
    "token_encoder",
]
