"""A random BERT small enough to build in a test, and its forward pass in plain numpy."""

import json
import math
import string
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file
from tokenizers import Encoding, Tokenizer, models, normalizers, pre_tokenizers, processors

HIDDEN, HEADS, LAYERS, INNER, POSITIONS = 32, 4, 2, 64, 48
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
PIECES = [*string.ascii_lowercase, *(f"##{c}" for c in string.ascii_lowercase), *string.digits]
WORDS = "the rule says one gpu only for new projects and budget letter train bread".split()
MPNET = {
    "attention.self.query": "attention.attn.q",
    "attention.self.key": "attention.attn.k",
    "attention.self.value": "attention.attn.v",
    "attention.output.dense": "attention.attn.o",
    "attention.output.LayerNorm": "attention.LayerNorm",
}
VOCABULARY = [*SPECIAL, *PIECES, *WORDS]


def write_tiny_bert(
    directory: Path, *, pooling: str, hidden: int = HIDDEN, prefix: str = ""
) -> Path:
    (directory / "1_Pooling").mkdir(parents=True)
    pooling_config = {
        "pooling_mode_cls_token": pooling == "cls",
        "pooling_mode_mean_tokens": pooling == "mean",
    }
    (directory / "1_Pooling" / "config.json").write_text(json.dumps(pooling_config))
    _write_files(directory, hidden)
    save_file({prefix + k: v for k, v in _weights(hidden).items()}, directory / "model.safetensors")
    return directory


def write_tiny_mpnet(directory: Path) -> Path:
    """The same encoder as an MPNet: other names, no types, attention biased by distance."""
    write_tiny_bert(directory, pooling="mean")
    config = json.loads((directory / "config.json").read_text())
    told = {"model_type": "mpnet", "max_position_embeddings": POSITIONS + 2}
    (directory / "config.json").write_text(json.dumps(config | told))
    rng = np.random.default_rng(13)
    out = {"encoder.relative_attention_bias.weight": rng.normal(0, 1, (32, HEADS))}
    for name, value in _weights(HIDDEN).items():
        if "position_embeddings" in name:
            value = np.concatenate([rng.normal(0, 9, (2, HIDDEN)), value])
        for bert, mpnet in MPNET.items():
            name = name.replace(bert, mpnet)
        if "token_type" not in name:
            out[name] = value
    save_file({k: v.astype(np.float32) for k, v in out.items()}, directory / "model.safetensors")
    return directory


def write_tiny_cross_encoder(directory: Path, *, labels: int = 1) -> Path:
    """The same encoder as a classifier of pairs."""
    directory.mkdir(parents=True)
    _write_files(directory, HIDDEN)
    rng = np.random.default_rng(12)
    shapes = {
        "bert.pooler.dense.weight": (HIDDEN, HIDDEN),
        "bert.pooler.dense.bias": (HIDDEN,),
        "classifier.weight": (labels, HIDDEN),
        "classifier.bias": (labels,),
    }
    head = {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}
    encoder = {f"bert.{k}": v for k, v in _weights(HIDDEN).items()}
    save_file(encoder | head, directory / "model.safetensors")
    return directory


def _write_files(directory: Path, hidden: int) -> None:
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": hidden,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": POSITIONS,
    }
    (directory / "config.json").write_text(json.dumps(config))
    _tokenizer().save(str(directory / "tokenizer.json"))


def _tokenizer() -> Tokenizer:
    ids = {piece: number for number, piece in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(t, ids[t]) for t in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def _weights(hidden: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)

    def dense(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.3, shape).astype(np.float32)

    out = {
        "embeddings.word_embeddings.weight": dense(len(VOCABULARY), hidden),
        "embeddings.position_embeddings.weight": dense(POSITIONS, hidden),
        "embeddings.token_type_embeddings.weight": dense(2, hidden),
    }
    shapes = {
        "attention.self.query": (hidden, hidden),
        "attention.self.key": (hidden, hidden),
        "attention.self.value": (hidden, hidden),
        "attention.output.dense": (hidden, hidden),
        "intermediate.dense": (INNER, hidden),
        "output.dense": (hidden, INNER),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        base = f"encoder.layer.{layer}."
        for name, shape in shapes.items():
            out[f"{base}{name}.weight"] = dense(*shape)
            out[f"{base}{name}.bias"] = dense(shape[0])
        norms += [f"{base}attention.output.LayerNorm", f"{base}output.LayerNorm"]
    for name in norms:
        out[f"{name}.weight"] = 1 + dense(hidden)
        out[f"{name}.bias"] = dense(hidden)
    return out


def reference_score(directory: Path, pair: Encoding) -> float:
    """A cross-encoder's forward pass: the first token's state through pooler and classifier."""
    w = _read(directory)
    first = reference_hidden(directory, pair.ids, pair.type_ids)[:1]
    return float(_dense(np.tanh(_dense(first, w, "pooler.dense")), w, "classifier")[0, 0])


def reference_hidden(directory: Path, ids: list[int], types: list[int] | None = None) -> np.ndarray:
    """The forward pass of BERT or MPNet, as slow and obvious as can be, in float64."""
    w = _read(directory)
    mpnet = "encoder.relative_attention_bias.weight" in w
    first = 2 if mpnet else 0
    x = (
        w["embeddings.word_embeddings.weight"][ids]
        + w["embeddings.position_embeddings.weight"][first : first + len(ids)]
    )
    if not mpnet:
        x = x + w["embeddings.token_type_embeddings.weight"][types or [0] * len(ids)]
    names = [MPNET[name] if mpnet else name for name in MPNET]
    x = _norm(x, w, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        base = f"encoder.layer.{layer}."
        q, k, v = (_dense(x, w, base + name) for name in names[:3])
        size = q.shape[1] // HEADS
        heads = []
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            scores = q[:, part] @ k[:, part].T / math.sqrt(size)
            if mpnet:
                scores = scores + _biases(w, head, len(ids))
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            heads.append(weights / weights.sum(axis=1, keepdims=True) @ v[:, part])
        out = _dense(np.concatenate(heads, axis=1), w, base + names[3])
        x = _norm(out + x, w, base + names[4])
        wide = _dense(x, w, f"{base}intermediate.dense")
        gelu = 0.5 * wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        x = _norm(_dense(gelu, w, f"{base}output.dense") + x, w, f"{base}output.LayerNorm")
    return x


def _biases(w: dict[str, np.ndarray], head: int, length: int) -> np.ndarray:
    """By how far the token that is looked at is from the one that looks.

    Distances up to 7 have a number each; 8 to 128 share eight numbers by magnitude. Tokens after
    the one that looks have numbers from 16 on.
    """
    table = w["encoder.relative_attention_bias.weight"]
    out = np.empty((length, length))
    for looks in range(length):
        for at in range(length):
            far = abs(looks - at)
            number = far if far < 8 else min(15, 8 + int(8 * math.log(far / 8) / math.log(16)))
            out[looks, at] = table[number + (16 if at > looks else 0), head]
    return out


def _read(directory: Path) -> dict[str, np.ndarray]:
    return {
        k.removeprefix("bert."): v.astype(np.float64)
        for k, v in load_file(directory / "model.safetensors").items()
    }


def _dense(x: np.ndarray, w: dict[str, np.ndarray], name: str) -> np.ndarray:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def _norm(x: np.ndarray, w: dict[str, np.ndarray], name: str) -> np.ndarray:
    centred = x - x.mean(axis=1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
    return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]
