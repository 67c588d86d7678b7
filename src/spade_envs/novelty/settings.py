"""What counts as a repetition: two distances, on the same scale for everybody."""

from __future__ import annotations

import math
from dataclasses import dataclass

from spade_envs.errors import ConfigError
from spade_envs.types import Json

FORM = "embedding=0.2,behaviour=0.1, one of them, NAME=off for one step, or off for both"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Distances up to which an environment repeats another one; None leaves the step out.

    The defaults are measured, see docs/novelty.md. The same text is never taken twice, whatever
    stands here.

    Raises:
        ConfigError: a distance is out of [0, 1].
    """

    embedding: float | None = 0.2
    """One minus the cosine of the texts; refuses only if the statements are the same, too."""
    behaviour: float | None = 0.1
    """Distance of the behaviours (`behaviour.distance`); refuses whatever the text says."""
    program: bool = True
    """Whether the same program in other words is refused."""

    def __post_init__(self) -> None:
        for name in ("embedding", "behaviour"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and 0 <= value <= 1):
                raise ConfigError(f"novelty: {name} must be in [0, 1], not {value}")

    def __str__(self) -> str:
        """Return the thresholds as `parse_thresholds` reads them."""
        if not self.program:
            return "off"
        return ",".join(
            f"{name}={'off' if value is None else f'{value:g}'}"
            for name, value in (("embedding", self.embedding), ("behaviour", self.behaviour))
        )

    def as_json(self) -> dict[str, Json]:
        """Return the thresholds as plain JSON."""
        return {
            "program": self.program,
            "embedding": self.embedding,
            "behaviour": self.behaviour,
        }


OFF = Thresholds(embedding=None, behaviour=None, program=False)


def parse_thresholds(text: str) -> Thresholds:
    """Return the thresholds that a person wrote, such as `embedding=0.05,behaviour=off` or `off`.

    What is not named keeps its default.

    Raises:
        ConfigError: it cannot be read; the message names the forms.
    """
    if text.strip().lower() == "off":
        return OFF
    found: dict[str, float | None] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip().lower() for piece in part.partition("="))
        if name not in ("embedding", "behaviour") or not equals or name in found:
            raise ConfigError(f"novelty: cannot read {part.strip()!r}; write {FORM}")
        try:
            found[name] = None if value == "off" else float(value)
        except ValueError:
            raise ConfigError(f"novelty: {value!r} is no number; write {FORM}") from None
    return Thresholds(**found)  # type: ignore[arg-type]
