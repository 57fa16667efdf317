"""Soft clusters of vectors: UMAP, then Gaussian mixtures, first over all and then within each.

As in RAPTOR: ten dimensions, the number of components chosen by BIC, and a vector belongs to every
component with a probability of at least a tenth.
"""

import math
import threading
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from scaleqa.errors import DataError
from tsim.toolkit import Vectors

DIMENSIONS = 10
# Fewer vectors than this are one cluster: ten dimensions cannot be fitted to them.
FEWEST = DIMENSIONS + 2
NEIGHBOURS = 10
MOST_COMPONENTS = 50
SHARE = 0.1
# BIC falls and then rises, with small dips; stop after this many counts without a new low.
PATIENCE = 10

Points = npt.NDArray[np.float64]
Cluster = tuple[int, ...]

# Some of numba's thread pools abort when two threads enter them, and warning filters are shared by
# all threads, so only one thread clusters at a time.
_ONE_AT_A_TIME = threading.Lock()


def require_libraries() -> None:
    """Checks that the libraries for clustering are installed.

    Raises:
        DataError: A library is not installed.
    """
    for module, package in (("sklearn", "scikit-learn"), ("umap", "umap-learn")):
        if find_spec(module) is None:
            raise DataError(
                f"raptor needs {package}, which is not installed; "
                "run: pip install 'scaleqa[rivals]'"
            )


def soft_clusters(vectors: Vectors, seed: int) -> list[Cluster]:
    """Groups vectors into clusters that may overlap; returns the positions in each, in order."""
    if len(vectors) < FEWEST:
        return [tuple(range(len(vectors)))]
    # Imported first: a limit applies to the libraries that are loaded when it is set.
    import sklearn.mixture  # noqa: F401
    from threadpoolctl import threadpool_limits

    found: dict[Cluster, None] = {}
    # Mixtures of a few hundred points do not benefit from threads.
    with _ONE_AT_A_TIME, threadpool_limits(1), warnings.catch_warnings():
        # Both libraries warn about what is expected here: a neighbour graph in several parts, and
        # mixtures that have not quite converged, which are compared by BIC like any other.
        warnings.simplefilter("ignore")
        for coarse in _mixture(_reduced(vectors, math.isqrt(len(vectors) - 1), seed), seed):
            inside: list[Cluster] = [tuple(range(len(coarse)))]
            if len(coarse) >= FEWEST:
                inside = _mixture(_reduced(vectors[list(coarse)], NEIGHBOURS, seed), seed)
            for fine in inside:
                found[tuple(coarse[place] for place in fine)] = None
    return sorted(found)


def _reduced(vectors: Vectors, neighbours: int, seed: int) -> Points:
    """Reduces vectors to ten dimensions, if they have more."""
    if vectors.shape[1] <= DIMENSIONS:
        return vectors.astype(np.float64)
    from umap import UMAP

    layout = UMAP(
        n_neighbors=neighbours,
        n_components=DIMENSIONS,
        metric="cosine",
        random_state=seed,
        n_jobs=1,
    )
    points: Points = layout.fit_transform(vectors).astype(np.float64)
    return points


def _mixture(points: Points, seed: int) -> list[Cluster]:
    """Fits mixtures of increasing size; returns the soft clusters with the lowest BIC."""
    most = min(MOST_COMPONENTS, len(np.unique(points, axis=0)) - 1)
    kept = _fitted(points, 1, seed)
    least, since = kept.bic(points), 0
    for count in range(2, most + 1):
        tried = _fitted(points, count, seed)
        bic = tried.bic(points)
        since += 1
        if bic < least:
            kept, least, since = tried, bic, 0
        if since == PATIENCE:
            break
    shares = kept.predict_proba(points)
    member = shares >= SHARE
    member[np.arange(len(points)), shares.argmax(axis=1)] = True
    return [tuple(np.flatnonzero(column).tolist()) for column in member.T if column.any()]


def _fitted(points: Points, count: int, seed: int) -> Any:
    from sklearn.mixture import GaussianMixture

    # Not the default initialisation: the sums in Lloyd's iterations depend on thread timing.
    return GaussianMixture(count, init_params="k-means++", random_state=seed).fit(points)
