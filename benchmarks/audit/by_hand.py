"""Failures that no function can try again: what the library's source says, with its place."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.audit.probes import Seen

BY_HAND: Mapping[tuple[str, str, str], Seen] = {}
"""By library, name and gate."""
