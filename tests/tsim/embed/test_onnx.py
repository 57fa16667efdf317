import json
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from tests.support.encoders import whole
from tests.support.tiny_bert import (
    POSITIONS,
    WORDS,
    reference_hidden,
    write_tiny_bert,
    write_tiny_mpnet,
)
from tsim import environment
from tsim.embed import CachedEmbedder, OnnxEmbedder, open_embedder, token_encoder
from tsim.embed.bert import BertConfig, build_graph
from tsim.embed.models import BGE_QUERY_PREFIX, Pooling, find_spec
from tsim.errors import InputError, ModelError, WeightsCorruptError
from tsim.vectors import unit
from tsim.weights import PinnedFile, Weights, model_dir, sha256_of, verify_file

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


LONG = " ".join((WORDS * 9)[: POSITIONS - 2])


def test_mpnet_matches_a_plain_numpy_forward_pass(tmp_path):
    directory = write_tiny_mpnet(tmp_path / "model")
    embedder = OnnxEmbedder(directory, graphs=tmp_path / "graphs")
    assert embedder.settings.max_tokens == POSITIONS
    texts = [*TEXTS, LONG, f"{LONG} bread"]
    for text, vector in zip(texts, embedder.embed(texts), strict=True):
        np.testing.assert_allclose(vector, reference(directory, embedder, text), atol=2e-6)


@pytest.mark.parametrize("write", [write_tiny_mpnet, partial(write_tiny_bert, pooling="mean")])
def test_a_quantised_encoder_is_near_the_exact_one_and_gives_the_same_bytes_in_any_batch(
    tmp_path, write
):
    directory = write(tmp_path / "model")
    exact = OnnxEmbedder(directory, graphs=tmp_path / "graphs")
    settings = replace(exact.settings, quantised=True)
    embedder = OnnxEmbedder(directory, graphs=tmp_path / "graphs", settings=settings)
    assert embedder.identity == f"{exact.identity}/int8"
    texts = [" ".join((WORDS * 9)[n : n + 1 + n % 40]) for n in range(60)]
    together = embedder.embed(texts)
    assert np.vecdot(together, exact.embed(texts)).min() > 0.99
    alone = np.stack([embedder.embed([text])[0] for text in texts])
    assert together.tobytes() == alone.tobytes()


def test_mpnet_matches_transformers_and_in_8_bits_nearly(mpnet, tmp_path):
    """The numbers are from transformers 5 on torch 2.13."""
    directory = model_dir(environment.cache_dir(), find_spec("all-mpnet-base-v2"))
    plain = replace(mpnet.settings, quantised=False)
    exact = OnnxEmbedder(directory, graphs=tmp_path, settings=plain)
    texts = ["That is a happy person", "New projects run on one consumer GPU."]
    vectors = exact.embed(texts)
    expected = [[-0.0203, -0.0104, 0.0086, 0.0272], [-0.0117, 0.0716, -0.0220, -0.0050]]
    np.testing.assert_allclose(vectors[:, :4], expected, atol=6e-5)
    assert np.vecdot(vectors, mpnet.embed(texts)).min() > 0.985


def test_mpnet_without_its_biases_is_refused(tmp_path):
    directory = write_tiny_mpnet(tmp_path / "model")
    weights = load_file(directory / "model.safetensors")
    del weights["encoder.relative_attention_bias.weight"]
    save_file(weights, directory / "model.safetensors")
    with pytest.raises(ModelError, match=r"lacks the tensor 'encoder\.relative_attention_bias"):
        OnnxEmbedder(directory, graphs=tmp_path / "graphs")


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


def test_gte_gives_the_same_bytes_alone_or_in_any_batch(gte):
    texts = [" ".join((TEXTS * 12)[: n % 36 + 1]) for n in range(48)]
    together = gte.embed(texts)
    backwards = gte.embed(texts[::-1])[::-1]
    alone = np.stack([gte.embed([text])[0] for text in texts])
    assert together.tobytes() == alone.tobytes() == backwards.tobytes()


