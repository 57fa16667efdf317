"""A desk that is really served, in a thread of the test's process."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp

from scaleqa.desk.serving import HOST, make_server
from tsim.ports import address, listen

SECONDS = 30


@contextmanager
def serving_desk(app: ASGIApp) -> Iterator[str]:
    """Serves an application on a free port; yields its URL."""
    listening = listen(HOST, 0)
    server = make_server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    end = time.monotonic() + SECONDS
    while not server.started:
        assert thread.is_alive() and time.monotonic() < end
        time.sleep(0.01)
    try:
        yield address(HOST, listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        assert not thread.is_alive()
