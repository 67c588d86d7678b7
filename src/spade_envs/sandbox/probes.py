"""Placeholder."""

from __future__ import annotations

from typing import Any


def run(table: Any, request: Any) -> Any:
    """Run."""
    return None, ("contract", "no such probe", "")
