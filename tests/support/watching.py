"""Watches a real process: which files does it touch, and does it open sockets?

`compare` lists a sandbox before and after and lets the kernel forbid sockets, which works without
privileges or tools; `trace` reads every system call from strace, and so also sees files that were
removed again and files outside the sandbox.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import confined

NAMES = (
    "open,openat,openat2,creat,mkdir,mkdirat,mknod,mknodat,rename,renameat,renameat2,link,"
    "linkat,symlink,symlinkat,unlink,unlinkat,rmdir,truncate,chmod,fchmodat"
)
CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)$")
PATH = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")
# Where native code looks for terminals and sinks; nothing is kept there.
DEVICES = re.compile(r"^/dev/(null|tty|pts/\d+|urandom)$")

# What a process needs of the environment to start.
NEEDED = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """Where a watched process lives: everything it should know of is below one directory."""

    root: Path

    @property
    def env(self) -> dict[str, str]:
        """As bare as a new user's: ONNX Runtime keeps quiet where it finds a CI's variables."""
        kept = {name: os.environ[name] for name in NEEDED if name in os.environ}
        places = {"HOME": "home", "TMPDIR": "tmp", "TSIM_CACHE": "cache"}
        for place in places.values():
            (self.root / place).mkdir(exist_ok=True)
        given = {name: str(self.root / place) for name, place in places.items()}
        # Byte code beside the sources is Python's, not ours.
        return {**kept, **given, "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a process did.

    Attributes:
        files: Paths that it wrote or removed, or tried to: relative ones are in the sandbox.
        sockets: Whether it opened a socket.
    """

    files: frozenset[str]
    sockets: bool


Watch = Callable[..., Seen]


def compare(sandbox: Sandbox, code: str, *arguments: str) -> Seen:
    """Runs code and compares the sandbox before and after."""
    before = _listing(sandbox.root)
    ran = _run([sys.executable, confined.__file__, code, *arguments], sandbox)
    if ran.returncode == confined.UNSUPPORTED:
        pytest.skip("the kernel takes no filters of system calls")
    killed = ran.returncode == -31  # SIGSYS
    assert killed or not ran.returncode, ran.stderr
    after = _listing(sandbox.root)
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    return Seen(files=frozenset(changed), sockets=killed)


def trace(sandbox: Sandbox, code: str, *arguments: str) -> Seen:
    """Runs code under strace."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    log = sandbox.root.with_name(f"{sandbox.root.name}.strace")
    strace = ["strace", "-f", "-y", "-qq", "-s", "4096", "-o", str(log)]
    strace += ["-e", f"trace={NAMES},socket", "-e", "signal=none"]
    if subprocess.run([*strace, "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    ran = _run([*strace, sys.executable, "-c", code, *arguments], sandbox)
    assert not ran.returncode, ran.stderr
    lines = log.read_text("utf-8", errors="replace").splitlines()
    calls = [match.groups() for line in lines if (match := CALL.match(line))]
    touched = {
        _relative(os.path.normpath(sandbox.root / (directory or "") / path), sandbox.root)
        for name, rest in calls
        if name != "socket" and (not name.startswith("open") or WRITES.search(rest))
        for directory, path in PATH.findall(rest)
    }
    return Seen(
        files=frozenset(path for path in touched if not DEVICES.match(path)),
        sockets=any(name == "socket" for name, _ in calls),
    )


def _run(command: list[str], sandbox: Sandbox) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=sandbox.root, env=sandbox.env, capture_output=True, text=True, check=False
    )


def _listing(root: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(root)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file()
    }


def _relative(path: str, root: Path) -> str:
    inside = os.path.realpath(path)
    base = os.path.realpath(root)
    return os.path.relpath(inside, base) if inside.startswith(base + os.sep) else path
