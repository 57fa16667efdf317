"""Packages on disk: a directory each, whose files are checked against the hashes in a manifest.

Packages come from elsewhere, too. Whatever is in their files is either a package that can be
measured on, or a `DataError` that says which file is wrong and why.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from scaleqa.errors import DataError
from scaleqa.packages.check import check_packages
from scaleqa.packages.package import Block, Package, Question, StreamTurn, described
from tsim import unfinished

STREAM = "stream.jsonl"
QUERIES = "EVALUATION_QUERIES.jsonl"
TRUTH = "GROUND_TRUTH_HISTORY.jsonl"
NOISE = "NOISE.jsonl"
IDS = "selected_ids.json"
STATS = "stats.json"
MANIFEST = "manifest.json"
READ = (STREAM, QUERIES, TRUTH, NOISE)
BESIDE = (IDS, STATS)
Part = TypeVar("Part")


class _Settings(BaseModel):
    """The settings of a package that rows and reports rely on; there are others."""

    model_config = ConfigDict(extra="allow", strict=True)

    dataset: str | None = None
    records_sha256: str | None = None
    target: int | None = None


class _Manifest(BaseModel):
    model_config = ConfigDict(strict=True)

    name: str
    settings: _Settings
    sha256: dict[str, str]


def write_packages(packages: Sequence[Package], out: Path) -> None:
    """Writes each package to a directory of its own; all appear, or none.

    Raises:
        DataError: `out` is not empty, or a package could not be read back.
    """
    check_packages(packages)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out} is not an empty directory; name a new one, or remove it first")
    if not out.parent.is_dir():
        out.parent.mkdir(parents=True, exist_ok=True)
    with unfinished.scratch(out.parent) as part:
        _write_all(packages, part / "packages")
        if out.exists():
            out.rmdir()
        (part / "packages").rename(out)


def load_packages(path: Path) -> list[Package]:
    """Reads a package, or all packages in a directory, and checks every hash.

    Raises:
        DataError: There is no package, a file was changed, or what is in it cannot be used.
    """
    found = [path] if (path / MANIFEST).is_file() else []
    if not found and path.is_dir():
        found = sorted(manifest.parent for manifest in path.glob(f"*/{MANIFEST}"))
    if not found:
        raise DataError(f"{path} contains no package; build one with: scaleqa build --out {path}")
    packages = [_load(directory) for directory in found]
    try:
        check_packages(packages)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    return packages


def _load(directory: Path) -> Package:
    manifest = _parsed(
        TypeAdapter(_Manifest), _content(directory / MANIFEST), str(directory / MANIFEST)
    )
    contents = _checked(directory, manifest.sha256)
    return Package(
        name=manifest.name,
        stream=_rows(directory / STREAM, contents[STREAM], StreamTurn),
        questions=_rows(directory / QUERIES, contents[QUERIES], Question),
        truth=_rows(directory / TRUTH, contents[TRUTH], Block),
        noise=_rows(directory / NOISE, contents[NOISE], Block),
        settings=manifest.settings.model_dump(exclude_unset=True),
    )


def _checked(directory: Path, hashes: Mapping[str, str]) -> dict[str, bytes]:
    """Reads the files of a manifest; it may name no others, wherever they are."""
    wrong = sorted({*hashes} - {*READ, *BESIDE}) or sorted({*READ} - {*hashes})
    if wrong:
        raise DataError(
            f"{directory / MANIFEST} has hashes of {', '.join(sorted(hashes))[:200]!r}; expected "
            f"those of {', '.join(READ)}; build the package again"
        )
    contents = {name: _content(directory / name) for name in hashes}
    for name, expected in hashes.items():
        found = hashlib.sha256(contents[name]).hexdigest()
        if found != expected:
            raise DataError(
                f"{directory / name} has sha256 {found}, the manifest says {expected[:80]}: it was "
                "changed after it was built; build the package again"
            )
    return contents


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path} is missing; build the package again") from None


def _rows(path: Path, content: bytes, kind: type[Part]) -> tuple[Part, ...]:
    adapter = TypeAdapter(kind)
    lines = content.removesuffix(b"\n").split(b"\n") if content else []
    return tuple(
        _parsed(adapter, line, f"{path}, line {number}") for number, line in enumerate(lines, 1)
    )


def _parsed(adapter: TypeAdapter[Part], content: bytes, where: str) -> Part:
    try:
        return adapter.validate_json(content)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise DataError(
            f"{where} is damaged ({f'{place}: ' if place else ''}{problem['msg']}); build the "
            "package again"
        ) from None


def _write_all(packages: Sequence[Package], out: Path) -> None:
    for package in packages:
        directory = out / package.name
        directory.mkdir(parents=True)
        files = {
            STREAM: _lines(_said(turn) for turn in package.stream),
            QUERIES: _lines(described(question) for question in package.questions),
            TRUTH: _lines(asdict(block) for block in package.truth),
            NOISE: _lines(asdict(block) for block in package.noise),
            IDS: _document([question.id for question in package.questions]),
            STATS: _document(package.stats),
        }
        for name, content in files.items():
            (directory / name).write_bytes(content)
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        manifest = {"name": package.name, "settings": package.settings, "sha256": hashes}
        (directory / MANIFEST).write_bytes(_document(manifest))


def _said(turn: StreamTurn) -> dict[str, Any]:
    """Returns the fields of a turn; a time that is not known is omitted."""
    return {name: value for name, value in asdict(turn).items() if value is not None}


def _lines(rows: Iterable[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _document(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()
