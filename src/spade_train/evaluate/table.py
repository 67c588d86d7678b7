"""Tables of evaluations: one per suite, and the two of the paper; as text in three forms."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from spade_train.evaluate.layouts import Column, Layout
from spade_train.evaluate.players import FLOORS
from spade_train.evaluate.records import Header
from spade_train.evaluate.summary import INTERVALS, Figures, Summary
from spade_train.suites.base import UNANSWERED

Kind: TypeAlias = Literal["policy", "oracle", "floor"]
NONE = "–"
_UNANSWERED = f"{UNANSWERED.where}: {UNANSWERED.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One figure."""

    success: float | None
    """In [0, 1]; None where every attempt ended with a fault."""
    low: float | None = None
    high: float | None = None
    note: str = ""
    """What must be known of it, such as faults; empty if nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One player."""

    name: str
    kind: Kind
    cells: tuple[Cell | None, ...]
    """One per column; None where nothing was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Success of players, in columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    """Policies first, then oracle and floors."""
    notes: tuple[str, ...] = field(default=())
    """One sentence each."""


def kind_of(player: str) -> Kind:
    """Return whether a player is a policy, the oracle or a floor."""
    word = player.partition("=")[0]
    if word == "oracle":
        return "oracle"
    return "floor" if word in FLOORS else "policy"


def by_suite(found: Sequence[Summary]) -> tuple[Table, ...]:
    """Return one table per suite and settings, its groups as columns; each has its own title."""
    suites: dict[str, list[Summary]] = {}
    for each in found:
        suites.setdefault(each.header.suite_digest, []).append(each)
    titles = [_suite_title(each) for each in suites.values()]
    return tuple(
        _suite_table(each, _suite_title(each, tell=titles.count(title) > 1))
        for each, title in zip(suites.values(), titles, strict=True)
    )


def by_layout(found: Sequence[Summary], layout: Layout) -> Table:
    """Return the table of a layout; a cell is empty where nothing was measured.

    Where a player has several evaluations of a column (other settings or decoding), the one with
    the most attempts in it counts, and a note says so. There is no average if no column of it was
    filled, and there are no rows if nothing belongs to the layout. Notes tell what each cell's do,
    and version and labels of what was played.
    """
    notes: dict[str, None] = {}
    played: dict[str, dict[str, None]] = {}
    rows = []
    for player in _ordered({each.header.player for each in found}):
        own = [each for each in found if each.header.player == player]
        cells = [_column_cell(own, column, notes, played) for column in layout.columns]
        if any(cell is not None for cell in cells):
            rows.append((player, cells))
            notes |= _cell_notes(player, layout, cells)
    columns = tuple(column.title for column in layout.columns)
    filled = [
        n
        for n, _ in enumerate(columns)
        if any(cells[n] is not None and kind_of(player) == "policy" for player, cells in rows)
        or (all(kind_of(p) != "policy" for p, _ in rows) and any(c[n] for _, c in rows))
    ]
    averages = [n for n in filled if layout.columns[n].averaged]
    done = tuple(
        Row(
            name=player,
            kind=kind_of(player),
            cells=(*cells, _average(cells, averages)) if averages else tuple(cells),
        )
        for player, cells in rows
    )
    title = [f"Average of {len(averages)}"] if averages else []
    if 0 < len(averages) < sum(column.averaged for column in layout.columns):
        notes[f"The average is over the {len(averages)} columns that a policy was measured in."] = (
            None
        )
    return Table(
        title=layout.title,
        columns=(*columns, *title),
        rows=done,
        notes=(*notes, *_played_notes(played, {player for player, _ in rows}), _brackets()),
    )


def _cell_notes(player: str, layout: Layout, cells: Sequence[Cell | None]) -> dict[str, None]:
    """Return one note of a row for each that cells have, with the columns that have it."""
    columns: dict[str, list[str]] = {}
    for column, cell in zip(layout.columns, cells, strict=True):
        if cell is not None and cell.note:
            columns.setdefault(cell.note, []).append(column.title)
    return {f"{player}, {', '.join(them)}: {note}.": None for note, them in columns.items()}


def _played_notes(played: Mapping[str, Mapping[str, None]], players: set[str]) -> list[str]:
    """Return what was played, and by whom if not by all."""
    return [
        f"Played: {title}" + ("." if them.keys() == players else f" by {', '.join(them)}.")
        for title, them in played.items()
    ]


def markdown(table: Table) -> str:
    """Return a table as Markdown."""
    head = ["", *map(escaped, table.columns)]
    lines = [head, ["---", *("---:" for _ in table.columns)]]
    lines += [[escaped(row.name), *map(_text, row.cells)] for row in table.rows]
    rows = ["| " + " | ".join(line) + " |" for line in lines]
    notes = [f"{escaped(note)}  " for note in table.notes]
    return "\n".join([f"**{escaped(table.title)}**", "", *rows, "", *notes]).rstrip()


def as_csv(tables: Sequence[Table]) -> str:
    """Return tables as one CSV: a line per table, row and column, so that intervals have fields."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["table", "row", "kind", "column", "success", "low", "high", "note"])
    for table in tables:
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                if cell is not None:
                    found = (cell.success, cell.low, cell.high)
                    numbers = ["" if each is None else f"{each:.6f}" for each in found]
                    text = [_field(each) for each in (table.title, row.name, row.kind, column)]
                    writer.writerow([*text, *numbers, _field(cell.note)])
    return out.getvalue().rstrip("\n")


