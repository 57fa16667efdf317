"""A child process that speaks the protocol, and whatever may go wrong with one."""

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scaleqa.errors import DataError
from scaleqa.systems.external.messages import MOST_BYTES, Chat, Reply, ReplyT, Wanted, read, write

Serve = Callable[[Wanted | Chat], Mapping[str, Any]]
LOG = "stderr.txt"
TAIL = 1500
# What a child may take to end by itself.
PARTING_SECONDS = 10.0


class Child:
    """A process that is asked one thing at a time.

    Its lines are read and written by threads, so that neither a silent child nor one that does not
    read can stop us. What it writes to stderr goes to a file, whose end is part of every error.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str,
        directory: Path,
        serve: Serve,
        timeout: float,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Starts the process.

        Args:
            command: The program and its arguments.
            name: What errors call it.
            directory: An empty directory, where it runs.
            serve: Answers what it asks for before it replies: vectors, or messages of a chat.
            timeout: Seconds that it may take for a line.
            environment: Its environment variables; None for ours.

        Raises:
            DataError: The program cannot be started.
        """
        self._name = name
        self._serve = serve
        self._timeout = timeout
        self._log = directory / LOG
        self._number = 0
        self._over = False
        try:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    [*command],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=directory,
                    env=None if environment is None else {**environment},
                    start_new_session=True,  # what it starts itself ends with it
                )
        except OSError as error:
            raise DataError(
                f"{name}: {command[0]!r} cannot be started: {error.strerror or error}"
            ) from error
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._said: queue.Queue[bytes | None] = queue.Queue()
        for work in (self._write, self._read):
            threading.Thread(target=work, daemon=True).start()

    def ask(self, kind: type[ReplyT], op: str, **fields: Any) -> ReplyT:
        """Sends a request and waits for its reply.

        Raises:
            DataError: The child reports an error, ends, says nothing in time, or says something
                that is no reply. It is ended then.
        """
        if self._over:
            raise DataError(f"{self._name}: at {op}: its process has ended")
        self._number += 1
        self._lines.put(write({"id": self._number, "op": op, **fields}))
        try:
            while True:
                found = read(self._line(), kind, self._number)
                if isinstance(found, Reply):
                    return found
                self._lines.put(write(self._serve(found)))
        except DataError as error:
            self.end()
            raise DataError(f"{self._name}: at {op}: {error}{self._complaint()}") from None
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        """Its process id, which is also that of its process group."""
        return self._process.pid

    def part(self) -> None:
        """Closes its input and waits for it to end; if it does not, it is ended."""
        self._lines.put(b"")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(min(PARTING_SECONDS, self._timeout))
        self.end()

    def end(self) -> None:
        """Ends it at once, with everything it started."""
        self._over = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._lines.put(b"")

    def _line(self) -> bytes:
        try:
            line = self._said.get(timeout=self._timeout)
        except queue.Empty:
            raise DataError(f"it said nothing for {self._timeout:g} s") from None
        if line is None:
            raise DataError(f"it ended {self._ending()} before it replied")
        if len(line) > MOST_BYTES:
            raise DataError(f"it wrote a line of more than {MOST_BYTES:,} bytes")
        return line

    def _ending(self) -> str:
        """How it ended; a child may also close its output and live on."""
        try:
            code = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return "its output"
        return f"by signal {-code}" if code < 0 else f"with exit code {code}"

    def _complaint(self) -> str:
        """The end of what it wrote to stderr."""
        with contextlib.suppress(OSError), self._log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
            text = file.read().decode("utf-8", "replace").strip()
            return f"\nIts stderr ends with:\n{text}" if text else ""
        return ""

    def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - a pipe was asked for
        with contextlib.suppress(OSError), stdin:  # a child that ended is told by its output
            while line := self._lines.get():
                stdin.write(line)
                stdin.flush()

    def _read(self) -> None:
        for line in self._output():
            self._said.put(line)
            if len(line) > MOST_BYTES:
                break
        self._said.put(None)

    def _output(self) -> Iterator[bytes]:
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101 - a pipe was asked for
        with stdout:
            while line := stdout.readline(MOST_BYTES + 1):
                yield line
