"""Batching the infos of several sub-environments the way Gymnasium's vector environments do.

Gymnasium's own `_add_info` fails when two environments put values of different types under one key;
infos of generated code may do just that, so such a column becomes an object array here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def batch_infos(infos: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    """Return one info of arrays `[N]`, each `key` with a boolean mask `_key` of who has it.

    Args:
        infos: one info per sub-environment, None for those that did not report.
    """
    batched: dict[str, Any] = {}
    if not any(infos):
        return batched
    keys = dict.fromkeys(key for info in infos if info for key in info)
    for key in keys:
        present = [info is not None and key in info for info in infos]
        column = [info[key] if info is not None and key in info else None for info in infos]
        batched[key] = _column(key, column, present)
        batched[f"_{key}"] = np.array(present, dtype=np.bool_)
    return batched


def _column(key: str, column: Sequence[Any], present: Sequence[bool]) -> Any:
    values = [value for value, is_present in zip(column, present, strict=True) if is_present]
    if key != "final_obs" and all(isinstance(value, dict) for value in values):
        return batch_infos(column)
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and (kind := kinds.pop()) in (bool, float):
        return np.array([kind(0) if value is None else value for value in column], dtype=kind)
    if all(type(value) is int and abs(value) < 2**63 for value in values):
        return np.array([0 if value is None else value for value in column], dtype=np.int64)
    array = np.full(len(column), None, dtype=object)
    for index, value in enumerate(column):
        array[index] = value
    return array
