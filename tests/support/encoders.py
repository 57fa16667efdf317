"""Encoders of tests."""

from dataclasses import replace

from tsim.embed import OnnxEmbedder


def whole(embedder: OnnxEmbedder) -> OnnxEmbedder:
    """Returns the same model without removing what its vectors have in common."""
    plain = OnnxEmbedder.__new__(OnnxEmbedder)
    plain.__dict__ |= embedder.__dict__ | {"settings": replace(embedder.settings, common="")}
    return plain
