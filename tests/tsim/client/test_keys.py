"""Keys and namespaces, with a server that asks for them."""

import pytest

from tests.support.served import make_key, served
from tsim import AccessError, KeyMissingError, TooLargeError
from tsim.server.access import Scope
from tsim.server.settings import Limits


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """The address of a server, and a function that makes keys."""
    directory = tmp_path_factory.mktemp("memories")

    def key(namespace, *scopes):
        return make_key(directory, namespace, *scopes)["Authorization"].removeprefix("Bearer ")

    with served(directory, keys=True, limits=Limits(batch=3)) as url:
        yield url, key


def test_without_a_key_nothing_is_told(guarded, kind):
    url, _ = guarded
    for wrong in (None, "tsim_wrong", "tsim_abc_def"):
        with kind(url, key=wrong) as memory:
            with pytest.raises(KeyMissingError):
                memory.threads()
            with pytest.raises(KeyMissingError):
                len(memory.thread("alice"))


def test_a_key_reaches_its_namespace_alone(guarded, kind):
    url, key = guarded
    own, other = key("own", *Scope), key("other", *Scope)
    with kind(url, key=own) as memory:
        memory.thread("alice").add("user", "one gpu only", id="m1")
    with kind(url, key=other) as memory:
        assert "alice" not in memory.threads()
        assert len(memory.thread("alice")) == 0
    with kind(url, key=own, namespace="other") as memory, pytest.raises(AccessError):
        memory.threads()
    with kind(url, key=own, namespace="own") as memory:
        assert memory.threads() == ["alice"]


def test_a_key_does_what_it_is_for(guarded, kind, tmp_path):
    url, key = guarded
    with kind(url, key=key("own", Scope.WRITE, Scope.READ)) as memory:
        memory.thread("bob").add("user", "one gpu only", id="m1")
    with kind(url, key=key("own", Scope.READ)) as memory:
        assert memory.thread("bob").search("gpu")
        for act in (
            lambda: memory.thread("bob").add("user", "x"),
            lambda: memory.thread("bob").forget(turn=0),
            lambda: memory.forget_thread("bob"),
            lambda: memory.backup(tmp_path / "copy.db"),
        ):
            with pytest.raises(AccessError, match="scope"):
                act()
        assert len(memory.thread("bob")) == 1


def test_more_turns_than_the_server_takes_are_sent_in_several_requests(guarded, kind):
    url, key = guarded
    turns = [("user", f"turn {number}") for number in range(7)]
    large = key("large", *Scope)
    with kind(url, key=large) as memory, pytest.raises(TooLargeError, match="at most 3"):
        memory.thread("alice").add_many(turns)
    with kind(url, key=large, batch=3) as memory:
        thread = memory.thread(f"bob-{kind.__name__}")
        thread.add_many(turns)
        assert [turn.text for turn in thread] == [text for _, text in turns]
