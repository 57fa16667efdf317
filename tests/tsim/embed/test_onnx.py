import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from tests.support.tiny_bert import POSITIONS, WORDS, reference_hidden, write_tiny_bert
from tsim.embed import CachedEmbedder, OnnxEmbedder, open_embedder, token_encoder
from tsim.embed.models import BGE_QUERY_PREFIX, Pooling
from tsim.errors import InputError, ModelError
from tsim.vectors import unit

TEXTS = ["the rule says one gpu", "bread", "only for new projects and budget letter train bread"]


def reference(directory: Path, embedder: OnnxEmbedder, text: str) -> np.ndarray:
    hidden = reference_hidden(directory, embedder._tokenizer.encode(text).ids)
    pooled = hidden[0] if embedder.settings.pooling is Pooling.CLS else hidden.mean(axis=0)
    return pooled / np.linalg.norm(pooled)


def test_minilm_matches_the_golden_vectors(minilm, shared):
    golden = json.loads((shared / "golden" / "minilm_vectors.json").read_text())["items"]
    vectors = minilm.embed([item["text"] for item in golden])
    for item, vector in zip(golden, vectors, strict=True):
        expected = np.array(item["vector"])
        assert vector @ expected / np.linalg.norm(expected) >= 0.99999, item["text"][:60]


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("hidden", [32, 64])
@pytest.mark.parametrize("prefix", ["", "bert."])
def test_any_size_and_pooling_matches_a_plain_numpy_forward_pass(tmp_path, pooling, hidden, prefix):
    directory = write_tiny_bert(tmp_path / "model", pooling=pooling, hidden=hidden, prefix=prefix)
    embedder = OnnxEmbedder(directory, graphs=tmp_path / "graphs")
    assert embedder.dimension == hidden
    for text, vector in zip(TEXTS, embedder.embed(TEXTS), strict=True):
        np.testing.assert_allclose(vector, reference(directory, embedder, text), atol=2e-6)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join), min_size=1, max_size=12)
)
def test_a_vector_is_the_same_bytes_alone_or_in_any_batch(tiny_embedder, texts):
    together = tiny_embedder.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        assert tiny_embedder.embed([text])[0].tobytes() == vector.tobytes()


def test_minilm_gives_the_same_bytes_alone_or_in_any_batch(minilm):
    texts = [" ".join((TEXTS * 12)[: n % 36 + 1]) for n in range(60)]
    together = minilm.embed(texts)
    backwards = minilm.embed(texts[::-1])[::-1]
    alone = np.stack([minilm.embed([text])[0] for text in texts])
    assert together.tobytes() == alone.tobytes() == backwards.tobytes()


def test_vectors_are_unit_float32(tiny_embedder):
    vectors = tiny_embedder.embed(TEXTS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_token_vectors_are_what_the_embedder_pools(tmp_path, pooling):
    directory = write_tiny_bert(tmp_path / "model", pooling=pooling)
    embedder = OnnxEmbedder(directory, graphs=tmp_path / "graphs")
    states = embedder.token_vectors(TEXTS)
    assert [len(s) for s in states] == [len(embedder._tokenizer.encode(t).ids) for t in TEXTS]
    pooled = np.stack([s[0] if pooling == "cls" else s.mean(axis=0) for s in states])
    assert unit(pooled).tobytes() == embedder.embed(TEXTS).tobytes()
    assert embedder.token_vectors([]) == []


def test_token_vectors_are_found_behind_caches_but_not_behind_a_server(tiny_embedder, tmp_path):
    assert token_encoder(CachedEmbedder(tiny_embedder, tmp_path / "c.db")) is tiny_embedder
    assert token_encoder(open_embedder("http://127.0.0.1:9/v1#m")) is None


def test_no_texts_give_no_rows(tiny_embedder):
    assert tiny_embedder.embed([]).shape == (0, tiny_embedder.dimension)


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "\0", "a\0b", "🦜🎉", "x" * 100_000, "word " * 20_000, "e\u0301" * 50, "\u202e"],
    ids=["empty", "blank", "nul", "nul inside", "emoji", "one word", "long", "combining", "rtl"],
)
def test_unusual_text_gives_a_finite_unit_vector(tiny_embedder, minilm, text):
    for embedder in (tiny_embedder, minilm):
        vector = embedder.embed([text])[0]
        assert np.isfinite(vector).all()
        assert abs(np.linalg.norm(vector) - 1) < 1e-5


@settings(deadline=None)
@given(st.text())
def test_every_encodable_text_gives_a_finite_unit_vector(tiny_embedder, text):
    assert abs(np.linalg.norm(tiny_embedder.embed([text])[0]) - 1) < 1e-5


