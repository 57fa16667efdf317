"""An `AsyncClient` that is used as a `Client`, so that the same tests hold for both."""

import asyncio
import inspect

from tsim.client import AsyncClient


class Awaited:
    """Runs what it is asked for on a loop of its own."""

    def __init__(self, inner, loop):
        self._inner, self._loop = inner, loop

    def __getattr__(self, name):
        found = getattr(self._inner, name)
        if name == "thread":
            return lambda *arguments: Awaited(found(*arguments), self._loop)
        if not inspect.iscoroutinefunction(found):
            return found
        return lambda *arguments, **named: self._run(found(*arguments, **named))

    def __len__(self):
        return self._run(self._inner.count())

    def __iter__(self):
        async def every():
            return [turn async for turn in self._inner]

        return iter(self._run(every()))

    def __repr__(self):
        return repr(self._inner)

    def __enter__(self):
        self._run(self._inner.__aenter__())
        return self

    def __exit__(self, *raised):
        self._run(self._inner.__aexit__(*raised))
        self._loop.close()

    def _run(self, awaitable):
        return self._loop.run_until_complete(awaitable)


def awaited(*arguments, **named):
    return Awaited(AsyncClient(*arguments, **named), asyncio.new_event_loop())
