"""What a thread costs: how often somebody waits for the server."""

from tests.support.streams import EAGER, stream
from tsim import Memory


def test_few_round_trips(proxy, through, tiny_embedder, tmp_path):
    with Memory.open(through, model=tiny_embedder, preset=EAGER) as memory:
        thread = memory.thread("a")
        thread.add_many(stream(40))

        def cost(work):
            work()
            before = proxy.round_trips
            work()
            return proxy.round_trips - before

        costs = {
            "version": cost(lambda: memory._store.version("a")),
            "search": cost(lambda: thread.search("budget rule")),
            "nearest": cost(lambda: thread.nearest("budget rule")),
            "add": cost(lambda: thread.add("user", "budget letter")),
            "turns": cost(lambda: thread.turns(limit=5)),
        }
        thread.unload()
        costs["load"] = cost(lambda: memory._store.load("a"))
    assert costs == {"version": 1, "search": 4, "nearest": 5, "add": 4, "turns": 3, "load": 3}
