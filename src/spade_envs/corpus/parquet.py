"""Parquet files, a few rows at a time; the only door to pyarrow, which is loaded on first use."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spade_envs.corpus.decode import TEXT_KEYS, row_document
from spade_envs.corpus.documents import Document, Place, Unreadable
from spade_envs.errors import MissingExtra
from spade_envs.types import Json

_ROWS = 64
"""Rows that are decoded at a time."""
_READ_BYTES = 1 << 20


def scan_parquet(
    path: Path, source: str, text_key: str | None = None
) -> Iterator[tuple[Place, Document | Unreadable]]:
    """Yield every row's document, titles and metadata left out, with its place.

    Raises:
        MissingExtra: pyarrow is not installed.
        Unreadable: it is no Parquet file, is broken, or has no column of text.
    """
    arrow = _pyarrow()
    number = 0
    try:
        with _opened(path) as file:
            columns = _text_columns(file, text_key)
            for group in range(file.metadata.num_row_groups):
                for row, values in enumerate(_rows(file, group, columns)):
                    number += 1
                    place = Place(
                        path=path,
                        kind="parquet",
                        source=f"{source}#{number}",
                        start=group,
                        length=row,
                        number=number,
                        text_key=text_key,
                    )
                    try:
                        document = row_of_cells(place, values)
                    except Unreadable as error:
                        yield place, error
                    else:
                        yield place, document
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise Unreadable(f"cannot be read: {error}") from error


def read_parquet(place: Place) -> Document:
    """Read one row again, with title and metadata.

    A row group is decoded up to the row, a few rows at a time: groups of some thousand rows are
    drawn from quickly, groups of millions slowly.

    Raises:
        MissingExtra: pyarrow is not installed.
        Unreadable: the file is gone or no longer holds it.
    """
    arrow = _pyarrow()
    try:
        with _opened(place.path) as file:
            columns = _flat_columns(file)
            for row, values in enumerate(_rows(file, place.start, columns)):
                if row == place.length:
                    return row_of_cells(place, values)
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise Unreadable(f"cannot be read: {error}") from error
    raise Unreadable("no longer holds this row")


def plain(value: Any) -> Json:
    """Return a cell as plain JSON; dates become text."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def row_of_cells(place: Place, cells: Mapping[str, Any]) -> Document:
    """Return the document that a row of pyarrow's scalars holds, by column.

    What stands beside the text cannot make a row unusable: a date that Python has not becomes a
    text or the number that is stored, and what is not UTF-8 has its broken characters replaced.

    Raises:
        Unreadable: there is no text in it, or one that is too long or broken.
    """
    keys = TEXT_KEYS if place.text_key is None else (place.text_key,)
    try:
        row = {name: _value(cell, exact=name in keys) for name, cell in cells.items()}
    except UnicodeDecodeError:
        raise Unreadable("is not UTF-8", "not UTF-8") from None
    return row_document(place, row)


def _value(cell: Any, *, exact: bool) -> Json:
    if _pyarrow().types.is_dictionary(cell.type):
        cell = cell.value
    try:
        return plain(cell.as_py())
    except UnicodeDecodeError:
        if exact:
            raise
        return str(cell.as_buffer().to_pybytes().decode("utf-8", "replace"))
    except (OverflowError, ValueError):  # a date that Python has not, or an unknown time zone
        return _plain_time(cell)


def _plain_time(cell: Any) -> Json:
    """Return a date or time as pyarrow writes it, in UTC; as its number if even that cannot."""
    arrow = _pyarrow()
    zone = ""
    if arrow.types.is_timestamp(cell.type):
        zone = "Z" if cell.type.tz else ""
        cell = cell.cast(arrow.timestamp(cell.type.unit))
    try:
        text = str(cell.cast(arrow.string()))
    except arrow.ArrowException:  # of a span of time
        return int(cell.value)
    return int(cell.value) if text.startswith("<") else text.replace(" ", "T") + zone


def _rows(file: Any, group: int, columns: list[str]) -> Iterator[dict[str, Any]]:
    for batch in file.iter_batches(batch_size=_ROWS, row_groups=[group], columns=columns):
        for row in range(batch.num_rows):
            yield {name: batch.column(at)[row] for at, name in enumerate(batch.schema.names)}


def _text_columns(file: Any, text_key: str | None) -> list[str]:
    names = TEXT_KEYS if text_key is None else (text_key,)
    found = [name for name in names if name in _flat_columns(file, texts=True)]
    if not found:
        wanted = " or ".join(f"`{name}`" for name in names)
        raise Unreadable(f"has no column of text named {wanted}", "no text")
    return found


def _flat_columns(file: Any, *, texts: bool = False) -> list[str]:
    """Return the columns of single values, or of texts alone; lists and bytes are left out."""
    types = _pyarrow().types
    kinds = [types.is_string, types.is_large_string, types.is_string_view]
    if not texts:
        kinds += [types.is_integer, types.is_floating, types.is_boolean]
        kinds += [types.is_date, types.is_timestamp]
    return [field.name for field in file.schema_arrow if any(kind(_type(field)) for kind in kinds)]


def _type(field: Any) -> Any:
    """Return the type of a column's values; those of categories are numbered and kept aside."""
    is_dictionary = _pyarrow().types.is_dictionary(field.type)
    return field.type.value_type if is_dictionary else field.type


def _opened(path: Path) -> Any:
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(path, buffer_size=_READ_BYTES, pre_buffer=False)


def _pyarrow() -> Any:
    try:
        import pyarrow.lib
        import pyarrow.types
    except ImportError:
        raise MissingExtra("pyarrow", "data") from None
    return pyarrow