def latex(table: Table) -> str:
    """Return a table as LaTeX, for the package booktabs."""
    lines = [
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
        " & ".join(["", *(_tex(title) for title in table.columns)]) + r" \\",
        r"\midrule",
    ]
    last: Kind | None = None
    for row in table.rows:
        if last == "policy" and row.kind != "policy":
            lines.append(r"\midrule")
        last = row.kind
        lines.append(" & ".join([_tex(row.name), *(_tex_cell(c) for c in row.cells)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    comments = [f"% {_spelled(note)}" for note in (table.title, *table.notes)]
    return "\n".join([*comments, *lines])


FORMS: dict[str, Callable[[Sequence[Table]], str]] = {
    "markdown": lambda tables: "\n\n".join(map(markdown, tables)),
    "csv": as_csv,
    "latex": lambda tables: "\n\n".join(map(latex, tables)),
}


def as_json(table: Table) -> dict[str, object]:
    """Return a table as plain JSON."""
    rows = [
        {
            "name": row.name,
            "kind": row.kind,
            "cells": {
                column: None
                if cell is None
                else {
                    "success": cell.success,
                    "low": cell.low,
                    "high": cell.high,
                    "note": cell.note,
                }
                for column, cell in zip(table.columns, row.cells, strict=True)
            },
        }
        for row in table.rows
    ]
    return {
        "title": table.title,
        "columns": list(table.columns),
        "rows": rows,
        "notes": table.notes,
    }


def _suite_title(found: Sequence[Summary], *, tell: bool = False) -> str:
    """Return suite, version and labels, with a digest of the settings if they alone tell it."""
    header = found[0].header
    labels: dict[str, dict[str, None]] = {}
    for each in found:
        for key, value in each.header.labels.items():
            labels.setdefault(key, {})[value] = None
    told = "".join(f", {key}: {' and '.join(values)}" for key, values in labels.items())
    told += f", settings {header.suite_digest[:6]}" if tell else ""
    return f"{header.suite} ({header.version}{told})"


def _suite_table(found: Sequence[Summary], title: str) -> Table:
    header = found[0].header
    groups = list(dict.fromkeys(group for each in found for group in each.groups))
    single = len(groups) < 2
    columns = ("all",) if single else (*groups, "all")
    players = [each.header.player for each in found]
    notes: dict[str, None] = {}
    rows = []
    for player in _ordered(set(players)):
        for each in (one for one in found if one.header.player == player):
            name = player if players.count(player) == 1 else f"{player} {_decoded(each.header)}"
            parts = [] if single else [each.groups.get(group) for group in groups]
            cells = tuple(_cell(part, each, notes) for part in (*parts, each.overall))
            rows.append(Row(name=name, kind=kind_of(player), cells=cells))
    limits = {each.header.limit for each in found if each.header.limit}
    if limits:
        first = ", ".join(str(limit) for limit in sorted(limits))
        notes[f"The first {first} of {header.tasks} tasks."] = None
    for each in found:
        if each.unanswered:
            text = f"The suite has no reference for {len(each.unanswered)} tasks."
            notes[text] = None
    return Table(title=title, columns=columns, rows=tuple(rows), notes=(*notes, _brackets()))


def _cell(part: Figures | None, whole: Summary, notes: dict[str, None]) -> Cell | None:
    if part is None:
        return None
    if part.success is None:
        return _faulty(part, whole, notes)
    player = whole.header.player
    found = []
    done, asked = whole.overall.attempts + whole.overall.faults, whole.header.attempts
    if done < asked:
        found.append(f"{done} of {asked} attempts so far")
    if lost := part.faults - part.unanswered:
        found.append(f"{lost} faults left out")
    if part.stopped:
        found.append(f"{part.stopped} broken off at a limit")
    if part.cut:
        found.append(f"{part.cut} with a reply cut at its greatest length")
    if found and part is whole.overall:
        notes[f"{player}, {part.attempts} results: {', '.join(found)}."] = None
    return Cell(success=part.success, low=part.low, high=part.high, note="; ".join(found))


def _faulty(part: Figures, whole: Summary, notes: dict[str, None]) -> Cell | None:
    """Return the cell of attempts that all ended with a fault; None if none was made."""
    lost = part.faults - part.unanswered
    if not lost:
        return None
    text = f"no result, {lost} fault{'s' if lost > 1 else ''}"
    if part is whole.overall:
        often = next(each for each in whole.faults if each != _UNANSWERED)
        notes[f"{whole.header.player}: {text}, most often {often}."] = None
    return Cell(success=None, note=text)


def _column_cell(
    own: Sequence[Summary],
    column: Column,
    notes: dict[str, None],
    played: dict[str, dict[str, None]],
) -> Cell | None:
    """Return the figure of a column: of a group, of a suite, or weighted of other columns.

    Args:
        own: evaluations of one player.
        column: which one.
        notes: gets a note where several evaluations fit.
        played: by title of a suite, gets the player.
    """
    if column.parts:
        cells = [_column_cell(own, part, notes, played) for part, _ in column.parts]
        if not all(cells):
            return None
        pairs = zip(cells, (weight for _, weight in column.parts), strict=True)
        told = dict.fromkeys(cell.note for cell in cells if cell and cell.note)
        value = sum((c.success or 0.0) * weight for c, weight in pairs if c)
        return Cell(success=value, note="; ".join(told))
    fitting = [(part, each) for each in own if (part := _part(each, column)) is not None]
    if not fitting:
        return None
    part, best = max(fitting, key=lambda pair: pair[0].attempts)
    header = best.header
    if len(fitting) > 1:
        notes[f"{header.player} has several results in {column.title}: the largest counts."] = None
    played.setdefault(_suite_title([best]), {})[header.player] = None
    cell = _cell(part, best, {})
    if cell is None or not header.limit or header.limit >= header.tasks:
        return cell
    limited = f"the first {header.limit} of {header.tasks} tasks"
    return replace(cell, note="; ".join(filter(None, (limited, cell.note))))


def _part(found: Summary, column: Column) -> Figures | None:
    """Return the figures of an evaluation in a column; None if it has none there."""
    if not column.fits(found.header):
        return None
    named = [figures for name, figures in found.groups.items() if column.names(name)]
    part = found.overall if column.group is None else next(iter(named), None)
    return None if part is None or part.success is None else part


def _average(cells: Sequence[Cell | None], columns: Sequence[int]) -> Cell | None:
    chosen = [cells[n] for n in columns]
    if not all(chosen):
        return None
    marked = any(each.note for each in chosen if each)
    return Cell(
        success=sum(each.success or 0.0 for each in chosen if each) / len(chosen),
        note="of figures some of which have notes" if marked else "",
    )


def _ordered(players: set[str]) -> list[str]:
    """Return names: policies as numbers in them count, then oracle and floors."""
    rank = {name: place for place, name in enumerate(FLOORS)}

    def key(name: str) -> tuple[int, list[tuple[int, int, str]]]:
        runs = re.split(r"(\d{1,18})", name)
        parts = [(int(p), 0, "") if n % 2 else (0, 1, p) for n, p in enumerate(runs)]
        place = rank.get(name.partition("=")[0])
        return (-1 if place is None else place), parts

    return sorted(players, key=key)


def _decoded(header: Header) -> str:
    values = header.decoding
    sampled = f"T {values['temperature']}, " if "temperature" in values else ""
    return f"({sampled}seed {header.seed}, {header.digest[:4]})"


def _brackets() -> str:
    return f"Success in %. Brackets: {INTERVALS}."


def _text(cell: Cell | None) -> str:
    if cell is None:
        return NONE
    mark = "*" if cell.note else ""
    if cell.success is None:
        return f"{NONE}{mark}"
    if cell.low is None or cell.high is None:
        return f"{100 * cell.success:.1f}{mark}"
    return f"{100 * cell.success:.1f}{mark} [{100 * cell.low:.1f}, {100 * cell.high:.1f}]"


def _tex_cell(cell: Cell | None) -> str:
    if cell is None:
        return "--"
    shown = "--" if cell.success is None else f"{100 * cell.success:.1f}"
    text = shown + (r"\textsuperscript{*}" if cell.note else "")
    if cell.low is not None and cell.high is not None:
        text += rf" {{\scriptsize [{100 * cell.low:.1f}, {100 * cell.high:.1f}]}}"
    return text


def _spelled(text: str) -> str:
    """Return a text as one printable line."""
    return "".join(c if c.isprintable() else " " for c in text)


def _field(text: str) -> str:
    """Return a text as a spreadsheet shows it: what it would compute gets an apostrophe before."""
    plain = _spelled(text)
    return f"'{plain}" if plain.lstrip().startswith(("=", "+", "-", "@")) else plain


def escaped(text: str) -> str:
    """Return a text as Markdown that shows it: no cell, link, picture, emphasis or HTML of it."""
    return re.sub(r"([\\|`*\[\]])", r"\\\1", _spelled(text)).replace("<", "&lt;")


_TEX = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    **{c: f"{{{c}}}" for c in "*["},  # at the head of a row they would belong to the \\ before it
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}


def _tex(text: str) -> str:
    return "".join(_TEX.get(c, c) for c in _spelled(text))
