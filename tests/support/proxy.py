"""A proxy before a PostgreSQL server that counts messages and cuts connections at one of them."""

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

READY = b"Z"  # the server has done all that was sent


class Proxy:
    """Listens on a socket as a server does."""

    def __init__(self, directory: Path, server: Path) -> None:
        """Starts listening.

        Args:
            directory: Where to listen.
            server: The directory of the server's socket.
        """
        self._server = next(server.glob(".s.PGSQL.*[0-9]"))
        self.directory = directory
        self.round_trips = 0
        self.refuse = False  # new connections
        self.cut_at: tuple[str, int] | None = None
        self._counts = {"client": 0, "server": 0}
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(directory / self._server.name))
        self._listening.listen()
        self._start(self._accept)

    def arm(self, side: str, number: int) -> None:
        """Cuts at the n-th message of a side from now, instead of passing it on."""
        with self._lock:
            self._counts = {"client": 0, "server": 0}
            self.cut_at = (side, number)

    def disarm(self) -> bool:
        """Cuts no more; returns whether a connection was cut."""
        with self._lock:
            fired, self.cut_at = self.cut_at is None, None
        return fired

    def close(self) -> None:
        for one in (self._listening, *self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in (self._listening, *self._sockets):
            one.close()

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self.refuse:
                client.close()
                continue
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(self._server))
            self._sockets += [client, server]
            for ends in (("client", client, server), ("server", server, client)):
                self._start(self._pass, *ends)

    def _pass(self, side: str, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            if side == "client":  # the first message has no type
                size = _exactly(source, 4)
                target.sendall(size + _exactly(source, struct.unpack(">i", size)[0] - 4))
            while True:
                head = _exactly(source, 5)
                message = head + _exactly(source, struct.unpack(">i", head[1:])[0] - 4)
                if self._cuts(side, head[:1]):
                    break
                target.sendall(message)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _cuts(self, side: str, kind: bytes) -> bool:
        with self._lock:
            self.round_trips += side == "server" and kind == READY
            self._counts[side] += 1
            if self.cut_at is None or self.cut_at != (side, self._counts[side]):
                return False
            self.cut_at = None
            return True


def _exactly(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = source.recv(size - len(data))
        if not more:
            raise OSError("ended")
        data += more
    return data
