"""Placeholder."""

from __future__ import annotations

from collections.abc import Callable


def install() -> Callable[[], None]:
    """Install."""
    return lambda: None
