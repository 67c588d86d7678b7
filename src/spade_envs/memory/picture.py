"""Vectors as points in a plane, along the two directions in which they differ most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spade_envs.memory.embedders.base import Vectors

_TOGETHER = 1024


@dataclass(frozen=True, slots=True)
class Plane:
    """Points of a plane, and how much of the differences they show."""

    points: NDArray[np.float64]
    """Shape (items, 2); the mean is at the origin."""
    share: float
    """Part of the variance that the plane shows, in [0, 1]."""


def nearest_of_each(rows: Vectors) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return, for each of at least two unit vectors, the place and cosine of its nearest other."""
    places = np.zeros(len(rows), dtype=np.int64)
    cosines = np.zeros(len(rows), dtype=np.float32)
    for start in range(0, len(rows), _TOGETHER):
        part = rows[start : start + _TOGETHER] @ rows.T
        own = np.arange(len(part))
        part[own, start + own] = -np.inf
        best = part.argmax(axis=1)
        places[start : start + len(part)] = best
        cosines[start : start + len(part)] = part[own, best]
    return places, np.clip(cosines, -1.0, 1.0)


def plane_of(rows: Vectors) -> Plane:
    """Return the principal plane of some vectors; equal vectors fall on one point.

    Directions are turned so that their greatest component is positive, so that the same vectors
    always give the same picture.
    """
    count, dimension = rows.shape
    if count == 0:
        return Plane(np.zeros((0, 2)), 0.0)
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    values, directions = np.linalg.eigh(centred.T @ centred)
    axes = directions[:, ::-1][:, :2]
    if dimension == 1:
        axes = np.hstack([axes, np.zeros((1, 1))])
    peaks = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0)[0]
    axes = axes * np.where(peaks < 0, -1.0, 1.0)
    total = float(np.clip(values, 0, None).sum())
    shown = float(np.clip(values[::-1][:2], 0, None).sum())
    return Plane(centred @ axes, shown / total if total > 1e-12 else 0.0)
