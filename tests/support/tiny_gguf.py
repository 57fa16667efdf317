"""A random one-layer llama in a GGUF file: small enough for a test, real enough to run."""

import struct
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, HEADS, INNER, CONTEXT = 32, 2, 64, 512
SPECIAL = ["<unk>", "<s>", "</s>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
WORDS = ["▁", *"ABCD", "▁A", "▁B", "▁C", "▁D", "ANSWER", "▁ANSWER", ":"]
TEMPLATE = "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}</s>{% endfor %}<s>assistant: "
UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9
ALIGNMENT = 32


def write_tiny_gguf(path: Path, seed: int = 3) -> Path:
    """Writes the model."""
    tokens = SPECIAL + BYTES + WORDS
    kinds = [2, 3, 3] + [6] * len(BYTES) + [1] * len(WORDS)
    facts: list[tuple[str, int, Any]] = [
        ("general.architecture", STRING, "llama"),
        ("llama.context_length", UINT32, CONTEXT),
        ("llama.embedding_length", UINT32, WIDTH),
        ("llama.block_count", UINT32, 1),
        ("llama.feed_forward_length", UINT32, INNER),
        ("llama.attention.head_count", UINT32, HEADS),
        ("llama.rope.dimension_count", UINT32, WIDTH // HEADS),
        ("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
        ("tokenizer.ggml.model", STRING, "llama"),
        ("tokenizer.ggml.tokens", ARRAY, (STRING, tokens)),
        ("tokenizer.ggml.scores", ARRAY, (FLOAT32, [float(-n) for n in range(len(tokens))])),
        ("tokenizer.ggml.token_type", ARRAY, (INT32, kinds)),
        ("tokenizer.ggml.bos_token_id", UINT32, 1),
        ("tokenizer.ggml.eos_token_id", UINT32, 2),
        ("tokenizer.ggml.unknown_token_id", UINT32, 0),
        ("tokenizer.chat_template", STRING, TEMPLATE),
    ]
    random = np.random.default_rng(seed)

    def matrix(*shape: int) -> np.ndarray:
        return random.normal(0, 0.4, shape).astype("<f4")

    ones = np.ones(WIDTH, dtype="<f4")
    tensors = {
        "token_embd.weight": matrix(len(tokens), WIDTH),
        "output_norm.weight": ones,
        "output.weight": matrix(len(tokens), WIDTH),
        "blk.0.attn_norm.weight": ones,
        "blk.0.attn_q.weight": matrix(WIDTH, WIDTH),
        "blk.0.attn_k.weight": matrix(WIDTH, WIDTH),
        "blk.0.attn_v.weight": matrix(WIDTH, WIDTH),
        "blk.0.attn_output.weight": matrix(WIDTH, WIDTH),
        "blk.0.ffn_norm.weight": ones,
        "blk.0.ffn_gate.weight": matrix(INNER, WIDTH),
        "blk.0.ffn_up.weight": matrix(INNER, WIDTH),
        "blk.0.ffn_down.weight": matrix(WIDTH, INNER),
    }
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(facts))
    for name, kind, value in facts:
        head += _text(name) + struct.pack("<I", kind) + _value(kind, value)
    data = b""
    for name, tensor in tensors.items():
        shape = tensor.shape[::-1]
        head += _text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head += struct.pack("<IQ", 0, len(data))
        data += _padded(tensor.tobytes())
    path.write_bytes(_padded(head) + data)
    return path


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(kind: int, value: Any) -> bytes:
    if kind == STRING:
        return _text(value)
    if kind == ARRAY:
        inner, items = value
        return struct.pack("<IQ", inner, len(items)) + b"".join(_value(inner, i) for i in items)
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f"}[kind], value)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % ALIGNMENT)
