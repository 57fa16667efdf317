import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.support.tiny_bert import POSITIONS, WORDS, reference_score, write_tiny_cross_encoder
from tsim.embed import CrossEncoder
from tsim.errors import InputError, ModelError

QUESTION = "which gpu rule"
PASSAGES = [" ".join(WORDS[start : start + 1 + start % 5]) for start in range(12)] * 2


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return write_tiny_cross_encoder(tmp_path_factory.mktemp("models") / "reranker")


@pytest.fixture(scope="module")
def encoder(directory, tmp_path_factory):
    return CrossEncoder(directory, graphs=tmp_path_factory.mktemp("graphs"), threads=1)


def test_scores_match_a_plain_numpy_forward_pass(directory, encoder):
    pairs = encoder._tokenizer.encode_batch([(QUESTION, passage) for passage in PASSAGES])
    assert {kind for pair in pairs for kind in pair.type_ids} == {0, 1}
    expected = [reference_score(directory, pair) for pair in pairs]
    np.testing.assert_allclose(encoder.scores(QUESTION, PASSAGES), expected, atol=5e-6)


def test_a_score_is_the_same_bytes_alone_or_in_any_batch(encoder):
    together = encoder.scores(QUESTION, PASSAGES)
    alone = np.concatenate([encoder.scores(QUESTION, [passage]) for passage in PASSAGES])
    assert together.tobytes() == alone.tobytes()
    assert encoder.scores(QUESTION, []).shape == (0,)


def test_a_long_pair_is_cut_at_the_models_limit(encoder):
    exact, longer = encoder.scores("gpu", ["bread " * (POSITIONS - 4), "bread " * 500])
    assert exact == longer


def test_a_shipped_onnx_file_is_fed_ids_mask_and_types(directory, tmp_path):
    """The export adds up its inputs, so that it is clear what it was given."""
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((directory / name).read_bytes())
    names = ("input_ids", "attention_mask", "token_type_ids")
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    scales = [
        helper.make_tensor(f"s_{n}", TensorProto.INT64, [], [10**k]) for k, n in enumerate(names)
    ]
    nodes = [helper.make_node("Mul", [n, f"s_{n}"], [f"m_{n}"]) for n in names]
    nodes += [
        helper.make_node("Sum", [f"f_{n}" for n in names], ["sum"]),
        helper.make_node("ReduceSum", ["sum", "axes"], ["logits"], keepdims=1),
    ]
    nodes[3:3] = [
        helper.make_node("Cast", [f"m_{n}"], [f"f_{n}"], to=TensorProto.FLOAT) for n in names
    ]
    graph = helper.make_graph(
        nodes,
        "export",
        [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "length"]) for n in names],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1])],
        [axes, *scales],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "model.onnx")
    encoder = CrossEncoder(tmp_path, graphs=tmp_path / "graphs")
    pair = encoder._tokenizer.encode("gpu rule", "bread")
    expected = sum(pair.ids) + 10 * len(pair.ids) + 100 * sum(pair.type_ids)
    assert encoder.scores("gpu rule", ["bread"]).tolist() == [expected]


def test_what_is_no_reranker_is_refused(directory, tmp_path):
    several = write_tiny_cross_encoder(tmp_path / "several", labels=3)
    with pytest.raises(ModelError, match="3 numbers per pair, expected one"):
        CrossEncoder(several, graphs=tmp_path / "graphs")
    with pytest.raises(ModelError, match="not a directory"):
        CrossEncoder(tmp_path / "absent", graphs=tmp_path / "graphs")
    config = json.loads((several / "config.json").read_text()) | {"model_type": "xlm-roberta"}
    (several / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="put an ONNX export"):
        CrossEncoder(several, graphs=tmp_path / "graphs")


def test_an_encoder_without_a_head_is_refused(tiny, tmp_path):
    with pytest.raises(ModelError, match=r"lacks the tensor 'pooler\.dense"):
        CrossEncoder(tiny, graphs=tmp_path)


def test_a_lone_surrogate_is_refused(encoder):
    with pytest.raises(InputError, match="lone surrogate"):
        encoder.scores("\ud800", ["bread"])
