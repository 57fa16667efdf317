"""Whose conversation a request continues, and who may use a proxy at all."""

import httpx
import pytest

from tests.support.processes import wait_for
from tests.support.proxied import proxied
from tests.support.served import make_key
from tests.tsim.proxy.conftest import program
from tests.tsim.proxy.talk import user
from tsim.errors import InputError
from tsim.server.access import Scope


def thread(client, **headers):
    found = client.ask([user("hello")], headers=headers, model="429")
    return found.headers["x-tsim-thread"]


def test_callers_do_not_meet(shared, model):
    names = set()
    for key in ("sk-a", "sk-b"):
        with program(shared.url, shared.place, key) as talking:
            assert key not in thread(talking)
            names |= {thread(talking), thread(talking, **{"X-Tsim-Thread": "work"})}
            for who in ("u1", "u2"):
                answer = talking.ask([user("hello")], user=who)
                names.add(answer.headers["x-tsim-thread"])
                assert who not in answer.headers["x-tsim-thread"]
    assert len(names) == 8


def test_a_name_cannot_reach_the_conversation_of_another(shared, model):
    with program(shared.url, shared.place, "sk-a") as one:
        name = thread(one)
    with program(shared.url, shared.place, "sk-b") as other:
        for wanted in (name, f"/{name}", f"../{name}"):
            assert thread(other, **{"X-Tsim-Thread": wanted}).startswith(thread(other))


def test_names_of_threads_may_be_of_any_script(talking):
    assert thread(talking, **{"X-Tsim-Thread": "J%C3%B6rg"}).endswith("/J%C3%B6rg")


def test_without_a_credential_there_is_one_caller(shared, model):
    body = {"model": "echo", "messages": [user("hello")]}
    found = httpx.post(f"{shared.url}/chat/completions", json=body)
    assert found.headers["x-tsim-thread"] == "anonymous"


def test_pages_of_other_sites_are_refused(talking, model):
    for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
        assert talking.ask([user("hello")], headers=headers).status_code == 403
    assert not model.seen


def test_others_than_this_machine_need_keys(place):
    everywhere = {"host": "0.0.0.0"}
    with (
        pytest.raises(InputError, match="without keys"),
        proxied(place, "http://localhost/v1", settings=everywhere),
    ):
        pass


@pytest.fixture(scope="module")
def keyed(running, tmp_path_factory):
    place = tmp_path_factory.mktemp("keyed")
    keys = {
        name: make_key(place, namespace, *scopes)["Authorization"].removeprefix("Bearer ")
        for name, namespace, scopes in (
            ("alice", "alice", (Scope.READ, Scope.WRITE)),
            ("reader", "alice", (Scope.READ,)),
            ("all", None, ()),
        )
    }
    with proxied(place, running.url, settings={"keys": True}) as url:
        yield url, place, keys


def test_a_key_of_the_proxy_is_checked_and_stays_here(keyed, model):
    url, place, keys = keyed
    with program(url, place, "sk-upstream") as talking:
        answer = talking.ask([user("hello")], headers={"X-Tsim-Key": keys["alice"]})
        assert answer.status_code == 200
        assert model.last.headers["authorization"] == "Bearer sk-upstream"
        assert keys["alice"] not in str(model.last)
        wait_for((place / "alice.db").is_file)  # written after the answer was sent
    assert not (place / "default.db").exists()


@pytest.mark.parametrize(
    ("name", "status"), [("none", 401), ("wrong", 401), ("reader", 403), ("all", 403)]
)
@pytest.mark.parametrize("path", ["chat/completions", "embeddings"])
def test_other_keys_are_refused(keyed, model, name, status, path):
    url, _, keys = keyed
    token = {"none": "", "wrong": f"{keys['alice'][:-3]}abc"}.get(name) or keys.get(name, "")
    body = {"model": "echo", "messages": [user("hello")]}
    found = httpx.post(f"{url}/{path}", json=body, headers={"X-Tsim-Key": token})
    assert found.status_code == status
    assert not model.seen


def test_a_key_of_the_proxy_is_not_sent_on_by_mistake(keyed, model):
    url, _, keys = keyed
    headers = {"Authorization": f"Bearer {keys['alice']}", "X-Tsim-Key": keys["alice"]}
    found = httpx.get(f"{url}/models", headers=headers)
    assert found.status_code == 403
    assert "X-Tsim-Key" in found.json()["detail"]
    assert not model.seen


def test_a_key_that_is_made_later_is_needed_at_once(model, place):
    with proxied(place, model.url) as url:
        assert httpx.get(f"{url}/models").status_code == 200
        make_key(place, "default")
        assert httpx.get(f"{url}/models").status_code == 401
