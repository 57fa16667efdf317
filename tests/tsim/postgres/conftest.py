import tempfile
from pathlib import Path

import pytest

from tests.support.postgres import OWNER, namespace_of
from tests.support.proxy import Proxy


@pytest.fixture
def proxy(cluster):
    """A proxy before the server; names of sockets must be short."""
    with tempfile.TemporaryDirectory() as directory:
        proxy = Proxy(Path(directory), cluster.socket)
        yield proxy
        proxy.close()


@pytest.fixture
def through(proxy, shared_database, tmp_path):
    """The address of the memory `postgres`, through the proxy."""
    host = f"host={proxy.directory}&gssencmode=disable"
    return f"postgresql://{OWNER}@/{shared_database}?{host}#{namespace_of(tmp_path)}"
