"""How figures of plays are printed: rates with their intervals, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spade_envs.intervals import Interval
    from spade_envs.store import EnvStore
    from spade_envs.store.plays import Cell, Figures


class Levels(click.types.StringParamType):
    """Levels such as `0,2` or `1..3`."""

    name = "LEVELS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the levels in order, or fail as click does."""
        if isinstance(value, tuple):
            return value
        found: set[int] = set()
        for part in str(value).split(","):
            low, dots, high = (piece.strip() for piece in part.partition(".."))
            ends = (low, high) if dots else (low, low)
            if not all(end.isdecimal() and len(end) < 7 for end in ends) or int(ends[0]) > int(
                ends[1]
            ):
                self.fail(f"{value!r}: write levels such as 0,2 or 1..3", param, ctx)
            found.update(range(int(ends[0]), int(ends[1]) + 1))
        return tuple(sorted(found))


def figures_json(figures: Figures) -> dict[str, Any]:
    """Return what plays came to as plain JSON; unknown figures are null."""
    played, hinted = figures.plays > 0, figures.hinted > 0
    return {
        "plays": figures.plays,
        "successes": figures.successes,
        "success": figures.success,
        "success_interval": list(figures.success_interval) if played else None,
        "return": figures.mean_return,
        "return_interval": _ends(figures.return_interval),
        "hinted": figures.hinted,
        "hinted_successes": figures.hinted_successes,
        "hinted_success": figures.hinted_success,
        "hinted_interval": list(figures.hinted_interval) if hinted else None,
        "pairs": figures.pairs,
        "regret": figures.regret,
        "regret_interval": _ends(figures.regret_interval),
        "hints": list(figures.hints),
    }


FIGURE_COLUMNS = ("plays", "won", "with hint", "regret", "return")


def figures_row(figures: Figures) -> tuple[str, ...]:
    """Return the cells under `FIGURE_COLUMNS`."""
    played, hinted = figures.plays > 0, figures.hinted > 0
    return (
        f"{figures.plays}+{figures.hinted}" if hinted else str(figures.plays),
        rate(figures.success, figures.success_interval if played else None),
        rate(figures.hinted_success, figures.hinted_interval if hinted else None),
        rate(figures.regret, figures.regret_interval, signed=True),
        rate(figures.mean_return, None),
    )


def played(digest: str, stores: Iterable[EnvStore]) -> dict[Cell, Figures]:
    """Return what the ledgers of some stores say about one environment, by player and level."""
    from spade_envs.store.plays import Figures, PlayReader

    found: dict[Cell, Figures] = {}
    for opened in stores:
        for cell, figures in PlayReader(opened.root).cells().items():
            if cell.digest == digest:
                found[cell] = found.get(cell, Figures()).plus(figures)
    return dict(sorted(found.items(), key=_place))


def _place(item: tuple[Cell, Figures]) -> tuple[str, str, int]:
    cell = item[0]
    return cell.policy, cell.hint, -1 if cell.level is None else cell.level


def rate(value: float | None, interval: Interval | None, *, signed: bool = False) -> str:
    """Return such as `0.40 0.26..0.57`; empty where there is none."""
    if value is None:
        return ""
    sign = "+" if signed else ""
    number = f"{value:{sign}.2f}"
    if interval is None:
        return number
    return f"{number} {interval[0]:.2f}..{interval[1]:.2f}"


def _ends(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)
