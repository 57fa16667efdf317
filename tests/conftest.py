"""Fixtures that several rooms share: real weights where they are, a tiny model everywhere."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support import postgres as postgres_support
from tests.support.browser import launched
from tests.support.tiny_bert import write_tiny_bert
from tsim import LATE, OFFICIAL, Preset, environment
from tsim.embed import OnnxEmbedder
from tsim.embed.joined import JoinedEmbedder
from tsim.embed.models import find_model, find_spec
from tsim.weights import model_dir

ROOT = Path(__file__).parents[1]
# For whatever is not about encoders, one that takes a tenth of the default model's time will do.
os.environ.setdefault("TSIM_MODEL", "all-MiniLM-L6-v2")

# Time limits say more about the machine than about the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Reference material kept beside the checkout; absent on most machines."""
    directory = Path(os.environ.get("TSIM_SHARED", ROOT.parent / "shared"))
    if not directory.is_dir():
        pytest.skip(f"reference material is not at {directory}")
    return directory


@pytest.fixture(scope="module")
def browser():
    """A real browser; one for each module, since its event loop runs as long as it does."""
    with launched() as opened:
        yield opened


def real_weights(name: str) -> OnnxEmbedder:
    """Opens a known model, or skips the test if its weights have not been fetched."""
    spec = find_spec(name)
    cache = environment.cache_dir()
    directory = model_dir(cache, spec)
    if not directory.is_dir():
        pytest.skip(f"the weights of {name} are not here; run: {spec.fetch_command}")
    return OnnxEmbedder(
        directory,
        graphs=cache / "graphs",
        settings=spec.settings,
        identity=spec.identity,
    )


@pytest.fixture(scope="session")
def minilm() -> OnnxEmbedder:
    return real_weights("all-MiniLM-L6-v2")


@pytest.fixture(scope="session")
def gte() -> OnnxEmbedder:
    """Without what all its vectors have in common."""
    return real_weights("gte-small")


@pytest.fixture(scope="session")
def mpnet() -> OnnxEmbedder:
    """In 8 bits."""
    return real_weights("all-mpnet-base-v2")


@pytest.fixture(scope="session")
def default(mpnet: OnnxEmbedder, gte: OnnxEmbedder) -> JoinedEmbedder:
    """The default model."""
    return JoinedEmbedder(find_model("mpnet+gte"), [mpnet, gte])


@pytest.fixture(scope="session")
def both(minilm: OnnxEmbedder, gte: OnnxEmbedder) -> JoinedEmbedder:
    """The two encoders, joined."""
    return JoinedEmbedder(find_model("minilm+gte"), [minilm, gte])


@pytest.fixture(scope="session")
def e5() -> OnnxEmbedder:
    return real_weights("multilingual-e5-small-q4")


@pytest.fixture(params=[LATE, OFFICIAL], ids=lambda preset: preset.name)
def preset(request: pytest.FixtureRequest) -> Preset:
    """What holds for a memory holds for every method of remembering."""
    return request.param


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random two-layer BERT in Hugging Face layout, mean pooling."""
    return write_tiny_bert(tmp_path_factory.mktemp("models") / "tiny", pooling="mean")


@pytest.fixture(scope="session")
def tiny_embedder(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> OnnxEmbedder:
    return OnnxEmbedder(tiny, graphs=tmp_path_factory.mktemp("graphs"), threads=1)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> postgres_support.Cluster:
    """A PostgreSQL server of this process's own."""
    return postgres_support.start(tmp_path_factory.mktemp("postgres"))


@pytest.fixture(scope="session")
def shared_database(cluster: postgres_support.Cluster) -> str:
    """A database for tests that keep to namespaces of their own."""
    return cluster.create()


@pytest.fixture(params=["file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a memory is: what holds for a file holds for a database."""
    if request.param == "file":
        return str(tmp_path / "memory.db")
    return request.getfixturevalue("postgres")


@pytest.fixture
def postgres(cluster: postgres_support.Cluster, shared_database: str, tmp_path: Path) -> str:
    """The address of a memory that no other test uses."""
    namespace = postgres_support.namespace_of(tmp_path)
    return cluster.url(shared_database, postgres_support.OWNER, namespace)
