"""Checks on the arrays that the training maths takes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from spade_train.errors import DataError
from spade_train.types import Bools, Floats, Ints


def numbers(data: ArrayLike, name: str, valid: Bools | None = None) -> Floats:
    """Return one axis of finite numbers as float64; what is not valid becomes 0.

    Raises:
        DataError: more than one axis, a mask of another length, or a valid number that is not
            finite.
    """
    values = np.asarray(data, dtype=np.float64)
    if values.ndim != 1:
        raise DataError(f"{name} must have one axis, not shape {values.shape}")
    if valid is not None:
        values = np.where(valid, values, 0.0)
    if not np.all(np.isfinite(values)):
        raise DataError(f"{name} must be finite")
    return values


def shares(data: ArrayLike, name: str, valid: Bools | None = None) -> Floats:
    """Return one axis of numbers in [0, 1] as float64; what is not valid becomes 0.

    Raises:
        DataError: as for `numbers`, or a valid number lies outside [0, 1].
    """
    values = numbers(data, name, valid)
    if not np.all((values >= 0.0) & (values <= 1.0)):
        raise DataError(f"{name} must lie in [0, 1]")
    return values


def mask(data: ArrayLike | None, size: int) -> Bools:
    """Return the mask of what counts; everything if None.

    Raises:
        DataError: the mask has another length.
    """
    if data is None:
        return np.ones(size, dtype=np.bool_)
    valid = np.asarray(data, dtype=np.bool_)
    if valid.shape != (size,):
        raise DataError(f"the mask has shape {valid.shape}, not ({size},)")
    return valid


def group_index(labels: Sequence[Hashable], size: int) -> Ints:
    """Return for each label the number of its group, counted by first appearance.

    Raises:
        DataError: there are not `size` labels.
    """
    if len(labels) != size:
        raise DataError(f"{len(labels)} labels for {size} values")
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(label, len(known)) for label in labels], dtype=np.int64)
