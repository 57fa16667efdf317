"""Encoders of BERT's family as an ONNX graph, built from their weights without torch.

A graph takes token ids of texts of *equal length* and returns hidden states, or the scores of pairs
for a cross-encoder. Without padding, no attention mask is needed, and the result of each text is
bit-identical whatever else is in the batch: every operator here works row by row or within one
text. Pooling is done outside the graph for the same reason (ONNX Runtime's reductions use a
different code path at batch size one).

A quantised graph multiplies codes of 8 bits in place of float32: about twice as fast on processors
with instructions for it, and a third of the size. Every token has a scale of its own, so that its
result does not depend on the batch either, and a large value in one token does not blur others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tsim.errors import ModelError

OPSET = 21
IR_VERSION = 10
FUSED = "com.microsoft"  # ONNX Runtime's fused transformer operators

# The largest code of a quantised weight, and of a state. Sums of two products then fit into 16
# bits, so that processors without instructions for wider sums do not cut them off.
LARGEST_WEIGHT, LARGEST_STATE = 63, 127
ZERO_STATE = 128
# Weights per block, and what is subtracted from a code of 4 bits.
BLOCK = 32
ZERO = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blocks:
    """A matrix of 4-bit weights: scale · (code - 8), with one scale for 32 weights of a row.

    Attributes:
        codes: Bytes of shape [rows, blocks, 16]. The lower halves are the first 16 weights of a
            block, the upper halves the other 16.
        scales: float16 of shape [rows, blocks].
    """

    codes: npt.NDArray[np.uint8]
    scales: npt.NDArray[np.float16]

    def unpacked(self) -> npt.NDArray[np.float32]:
        """Returns the matrix in float32."""
        codes = np.concatenate([self.codes & 15, self.codes >> 4], axis=2).astype(np.float32)
        scaled = (codes - ZERO) * self.scales.astype(np.float32)[:, :, None]
        return scaled.reshape(len(scaled), -1)


Weights: TypeAlias = Mapping[str, npt.NDArray[Any] | Blocks]


def tensor(weights: Weights, name: str) -> npt.NDArray[np.float32]:
    """Returns a tensor in float32.

    Raises:
        ModelError: It is missing.
    """
    try:
        value = weights[name]
    except KeyError:
        raise ModelError(f"the file of weights lacks the tensor {name!r}") from None
    return value.unpacked() if isinstance(value, Blocks) else np.asarray(value, np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class BertConfig:
    """The values of a `config.json` that determine the graph."""

    hidden: int
    heads: int
    layers: int
    epsilon: float
    positions: int

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> "BertConfig":
        """Reads a Hugging Face `config.json`.

        Raises:
            ModelError: The model is not a BERT encoder that this graph can express.
        """
        expected = {
            "model_type": "bert",
            "hidden_act": "gelu",
            "position_embedding_type": "absolute",
        }
        for key, value in expected.items():
            found = config.get(key, value if key == "position_embedding_type" else None)
            if found != value:
                raise ModelError(
                    f"config.json has {key}={found!r}, expected {value!r}: only BERT encoders with "
                    "exact GELU and absolute positions can be built; use a model of that family, "
                    "or put an ONNX export at onnx/model.onnx and remove the safetensors"
                )
        try:
            return cls(
                hidden=int(config["hidden_size"]),
                heads=int(config["num_attention_heads"]),
                layers=int(config["num_hidden_layers"]),
                epsilon=float(config["layer_norm_eps"]),
                positions=int(config["max_position_embeddings"]),
            )
        except KeyError as error:
            raise ModelError(
                f"config.json lacks {error.args[0]!r}; use the config.json of a BERT encoder"
            ) from error


def build_graph(
    weights: Weights,
    config: BertConfig,
    biases: npt.NDArray[np.float32] | None = None,
    *,
    quantised: bool = False,
) -> ModelProto:
    """Builds the graph `ids [batch, length] -> hidden [batch, length, size]`.

    Args:
        weights: Tensors by their names in checkpoints.
        config: The sizes of the encoder.
        biases: What is added to the scores of attention, [heads, positions, positions].
        quantised: Whether to multiply with codes of 8 bits.

    Raises:
        ModelError: A tensor is missing.
    """
    graph = _Graph(weights, quantised=quantised)
    bias = None if biases is None else _bias(graph, biases)
    hidden = _encoder(graph, config, _embed(graph, config, typed=False), bias)
    return _model(graph, ["ids"], hidden, "hidden", ["batch", "length", config.hidden])


def build_scorer(weights: Weights, config: BertConfig) -> ModelProto:
    """Builds a cross-encoder's graph `ids, types [batch, length] -> logits [batch, labels]`.

    Raises:
        ModelError: A tensor is missing. The pooler and the classifier are also required.
    """
    graph = _Graph(weights)
    hidden = _encoder(graph, config, _embed(graph, config, typed=True))
    # Run the head on every token and take the first result: a product with a single row uses a
    # different code path than one with several, so a pair's score would depend on its batch.
    pooled = graph.node("Tanh", [graph.dense(hidden, "pooler.dense")])
    logits = graph.dense(pooled, "classifier")
    first = graph.node("Gather", [logits, graph.constant(np.array(0))], axis=1)
    labels = len(graph.weight("classifier.bias"))
    return _model(graph, ["ids", "types"], first, "logits", ["batch", labels])


def _model(
    graph: "_Graph", inputs: list[str], out: str, name: str, shape: list[str | int]
) -> ModelProto:
    graph.nodes.append(helper.make_node("Identity", [out], [name]))
    ids = ["batch", "length"]
    body = helper.make_graph(
        graph.nodes,
        "bert",
        [helper.make_tensor_value_info(each, TensorProto.INT64, ids) for each in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)],
        graph.constants,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=IR_VERSION)


class _Graph:
    """Nodes and constants under construction."""

    def __init__(self, weights: Weights, *, quantised: bool = False) -> None:
        self.quantised = quantised
        # Checkpoints saved from a task model have a "bert." prefix.
        self.weights = {name.removeprefix("bert."): value for name, value in weights.items()}
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def weight(self, name: str) -> npt.NDArray[np.float32]:
        return tensor(self.weights, name)

    def constant(self, value: npt.NDArray[Any]) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def node(self, op: str, inputs: list[str], *, domain: str = "", **attributes: Any) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], domain=domain, **attributes))
        return name

    def matmul(self, value: str, name: str) -> str:
        return self.product(value, self.weight(f"{name}.weight").T)

    def product(self, value: str, matrix: npt.NDArray[np.float32]) -> str:
        """Multiplies states by a matrix, if quantised with a scale per token and per column."""
        if not self.quantised:
            return self.node("MatMul", [value, self.constant(matrix)])
        scales = np.abs(matrix).max(axis=0) / np.float32(LARGEST_WEIGHT)
        scales[scales == 0] = 1
        codes = np.rint(matrix / scales).astype(np.int8)
        largest = self.node(
            "ReduceMax", [self.node("Abs", [value]), self.constant(np.array([-1]))], keepdims=1
        )
        scale = self.node("Mul", [largest, self.constant(np.array(1 / LARGEST_STATE, np.float32))])
        states = self.node("Round", [self.node("Div", [value, scale])])
        moved = self.node("Add", [states, self.constant(np.array(ZERO_STATE, np.float32))])
        sums = self.node(
            "MatMulInteger",
            [
                self.node("Cast", [moved], to=TensorProto.UINT8),
                self.constant(codes),
                self.constant(np.array(ZERO_STATE, np.uint8)),
            ],
        )
        scaled = self.node("Mul", [self.node("Cast", [sums], to=TensorProto.FLOAT), scale])
        return self.node("Mul", [scaled, self.constant(scales)])

    def split(self, value: str, count: int) -> list[str]:
        names = [f"n{len(self.nodes)}.{number}" for number in range(count)]
        self.nodes.append(helper.make_node("Split", [value], names, axis=-1, num_outputs=count))
        return names

    def dense(self, value: str, name: str) -> str:
        bias = self.constant(self.weight(f"{name}.bias"))
        return self.node("Add", [self.matmul(value, name), bias])

    def rows(self, name: str, which: str) -> str:
        """Looks up rows of a matrix. Those of 4-bit matrices are unpacked when they are used."""
        held = self.weights.get(name)
        if not isinstance(held, Blocks):
            return self.node("Gather", [self.constant(self.weight(name)), which])
        codes = self.node("Gather", [self.constant(held.codes), which])
        low = self.node("BitwiseAnd", [codes, self.constant(np.array(15, np.uint8))])
        four = self.constant(np.array(4, np.uint8))
        high = self.node("BitShift", [codes, four], direction="RIGHT")
        both = self.node("Concat", [low, high], axis=-1)
        signed = self.node(
            "Sub",
            [
                self.node("Cast", [both], to=TensorProto.FLOAT),
                self.constant(np.array(ZERO, np.float32)),
            ],
        )
        scales = self.node("Gather", [self.constant(held.scales[:, :, None]), which])
        scaled = self.node("Mul", [signed, self.node("Cast", [scales], to=TensorProto.FLOAT)])
        width = held.scales.shape[1] * BLOCK
        return self.node("Reshape", [scaled, self.constant(np.array([0, 0, width]))])

    def norm_after(self, value: str, residual: str, prefix: str, epsilon: float) -> str:
        """Adds bias and residual, then normalises: the end of both halves of a layer."""
        inputs = [value, residual]
        names = ("LayerNorm.weight", "LayerNorm.bias", "dense.bias")
        inputs += [self.constant(self.weight(prefix + name)) for name in names]
        return self.node("SkipLayerNormalization", inputs, domain=FUSED, epsilon=epsilon)


def _embed(graph: _Graph, config: BertConfig, *, typed: bool) -> str:
    prefix = "embeddings."
    types = graph.weight(prefix + "token_type_embeddings.weight")
    places = graph.weight(prefix + "position_embeddings.weight")
    # If every token has type 0, the type embedding can be added to the positions in advance.
    table = graph.constant(places if typed else places + types[0])
    zero = graph.constant(np.array([0]))
    length = graph.node("Shape", ["ids"], start=1, end=2)
    used = graph.node("Slice", [table, zero, length, zero])
    total = graph.node("Add", [graph.rows(prefix + "word_embeddings.weight", "ids"), used])
    if typed:
        kinds = graph.node("Gather", [graph.constant(types), "types"])
        total = graph.node("Add", [total, kinds])
    norm = [graph.constant(graph.weight(prefix + f"LayerNorm.{x}")) for x in ("weight", "bias")]
    return graph.node("LayerNormalization", [total, *norm], epsilon=config.epsilon, axis=-1)


def _bias(graph: _Graph, biases: npt.NDArray[np.float32]) -> str:
    """Takes what a text of some length needs of the biases: [1, heads, length, length]."""
    length = graph.node("Shape", ["ids"], start=1, end=2)
    size = graph.node("Concat", [length, length], axis=0)
    start = graph.constant(np.array([0, 0]))
    axes = graph.constant(np.array([2, 3]))
    return graph.node("Slice", [graph.constant(biases[None]), start, size, axes])


def _encoder(graph: _Graph, config: BertConfig, value: str, bias: str | None = None) -> str:
    for layer in range(config.layers):
        value = _encode(graph, config, value, f"encoder.layer.{layer}.", bias)
    return value


def _encode(graph: _Graph, config: BertConfig, value: str, prefix: str, added: str | None) -> str:
    parts = [f"{prefix}attention.self.{name}" for name in ("query", "key", "value")]
    joint = np.concatenate([graph.weight(f"{part}.weight").T for part in parts], axis=1)
    bias = np.concatenate([graph.weight(f"{part}.bias") for part in parts])
    # Between these inputs and the biases of scores are a mask and more; there are none.
    further = ["", "", added] if added else []
    if graph.quantised:
        states = graph.node("Add", [graph.product(value, joint), graph.constant(bias)])
        inputs, operator = graph.split(states, 3), "MultiHeadAttention"
    else:
        inputs, operator = [value, graph.constant(joint), graph.constant(bias)], "Attention"
    attended = graph.node(operator, [*inputs, *further], domain=FUSED, num_heads=config.heads)
    output = f"{prefix}attention.output."
    mixed = graph.matmul(attended, f"{output}dense")
    value = graph.norm_after(mixed, value, output, config.epsilon)
    wide = graph.matmul(value, f"{prefix}intermediate.dense")
    inner = graph.constant(graph.weight(f"{prefix}intermediate.dense.bias"))
    narrow = graph.matmul(
        graph.node("BiasGelu", [wide, inner], domain=FUSED), f"{prefix}output.dense"
    )
    return graph.norm_after(narrow, value, f"{prefix}output.", config.epsilon)
