"""Family L3, near misses: what is almost the answer does not earn what the answer earns."""

from __future__ import annotations

from spade_envs.gates.finding import Finding, skipped
from spade_envs.gates.subject import Subject


def near_misses_lose(subject: Subject) -> Finding:
    """L3.6: perturbed references earn less than the reference."""
    return skipped("not measured")
