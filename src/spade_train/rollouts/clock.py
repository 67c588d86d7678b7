"""Where the time of a rollout goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Literal

Part = Literal["model", "gates", "play", "tokens"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Seconds of wall time by what this process was waiting for or doing."""

    model_s: float = 0.0
    """Sampling."""
    gates_s: float = 0.0
    """Waiting for gates; what runs beside sampling is not counted twice."""
    play_s: float = 0.0
    """Environments: loading, resets, steps, hints."""
    tokens_s: float = 0.0
    """Templates, encoding, decoding."""
    other_s: float = 0.0
    """The rest of the rollout."""

    @property
    def wall_s(self) -> float:
        """All of it."""
        return sum(float(getattr(self, entry.name)) for entry in fields(self))

    def __add__(self, other: Times) -> Times:
        names = [entry.name for entry in fields(self)]
        return Times(**{name: getattr(self, name) + getattr(other, name) for name in names})


@dataclass
class Clock:
    """Adds up the parts of a rollout; its other time is what no part claims."""

    spent: dict[str, float] = field(default_factory=dict)
    _begun: float = field(default_factory=time.perf_counter)

    @contextmanager
    def on(self, part: Part) -> Iterator[None]:
        """Count the time of the block for a part; parts do not nest."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.spent[part] = self.spent.get(part, 0.0) + time.perf_counter() - begun

    def times(self) -> Times:
        """Return the seconds since this clock was made."""
        wall = time.perf_counter() - self._begun
        known = {f"{part}_s": spent for part, spent in self.spent.items()}
        return Times(**known, other_s=max(0.0, wall - sum(known.values())))
