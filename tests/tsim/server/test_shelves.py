"""A server goes on with the model of its memories."""

from tsim import Memory
from tsim.server.settings import Settings
from tsim.server.shelves import model_for


def begin(path, model):
    """Nothing is embedded, so no weights are needed."""
    Memory.open(path, model=model).close()


def test_a_server_goes_on_with_the_model_of_its_memories(tmp_path, monkeypatch):
    monkeypatch.delenv("TSIM_MODEL")
    settings = Settings(place=tmp_path)
    assert model_for(settings) is None
    begin(tmp_path / "default.db", "all-MiniLM-L6-v2")
    begin(tmp_path / "other.db", "all-MiniLM-L6-v2")
    (tmp_path / "damaged.db").write_bytes(b"no memory")
    assert model_for(settings) == "all-MiniLM-L6-v2"
    assert model_for(Settings(place=tmp_path / "other.db")) == "all-MiniLM-L6-v2"
    begin(tmp_path / "third.db", "gte-small")
    assert model_for(settings) is None
