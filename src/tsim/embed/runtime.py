"""Model directories, ONNX Runtime sessions and batches, shared by all encoders."""

import glob
import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from safetensors import SafetensorError
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from tsim import private, unfinished
from tsim.embed.bert import OPSET
from tsim.embed.cores import machine_threads
from tsim.embed.models import PACKED_FILE
from tsim.embed.packed import packed_tokenizer
from tsim.errors import ModelError

# If a program imported ONNX Runtime before tsim, reporting has begun; at least our sessions are
# left out of it.
onnxruntime.disable_telemetry_events()

Ids: TypeAlias = npt.NDArray[np.int64]

# Larger batches are no faster on CPUs; at this size the hidden states fit into the CPU cache.
BATCH_TOKENS = 2048
WEIGHTS_FILES = ("model.safetensors", "onnx/model.onnx", "model.onnx", PACKED_FILE)


def weights_file(directory: Path) -> Path:
    """Finds the weights in a directory in Hugging Face layout.

    Raises:
        ModelError: It is not a directory, or contains no weights.
    """
    if not directory.is_dir():
        raise ModelError(
            f"{directory} is not a directory; expected a model directory in Hugging Face layout"
        )
    for name in WEIGHTS_FILES:
        if (directory / name).is_file():
            return directory / name
    raise ModelError(
        f"{directory} contains none of {', '.join(WEIGHTS_FILES)}; a model needs one of them"
    )


def read_json(path: Path) -> dict[str, Any]:
    """Reads a JSON object from a file of a model.

    Raises:
        ModelError: The file is missing or does not contain a JSON object.
    """
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ModelError(
            f"{path} is missing; a model directory in Hugging Face layout contains it"
        ) from None
    except ValueError as error:
        raise ModelError(f"{path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ModelError(f"{path} contains {type(value).__name__}, expected an object")
    return value


def tokenizer_file(directory: Path) -> Path:
    """Returns the file with the tokenizer of a model.

    Raises:
        ModelError: There is none.
    """
    for name in ("tokenizer.json", PACKED_FILE):
        if (directory / name).is_file():
            return directory / name
    raise ModelError(
        f"{directory / 'tokenizer.json'} is missing; a model directory in Hugging Face layout "
        "contains it"
    )


def read_tokenizer(directory: Path, most_tokens: int) -> Tokenizer:
    """Reads the tokenizer of a model, with truncation at `most_tokens` and without padding.

    Raises:
        ModelError: The tokenizer is missing, or cannot be read.
    """
    path = tokenizer_file(directory)
    tokenizer = packed_tokenizer(path) if path.name == PACKED_FILE else _tokenizer(path)
    tokenizer.no_padding()
    tokenizer.enable_truncation(most_tokens)
    return tokenizer


def _tokenizer(path: Path) -> Tokenizer:
    try:
        return Tokenizer.from_str(path.read_text("utf-8"))
    except Exception as error:  # tokenizers raises nothing more specific
        raise ModelError(f"{path} is not a tokenizer ({error}); fetch or copy it again") from error


def read_weights(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Reads the tensors of a safetensors file.

    Raises:
        ModelError: The file is damaged.
    """
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path} cannot be read ({error}); fetch or copy it again") from error


def kept_graph(graphs: Path, identity: str, build: Callable[[], onnx.ModelProto]) -> Path:
    """Returns the file of a graph, building it if it is missing or damaged.

    The checksum of the file is part of its name and compared at every start: a changed bit would
    change vectors, but not the identity that they are stored under.
    """
    name = f"{identity.replace('/', '-')}-opset{OPSET}"
    kept = sorted(graphs.glob(f"{glob.escape(name)}*.onnx"))
    for path in kept:
        with suppress(OSError):
            if path.name == f"{name}-{_checksum(path.read_bytes())}.onnx":
                return path
    content = build().SerializeToString()
    private.make_directory(graphs)
    target = graphs / f"{name}-{_checksum(content)}.onnx"
    with unfinished.replacing(target) as part:
        part.file.write(content)
        part.file.flush()
        onnx.checker.check_model(str(part.path))
    for path in kept:
        if path != target:  # damaged, or of a version without checksums
            path.unlink(missing_ok=True)
    return target


def _checksum(content: bytes) -> str:
    return f"{zlib.crc32(content):08x}"


class Session:
    """A loaded graph."""

    def __init__(self, graph: Path, threads: int | None = None, *, alone: bool = True) -> None:
        """Loads the graph.

        Args:
            graph: The file.
            threads: Threads that run it. Defaults to all available cores.
            alone: Whether no other graph is run in turns with it. Its threads then wait actively
                for the next text, which would take the cores from another graph.
        """
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or machine_threads()
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        if not alone:
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(
                str(graph), sess_options=options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # ONNX Runtime's errors have no common base
            raise ModelError(
                f"{graph} is not a graph that can be run ({error}); fetch or copy it again"
            ) from error
        self._inputs = [value.name for value in self._session.get_inputs()]
        self.width = self._session.get_outputs()[0].shape[-1]

    def run(self, ids: Ids, types: Ids | None = None) -> npt.NDArray[np.float32]:
        """Runs the graph on texts of equal length; exports that need a mask work too."""
        out: npt.NDArray[np.float32] = self._session.run(
            None, {name: _feed(name, ids, types) for name in self._inputs}
        )[0]
        return out


def _feed(name: str, ids: Ids, types: Ids | None) -> Ids:
    if name == "attention_mask":
        return np.ones_like(ids)
    if name in ("types", "token_type_ids"):
        return np.zeros_like(ids) if types is None else types
    return ids


def equal_lengths(encoded: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Groups texts into batches of equal token length; yields the positions in each batch."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for place, ids in enumerate(encoded):
        by_length[len(ids)].append(place)
    for length, members in sorted(by_length.items()):
        size = max(1, BATCH_TOKENS // length)
        for start in range(0, len(members), size):
            yield members[start : start + size]
