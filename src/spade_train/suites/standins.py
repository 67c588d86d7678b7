"""Modules that stand in for ones that a benchmark imports and does not need for what we play."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType


@contextlib.contextmanager
def standing_in(name: str, **holds: object) -> Iterator[None]:
    """Let a module of these attributes be found by imports under a name, and nothing afterwards.

    Args:
        name: of the module; one that is loaded already is found again afterwards.
        holds: its attributes.
    """
    stand_in = ModuleType(name)
    vars(stand_in).update(holds)
    before = sys.modules.get(name)
    sys.modules[name] = stand_in
    try:
        yield
    finally:
        if before is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = before
