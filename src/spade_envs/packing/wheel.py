"""Building a wheel: the one door to hatchling."""

from __future__ import annotations

from pathlib import Path

from spade_envs.errors import MissingExtra


def build_wheel(project: Path, into: Path) -> Path:
    """Build the wheel of a project in this process, without a network, and return its path.

    The same project gives the same bytes with the same hatchling: entries are sorted, and their
    times are those of `SOURCE_DATE_EPOCH`, or fixed.

    Raises:
        MissingExtra: hatchling is not installed.
    """
    try:
        from hatchling.builders.wheel import WheelBuilder
    except ImportError:
        raise MissingExtra("hatchling", "pack") from None
    (built,) = WheelBuilder(str(project)).build(directory=str(into), versions=["standard"])
    return Path(built)
