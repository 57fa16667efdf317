"""Texts of requests that come at the same time are embedded together."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from tsim.embed import Embedder, embed_queries
from tsim.embed.checked import CheckedEmbedder
from tsim.vectors import Vector, Vectors

# Texts of one pass. More would keep those waiting who have few.
TEXTS = 256

Embed: TypeAlias = Callable[[Sequence[str]], Vectors]


class BatchingEmbedder:
    """Embeds for many threads at a time; the vector of a text does not depend on the others."""

    def __init__(self, inner: Embedder, *, texts: int = TEXTS) -> None:
        """Wraps an embedder.

        Args:
            inner: Embeds.
            texts: Most texts of one pass; one request may have more.
        """
        # A missing row would give the texts of one request the vectors of another's.
        self.inner = CheckedEmbedder(inner)
        self.passages = Lane(self.inner.embed, texts)
        self.queries = Lane(partial(embed_queries, inner), texts)

    @property
    def identity(self) -> str:
        """The inner embedder's identity."""
        return self.inner.identity

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return self.inner.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embeds passages and returns one row per text, in order."""
        return self.passages(texts)

    def embed_query(self, text: str) -> Vector:
        """Embeds a search query."""
        row: Vector = self.queries([text])[0]
        return row


@dataclass(slots=True)
class _Job:
    """Texts of one request."""

    texts: list[str]
    woken: threading.Event = field(default_factory=threading.Event)
    leads: bool = False
    vectors: Vectors | None = None
    error: BaseException | None = None


class Lane:
    """One pass at a time: who comes while it runs shares the next one.

    Whoever finds nobody at work embeds for all who wait; then it leaves the work to the first of
    those who have come meanwhile.

    Attributes:
        passes: Number of passes so far.
        waiting: Requests that wait for the next pass.
    """

    def __init__(self, embed: Embed, most: int) -> None:
        """Begins with nobody at work.

        Args:
            embed: Embeds texts.
            most: Most texts of one pass.
        """
        self.passes = 0
        self._inner = embed
        self._most = most
        self._guard = threading.Lock()
        self.waiting: list[_Job] = []
        self._busy = False

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Embeds texts, maybe together with those of others."""
        job = _Job(list(texts))
        with self._guard:
            self.waiting.append(job)
            job.leads = not self._busy
            self._busy = True
        if not job.leads:
            job.woken.wait()
        if job.leads:
            self._lead()
        if job.vectors is None:
            raise job.error or RuntimeError("a pass ended without a result")
        return job.vectors

    def _lead(self) -> None:
        """Embeds for those who wait, then lets the first of the others lead."""
        jobs = self._take()
        try:
            self._embed(jobs)
        finally:
            with self._guard:
                following = self.waiting[0] if self.waiting else None
                self._busy = following is not None
            if following is not None:
                following.leads = True
                following.woken.set()
            for job in jobs:
                job.woken.set()

    def _take(self) -> list[_Job]:
        with self._guard:
            count, texts = 1, len(self.waiting[0].texts)
            while count < len(self.waiting):
                texts += len(self.waiting[count].texts)
                if texts > self._most:
                    break
                count += 1
            jobs, self.waiting = self.waiting[:count], self.waiting[count:]
        return jobs

    def _embed(self, jobs: Sequence[_Job]) -> None:
        self.passes += 1
        try:
            vectors = self._inner([text for job in jobs for text in job.texts])
        except Exception as error:  # noqa: BLE001  # raised again where the texts came from
            for job in jobs:
                if len(jobs) > 1:  # nobody fails because of the texts of another
                    self._embed([job])
                else:
                    job.error = error
            return
        start = 0
        for job in jobs:
            job.vectors = vectors[start : start + len(job.texts)]
            start += len(job.texts)
