"""What is in the cache directory, and how it is emptied.

Only files that the packages themselves put there are listed and removed: the directory may be
shared with other programs, or be somebody's home.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tsim.weights import Weights, model_dir

# SQLite's own files beside a database, and one that was unreadable.
BESIDE = ("", "-wal", "-shm", "-journal", ".damaged")
DATABASES = {"embeddings.db": "vectors of texts", "replies.db": "replies of chat models"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cached:
    """Files of one kind in the cache.

    Attributes:
        what: What they are.
        where: The file or directory they are in.
        files: The files.
    """

    what: str
    where: Path
    files: tuple[Path, ...]

    @property
    def size(self) -> int:
        """Size of the files in bytes."""
        return sum(file.stat().st_size for file in self.files)


def cached(cache: Path, models: Iterable[Weights]) -> list[Cached]:
    """Lists what is in the cache directory.

    Args:
        cache: The directory, which may be missing.
        models: The models whose weights may be there.
    """
    found = [
        Cached(
            what=f"weights of {model.name}",
            where=model_dir(cache, model),
            files=_present(model_dir(cache, model) / file.path for file in model.files),
        )
        for model in sorted(models, key=lambda model: model.name)
    ]
    parts = (cache / "models").glob(".fetch-*/**/*")
    found.append(Cached(what="unfinished downloads", where=cache / "models", files=_present(parts)))
    graphs = (cache / "graphs").glob("*-opset*.onnx")
    found.append(
        Cached(what="graphs built from weights", where=cache / "graphs", files=_present(graphs))
    )
    found += [
        Cached(
            what=what,
            where=cache / name,
            files=_present(cache / f"{name}{end}" for end in BESIDE),
        )
        for name, what in DATABASES.items()
    ]
    return [one for one in found if one.files]


def clear(cache: Path, found: Sequence[Cached]) -> None:
    """Removes what was listed, and directories below the cache that are empty afterwards."""
    for one in found:
        for file in one.files:
            file.unlink(missing_ok=True)
            for directory in file.parents:
                if directory == cache:
                    break
                with suppress(OSError):  # something else is in it
                    directory.rmdir()


def _present(files: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(sorted(file for file in files if file.is_file()))