@pytest.mark.parametrize("bad", ["\ud800", "ok \udfff ok"])
def test_a_lone_surrogate_is_refused_with_its_place(tiny_embedder, bad):
    with pytest.raises(InputError, match=f"character {bad.index(max(bad))}"):
        tiny_embedder.embed(["fine", bad])


@pytest.mark.parametrize("bad", [None, 3, b"bytes"])
def test_what_is_no_text_is_refused(tiny_embedder, bad):
    with pytest.raises(InputError, match=type(bad).__name__):
        tiny_embedder.embed([bad])


def test_a_bare_string_instead_of_a_list_is_refused(tiny_embedder):
    with pytest.raises(InputError, match="wrap it in a list"):
        tiny_embedder.embed("text")


def test_text_is_cut_at_the_models_limit(tiny_embedder):
    words = ["bread"] * (POSITIONS - 2)
    exact, longer = tiny_embedder.embed([" ".join(words), " ".join([*words, "gpu", "gpu"])])
    assert exact.tobytes() == longer.tobytes()
    shorter = tiny_embedder.embed([" ".join(words[:-1])])[0]
    assert shorter.tobytes() != exact.tobytes()


def test_the_bge_path_uses_cls_pooling_and_the_query_prefix(tmp_path):
    directory = write_tiny_bert(tmp_path / "bge-tiny-en-v1.5", pooling="cls")
    embedder = OnnxEmbedder(directory, graphs=tmp_path / "graphs")
    assert embedder.settings.pooling is Pooling.CLS
    query = embedder.embed_query("budget")
    assert query.tobytes() == embedder.embed([BGE_QUERY_PREFIX + "budget"])[0].tobytes()
    assert query.tobytes() != embedder.embed(["budget"])[0].tobytes()


def test_the_graph_is_built_once(tiny, tmp_path):
    OnnxEmbedder(tiny, graphs=tmp_path)
    (graph,) = tmp_path.iterdir()
    built = graph.stat().st_mtime_ns
    OnnxEmbedder(tiny, graphs=tmp_path)
    assert [p.stat().st_mtime_ns for p in tmp_path.iterdir()] == [built]


def test_a_shipped_onnx_file_is_used_where_there_are_no_safetensors(tiny, tmp_path):
    """The export computes something simple, so that it is clear which graph ran."""
    directory = tmp_path / "exported"
    directory.mkdir()
    for name in ("config.json", "tokenizer.json"):
        (directory / name).write_bytes((tiny / name).read_bytes())
    names = ("input_ids", "attention_mask", "token_type_ids")
    shape = ["batch", "length"]
    axis = helper.make_tensor("axis", TensorProto.INT64, [1], [2])
    nodes = [helper.make_node("Cast", [n], [f"f_{n}"], to=TensorProto.FLOAT) for n in names] + [
        helper.make_node("Unsqueeze", [f"f_{n}", "axis"], [f"u_{n}"]) for n in names
    ]
    nodes.append(
        helper.make_node("Concat", [f"u_{n}" for n in names], ["last_hidden_state"], axis=2)
    )
    graph = helper.make_graph(
        nodes,
        "export",
        [helper.make_tensor_value_info(n, TensorProto.INT64, shape) for n in names],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, 3])],
        [axis],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, directory / "model.onnx")
    embedder = OnnxEmbedder(directory, graphs=tmp_path / "graphs")
    ids = embedder._tokenizer.encode("bread").ids
    expected = np.array([np.mean(ids), 1, 0])  # ids, mask of ones, types of zero
    np.testing.assert_allclose(
        embedder.embed(["bread"])[0], expected / np.linalg.norm(expected), rtol=1e-6
    )


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: (d / "model.safetensors").unlink(), "contains none of model.safetensors"),
        (lambda d: (d / "tokenizer.json").unlink(), "tokenizer.json is missing"),
        (lambda d: (d / "config.json").write_text("{"), "not JSON"),
        (lambda d: (d / "config.json").write_text('{"model_type": "roberta"}'), "'roberta'"),
        (
            lambda d: (d / "1_Pooling" / "config.json").write_text("{}"),
            "must enable exactly one of mean and CLS",
        ),
    ],
)
def test_a_broken_model_directory_says_what_is_wrong(tmp_path, damage, message):
    directory = write_tiny_bert(tmp_path / "model", pooling="mean")
    damage(directory)
    with pytest.raises(ModelError, match=message):
        OnnxEmbedder(directory, graphs=tmp_path / "graphs")


def test_a_model_can_be_opened_by_path(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("TSIM_CACHE", str(tmp_path))
    embedder = open_embedder(str(tiny))
    assert embedder.identity.startswith("tiny@")
    monkeypatch.setenv("TSIM_MODEL", str(tiny))
    assert open_embedder().identity == embedder.identity
