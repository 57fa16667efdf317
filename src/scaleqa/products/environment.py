"""The environments of products: one per product, in the cache directory, whole or absent."""

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scaleqa.errors import DataError
from scaleqa.products.product import Product
from tsim import private

# Written last: an environment without it was interrupted.
MARK = "installed.json"
LOG = "install.log"
TAIL = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """An environment.

    Attributes:
        directory: Where it is.
        python: Its interpreter.
        size: Bytes that it takes.
        current: Whether it has the versions that are pinned now.
    """

    directory: Path
    python: Path
    size: int
    current: bool


def installed(product: Product, cache: Path) -> Installed | None:
    """Returns the environment of a product; None if there is none, or none that is whole."""
    directory = _directory(product, cache)
    try:
        mark = json.loads((directory / MARK).read_text("utf-8"))
        size, made_of = int(mark["size"]), mark["made_of"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    python = _python(directory)
    if not python.exists():
        return None
    current = made_of == _made_of(product)
    return Installed(directory=directory, python=python, size=size, current=current)


def install(product: Product, cache: Path, *, offline: bool = False) -> Installed:
    """Makes the environment of a product, unless it is there as pinned.

    Raises:
        DataError: Downloads are forbidden, somebody else is at it, or pip fails; what it said is
            part of the message.
    """
    with _held(cache):
        found = installed(product, cache)
        if found and found.current:
            return found
        if offline and product.requirements:
            raise DataError(
                f"{product.name} is not installed, and TSIM_OFFLINE forbids downloads; unset it"
            )
        directory = _directory(product, cache)
        shutil.rmtree(directory, ignore_errors=True)
        private.make_directory(directory)
        bare = [] if product.requirements else ["--without-pip"]
        _run(product, directory, [sys.executable, "-m", "venv", *bare, str(directory)])
        if product.requirements:
            pins = directory / "requirements.txt"
            pins.write_text("".join(f"{line}\n" for line in product.requirements), "utf-8")
            pip = [str(_python(directory)), "-m", "pip", "install", "--no-input", "-r", str(pins)]
            _run(product, directory, pip)
        mark = {"made_of": _made_of(product), "size": _size(directory)}
        part = directory / f"{MARK}.part"
        part.write_text(json.dumps(mark), "utf-8")
        part.replace(directory / MARK)
        made = installed(product, cache)
    if made is None:
        raise DataError(f"{directory} has no interpreter; remove it and install again")
    return made


def remove(product: Product, cache: Path) -> bool:
    """Removes the environment of a product; returns whether there was one.

    Raises:
        DataError: Somebody is installing.
    """
    directory = _directory(product, cache)
    with _held(cache):
        if not directory.exists():
            return False
        (directory / MARK).unlink(missing_ok=True)
        shutil.rmtree(directory)
        return True


def _directory(product: Product, cache: Path) -> Path:
    return cache / "products" / product.name


def _python(directory: Path) -> Path:
    return directory / "bin" / "python"


def _made_of(product: Product) -> str:
    """A hash of what an environment is made from."""
    parts = [platform.python_version(), *product.requirements]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _size(directory: Path) -> int:
    return sum(path.lstat().st_size for path in directory.rglob("*") if not path.is_dir())


def _run(product: Product, directory: Path, command: Sequence[str]) -> None:
    log = directory / LOG
    with log.open("ab") as file:
        ran = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, check=False
        )
    if ran.returncode:
        said = log.read_text("utf-8", "replace").strip()[-TAIL:]
        raise DataError(
            f"{product.name} cannot be installed: {' '.join(command[1:4])} ended with exit code "
            f"{ran.returncode}; its output ends with:\n{said}"
        )


@contextmanager
def _held(cache: Path) -> Iterator[None]:
    """Lets one process at a time change environments; the lock ends with its process."""
    handle = os.open(private.make_directory(cache / "products"), os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(
                "another process is installing or removing products; wait until it ends"
            ) from None
        yield
    finally:
        os.close(handle)
