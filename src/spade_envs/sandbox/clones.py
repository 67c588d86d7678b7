"""Copies of environment objects, several at once and quicker than `copy.deepcopy`.

They mean the same: everything that the object reaches is copied, functions and classes are shared.
"""

from __future__ import annotations

import copy
import io

# The environment's own state, inside the sandbox; the host never sees these bytes.
import pickle  # noqa: TID251
from types import FunctionType
from typing import Any

import numpy as np

from spade_envs.sandbox import audit

_PROTOCOL = 4
"""The one that `copy.deepcopy` asks objects for."""
_shared: list[Any] = []


def clones(env: Any, count: int) -> list[Any]:
    """Return `count` copies of an object; what it raises on being copied passes through."""
    try:
        with audit.muted():
            return _pickled(env, count)
    except Exception:  # noqa: BLE001  foreign code; what cannot be pickled may yet be copied
        return [copy.deepcopy(env) for _ in range(count)]
    finally:
        _shared.clear()


def _pickled(env: Any, count: int) -> list[Any]:
    buffer = io.BytesIO()
    _Pickler(buffer, _PROTOCOL).dump(env)
    raw = buffer.getbuffer()
    return [pickle.loads(raw) for _ in range(count)]  # noqa: S301


class _Pickler(pickle.Pickler):
    """Notes functions and classes instead of looking them up by name."""

    def reducer_override(self, value: Any) -> Any:
        """Return how to come by a value that copies share."""
        kind = type(value)
        if kind is _Generator and type(value.bit_generator) is _Bits:
            return _generator, (value.bit_generator.state,)
        if (kind is FunctionType or isinstance(value, type)) and value not in _BY_NAME:
            _shared.append(value)
            return _known, (len(_shared) - 1,)
        return NotImplemented


# Bound now, since `poison` and foreign code may replace them.
_Generator, _Bits = np.random.Generator, np.random.PCG64
_NO_ENTROPY = np.random.SeedSequence(0)


class _Blank(np.random.SeedSequence):
    """`_NO_ENTROPY`, but quick while a generator is made whose state is set right after."""

    making = False

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """Return zeros while a generator is made."""
        return _ZEROS if self.making else _NO_ENTROPY.generate_state(n_words, dtype)

    def spawn(self, n_children: int) -> Any:
        """Return children of `_NO_ENTROPY`."""
        return _NO_ENTROPY.spawn(n_children)

    def __reduce__(self) -> Any:
        return _NO_ENTROPY.__reduce__()


_blank, _ZEROS = _Blank(0), np.zeros(4, np.uint64)


def _known(index: int) -> Any:
    return _shared[index]


def _generator(state: Any) -> np.random.Generator:
    """Return a generator in this state, without asking the system for entropy as NumPy does."""
    _blank.making = True
    try:
        bits = _Bits(_blank)
    finally:
        _blank.making = False
    bits.state = state
    return _Generator(bits)


_BY_NAME = frozenset({_known, _generator})
