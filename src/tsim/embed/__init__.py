"""Text in, unit vectors out: one door for every embedding in the project."""

from tsim.embed.cache import CachedEmbedder
from tsim.embed.onnx import OnnxEmbedder
from tsim.embed.opening import open_embedder
from tsim.embed.protocol import Embedder
from tsim.embed.remote import RemoteEmbedder

__all__ = ["CachedEmbedder", "Embedder", "OnnxEmbedder", "RemoteEmbedder", "open_embedder"]
