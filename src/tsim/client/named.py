"""What needs no server: the name of a thread, and the text of hits."""

from collections.abc import Iterable, Sequence

from tsim.arguments import listed
from tsim.assemble import chronological, render
from tsim.client.server import Server
from tsim.types import Hit, SpanWhy


class NamedThread:
    """The name of a thread, and where it is."""

    def __init__(self, name: str, server: Server) -> None:
        """Asks for nothing; the thread need not exist."""
        self.name = name
        self._server = server

    def write(self, hits: Sequence[Hit]) -> str:
        """Returns hits as text for a prompt, in the preset's order."""
        return render(_arranged(hits))

    def __repr__(self) -> str:
        """Returns the name and the server."""
        return f"<{type(self).__name__} {self.name!r} at {self._server.shown}>"


def write_across(hits: Sequence[Hit], threads: Iterable[str]) -> str:
    """Returns hits in several threads as text for a prompt."""
    return render(
        [
            hit
            for name in listed("threads", threads)
            for hit in _arranged([one for one in hits if one.thread == name])
        ],
        named=True,
    )


def _arranged(hits: Sequence[Hit]) -> Sequence[Hit]:
    # Presets that choose spans write them in order, the paper's method the best first.
    spans = any(isinstance(hit.why, SpanWhy) for hit in hits)
    return chronological(hits) if spans else hits
