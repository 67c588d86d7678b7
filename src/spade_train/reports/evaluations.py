"""The HTML page of evaluations: tables, whiskers, and curves over checkpoints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spade_envs._version import __version__
from spade_train.evaluate.compare import Difference
from spade_train.evaluate.table import Cell, Row, Table
from spade_train.reports.page import drawn, templates
from spade_train.reports.page import write_page as write
from spade_train.reports.panels import Panel
from spade_train.reports.series import Curve

_NUMBERED = re.compile(r"(.*?)(\d{1,15})\D*$")


@dataclass(frozen=True, slots=True)
class _Whisker:
    """One row of a plot, in percent."""

    row: Row
    cell: Cell


def render(
    tables: Sequence[Table], differences: Sequence[tuple[str, Difference]], *, made_at: str
) -> str:
    """Return the page as one HTML document.

    Args:
        tables: what to show.
        differences: suite and paired difference, each; may be empty.
        made_at: when the page was made, as text for people.

    Raises:
        MissingExtra: there are curves, and matplotlib is not installed.
    """
    curves = [panel for number, table in enumerate(tables) for panel in _curves(number, table)]
    return (
        templates()
        .get_template("evaluations.html")
        .render(
            made_at=made_at,
            version=__version__,
            tables=[(table, _whiskers(table)) for table in tables],
            differences=differences,
            plots=drawn(curves),
        )
    )


def write_page(
    path: Path,
    tables: Sequence[Table],
    differences: Sequence[tuple[str, Difference]] = (),
    *,
    made_at: str,
) -> None:
    """Write the page; see `render`."""
    write(path, render(tables, differences, made_at=made_at))


def _whiskers(table: Table) -> list[_Whisker]:
    """Return the last column, which is the whole or the average, row by row."""
    last = [(row, row.cells[-1]) for row in table.rows]
    return [_Whisker(row, cell) for row, cell in last if cell and cell.success is not None]


def _curves(number: int, table: Table) -> list[Panel]:
    """Return a plot over the numbers in the names of policies, if some differ in that alone."""
    series: dict[str, dict[int, Row]] = {}
    for row in table.rows:
        found = _NUMBERED.match(row.name)
        if row.kind == "policy" and found:
            series.setdefault(found[1].rstrip(" -_:"), {})[int(found[2])] = row
    curves = [
        curve
        for name, rows in series.items()
        if len(rows) > 1
        for column, title in enumerate(table.columns)
        if (curve := _curve(f"{name} {title}", rows, column)).updates.size > 1
    ]
    if not curves:
        return []
    panel = Panel(
        name=f"checkpoints-{number}",
        title=table.title,
        about="Success over the numbers in the policies' names; bands: half the 95 % interval.",
        curves=tuple(curves),
        unit="share",
        across="checkpoint",
    )
    return [panel]


def _curve(name: str, rows: dict[int, Row], column: int) -> Curve:
    cells = [(at, row.cells[column]) for at, row in sorted(rows.items())]
    points = [(at, cell) for at, cell in cells if cell and cell.success is not None]
    halves = [
        np.nan if c.low is None or c.high is None else (c.high - c.low) / 4 for _, c in points
    ]
    return Curve(
        name=name,
        updates=np.array([at for at, _ in points], dtype=np.float64),
        values=np.array([cell.success for _, cell in points], dtype=np.float64),
        errors=np.array(halves, dtype=np.float64),
    )
