"""One namespace never notices another: its answers are the same whether the other exists or not."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.served import make_key, served

SECRET = "the harbour violin is hidden in the meadow"
NAMES = ("diary", "harbour", "shared")
THREADS = st.sampled_from(NAMES)
QUERIES = st.sampled_from((SECRET, "violin", "nothing of it"))
SPACES = st.sampled_from(("", "/namespaces/alice", "/namespaces/nobody", "/namespaces/ALICE"))
TURNS = st.lists(
    st.fixed_dictionaries(
        {"role": st.just("user"), "text": st.sampled_from(("a note", "violin", SECRET))},
        optional={"id": st.sampled_from(("m1", "m2"))},
    ),
    min_size=1,
    max_size=3,
)
REQUESTS = st.one_of(
    st.tuples(st.just("GET"), SPACES, st.just("threads"), st.none()),
    st.tuples(st.just("GET"), SPACES, st.just("memory"), st.none()),
    st.tuples(st.just("GET"), SPACES, THREADS.map("threads/{}".format), st.none()),
    st.tuples(st.just("GET"), SPACES, THREADS.map("threads/{}/turns".format), st.none()),
    st.tuples(st.just("GET"), SPACES, THREADS.map("export?thread={}".format), st.none()),
    st.tuples(st.just("DELETE"), SPACES, THREADS.map("threads/{}".format), st.none()),
    st.tuples(
        st.just("POST"),
        SPACES,
        THREADS.map("threads/{}/turns".format),
        TURNS.map(lambda turns: {"turns": turns}),
    ),
    st.tuples(
        st.just("POST"),
        SPACES,
        THREADS.map("threads/{}/search".format),
        QUERIES.map(lambda query: {"query": query, "min_relevance": 0}),
    ),
    st.tuples(
        st.just("POST"),
        SPACES,
        st.just("context"),
        QUERIES.map(lambda query: {"query": query, "threads": [*NAMES]}),
    ),
    st.tuples(
        st.just("POST"),
        SPACES,
        THREADS.map("threads/{}/forget".format),
        st.integers(0, 3).map(lambda turn: {"turns": [turn]}),
    ),
)


@dataclass(frozen=True)
class World:
    place: Path
    url: str


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[World]]:
    """Two servers; on one of them, alice has threads."""
    places = [tmp_path_factory.mktemp("worlds") / "memories" for _ in range(2)]
    with served(places[0], keys=True) as first, served(places[1], keys=True) as second:
        alice = make_key(places[0], "alice")
        for name in NAMES:
            body = {"turns": [{"role": "user", "text": SECRET, "id": "m1"}]}
            httpx.post(f"{first}/v1/threads/{name}/turns", json=body, headers=alice)
        yield [World(places[0], first), World(places[1], second)]


bobs = count()


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=st.lists(REQUESTS, min_size=1, max_size=8))
def test_answers_do_not_depend_on_other_namespaces(worlds, script):
    name = f"bob{next(bobs)}"
    answers = []
    for world in worlds:
        key = make_key(world.place, name)
        with httpx.Client(base_url=f"{world.url}/v1", headers=key) as client:
            seen = []
            for method, space, path, body in script:
                answer = client.request(
                    method, f"{space.lstrip('/')}/{path}".lstrip("/"), json=body
                )
                kept = {n: v for n, v in answer.headers.items() if n != "date"}
                seen.append((answer.status_code, kept, answer.content))
            answers.append(seen)
    assert answers[0] == answers[1]
    denied = [a for a, (_, space, _, _) in zip(answers[0], script, strict=True) if space]
    assert all(status == 403 for status, _, _ in denied)