def test_gte_matches_mean_pooling_of_a_padded_and_masked_batch(gte):
    """The usual way to run it, by hand: pad the texts, mask the padding, average the rest."""
    directory = model_dir(environment.cache_dir(), find_spec("gte-small"))
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(TEXTS)
    mask = np.array([text.attention_mask for text in encoded])
    assert 0 in mask
    feeds = {
        "input_ids": np.array([text.ids for text in encoded]),
        "attention_mask": mask,
        "token_type_ids": np.zeros_like(mask),
    }
    session = onnxruntime.InferenceSession(directory / "onnx" / "model.onnx")
    (hidden,) = session.run(["last_hidden_state"], feeds)
    pooled = (hidden * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    expected = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
    np.testing.assert_allclose(whole(gte).embed(TEXTS), expected, atol=1e-5)


def test_gte_is_near_the_numbers_on_its_model_card(gte):
    """The card shows the first values by an 8-bit version of the model, hence the tolerance."""
    vectors = whole(gte).embed(["That is a happy person", "That is a very happy person"])
    card = [[-0.0536, 0.0084, 0.0623], [-0.0500, 0.0388, 0.0751]]
    np.testing.assert_allclose(vectors[:, :3], card, atol=0.01)
    assert vectors[0] @ vectors[1] == pytest.approx(0.9798, abs=0.005)


def test_gte_reads_512_tokens(gte):
    words = ["bread"] * 510
    exact, longer = gte.embed([" ".join(words), " ".join([*words, "gpu"])])
    assert exact.tobytes() == longer.tobytes()
    assert gte.embed([" ".join([*words[:-1], "gpu"])])[0].tobytes() != exact.tobytes()


def exported(tiny: Path, directory: Path) -> Path:
    """Writes the tiny model as an ONNX export, laid out as on the hub."""
    (directory / "onnx").mkdir(parents=True)
    for name in ("config.json", "tokenizer.json"):
        (directory / name).write_bytes((tiny / name).read_bytes())
    config = BertConfig.from_json(json.loads((tiny / "config.json").read_text()))
    graph = build_graph(load_file(tiny / "model.safetensors"), config)
    onnx.save(graph, directory / "onnx" / "model.onnx")
    return directory


def test_an_export_gives_the_vectors_of_its_safetensors(tiny, tiny_embedder, tmp_path):
    directory = exported(tiny, tmp_path / "exported")
    embedder = OnnxEmbedder(directory, graphs=tmp_path / "graphs", threads=1)
    assert embedder.embed(TEXTS).tobytes() == tiny_embedder.embed(TEXTS).tobytes()
    assert not (tmp_path / "graphs").exists()


def test_a_damaged_export_is_noticed_before_it_is_read(tiny, tmp_path):
    directory = exported(tiny, tmp_path / "exported")
    files = tuple(
        PinnedFile(name, sha256_of(directory / name), (directory / name).stat().st_size)
        for name in ("config.json", "tokenizer.json", "onnx/model.onnx")
    )
    spec = Weights(name="exported", licence="MIT", files=files)
    weights = directory / "onnx" / "model.onnx"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(WeightsCorruptError, match=r"model\.onnx of exported"):
        OnnxEmbedder(directory, graphs=tmp_path, check=lambda path: verify_file(path, spec))


def test_a_damaged_graph_is_built_again(tiny, tiny_embedder, tmp_path):
    wanted = OnnxEmbedder(tiny, graphs=tmp_path, threads=1).embed(TEXTS)
    (graph,) = tmp_path.glob("*.onnx")
    content = graph.read_bytes()
    for place in range(len(content) // 3, len(content), len(content) // 5):
        changed = bytearray(content)
        changed[place] ^= 0x40
        graph.write_bytes(changed)
        assert OnnxEmbedder(tiny, graphs=tmp_path, threads=1).embed(TEXTS).tobytes() == (
            wanted.tobytes()
        )
        assert graph.read_bytes() == content
    old = tmp_path / re.sub(r"-\w{8}\.onnx", ".onnx", graph.name)  # of a version without checksums
    graph.rename(old)
    OnnxEmbedder(tiny, graphs=tmp_path, threads=1)
    assert [path.name for path in tmp_path.iterdir()] == [graph.name]


def test_a_damaged_tokenizer_is_noticed_though_the_graph_is_kept(tiny, tmp_path):
    directory = shutil.copytree(tiny, tmp_path / "model")
    names = ("config.json", "tokenizer.json", "model.safetensors")
    files = tuple(PinnedFile(name, sha256_of(directory / name), 0) for name in names)
    spec = Weights(name="small", licence="MIT", files=files)

    def check(path):
        verify_file(path, spec)

    OnnxEmbedder(directory, graphs=tmp_path / "graphs", check=check)
    tokenizer = directory / "tokenizer.json"
    tokenizer.write_bytes(tokenizer.read_bytes().replace(b'"gpu"', b'"gpv"', 1) + b" ")
    with pytest.raises(WeightsCorruptError, match=r"tokenizer\.json of small"):
        OnnxEmbedder(directory, graphs=tmp_path / "graphs", check=check)


@pytest.mark.parametrize("name", ["tokenizer.json", "model.safetensors", "onnx/model.onnx"])
@pytest.mark.parametrize("size", [0, 40, 700])
def test_files_of_a_model_that_cannot_be_read_are_named(tiny, tmp_path, name, size):
    directory = shutil.copytree(tiny, tmp_path / "model")
    if name == "onnx/model.onnx":
        directory = exported(tiny, tmp_path / "exported")
    path = directory / name
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ModelError, match=path.name.replace(".", r"\.")):
        OnnxEmbedder(directory, graphs=tmp_path / "graphs")


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
@pytest.mark.parametrize("model", ["tiny_embedder", "minilm", "gte"])
def test_unusual_text_gives_a_finite_unit_vector(request, model, text):
    vector = request.getfixturevalue(model).embed([text])[0]
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
