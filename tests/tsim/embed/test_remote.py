import numpy as np
import pytest

from tests.support.servers import JsonServer, serving
from tsim.embed import RemoteEmbedder, open_embedder
from tsim.errors import InputError, RemoteError
from tsim.http import Patience


def answer(body):
    # Out of order on purpose: the index field is what counts.
    return {
        "data": [
            {"index": i, "embedding": [float(len(text)), 1.0, 2.0]}
            for i, text in reversed(list(enumerate(body["input"])))
        ]
    }


@pytest.fixture
def server():
    with serving(JsonServer(answer)) as server:
        yield server


@pytest.fixture
def waits():
    return []


@pytest.fixture
def remote(server, waits):
    patience = Patience(attempts=4, timeout=5, sleep=waits.append)
    embedder = RemoteEmbedder(server.url, "m", key="secret", batch=2, patience=patience)
    yield embedder
    embedder.close()


def test_texts_come_back_in_order_as_unit_vectors(remote, server):
    vectors = remote.embed(["a", "bb", "ccc", "dddd", "eeeee"])
    expected = np.array([[n, 1, 2] for n in range(1, 6)], dtype=float)
    np.testing.assert_allclose(
        vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6
    )
    assert [len(request["input"]) for request in server.seen] == [2, 2, 1]
    assert {request["path"] for request in server.seen} == {"/v1/embeddings"}
    assert {request["auth"] for request in server.seen} == {"Bearer secret"}
    assert remote.dimension == 3


def test_overload_is_waited_out_as_the_server_asks(remote, server, waits):
    server.script = [(429, {}, {"retry-after": "7"}), (503, {}, {}), (500, {}, {})]
    assert remote.embed(["a"]).shape == (1, 3)
    assert waits[0] == 7
    assert len(waits) == 3
    assert waits[1] < waits[2] * 2


def test_retries_are_bounded_and_the_last_failure_is_told(remote, server, waits):
    server.script = [(500, b"out of memory", {})] * 9
    with pytest.raises(RemoteError, match=r"failed 4 times.*500.*out of memory"):
        remote.embed(["a"])
    assert len(server.seen) == 4
    assert len(waits) == 3


def test_a_refusal_is_not_retried(remote, server, waits):
    server.script = [(401, b"bad key", {})]
    with pytest.raises(RemoteError, match="401: bad key"):
        remote.embed(["a"])
    assert waits == []


def test_a_server_that_is_down_is_an_error_after_the_retries(waits):
    patience = Patience(attempts=2, sleep=waits.append)
    embedder = RemoteEmbedder("http://127.0.0.1:9/v1", "m", patience=patience)
    with pytest.raises(RemoteError, match="failed 2 times"):
        embedder.embed(["a"])
    embedder.close()


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (b"<html>", "did not return embeddings"),
        ({"data": []}, "0 vectors for 1 texts"),
        ({"data": [{"index": 3, "embedding": [1.0]}]}, "1 vectors for 1 texts"),
        (
            b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}',
            "did not return embeddings|not finite",
        ),
        ({"data": [{"index": 0, "embedding": [0.0, 0.0]}]}, "zero or not finite"),
    ],
)
def test_nonsense_is_refused(remote, server, reply, message):
    server.script = [(200, reply, {})]
    with pytest.raises(RemoteError, match=message):
        remote.embed(["a"])


def test_a_dimension_that_changes_is_refused(remote, server):
    remote.embed(["a"])
    server.script = [(200, {"data": [{"index": 0, "embedding": [1.0]}]}, {})]
    with pytest.raises(RemoteError, match="different lengths"):
        remote.embed(["b"])


def test_a_url_with_a_model_opens_a_remote_embedder(server, monkeypatch):
    assert open_embedder(f"{server.url}#m").dimension == 3
    with pytest.raises(InputError, match="URL#MODEL"):
        open_embedder(server.url)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        open_embedder("https://127.0.0.1/v1#m")


def test_credentials_of_an_address_are_part_of_no_identity(server):
    secret = server.url.replace("http://", "http://me:hunter2@")
    embedder = RemoteEmbedder(secret, "m", patience=Patience(sleep=lambda _: None))
    assert embedder.identity == f"m@{server.url}"
    server.script = [(400, b"no", {})]
    with pytest.raises(RemoteError, match="rejected") as failed:
        embedder.embed(["a"])
    assert "hunter2" not in str(failed.value)
    embedder.close()
    with pytest.raises(InputError, match="the API key has a space"):
        RemoteEmbedder(server.url, "m", key="sécret")
