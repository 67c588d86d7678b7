"""What every command prints with: data to stdout, talk and progress to stderr.

Text that an environment or a model wrote has its control characters escaped before it reaches a
terminal, so that it cannot move the cursor, set the title or fake our own output.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from spade_envs.reports.visible import clean

__all__ = [
    "clean",
    "commands_apart",
    "counted",
    "echo_json",
    "echo_json_line",
    "page_to_write",
    "print_table",
    "progress",
    "say",
    "say_commands",
    "wants_colour",
    "write_page",
]


def echo_json(value: Any) -> None:
    """Print a value as JSON to stdout; dataclasses become objects, and NaN and infinity null."""
    click.echo(_as_json(value, indent=2))


def echo_json_line(value: Any) -> None:
    """Print a value as one line of JSON to stdout; NaN and infinity become null."""
    click.echo(_as_json(value))


def _as_json(value: Any, indent: int | None = None) -> str:
    try:
        return json.dumps(value, indent=indent, default=_plain, allow_nan=False)
    except ValueError:  # JSON has no such numbers, though Python reads and writes them
        plain = json.loads(json.dumps(value, default=_plain), parse_constant=lambda name: None)
        return json.dumps(plain, indent=indent)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {entry.name: getattr(value, entry.name) for entry in dataclasses.fields(value)}
    return str(value)


def counted(number: int, noun: str) -> str:
    """Return `1 environment` or `2 environments`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def say(text: str) -> None:
    """Print talk to stderr."""
    click.echo(clean(text), err=True)


def wants_colour() -> bool:
    """Whether stdout is a terminal that may be coloured."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    spare: Sequence[str] = (),
) -> None:
    """Print a table to stdout, as wide as the terminal, or 80 columns where there is none.

    Ids are copied, so they stay on one line where that can be, and other columns are folded. With
    more than `LONG` rows every row is one line, however wide: folding would take minutes, and so
    long a table is searched rather than read.

    Args:
        title: above the table; empty for none.
        columns: names; those called `id`, `environment` or `registered as` hold ids.
        rows: a cell for each column.
        spare: columns that are left out, the first of them first, where ids had to be folded else.
    """
    rows = list(rows)
    if len(rows) > LONG:
        _print_long(title, columns, rows)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            """Let the error pass, which rich would make an exit code of its own."""
            raise

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PLAIN_WIDTH
    console = Plain(no_color=not wants_colour(), width=width, highlight=False)
    cells = [[_cell(value, Text) for value in row] for row in rows]
    fixed, shown = _layout(columns, cells, spare, console.width)
    style = {"box": box.SIMPLE_HEAD, "pad_edge": False, "header_style": "bold"}
    table = Table(title=title or None, title_justify="left", **style)  # type: ignore[arg-type]
    for place in shown:
        table.add_column(columns[place], overflow="fold", width=fixed.get(place))
    for row in cells:
        table.add_row(*[row[place] for place in shown])
    console.print(table)
    if len(shown) < len(columns):
        gone = ", ".join(name for place, name in enumerate(columns) if place not in shown)
        say(f"left out for want of room: {gone} (COLUMNS=200 or --json shows all)")


def _layout(
    columns: Sequence[str], cells: Sequence[Sequence[Any]], spare: Sequence[str], width: int
) -> tuple[dict[int, int], list[int]]:
    """Return the widths of the columns that hold ids, and the places of the columns to show."""
    natural = [
        max([len(name), *(row[place].cell_len for row in cells)])
        for place, name in enumerate(columns)
    ]
    fixed = {place: natural[place] for place, name in enumerate(columns) if name in _OF_IDS}
    shown, droppable = list(range(len(columns))), list(spare)
    while True:
        needed = sum(fixed.get(place, min(natural[place], _LEAST)) for place in shown)
        if not fixed or needed + _GAP * len(shown) - 1 <= width:
            return fixed, shown
        if not droppable:
            return {}, list(range(len(columns)))
        shown.remove(columns.index(droppable.pop(0)))


def _print_long(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    cells = [tuple(columns), *(tuple(_one_line(value) for value in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    layout = "  ".join(f"{{:<{width}}}" for width in [*widths[:-1], 0])
    lines = [layout.format(*row) for row in cells]
    click.echo("\n".join([title, *lines] if title else lines))


def _one_line(value: object) -> str:
    return clean(str(value)).replace("\n", " ")


LONG = 2000
"""Most rows of a table whose cells are folded."""
_OF_IDS = ("id", "environment", "registered as")
_LEAST = 16
"""Columns that are left to a cell beside an id, if it needs them."""
_GAP = 3
_MOST_COMMANDS = 5
PLAIN_WIDTH = 80
"""Columns of a table that goes into a file or a pipe; `COLUMNS` overrides it."""


def _cell(value: object, text_class: Any) -> Any:
    colours = {
        "pass": "green",
        "accepted": "green",
        "passes": "green",
        "fail": "red",
        "refused": "red",
        "not checked": "red",
    }
    colours |= {"warn": "yellow", "skip": "dim", "withdrawn": "yellow"}
    text = clean(str(value))
    return text_class(text, style=colours.get(text, ""))


def commands_apart(notes: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Return notes without the commands at their ends, and these: a cell would fold them.

    Args:
        notes: each with the command that we put at its end; empty if there is none. A note may
            quote what strangers wrote, so no command is looked for in it.
    """
    texts, commands = [], dict[str, None]()
    for note, command in notes:
        if command and note.endswith(f": {command}"):
            commands[command] = None
            note = f"{note.removesuffix(f': {command}')} (see below)"
        texts.append(note)
    return texts, list(commands)


def say_commands(commands: Sequence[str], what: str) -> None:
    """Print commands to stderr, one on each line, so that they can be copied."""
    for command in commands[:_MOST_COMMANDS]:
        say(f"  {command}")
    if len(commands) > _MOST_COMMANDS:
        say(f"  ... and {len(commands) - _MOST_COMMANDS} more {what} (--json has all)")


def progress(total: int | None, label: str) -> Any:
    """Return a progress bar on stderr, as a context manager; silent where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    bar = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
    bar.add_task(label, total=total)
    return bar


def page_to_write(html: str | None) -> Path | None:
    """Return where the page goes; refused before the long run, not after it."""
    if html is None:
        return None
    path = Path(html)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise click.UsageError(f"--html {html}: name a file in a folder that exists")
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise click.UsageError(f"--html {html}: that is no ordinary file, so it is left alone")
    if path.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"--html {html}: let the name end in .html")
    return path


def write_page(path: Path, render: Callable[[str], str]) -> None:
    """Write a page so that it is there whole or not at all, and say where.

    Args:
        path: where it goes.
        render: gives the page, from the time it was made as text.
    """
    from datetime import UTC, datetime

    from spade_envs.store.outside import write_whole

    made_at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    write_whole(path, render(made_at).encode("utf-8"))
    say(f"page: {path}")
