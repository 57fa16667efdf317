"""Opens an embedder from a model name, path or URL.

ONNX Runtime and httpx are imported by the first embedder that needs them: they take longer to load
than all the rest, and listing or exporting a memory embeds nothing.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path

from tsim import environment
from tsim.embed.cache import CachedEmbedder
from tsim.embed.joined import JoinedEmbedder
from tsim.embed.models import JoinedSpec, ModelSpec, find_model, name_of
from tsim.embed.protocol import Embedder, embed_queries
from tsim.errors import InputError, WeightsMissingError
from tsim.vectors import Vector, Vectors
from tsim.weights import require, verify_file

KEY_VARIABLE = "OPENAI_API_KEY"


def open_embedder(
    model: str | None = None, *, cached: bool = False, threads: int | None = None
) -> Embedder:
    """Opens an embedder.

    Args:
        model: A known name (`tsim models list`), the path of a directory in Hugging Face layout, or
            `URL#MODEL` for an OpenAI-compatible server. For https URLs the key is read from
            OPENAI_API_KEY. Defaults to `TSIM_MODEL`, or mpnet+gte.
        cached: Cache vectors on disk, shared by all processes.
        threads: Threads per forward pass. Defaults to all available cores.
    """
    embedder = _open(model or environment.default_model(), threads)
    if cached:
        return CachedEmbedder(embedder, environment.cache_dir() / "embeddings.db")
    return embedder


def open_written(identity: str | None) -> Embedder:
    """Opens the model that something was written with, unless the user has chosen one.

    Args:
        identity: The identity of its embedder. Unless it is that of a known model, the default
            model is opened.
    """
    return open_embedder(environment.chosen_model() or name_of(identity))


class LazyEmbedder:
    """A known model that is loaded when the first text is embedded.

    Operations without new vectors (listing, exporting, checking) therefore need no weights.
    """

    def __init__(self, spec: ModelSpec, load: Callable[[], Embedder]) -> None:
        """Stores the function that loads the model."""
        self.identity = spec.identity
        self.dimension = spec.dimension
        self._load = load

    @cached_property
    def inner(self) -> Embedder:
        """The loaded model."""
        return self._load()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages."""
        return self.inner.embed(texts)

    def embed_query(self, text: str) -> Vector:
        """Embeds a search query."""
        return self.inner.embed_query(text)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embeds search queries."""
        return embed_queries(self.inner, texts)


def _open(model: str, threads: int | None) -> Embedder:
    if model.startswith(("http://", "https://")):
        url, hash_sign, name = model.partition("#")
        if not hash_sign or not name:
            raise InputError(f"{model!r} does not name a model; write it as URL#MODEL")
        key = environment.api_key(KEY_VARIABLE) if url.startswith("https://") else None
        from tsim.embed.remote import RemoteEmbedder

        return RemoteEmbedder(url, name, key=key)
    cache = environment.cache_dir()
    graphs = cache / "graphs"
    if Path(model).is_dir():
        from tsim.embed.onnx import OnnxEmbedder

        return OnnxEmbedder(Path(model), graphs=graphs, threads=threads)
    found = find_model(model)

    def load(spec: ModelSpec) -> Embedder:
        from tsim.embed.onnx import OnnxEmbedder

        return OnnxEmbedder(
            require(cache, spec),
            graphs=graphs,
            settings=spec.settings,
            identity=spec.identity,
            threads=threads,
            alone=isinstance(found, ModelSpec),
            check=lambda path: verify_file(path, spec),
        )

    def load_part(spec: ModelSpec) -> Embedder:
        try:
            return load(spec)
        except WeightsMissingError as error:
            if isinstance(found, JoinedSpec):  # one command fetches all parts
                raise WeightsMissingError(f"{error}, or {found.fetch_command}") from error
            raise

    parts = [LazyEmbedder(spec, partial(load_part, spec)) for spec in found.parts]
    return parts[0] if isinstance(found, ModelSpec) else JoinedEmbedder(found, parts)
