"""Logistic and softmax regression by Newton's method: small, deterministic, for `tsim.fitting`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Matrix: TypeAlias = npt.NDArray[np.float64]

ROUNDS, STEPS = 4, 40
# Improvements of the loss below which a fit ends.
LEAST_GAIN = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """Candidates of which some are right.

    Attributes:
        rows: The features of each candidate.
        rewards: What choosing each is worth; 0 if it is wrong.
        offsets: Added to each logit: the logarithm of how many candidates a row stands for.
        weight: The weight of the group.
    """

    rows: Matrix
    rewards: Matrix
    offsets: Matrix
    weight: float


def logistic(rows: Matrix, y: Matrix, weights: Matrix, *, ridge: float) -> list[float]:
    """Fits a logistic regression; returns the weights of the columns, then the bias.

    Args:
        rows: The features.
        y: 1 where the outcome is positive, else 0.
        weights: The weight of each row.
        ridge: Weight of the penalty on the squares of the weights of standardised columns.
    """
    mean, scale = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    z = np.c_[(rows - mean) / scale, np.ones(len(rows))]
    w = weights / weights.sum()
    penalty = ridge * np.eye(z.shape[1])
    penalty[-1, -1] = 0
    b = np.zeros(z.shape[1])

    def loss(b: Matrix) -> float:
        s = z @ b
        return float((w * (np.logaddexp(0, s) - y * s)).sum() + b @ penalty @ b / 2)

    def step(b: Matrix) -> Matrix:
        p = 1 / (1 + np.exp(-(z @ b)))
        gradient = z.T @ (w * (p - y)) + penalty @ b
        curvature = (z * (w * p * (1 - p))[:, None]).T @ z + penalty + 1e-9 * np.eye(len(b))
        return np.linalg.solve(curvature, gradient)

    b = _minimum(loss, step, b)
    out = b[:-1] / scale
    return [*(float(value) for value in out), float(b[-1] - mean @ out)]


def softmax_regression(groups: Sequence[Group], *, ridge: float) -> list[float]:
    """Fits weights so that the candidates of each group with rewards get most of its softmax.

    It maximises the sum over groups of the logarithm of the expected reward, by expectation
    maximisation: it alternates between dividing each group among its right candidates and fitting
    to that division.

    Args:
        groups: The candidates.
        ridge: Weight of the penalty on the squares of the weights of standardised columns, relative
            to a group of average weight.
    """
    rows = np.concatenate([group.rows for group in groups])
    rewards = np.concatenate([group.rewards for group in groups])
    offsets = np.concatenate([group.offsets for group in groups])
    counts = np.array([len(group.rows) for group in groups])
    starts = np.append(0, np.cumsum(counts)[:-1])
    weights = np.array([group.weight for group in groups])
    weights *= len(weights) / weights.sum()
    each = np.repeat(weights, counts)
    scale = rows.std(axis=0) + 1e-9
    z = (rows - rows.mean(axis=0)) / scale
    b = np.zeros(z.shape[1])

    def chances(b: Matrix) -> tuple[Matrix, Matrix]:
        s = z @ b + offsets
        top = np.maximum.reduceat(s, starts)
        powers = np.exp(s - np.repeat(top, counts))
        total = np.add.reduceat(powers, starts)
        return powers / np.repeat(total, counts), top + np.log(total)

    divided = rewards / np.repeat(np.add.reduceat(rewards, starts), counts)
    for _ in range(ROUNDS):
        target = (divided * each) @ z

        def loss(b: Matrix, target: Matrix = target) -> float:
            return float(ridge * b @ b / 2 + weights @ chances(b)[1] - target @ b) / len(counts)

        def step(b: Matrix, target: Matrix = target) -> Matrix:
            p = chances(b)[0]
            likely = z * p[:, None]
            means = np.add.reduceat(likely, starts)
            gradient = ridge * b + weights @ means - target
            likely *= each[:, None]
            curvature = likely.T @ z - (means * weights[:, None]).T @ means
            return np.linalg.solve(curvature + ridge * np.eye(len(b)), gradient)

        b = _minimum(loss, step, b)
        divided = rewards * chances(b)[0]
        divided /= np.repeat(np.maximum(np.add.reduceat(divided, starts), 1e-300), counts)
    return [float(value) for value in b / scale]


def _minimum(
    loss: Callable[[Matrix], float], newton: Callable[[Matrix], Matrix], b: Matrix
) -> Matrix:
    """Takes Newton steps, each halved until the loss does not grow, until they gain nothing."""
    before = loss(b)
    for _ in range(STEPS):
        step, length = newton(b), 1.0
        after = loss(b - step)
        while after > before and length > 1e-4:
            length /= 2
            after = loss(b - length * step)
        if before - after < LEAST_GAIN:
            return b
        b, before = b - length * step, after
    return b
