"""What a product costs: one thread, in a process of its own, embedding left out."""

import os
import statistics
import time
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from scaleqa import products as known
from scaleqa.evaluate.feed import CHUNK
from scaleqa.evaluate.meter import Metered
from scaleqa.packages import Package
from scaleqa.reproduce.lab import Lab, Threads, slug
from scaleqa.specs import Spec
from scaleqa.systems import Asked, Tools
from scaleqa.systems.external import External, open_hosted
from tsim import environment, private
from tsim.embed import Embedder

QUESTIONS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a system took.

    Attributes:
        system: Its name and options.
        turns: Turns of the thread.
        ingest_seconds: Time to take them in.
        search_ms: Median time of a request.
        memory: The most bytes of RAM; None if unknown.
        disk: Bytes of its files.
        install: Bytes of its environment; None for a system that has none.
        load: Processes that wanted to run, on average of the minute before the end.
        cores: Cores of the machine.
    """

    system: str
    turns: int
    ingest_seconds: float
    search_ms: float
    memory: int | None
    disk: int
    install: int | None
    load: float
    cores: int

    @property
    def row(self) -> dict[str, Any]:
        """A row of the table of costs."""
        return {
            "system": self.system,
            "ingest": 1000 * self.ingest_seconds / self.turns,
            "search": self.search_ms,
            "memory": self.memory and self.memory / 1e6,
            "disk": self.disk / 1e6,
            "install": self.install and self.install / 1e6,
            "load": self.load,
        }


def cost_of(lab: Lab, system: str, threads: Threads) -> Cost:
    """Measures a system on the first of some threads, or takes what was measured before."""
    path = lab.sources.out / "costs" / threads.name / f"{slug(system)}.json"
    adapter = TypeAdapter(Cost)
    try:
        return adapter.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        pass
    with lab.bar(f"costs of {system}", threads) as advance:
        advance(0, 1)
        made = measure(system, threads.packages[0], lab.embedder())
        advance(1, 1)
    private.make_directory(path.parent)
    path.write_bytes(adapter.dump_json(made))
    return made


def measure(system: str, package: Package, embedder: Embedder) -> Cost:
    """Measures a system that is a product, or can be hosted as one."""
    # All texts are embedded before: what is in the cache takes no time worth mentioning.
    embedder.embed([turn.text for turn in package.stream])
    metered = Metered(embedder)
    opened = open_hosted(system, Tools(embedder=metered))
    try:
        began = time.perf_counter()
        for start in range(0, len(package.stream), CHUNK):
            opened.ingest(package.stream[start : start + CHUNK])
        ingest = time.perf_counter() - began - metered.seconds
        return Cost(
            system=system,
            turns=len(package.stream),
            ingest_seconds=round(ingest, 4),
            search_ms=round(_search_ms(opened, package, metered), 3),
            **asdict(opened.costs()),
            install=_size(system),
            load=round(os.getloadavg()[0], 2),
            cores=os.cpu_count() or 1,
        )
    finally:
        opened.close()


def _search_ms(system: External, package: Package, metered: Metered) -> float:
    """The median time of a request, after a first one that is not counted."""
    times = []
    for question in package.questions[: QUESTIONS + 1]:
        before, began = metered.seconds, time.perf_counter()
        system.retrieve(Asked(id=question.id, question=question.question, at=question.at))
        times.append(time.perf_counter() - began - (metered.seconds - before))
    return 1000 * statistics.median(times[1:] or times)


def _size(system: str) -> int | None:
    name = Spec.parse(system).name
    if name not in known.product_names():
        return None
    found = known.installed(known.find_product(name), environment.cache_dir())
    return found.size if found else None
