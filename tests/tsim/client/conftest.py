"""Clients of both kinds, and a server for each preset."""

import itertools

import pytest

from tests.support.served import served
from tests.tsim.client.awaited import awaited
from tsim import LATE, OFFICIAL
from tsim.client import Client

numbers = itertools.count()


@pytest.fixture(scope="session", params=[LATE, OFFICIAL], ids=lambda preset: preset.name)
def place(request, tmp_path_factory):
    """The address and the preset of a server without keys."""
    directory = tmp_path_factory.mktemp("memories")
    with served(directory, preset=request.param.name) as url:
        yield url, request.param


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The address of a server without keys."""
    with served(tmp_path_factory.mktemp("memories")) as url:
        yield url


@pytest.fixture(params=[Client, awaited], ids=["blocking", "async"])
def kind(request):
    """What opens a client."""
    return request.param


@pytest.fixture
def memory(server, kind):
    """A memory that nobody has used."""
    with kind(server, namespace=f"own-{next(numbers)}") as opened:
        yield opened
